package sql

import (
	"math"
	"slices"
)

// trialFold are chosen trials of a task in a run that lie one after the other, from row on.
type trialFold struct {
	tallyRow
	row int32
}

// trialGroup decodes what is counted of a row group of trials.
func trialGroup(r *groupReader, spec CountSpec) (*countGroup, error) {
	truth := spec.Where.truths(r)
	if r.err != nil || !slices.Contains(truth, yes) {
		return &countGroup{}, r.err
	}
	g := countGroups.Get().(*countGroup)
	*g = countGroup{rows: r.rows, keys: r.keys(spec.Settings), folds: g.folds[:0], nano: g.nano, cost: g.cost, cut: g.cut}
	verdict, cached, cost, began := r.column("passed", false), r.column("cached", false), r.column("cost_usd", false), r.column("run_at", true)
	if r.err == nil && !r.micros("run_at") {
		r.err = errUncounted
	}
	if r.err != nil {
		return nil, r.err
	}
	f := &folder{truth: truth, task: byRow(g.keys[inTask]), verdict: byRow(verdict), cached: byRow(cached), cost: byRow(cost), began: began}
	f.passes, f.ungraded = make([]int64, verdict.size()+1), make([]int64, verdict.size()+1)
	f.ungraded[0] = 1
	for i, v := range verdict.nums {
		f.passes[1+i] = int64(v & 1)
	}
	f.isCached = make([]bool, cached.size()+1)
	for i, v := range cached.nums {
		f.isCached[1+i] = v != 0
	}
	f.amounts(g, cost)
	g.cutAt(began, r.rows)
	if !f.fold(g) {
		return nil, errUncounted
	}
	return g, nil
}

// rowCodes are the codes of a column by row.
type rowCodes struct {
	codes []int32
	sole  bool // all rows have the code one
	one   int32
}

func byRow(c *column) rowCodes {
	one, sole := c.alike()
	return rowCodes{c.codes, sole, one}
}

func (c *rowCodes) at(row int) int32 {
	if c.codes != nil {
		return c.codes[row]
	}
	if c.sole {
		return c.one
	}
	return int32(row)
}

// folder makes folds of the rows of a group.
type folder struct {
	truth                       []int8
	task, verdict, cached, cost rowCodes
	passes, ungraded            []int64 // by one plus the code of the verdict: 0 or 1
	isCached                    []bool  // by one plus the code
	nano                        []int64 // by code of the cost
	odd                         []bool  // what cannot be counted; nil: all can
	began                       *column
}

// amounts takes the money once for each value of the column.
func (f *folder) amounts(g *countGroup, cost *column) {
	g.nano = resized(g.nano, cost.size())
	for i, bits := range cost.nums {
		n, ok := nano(floatOf(bits))
		if g.nano[i] = n; ok {
			continue
		}
		if f.odd == nil {
			f.odd = make([]bool, cost.size())
		}
		f.odd[i] = true
	}
	f.nano = g.nano
}

// cutAt marks the rows at which a key or the time may change, the task aside.
func (g *countGroup) cutAt(began *column, rows int) {
	g.cut = resized(g.cut, rows)
	clear(g.cut)
	mark := func(c *column) {
		switch {
		case c.codes != nil:
			for row := 1; row < rows; row++ {
				g.cut[row] = g.cut[row] || c.codes[row] != c.codes[row-1]
			}
		case len(c.spans) > 0:
			for _, s := range c.spans {
				g.cut[s.start] = true
			}
		default:
			for row := range g.cut {
				g.cut[row] = true
			}
		}
	}
	for i, c := range g.keys {
		if i != inTask {
			mark(c)
		}
	}
	if len(began.spans) > 0 {
		mark(began)
	}
}

// fold adds up the rows that are chosen; false: what they hold cannot be counted.
func (f *folder) fold(g *countGroup) bool {
	var now *trialFold
	var task int32
	times := byRow(f.began)
	span, spans := 0, f.began.spans
	plain := f.cached.sole && !f.isCached[f.cached.one+1]
	for row, cut := range g.cut {
		if cut {
			now = nil
		}
		if at(f.truth, row) != yes {
			continue
		}
		if code := f.task.at(row); now == nil || code != task {
			g.folds = append(g.folds, trialFold{row: int32(row), tallyRow: tallyRow{runAt: math.MaxInt64}})
			now, task = &g.folds[len(g.folds)-1], code
			for span+1 < len(spans) && int(spans[span+1].start) <= row {
				span++
			}
		}
		when := int32(0)
		if len(spans) > 0 {
			when = spans[span].code
		} else {
			when = times.at(row)
		}
		if when == noValue {
			return false
		}
		now.runAt = min(now.runAt, int64(f.began.nums[when]))
		if !plain && f.isCached[f.cached.at(row)+1] {
			now.cached++
			continue
		}
		verdict := f.verdict.at(row) + 1
		now.n++
		now.c += f.passes[verdict]
		now.ungraded += f.ungraded[verdict]
		if code := f.cost.at(row); code != noValue && !f.pay(&now.tallyRow, code) {
			return false
		}
	}
	return true
}

// pay adds an amount, unless it does not fit.
func (f *folder) pay(to *tallyRow, code int32) bool {
	to.costN++
	if f.odd != nil && f.odd[code] {
		return true
	}
	to.priced = true
	return addTo(&to.nano, f.nano[code])
}
