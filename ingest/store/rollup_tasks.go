package store

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// taskCounts sums the tallies up per run and task; nil where they are more than
// are held in memory.
func (r *rollup) taskCounts() []TaskCount {
	if len(r.pieces) > 0 {
		return nil
	}
	out := make([]TaskCount, 0, len(r.order))
	var byTask []uint32
	for list := r.order; len(list) > 0; {
		n := 1
		for n < len(list) && r.sameRun(list[n], list[0]) {
			n++
		}
		run := list[:n]
		list = list[n:]
		less := func(a, b uint32) int {
			x, y := r.at(a).task, r.at(b).task
			if x == y {
				return 0
			}
			return cmp.Compare(r.texts[x], r.texts[y])
		}
		if !slices.IsSortedFunc(run, less) {
			byTask = append(byTask[:0], run...)
			slices.SortStableFunc(byTask, less)
			run = byTask
		}
		for len(run) > 0 {
			n := 1
			for n < len(run) && r.at(run[n]).task == r.at(run[0]).task {
				n++
			}
			out = append(out, r.taskCount(run[:n]))
			run = run[n:]
		}
	}
	return out
}

func (r *rollup) sameRun(a, b uint32) bool {
	i, j := r.at(a).key, r.at(b).key
	return i == j || r.keys[i].text[kSuite] == r.keys[j].text[kSuite] && r.keys[i].text[kRunID] == r.keys[j].text[kRunID]
}

// taskCount sums the tallies of one task in one run up. A report groups by
// model, agent and effort by default, so trials under two of them don't add up
// to a larger k.
func (r *rollup) taskCount(tallies []uint32) TaskCount {
	first := r.at(tallies[0])
	out := TaskCount{
		RunKey: RunKey{r.texts[r.keys[first.key].text[kSuite]], r.texts[r.keys[first.key].text[kRunID]]},
		TaskID: r.texts[first.task], Least: math.MaxInt64,
	}
	type plan struct {
		config             [3]uint32
		n, cached, planned int64
	}
	var backing [4]plan
	plans := backing[:0]
	for _, place := range tallies {
		t := r.at(place)
		k := &r.keys[t.key]
		out.Found += t.n
		out.Ungraded += t.ungraded
		config := [3]uint32{k.text[kModel], k.text[kAgent], k.text[kEffort]}
		i := slices.IndexFunc(plans, func(p plan) bool { return p.config == config })
		if i < 0 {
			i = len(plans)
			plans = append(plans, plan{config: config})
		}
		p := &plans[i]
		p.n, p.cached = p.n+t.n, p.cached+t.cached
		if k.has[kPlanned] {
			p.planned = max(p.planned, int64(k.nums[kPlanned]))
		}
	}
	for _, p := range plans {
		out.Least = min(out.Least, p.n)
		out.Planned += int32(p.planned)
		out.Missing += max(0, p.planned-p.n-p.cached)
	}
	return out
}

// rollFacts are what a batch tells of its groups, which see shows it one after the
// other in the order of their keys.
type rollFacts struct {
	// unruled counts the tallies of ungraded trials that were judged by no rule, and
	// ruled says whether others were: readers of task_runs put such tallies together.
	unruled int64
	ruled   bool

	partly [len(partlyColumns)]partlyNamed
	suite  string // of the run that is being seen
	run    string
}

// partlyNamed says of how many trials of runs the model, agent or effort is not
// known though others of their run have one: reports by it show them apart.
type partlyNamed struct {
	trials  int64
	example string

	without int64  // of the run
	named   string // of the run
}

var partlyColumns = [...]struct {
	name string
	at   int
}{{"model", kModel}, {"agent", kAgent}, {"effort", kEffort}}

func (f *rollFacts) see(k *rollKey, t *tally) {
	switch {
	case k.text[kPassRule] != "":
		f.ruled = true
	case t.ungraded > 0 && t.ungraded == t.n:
		f.unruled++
	}
	if k.text[kRunID] != f.run || k.text[kSuite] != f.suite {
		f.endRun()
		f.suite, f.run = k.text[kSuite], k.text[kRunID]
	}
	for i, c := range partlyColumns {
		if s := k.text[c.at]; s == "" {
			f.partly[i].without += t.n
		} else {
			f.partly[i].named = s
		}
	}
}

func (f *rollFacts) endRun() {
	for i := range f.partly {
		p := &f.partly[i]
		if p.without > 0 && p.named != "" {
			p.trials += p.without
			if p.example == "" {
				p.example = p.named
			}
		}
		p.without, p.named = 0, ""
	}
}

// shortName is a name of a log as a sentence quotes it.
func shortName(s string) string {
	const most = 60
	if r := []rune(s[:min(len(s), 4*most+4)]); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// notes are sentences about all that was seen.
func (f *rollFacts) notes() (notes []string) {
	f.endRun()
	for i, p := range f.partly {
		if c := partlyColumns[i].name; p.trials > 0 {
			notes = append(notes, fmt.Sprintf("%d trials have no %s though others of their run do (%s): reports by %s count them apart; --set %s=… puts it right",
				p.trials, c, shortName(p.example), c, c))
		}
	}
	return notes
}
