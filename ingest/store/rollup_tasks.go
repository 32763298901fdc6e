package store

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// eachRun calls f with the tallies of one run after the other.
func (r *rollup) eachRun(f func(run RunKey, tallies []*tally)) {
	for list := r.list; len(list) > 0; {
		first, n := list[0], 1
		for n < len(list) && list[n].text[kSuite] == first.text[kSuite] && list[n].text[kRunID] == first.text[kRunID] {
			n++
		}
		f(r.runOf(first), list[:n])
		list = list[n:]
	}
}

// taskCounts sums the tallies up per run and task.
func (r *rollup) taskCounts() []TaskCount {
	out := make([]TaskCount, 0, len(r.list))
	var byTask []*tally
	r.eachRun(func(run RunKey, tallies []*tally) {
		less := func(a, b *tally) int { return cmp.Compare(a.text[kTaskID], b.text[kTaskID]) }
		if !slices.IsSortedFunc(tallies, less) {
			byTask = append(byTask[:0], tallies...)
			slices.SortStableFunc(byTask, less)
			tallies = byTask
		}
		for len(tallies) > 0 {
			n := 1
			for n < len(tallies) && tallies[n].text[kTaskID] == tallies[0].text[kTaskID] {
				n++
			}
			out = append(out, r.taskCount(run, tallies[:n]))
			tallies = tallies[n:]
		}
	})
	return out
}

// taskCount sums the tallies of one task in one run up. A report groups by
// model, agent and effort by default, so trials under two of them don't add up
// to a larger k.
func (r *rollup) taskCount(run RunKey, tallies []*tally) TaskCount {
	out := TaskCount{RunKey: run, TaskID: r.texts[tallies[0].text[kTaskID]], Least: math.MaxInt64}
	type plan struct {
		config             [3]uint32
		n, cached, planned int64
	}
	var backing [4]plan
	plans := backing[:0]
	for _, t := range tallies {
		out.Found += t.n
		out.Ungraded += t.ungraded
		config := [3]uint32{t.text[kModel], t.text[kAgent], t.text[kEffort]}
		i := slices.IndexFunc(plans, func(p plan) bool { return p.config == config })
		if i < 0 {
			i = len(plans)
			plans = append(plans, plan{config: config})
		}
		p := &plans[i]
		p.n, p.cached = p.n+t.n, p.cached+t.cached
		if t.has[kPlanned] {
			p.planned = max(p.planned, int64(t.nums[kPlanned]))
		}
	}
	for _, p := range plans {
		out.Least = min(out.Least, p.n)
		out.Planned += int32(p.planned)
		out.Missing += max(0, p.planned-p.n-p.cached)
	}
	return out
}

// rules counts the tallies of ungraded trials that were judged by no rule, and says
// whether others were: readers of task_runs put such tallies together.
func (r *rollup) rules() (unruled int64, ruled bool) {
	for _, t := range r.list {
		switch {
		case t.text[kPassRule] != 0:
			ruled = true
		case t.ungraded > 0 && t.ungraded == t.n:
			unruled++
		}
	}
	return unruled, ruled
}

// partlyNamed says of which runs some trials lack the model, agent or effort
// that the others have: reports by it show them apart.
func (r *rollup) partlyNamed() (notes []string) {
	for _, c := range []struct {
		name string
		at   int
	}{{"model", kModel}, {"agent", kAgent}, {"effort", kEffort}} {
		var trials int64
		example := ""
		r.eachRun(func(_ RunKey, tallies []*tally) {
			without, named := int64(0), uint32(0)
			for _, t := range tallies {
				if id := t.text[c.at]; id == 0 {
					without += t.n
				} else {
					named = id
				}
			}
			if without > 0 && named > 0 {
				trials += without
				if example == "" {
					example = r.texts[named]
				}
			}
		})
		if trials > 0 {
			notes = append(notes, fmt.Sprintf("%d trials have no %s though others of their run do (%s): reports by %s count them apart; --set %s=… puts it right",
				trials, c.name, example, c.name, c.name))
		}
	}
	return notes
}
