package sql

// NumberedFigures are what stands over every result, of the tasks that NumberedTasks has.
// A task counts once, whatever the number of groups that have it.
type NumberedFigures struct {
	Tasks, Trials, Ungraded int64
	// UngradedTasks have trials without a verdict, EmptyTasks no trial that counts.
	UngradedTasks, EmptyTasks int64
	Cached, Missing           int64
	// MinN and MaxN are the fewest and the most trials of a task in a run that has some.
	MinN, MaxN int64
	// NotEveryRun are not in every run of their groups, NotCommon not in every group of their suite.
	NotEveryRun, NotCommon int64
	Suites                 int64
}

// Figures adds up what PlaceRuns placed; false where it has no tasks by group.
func (s *Session) Figures() (f NumberedFigures, known bool) {
	n := s.numbers
	if n == nil || n.tasks == nil {
		return f, false
	}
	type suiteGroup struct{ suite, group int32 }
	seen, groups := map[suiteGroup]bool{}, map[int32]int32{} // groups of a suite
	for i, span := range n.spans {
		f.Cached, f.Missing = f.Cached+span.cached, f.Missing+span.missing
		at := suiteGroup{n.runs[i].keys[inSuite], span.groupNo}
		if !seen[at] {
			seen[at] = true
			groups[at.suite]++
		}
	}
	suites := map[int32]bool{}
	for i, task := range n.tally.tasks {
		if n.addFigures(&f, i, groups[task.suite]) {
			suites[task.suite] = true
		}
	}
	f.Suites = int64(len(suites))
	return f, true
}

// addFigures adds a task of a suite that so many groups have; false where none has the task.
func (n *numbers) addFigures(f *NumberedFigures, task int, groups int32) bool {
	var have int32
	var least, most, ungraded int64
	every := true
	for i := task; i < len(n.tasks); i += len(n.tally.tasks) {
		x := &n.tasks[i]
		if !x.found {
			continue
		}
		have++
		f.Trials, ungraded = f.Trials+x.trials, ungraded+x.ungraded
		if x.runs > 0 && (least == 0 || x.least < least) {
			least = x.least
		}
		most, every = max(most, x.most), every && x.inEveryRun
	}
	if have == 0 {
		return false
	}
	f.Tasks++
	f.Ungraded += ungraded
	if least > 0 && (f.MinN == 0 || least < f.MinN) {
		f.MinN = least
	}
	f.MaxN = max(f.MaxN, most)
	for _, is := range []struct {
		so bool
		in *int64
	}{{ungraded > 0, &f.UngradedTasks}, {most == 0, &f.EmptyTasks}, {!every, &f.NotEveryRun}, {have < groups, &f.NotCommon}} {
		if is.so {
			*is.in++
		}
	}
	return true
}
