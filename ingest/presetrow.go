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

type boundColumn struct {
	presetColumn
	id    columnID
	exact bool // it names the trial or judges it: a wrong value rejects the row
	paths []boundPath
}

// boundPath is a path that was parsed.
type boundPath struct {
	text    string
	context string     // @doc, …; "" for the row
	steps   []pathStep // none: only a heading word for word
}

type boundScore struct {
	scoreSource
	path          boundPath
	before, after string // of a pattern
	name          []pathStep
	values        [][]pathStep
}

type namedScore struct {
	name string
	val  Value
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

func bindPath(text string) (boundPath, error) {
	p := boundPath{text: text}
	rest := text
	if strings.HasPrefix(rest, "@") {
		p.context, rest, _ = strings.Cut(rest, ".")
		if !slices.Contains([]string{"@doc", "@up", "@name", "@beside"}, p.context) || rest == "" {
			return p, fmt.Errorf("%s: wanted @doc.FIELD, @up.FIELD, @name.PART or @beside.FIELD", text)
		}
	}
	steps, err := parsePath(rest)
	if err == nil {
		p.steps = steps
	} else if p.context != "" || strings.HasPrefix(text, "$") {
		return p, fmt.Errorf("%s: %w", text, err)
	}
	return p, nil
}

// bindPreset checks a preset against the options. Errors are of kind *UsageError.
func bindPreset(p *preset, in *Input, opt *Options) (*presetReader, error) {
	m, err := NewMapper(in, opt)
	if err != nil {
		return nil, err
	}
	r := &presetReader{p: p, in: in, opt: opt, m: m, shape: Shape{element: true}, context: map[string][]field{}, left: map[string]int64{}, numbers: map[string]int64{}}
	columns := slices.Clone(p.columns)
	for _, given := range opt.Map {
		columns = slices.DeleteFunc(columns, func(c presetColumn) bool { return c.col == given.Name })
		columns = append(columns, presetColumn{col: given.Name, from: []string{given.Value}})
	}
	for _, c := range columns {
		b, err := bindColumn(c)
		if err != nil {
			return nil, err
		}
		r.columns = append(r.columns, b)
	}
	for _, s := range p.scores {
		b, err := bindScore(s)
		if err != nil {
			return nil, err
		}
		r.scores = append(r.scores, b)
	}
	for _, f := range p.fixed {
		id, ok := columnNamed(f.Name)
		if !ok {
			return nil, unknownColumn("set", f.Name)
		}
		r.fixed = append(r.fixed, fixedValue{id, Value{Kind: Untyped, Text: []byte(f.Value)}})
	}
	if p.pass != "" {
		if r.rule, err = ParseRule(p.pass); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// exactColumns are those of which a wrong value rejects the row.
var exactColumns = []string{"suite", "run_id", "task_id", "trial", "variant", "trial_uid", "passed"}

func bindColumn(c presetColumn) (boundColumn, error) {
	b := boundColumn{presetColumn: c, exact: slices.Contains(exactColumns, c.col)}
	id, ok := columnNamed(c.col)
	if !ok {
		ref, known := namesOf[normalName(c.col)]
		if !known || !columns[ref.col].part {
			return b, unknownColumn("map", c.col)
		}
		id = ref.col
	}
	b.id = id
	for _, from := range c.from {
		p, err := bindPath(from)
		if err != nil {
			return b, usagef("map", "%s: %v", c.col, err)
		}
		b.paths = append(b.paths, p)
	}
	return b, nil
}

func bindScore(s scoreSource) (b boundScore, err error) {
	b.scoreSource = s
	if before, after, star := strings.Cut(s.at, "*"); star {
		b.before, b.after = before, after
		return b, nil
	}
	if b.path, err = bindPath(s.at); err == nil && s.name != "" {
		b.name, err = parsePath(s.name)
	}
	for _, v := range s.values {
		var steps []pathStep
		if err == nil {
			steps, err = parsePath(v)
		}
		b.values = append(b.values, steps)
	}
	if err != nil {
		return b, usagef("scores", "%s: %v", s.at, err)
	}
	return b, nil
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

// empty reports whether a value says nothing; NaN is how pandas writes one that
// is missing.
func (v Value) empty() bool {
	switch v.Kind {
	case Null:
		return true
	case Untyped, Number:
		n, ok := v.float()
		return len(v.Text) == 0 || ok && n != n
	}
	return false
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

// fill puts the row's values into t; the text says why the row cannot be read.
func (r *presetReader) fill(t *store.Trial, row *presetRow) (string, error) {
	for _, f := range r.fixed {
		columns[f.col].set(r.m, t, f.val)
	}
	for i := range r.columns {
		if reason := r.column(t, row, &r.columns[i]); reason != "" {
			return r.columns[i].col + " (from " + strings.Join(r.columns[i].from, ", ") + "): " + reason, nil
		}
	}
	r.gather(row.fields)
	r.setScores(t)
	for i, f := range row.fields {
		if r.used[i] || f.val.Kind == Null {
			continue
		}
		norm := normalName(r.names[i])
		switch {
		case isSecret(norm):
			r.m.stats.Secrets++
		case samplingOnly[norm]:
			if f.val.Kind == Object {
				r.m.row.sampling = append(r.m.row.sampling, f.val)
			}
			r.m.stats.Secrets++
		default:
			if reason := r.m.addExtra(&target{json: appendQuoted(nil, []byte(r.names[i]))}, r.names[i], f.val); reason != "" {
				return reason, nil
			}
		}
	}
	passed, rule, score, name := t.Passed, t.PassRule, t.Score, t.ScoreName
	if reason := r.m.settle(t, &r.shape); reason != "" {
		return reason, nil
	}
	// settle chooses by rules of its own.
	t.Passed, t.PassRule, t.Score, t.ScoreName = passed, rule, score, name
	return "", nil
}

// column fills one column.
func (r *presetReader) column(t *store.Trial, row *presetRow, c *boundColumn) string {
	if c.join {
		return r.joined(t, row, c)
	}
	for i := range c.paths {
		v, at, ok := r.find(row.fields, &c.paths[i])
		if at >= 0 {
			r.used[at] = true
		}
		if !ok || v.empty() {
			continue
		}
		r.m.stats.used(Used{columns[c.id].name, c.paths[i].text})
		reason := r.assign(t, c, c.paths[i].text, v)
		if reason != "" && !c.exact {
			if reason != notColumn {
				r.m.stats.mismatch(c.paths[i].text, c.col)
			}
			return ""
		}
		return reason
	}
	return ""
}

// joined fills a column with several fields, joined by '/'.
func (r *presetReader) joined(t *store.Trial, row *presetRow, c *boundColumn) string {
	var parts []string
	for i := range c.paths {
		v, at, ok := r.find(row.fields, &c.paths[i])
		if at >= 0 {
			r.used[at] = true
		}
		if ok && !v.empty() {
			parts = append(parts, keyText(v))
			r.m.stats.used(Used{columns[c.id].name, c.paths[i].text})
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return columns[c.id].set(r.m, t, StringValue(strings.Join(parts, "/")))
}

func (s *Stats) used(u Used) {
	if s.Used == nil {
		s.Used = map[Used]int64{}
	}
	s.use(u, 1)
}

// assign converts a value and puts it into a column.
func (r *presetReader) assign(t *store.Trial, c *boundColumn, from string, v Value) string {
	if w, ok := c.words[strings.ToLower(v.words())]; ok {
		v = StringValue(w)
		if w == "" {
			return ""
		}
	}
	switch {
	case c.col == "passed":
		b, ok := v.boolean()
		if !ok {
			return notA(v, "a verdict such as true or false")
		}
		t.Passed, t.PassRule = store.Some(b), "log: "+from
		return ""
	case c.col == "score":
		n, ok := r.number(v)
		if !ok {
			return notA(v, "a score")
		}
		t.Score = store.Some(n)
		fill(&t.ScoreName, lastKey(from))
		r.numbers[t.ScoreName]++
		return ""
	case (c.col == "task_id" || c.col == "variant") && r.lossy(v):
		return notText
	case c.col == "task_id" || c.col == "variant":
		v = StringValue(keyText(v))
	case c.col == "trial" && c.base != 0:
		n, ok := v.integer()
		if !ok || n < c.base {
			return notA(v, fmt.Sprintf("a trial number from %d on", c.base))
		}
		v = Value{Kind: Number, Text: strconv.AppendInt(nil, n-c.base, 10)}
	case c.per != 0:
		n, ok := v.float()
		if !ok {
			return notA(v, "a number")
		}
		v = Value{Kind: Number, Text: strconv.AppendFloat(nil, n/c.per, 'g', -1, 64)}
	case c.utc && v.Kind == String:
		if s := v.words(); !strings.HasSuffix(s, "Z") {
			v = StringValue(s + "Z")
		}
	}
	return columns[c.id].set(r.m, t, v)
}

func (r *presetReader) lossy(v Value) bool { return v.Kind < Object && losesText(v) }

// lastKey is the last name of a path.
func lastKey(path string) string {
	steps, err := parsePath(path)
	if err != nil {
		return path
	}
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].key != "" {
			return steps[i].key
		}
	}
	return path
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
