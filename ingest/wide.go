package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

// wideFormat reads a matrix of verdicts: a row a task, a column a trial.
var wideFormat = Format{
	Name:    "wide",
	Doc:     "table of verdicts: a row a task, columns t1, t2, … its trials",
	Version: 1,
	Recognised: "a header line that names a task, no verdict, and two or more columns of one name and the numbers from 0 or 1 on " +
		"(t1, t2, …; trial_1, …; run 1, …; or just 1, 2, …)",
	Match: matchWide,
	Read:  readWide,
	Fields: []FieldDoc{
		{"trial", "the number in the heading", "from 0 on; columns that begin with 1 are counted from 0"},
		{"passed", "the cell", "1, pass, true, … or 0, fail, false, …; an empty cell is an ungraded trial"},
		{"score", "the cell", "another number, which needs --pass-when to become a verdict"},
		{"task_id, suite, model, shape, …", "every other column", "by the names of csv"},
	},
	Notes: []string{
		"An empty cell is a trial that is ungraded; trials that were never run are told from it only by leaving their column out of the file.",
		"A cell that is neither a verdict nor a number rejects that trial, not its row.",
		"Order, time, cost and tokens of single trials have no place in such a table.",
	},
}

// wideColumns finds the columns of trials: those of one name and consecutive
// numbers from 0 or 1 on. first is the number of the first.
func wideColumns(names []string) (at []int, first int) {
	groups := map[string][]int{} // places by the name before the number
	for i, n := range names {
		stem, _, ok := wideName(n)
		if ok {
			groups[stem] = append(groups[stem], i)
		}
	}
	for _, places := range groups {
		if len(places) < 2 || len(places) <= len(at) {
			continue
		}
		_, from, _ := wideName(names[places[0]])
		good := from == 0 || from == 1
		for k, i := range places {
			_, n, _ := wideName(names[i])
			good = good && n == from+k
		}
		if good {
			at, first = places, from
		}
	}
	return at, first
}

var wideStems = map[string]bool{"": true, "t": true, "trial": true, "run": true, "rep": true, "repeat": true, "repetition": true, "attempt": true,
	"r": true, "sample": true, "epoch": true, "s": true, "try": true, "seed": true, "pass": true, "passed": true, "result": true}

func wideName(name string) (stem string, n int, ok bool) {
	norm := normalName(name)
	stem = strings.TrimRight(norm, "0123456789")
	n, err := strconv.Atoi(norm[len(stem):])
	return stem, n, err == nil && n < maxCSVColumns && wideStems[stem]
}

func matchWide(p *Probe) Match {
	v := p.view()
	if v.forms&inTable == 0 {
		return NoMatch
	}
	names := fieldNames(v.rows[0])
	at, _ := wideColumns(names)
	if task, graded := p.isTrialRow(v.rows[0]); len(at) == 0 || !task || graded && !p.NamedVerdict {
		return NoMatch
	}
	return Specific
}

// wideReader turns the columns of trials into a list of trials, which the
// Mapper knows how to read.
type wideReader struct {
	m     *Mapper
	names []string
	at    []int
	shape *Shape
	vals  []Value
	list  []byte
}

func readWide(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		if err := streamWide(ctx, in, opt, yield); err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

func streamWide(ctx context.Context, in *Input, opt *Options, yield func(*store.Trial, error) bool) error {
	s, names, closeAll, err := openCSV(in, 0)
	if err != nil {
		return err
	}
	defer closeAll()
	r := &wideReader{names: names}
	if r.at, _ = wideColumns(names); len(r.at) == 0 {
		return fmt.Errorf("%s: no columns of trials: wanted two or more such as t1, t2; found %s", in.Name, fieldList(names))
	}
	if r.m, err = NewMapper(in, mapHeadings(opt, names)); err != nil {
		return err
	}
	var rest []string
	for i, n := range names {
		if !r.isTrial(i) {
			rest = append(rest, n)
		}
	}
	r.shape = r.m.Shape(append(rest, "trials"))
	s.columns, s.final = len(names), true
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		cells, err := s.next()
		var bad *csvError
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &bad):
			r.m.reject(int64(bad.line), "", bad.reason, s.kept(bad.raw))
		case err != nil:
			return err
		case len(cells) != len(names):
			r.m.reject(int64(s.recLine), "", fmt.Sprintf("found %d cells where the header has %d columns", len(cells), len(names)), s.kept(s.raw))
		default:
			rejects := len(r.m.Rejects)
			r.row(cells, int64(s.recLine), s.raw)
			s.hide(r.m.Rejects[rejects:])
		}
		if !r.m.Drain(yield) {
			return errStopped
		}
	}
}

func (r *wideReader) isTrial(i int) bool {
	for _, at := range r.at {
		if at == i {
			return true
		}
	}
	return false
}

func (r *wideReader) row(cells [][]byte, line int64, raw []byte) {
	r.vals, r.list = r.vals[:0], append(r.list[:0], '[')
	trial := 0
	for i, cell := range cells {
		if !r.isTrial(i) {
			r.vals = append(r.vals, csvValue(cell))
			continue
		}
		if trial > 0 {
			r.list = append(r.list, ',')
		}
		r.list = append(appendJSONInt(append(r.list, `{"trial":`...), int64(trial)), r.cell(cell)...)
		trial++
	}
	r.list = append(r.list, ']')
	r.vals = append(r.vals, Value{Kind: Array, Text: r.list})
	r.m.Row(r.shape, r.vals, line, "", raw)
}

// cell is the rest of a trial's object: its verdict or score.
func (r *wideReader) cell(cell []byte) []byte {
	v := csvValue(cell)
	text := trimSpace(cell)
	if b, ok := v.boolean(); ok {
		return append(strconv.AppendBool([]byte(`,"passed":`), b), '}')
	}
	if n, ok := v.float(); ok && len(text) > 0 {
		if n-n != 0 {
			return []byte("}")
		}
		return append(appendJSONFloat([]byte(`,"score":`), n, 64), '}')
	}
	if len(text) == 0 || v.empty() || hasSuffix(string(text), "null", "none", "nan", "n/a", "na", "-") && len(text) <= 4 {
		return []byte("}")
	}
	return append(appendQuoted([]byte(`,"passed":`), text), '}')
}
