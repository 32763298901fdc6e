package ingest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"

	"passhat/ingest/store"
)

// presetReader maps the rows of one source by a preset.
type presetReader struct {
	p     *preset
	in    *Input
	opt   *Options
	ctx   context.Context
	yield func(*store.Trial, error) bool
	m     *Mapper

	columns []boundColumn
	scores  []boundScore
	fixed   []fixedValue
	rule    *Rule
	// context are fields around the rows, under the names @doc (the document's),
	// @up (of what holds the row), @name (parts of the file's name), @beside (the
	// file beside the source).
	context map[string][]field

	fields []field
	names  []string
	used   []bool
	shape  Shape
	list   []namedScore

	rows    int64
	left    map[string]int64 // rows that are no trials, by reason
	numbers map[string]int64 // rows with a score of that name
	state   any              // of the hooks
}

// presetRow is a row as hooks see it.
type presetRow struct {
	r      *presetReader
	fields []field
}

// get returns the value at a path of the row, Null where there is none.
func (row *presetRow) get(path string) Value {
	p, err := bindPath(path)
	if err != nil {
		return Value{}
	}
	v, _, _ := row.r.find(row.fields, &p)
	return v
}

// find returns the value at a path, and the row's field that is the value
// itself (-1 for a part of one). A heading word for word comes first.
func (r *presetReader) find(fields []field, p *boundPath) (v Value, at int, ok bool) {
	if p.context != "" {
		fields = r.context[p.context]
	} else {
		for i := len(fields) - 1; i >= 0; i-- {
			if fields[i].is(p.text) {
				return fields[i].val, i, true
			}
		}
	}
	if len(p.steps) == 0 {
		return Value{}, -1, false
	}
	for i := len(fields) - 1; i >= 0; i-- { // of equal keys the last one counts
		if !fields[i].is(p.steps[0].key) {
			continue
		}
		if v, ok = walkPath(fields[i].val, p.steps[1:]); !ok {
			return Value{}, -1, false
		}
		if len(p.steps) > 1 || p.context != "" {
			i = -1
		}
		return v, i, true
	}
	return Value{}, -1, false
}

// row reads one row into the Mapper. An error ends the reading of the source.
func (r *presetReader) row(fields []field, line int64, path string, raw []byte) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	r.rows++
	row := &presetRow{r, fields}
	if r.p.keep != nil {
		left, err := r.p.keep(r, row)
		if err != nil {
			return err
		}
		if left != "" {
			r.left[left]++
			return nil
		}
	}
	r.name(fields)
	r.m.begin(&r.shape)
	t := r.m.next()
	reason, err := r.fill(t, row)
	if err == nil && reason == "" && r.p.after != nil {
		reason = r.p.after(r, row, t)
	}
	if err == nil && reason == "" && t.TaskID == "" && !r.m.noTask {
		reason = "no task: " + r.taskFrom() + " is not there (found " + fieldList(r.names) + ")"
	}
	if err == nil && reason == "" {
		err = r.judge(t)
	}
	if err != nil || reason != "" {
		r.m.Trials = r.m.Trials[:len(r.m.Trials)-1]
		if err == nil {
			r.m.reject(line, path, reason, raw)
		}
		return err
	}
	t.RowHash = xxh3.Hash128(raw).Bytes()
	t.SourceRow = path
	if line > 0 {
		t.SourceRow = strconv.FormatInt(line, 10)
	}
	return nil
}

// taskFrom says where the task should be.
func (r *presetReader) taskFrom() string {
	for _, c := range r.columns {
		if c.col == "task_id" {
			return strings.Join(c.from, " or ")
		}
	}
	return "what names it"
}

// name keeps the fields' names, which are the same in most rows.
func (r *presetReader) name(fields []field) {
	same := len(fields) == len(r.names)
	for i := 0; same && i < len(fields); i++ {
		same = !fields[i].keyEscaped && string(fields[i].key) == r.names[i]
	}
	if !same {
		r.names = r.names[:0]
		for _, f := range fields {
			r.names = append(r.names, r.m.name(f))
		}
		r.shape.names = r.names
		r.used = make([]bool, len(fields))
	}
	clear(r.used)
	for i, n := range r.names {
		r.used[i] = slices.Contains(r.p.drop, n)
	}
}

// finish says what of the source is no trial, and which scores there were.
func (r *presetReader) finish() error {
	if r.p.end != nil {
		if err := r.p.end(r); err != nil {
			return err
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(r.left)) {
		r.in.Note("left out, no trials: %s %s", plural(r.left[reason], "row"), reason)
	}
	if s := r.opt.Score; s != "" && r.numbers[s] == 0 && len(r.m.stats.Used) > 0 {
		return fmt.Errorf("%s: no trial has a score called %s (--score): there %s", r.in.Name, s, r.scoreList())
	}
	return nil
}

func (r *presetReader) scoreList() string {
	names := slices.Sorted(maps.Keys(r.numbers))
	switch len(names) {
	case 0:
		return "is none"
	case 1:
		return "is only " + names[0]
	}
	return "are " + strings.Join(firstFew(names), ", ")
}
