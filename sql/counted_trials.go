package sql

import "context"

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
	return eachGroup(ctx, s.filesWith(s.have.trials, t.spec.Runs), s.decoders(), func(r *groupReader) (*countGroup, error) {
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
}

// trialSum are the trials of a task in the run that is being read.
type trialSum struct {
	tallyRow
	task int32
}

// addTrials counts rows of one run of trials.
func (t *tally) addTrials(g *countGroup, keys []int32, tasks *taskCodes, from, to int) error {
	for g.next < len(g.folds) && int(g.folds[g.next].row) < from {
		g.next++
	}
	first := g.next
	for g.next < len(g.folds) && int(g.folds[g.next].row) < to {
		g.next++
	}
	if g.next == first {
		return nil
	}
	if err := t.enterTrials(keys); err != nil {
		return err
	}
	folds := g.folds[first:g.next]
	for i := range folds {
		f := &folds[i]
		task := tasks.number(t, keys[inSuite], int(f.row))
		if of := &t.tasks[task]; of.last != t.number {
			of.last = t.number
			if int(task) >= len(t.sumOf) {
				t.sumOf = append(t.sumOf, make([]int32, len(t.tasks)-len(t.sumOf)+len(t.sumOf)/2)...)
			}
			t.sumOf[task] = int32(len(t.sums))
			t.sums = append(t.sums, trialSum{f.tallyRow, task})
		} else if !t.sums[t.sumOf[task]].join(&f.tallyRow) {
			return errUncounted
		}
	}
	return nil
}

// join adds the counts of b, unless they do not fit.
func (a *tallyRow) join(b *tallyRow) bool {
	a.n, a.c, a.ungraded, a.cached, a.costN = a.n+b.n, a.c+b.c, a.ungraded+b.ungraded, a.cached+b.cached, a.costN+b.costN
	a.runAt = min(a.runAt, b.runAt)
	a.priced = a.priced || b.priced
	return addTo(&a.nano, b.nano)
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

// enterTrials begins a run or goes on with it. A trial without a rule or a score has none
// that differs from that of its run.
func (t *tally) enterTrials(keys []int32) error {
	if t.current != nil && t.agree(t.current.keys, keys) {
		return nil
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
	return ofGraded(t.spec.Settings[key-inSettings])
}

// ofGraded says that a column is of graded trials only.
func ofGraded(column string) bool { return column == "pass_rule" || column == "score_name" }
