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
	g := r.group()
	g.keys = r.keys(spec.Settings)
	verdict, cached, cost, began := r.column("passed", false), r.column("cached", false), r.column("cost_usd", false), r.column("run_at", true)
	if r.err == nil && !r.micros("run_at") {
		r.err = errUncounted
	}
	if r.err != nil {
		return nil, r.err
	}
	if len(truth) == 1 {
		truth = slices.Repeat(truth, r.rows)
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
	small := f.amounts(g, cost)
	f.plain = small && f.verdict.codes != nil && f.cost.codes != nil && f.cached.sole && !f.isCached[f.cached.one+1]
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
	plain                       bool // nothing is cached or odd, and no sum too large
}

// smallNano is an amount of which a row group's can be added up without a look.
const smallNano = (1 << 62) / mostRows

// amounts takes the money once for each value of the column. It says whether all of it is
// countable and small.
func (f *folder) amounts(g *countGroup, cost *column) bool {
	g.nano = resized(g.nano, cost.size())
	least, most := int64(0), int64(0)
	for i, bits := range cost.nums {
		n, ok := nano(floatOf(bits))
		if g.nano[i] = n; ok {
			least, most = min(least, n), max(most, n)
			continue
		}
		if f.odd == nil {
			f.odd = make([]bool, cost.size())
		}
		f.odd[i] = true
	}
	f.nano = g.nano
	return f.odd == nil && least > -smallNano && most < smallNano
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
	cut, task, truth := g.cut, f.task.codes, f.truth
	span, spans := 0, f.began.spans
	for from := 0; from < len(cut); {
		to := from + 1
		if task != nil {
			for code := task[from]; to < len(cut) && !cut[to] && task[to] == code; to++ {
			}
		} else {
			for ; f.task.sole && to < len(cut) && !cut[to]; to++ {
			}
		}
		first := slices.Index(truth[from:to], yes)
		if first < 0 {
			from = to
			continue
		}
		from += first
		g.folds = append(g.folds, trialFold{row: int32(from)})
		into := &g.folds[len(g.folds)-1].tallyRow
		if len(spans) > 0 {
			for span+1 < len(spans) && int(spans[span+1].start) <= from {
				span++
			}
			if spans[span].code == noValue {
				return false
			}
			into.runAt = int64(f.began.nums[spans[span].code])
		} else if !f.first(from, to, into) {
			return false
		}
		if f.plain {
			f.add(from, to, into)
		} else if !f.addEach(from, to, into) {
			return false
		}
		from = to
	}
	return true
}

// first takes the earliest time of rows that have one each; false: some have none.
func (f *folder) first(from, to int, into *tallyRow) bool {
	into.runAt = math.MaxInt64
	times := byRow(f.began)
	for row := from; row < to; row++ {
		if f.truth[row] != yes {
			continue
		}
		code := times.at(row)
		if code == noValue {
			return false
		}
		into.runAt = min(into.runAt, int64(f.began.nums[code]))
	}
	return true
}

// add is addEach where the folder is plain.
func (f *folder) add(from, to int, into *tallyRow) {
	verdict, cost := f.verdict.codes[from:to], f.cost.codes[from:to]
	passes, ungraded, nano := f.passes, f.ungraded, f.nano
	var sum tallyRow
	for i, is := range f.truth[from:to] {
		if is != yes {
			continue
		}
		v := verdict[i] + 1
		sum.n++
		sum.c += passes[v]
		sum.ungraded += ungraded[v]
		if code := cost[i]; code != noValue {
			sum.costN++
			sum.nano += nano[code]
		}
	}
	into.n, into.c, into.ungraded = sum.n, sum.c, sum.ungraded
	into.costN, into.nano, into.priced = sum.costN, sum.nano, sum.costN > 0
}

// addEach adds the chosen ones of rows of one task, unless they do not fit.
func (f *folder) addEach(from, to int, into *tallyRow) bool {
	for row := from; row < to; row++ {
		if f.truth[row] != yes {
			continue
		}
		if f.isCached[f.cached.at(row)+1] {
			into.cached++
			continue
		}
		verdict := f.verdict.at(row) + 1
		into.n++
		into.c += f.passes[verdict]
		into.ungraded += f.ungraded[verdict]
		if code := f.cost.at(row); code != noValue && !f.pay(into, code) {
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
