package sql

import (
	"context"
	"slices"

	"passhat/ingest/store"
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
	seen := map[store.RunKey]bool{}
	t.parked = map[store.RunKey][]parkedSum{}
	s.have.runs(func(_ *store.Record, run store.RunKey) {
		if seen[run] && (t.spec.Runs == nil || t.spec.Runs[run]) {
			t.parked[run] = nil
		}
		seen[run] = true
	})
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
	return t.unpark()
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

// parkedSum are those of a run of which more comes in another batch.
type parkedSum struct {
	task int32
	sum  trialSum
}

// mostParked is how many tasks of such runs are held.
const mostParked = 2_000_000

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
	run := t.runKey(keys)
	at, known := t.runOf[[2]int32{keys[inSuite], keys[inRun]}]
	if !known {
		return t.enter(keys)
	}
	held, more := t.parked[run]
	if !more || !t.agree(t.runs[at].keys, keys) {
		return errUncounted
	}
	t.current, t.number = t.runs[at], at+1
	for _, p := range held {
		*t.sum(p.task) = p.sum
		t.touched = append(t.touched, p.task)
	}
	t.held -= len(held)
	t.parked[run] = held[:0]
	return nil
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

// leave counts the tasks of the run that was read, or parks them.
func (t *tally) leave() error {
	run := t.current
	if run == nil || len(t.touched) == 0 {
		return nil
	}
	key := t.runKey(run.keys)
	held, more := t.parked[key]
	if t.held += len(t.touched); more && t.held > mostParked {
		return errUncounted
	}
	for _, task := range t.touched {
		sum := &t.sums[task]
		if more {
			held = append(held, parkedSum{task, *sum})
		} else if err := t.countSum(task, sum); err != nil {
			return err
		}
		*sum = trialSum{}
	}
	if more {
		t.parked[key] = held
	} else {
		t.held -= len(t.touched)
	}
	t.touched = t.touched[:0]
	return nil
}

// unpark counts the runs that came in several batches.
func (t *tally) unpark() error {
	if err := t.leave(); err != nil {
		return err
	}
	for i, run := range t.runs {
		t.current, t.number = run, int32(i)+1
		for _, p := range t.parked[t.runKey(run.keys)] {
			if err := t.countSum(p.task, &p.sum); err != nil {
				return err
			}
		}
	}
	t.sums, t.parked = nil, nil
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
