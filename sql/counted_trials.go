package sql

import (
	"context"
	"slices"
)

// trialIs is what a row of trials counts as.
type trialIs uint8

const (
	leftOut trialIs = iota // by the condition
	failed
	passed
	ungraded
	cached
)

// tallyTrials counts single trials of which the condition holds, as DuckDB would for
// the view trials: runs that can hold one twice, and prices, are left to it.
func (s *Session) tallyTrials(ctx context.Context, t *tally) error {
	for run := range s.have.overlaps {
		if t.spec.Runs == nil || t.spec.Runs[run] {
			return errUncounted
		}
	}
	if s.side.prices {
		return errUncounted
	}
	batches := newInterner()
	gone := s.goneRows(batches)
	err := eachGroup(ctx, s.filesWith(s.have.trials, t.spec.Runs), s.decoders(), func(r *groupReader) (*countGroup, error) {
		return trialGroup(r, t.spec)
	}, func(g *countGroup) error {
		return t.eachSegment(g, batches, func(keys []int32, batch int32, tasks *taskCodes, from, to int) error {
			run := t.runKey(keys)
			if t.spec.Runs != nil && !t.spec.Runs[run] || gone != nil && gone(batch, run) {
				return nil
			}
			return t.addTrials(g, keys, tasks, from, to)
		})
	})
	if err != nil {
		return err
	}
	return t.leave()
}

// trialGroup decodes what is counted of a row group of trials.
func trialGroup(r *groupReader, spec CountSpec) (*countGroup, error) {
	truth := spec.Where.truths(r)
	if r.err != nil || !slices.Contains(truth, yes) {
		return &countGroup{}, r.err
	}
	g := countGroups.Get().(*countGroup)
	*g = countGroup{rows: r.rows, keys: r.keys(spec.Settings), what: resized(g.what, r.rows), nano: g.nano, cost: g.cost}
	verdict, cache := r.column("passed", false), r.column("cached", false)
	g.runAt = r.times("run_at")
	r.nanos("cost_usd", g)
	if r.err != nil {
		return nil, r.err
	}
	noCache, plain := cache.alike()
	plain = plain && noCache == noValue
	for row := range g.what {
		g.what[row] = leftOut
		if at(truth, row) != yes {
			continue
		}
		is := ungraded
		if v, ok := verdict.number(row); ok {
			is = failed + trialIs(v&1)
		}
		if !plain {
			if v, ok := cache.number(row); ok && v != 0 {
				is = cached
			}
		}
		g.what[row] = is
	}
	return g, nil
}

// trialSum are the counts of a task in the run that is being read.
type trialSum struct {
	n, c, ungraded, cached int64
	costN, nano            int64
	runAt                  int64
	seen, priced           bool
}

// addTrials counts rows of one run of trials.
func (t *tally) addTrials(g *countGroup, keys []int32, tasks *taskCodes, from, to int) error {
	what := g.what[from:to]
	first := slices.IndexFunc(what, func(is trialIs) bool { return is != leftOut })
	if first < 0 {
		return nil
	}
	if err := t.enterTrials(keys); err != nil {
		return err
	}
	for i := first; i < len(what); i++ {
		is, row := what[i], from+i
		if is == leftOut {
			continue
		}
		task := tasks.number(t, keys[inSuite], row)
		sum := t.sum(task)
		if runAt := at(g.runAt, row); !sum.seen || runAt < sum.runAt {
			sum.runAt = runAt
		}
		if !sum.seen {
			sum.seen = true
			t.touched = append(t.touched, task)
		}
		switch is {
		case cached:
			sum.cached++
			continue
		case passed:
			sum.c++
		case ungraded:
			sum.ungraded++
		}
		sum.n++
		switch at(g.cost, row) {
		case countable:
			if !addTo(&sum.nano, at(g.nano, row)) {
				return errUncounted
			}
			sum.priced = true
			fallthrough
		case odd:
			sum.costN++
		}
	}
	return nil
}

// addTo adds n to sum, unless it does not fit.
func addTo(sum *int64, n int64) bool {
	after := *sum + n
	if (after > *sum) != (n > 0) && n != 0 {
		return false
	}
	*sum = after
	return true
}

// sum are the counts of a task in the current run.
func (t *tally) sum(task int32) *trialSum {
	if int(task) >= len(t.sums) {
		t.sums = append(t.sums, make([]trialSum, int(task)+1-len(t.sums)+len(t.sums)/2)...)
	}
	return &t.sums[task]
}

// enterTrials begins a run or goes on with it. A trial without a rule or a score has none
// that differs from that of its run.
func (t *tally) enterTrials(keys []int32) error {
	if t.current != nil && t.agree(t.current.keys, keys) {
		return nil
	}
	if err := t.leave(); err != nil {
		return err
	}
	return t.enter(keys)
}

// agree says whether keys are of the run that has the keys run, which may learn its rule.
func (t *tally) agree(run, keys []int32) bool {
	for i := range run {
		if i == inTask || run[i] == keys[i] {
			continue
		}
		if !t.mayLack(i) || run[i] != 0 && keys[i] != 0 {
			return false
		}
	}
	for i := range run {
		if run[i] == 0 && i != inTask && t.mayLack(i) {
			run[i] = keys[i]
		}
	}
	return true
}

// mayLack says that a key is of graded trials only.
func (t *tally) mayLack(key int) bool {
	if key < inSettings {
		return false
	}
	name := t.spec.Settings[key-inSettings]
	return name == "pass_rule" || name == "score_name"
}

// leave counts the tasks of the run that was read.
func (t *tally) leave() error {
	for _, task := range t.touched {
		if err := t.countSum(task, &t.sums[task]); err != nil {
			return err
		}
		t.sums[task] = trialSum{}
	}
	t.touched = t.touched[:0]
	return nil
}

// countSum counts a task of the current run, and logs it for CountClasses.
func (t *tally) countSum(task int32, sum *trialSum) error {
	row := tallyRow{n: sum.n, c: sum.c, ungraded: sum.ungraded, cached: sum.cached, runAt: sum.runAt, nano: sum.nano, priced: sum.priced, costN: sum.costN}
	if err := t.count(task, row); err != nil || t.log == nil {
		return err
	}
	code, _ := t.code(row) // which it has by now
	return t.log.add(t.number-1, task, code, row)
}
