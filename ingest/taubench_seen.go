package ingest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

// tauSeen keeps which trials of which tasks a file has.
type tauSeen struct {
	tasks  map[string]map[int32]int // times, by task and trial
	trials map[int32]bool
	n      int
}

func (s *tauSeen) add(t *store.Trial) {
	if !t.Trial.OK || s.n >= maxRuns {
		return
	}
	if s.tasks == nil {
		s.tasks, s.trials = map[string]map[int32]int{}, map[int32]bool{}
	}
	s.n++
	if s.tasks[t.TaskID] == nil {
		s.tasks[t.TaskID] = map[int32]int{}
	}
	s.tasks[t.TaskID][t.Trial.V]++
	s.trials[t.Trial.V] = true
}

// notes says what is missing or double, compared with the file's other tasks
// and with the range of tasks in its name.
func (r *tauReader) notes() {
	s := &r.seen
	var short, twice []string
	lacking := 0
	for _, task := range s.order() {
		if n := len(s.tasks[task]); n < len(s.trials) {
			lacking++
			short = append(short, fmt.Sprintf("%s (%d)", task, n))
		}
		for trial, n := range s.tasks[task] {
			if n > 1 {
				twice = append(twice, fmt.Sprintf("task %s, trial %d", task, trial))
			}
		}
	}
	if lacking > 0 {
		r.in.Note("%s with fewer than the %d trials that the file has of others: %s; tau-bench itself takes missing trials as failed",
			plural(int64(lacking), "task"), len(s.trials), strings.Join(firstFew(short), ", "))
	}
	if len(twice) > 0 {
		slices.Sort(twice)
		r.in.Note("more than one row of the same task and trial, all counted as tau-bench does: %s", strings.Join(firstFew(twice), ", "))
	}
	m := tauName.FindStringSubmatch(r.in.Stem)
	if m == nil || s.tasks == nil {
		return
	}
	from, err1 := strconv.Atoi(m[4])
	to, err2 := strconv.Atoi(m[5])
	if err1 != nil || err2 != nil || from < 0 || to <= from || to-from > 100_000 {
		return // -1 is the end of a list that the file does not have
	}
	var absent []string
	for i := from; i < to; i++ {
		if s.tasks[strconv.Itoa(i)] == nil {
			absent = append(absent, strconv.Itoa(i))
		}
	}
	if len(absent) > 0 {
		r.in.Note("%d of the %d tasks of range %d-%d in the file's name are absent: %s", len(absent), to-from, from, to, strings.Join(firstFew(absent), ", "))
	}
}

// order is the tasks, numbers by size.
func (s *tauSeen) order() []string {
	names := make([]string, 0, len(s.tasks))
	for name := range s.tasks {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})
	return names
}
