package reports_test

import (
	"strings"
	"testing"

	"passhat/ingest/store"
	"passhat/sql"
)

// uneven is a history with trials that lack a verdict, are missing or planned, and
// a task that one run does not have; groups by effort share all tasks.
func uneven() []store.Trial {
	var out []store.Trial
	for i, t := range made(4800) {
		run, task, trial := i/800, i/8%100, i%8
		if run == 2 && task == 7 || run < 2 && task == 9 && trial > 4 {
			continue
		}
		if i%37 == 0 {
			t.Passed = store.Opt[bool]{}
		}
		t.PlannedTrials = store.Some(int32(8))
		out = append(out, t)
	}
	return out
}

// The short road of report passk gives what the long one does, which --tasks
// common takes without leaving out a task here: one that a run lacks is left out
// where groups are runs.
func TestShortRoad(t *testing.T) {
	s := openHistory(t, uneven(), sql.Config{})
	for _, words := range [][]string{
		{"runs=all", "by=effort"},
		{"runs=all", "by=none"},
		{"runs=all", "by=run_id", "where=task_id <> 'task-007'"},
		{"runs=all", "where=task_id <> 'task-007'"},
		{"runs=2", "by=suite,effort"},
		{},
		{"runs=all", "by=effort", "policy=exclude"},
		{"runs=all", "by=effort", "policy=bounds"},
		{"runs=all", "by=effort", "where=turns >= 3"},
		{"runs=all", "by=run_id", "where=turns >= 3 AND task_id <> 'task-007'"},
		{"runs=all", "by=effort", "where=task_id < 'task-050'"},
		{"runs=all", "by=effort", "interval=bootstrap", "resamples=50"},
	} {
		t.Run(strings.Join(words, " "), func(t *testing.T) {
			long := run(t, s, "passk", append(words, "k=1,3,5", "tasks=common")...)
			short := run(t, s, "passk", append(words, "k=1,3,5")...)
			if len(long.Sections) == 0 || long.Stamp.Tasks == 0 {
				t.Fatal("there is nothing to compare")
			}
			if a, b := render(t, long, "csv"), render(t, short, "csv"); a != b {
				t.Errorf("the short road gives\n%s\nand the long one\n%s", b, a)
			}
			for _, f := range []struct {
				what        string
				short, long int64
			}{
				{"tasks", short.Stamp.Tasks, long.Stamp.Tasks}, {"trials", short.Stamp.Trials, long.Stamp.Trials},
				{"ungraded", short.Stamp.Ungraded, long.Stamp.Ungraded}, {"tasks with ungraded ones", short.Stamp.UngradedTasks, long.Stamp.UngradedTasks},
				{"sources", int64(len(short.Stamp.Sources)), int64(len(long.Stamp.Sources))},
			} {
				if f.short != f.long {
					t.Errorf("%s: %d on the short road, %d on the long one", f.what, f.short, f.long)
				}
			}
		})
	}
}
