package sql

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Tests lower these two.
var (
	// mostDense is how many numbers of runs, of 4 bytes, are counted at once.
	mostDense = 24_000_000
	// mostTable is up to how many cells of a run are counted in a table.
	mostTable = 1 << 16
)

// mostKindPasses is how often the log may be gone through for the kinds of tasks.
const mostKindPasses = 32

// kindStep is for how many tasks, of one place after the other, runs are counted at once.
func (t *tally) kindStep() int { return max(mostDense/max(len(t.codes), 1), 1) }

// kindPasses is how often the log is gone through for the kinds of tasks.
func (t *tally) kindPasses() int {
	return (t.placeCount()*len(t.tasks) + t.kindStep() - 1) / t.kindStep()
}

// mostPlaced is the number of tasks of places, of which CountClasses holds 4 bytes each.
const mostPlaced = 32_000_000

// tooMany says whether there are too many tasks of places to count their kinds, if they are kept for that.
func (t *tally) tooMany() bool {
	return t.kept != nil && (t.kindPasses() > mostKindPasses || t.placeCount()*len(t.tasks) > mostPlaced)
}

func (t *tally) placeCount() int { return max(len(t.places), 1) }

// eachKind calls use for every place and task, and counts with the number of runs that
// have them.
func (t *tally) eachKind(use func(place, task int32, counts tallyKey, runs int64) error) error {
	all, step, codes := t.placeCount()*len(t.tasks), t.kindStep(), len(t.codes)
	runs := make([]uint32, min(all, step)*codes)
	for from := 0; from < all; from += step {
		to := min(from+step, all)
		clear(runs)
		err := t.kept.each(func(run int32, tasks []int32, ofTask []uint16) error {
			first := int(t.runs[run].place) * len(t.tasks)
			if first >= to || first+len(t.tasks) <= from {
				return nil
			}
			for i, task := range tasks {
				if at := first + int(task) - from; at >= 0 && at < to-from {
					runs[at*codes+int(ofTask[i])]++
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		for at := range to - from {
			for code, n := range runs[at*codes : (at+1)*codes] {
				if n == 0 {
					continue
				}
				place, task := (from+at)/len(t.tasks), (from+at)%len(t.tasks)
				if err := use(int32(place), int32(task), t.codes[code], int64(n)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// eachKindRow adds the rows of counted_kinds.
func (t *tally) eachKindRow(add addRow) error {
	taskNo := t.taskNumbers()
	return t.eachKind(func(place, task int32, counts tallyKey, runs int64) error {
		return add(place, taskNo[task], counts.n, counts.c, counts.ungraded, runs)
	})
}

// CountClasses fills passhat_store.counted_cells once more, for the runs of the last
// CountRuns, whose counts are forgotten then, by a class of the tasks of each place; tasks that class lacks are left out, and
// so is the money.
func (s *Session) CountClasses(ctx context.Context, class map[PlacedTask]int32) error {
	t := s.counted
	if t == nil {
		return fmt.Errorf("count trials per task by class: nothing was counted before")
	}
	err := s.Exec(ctx, "DELETE FROM "+schema+".counted_cells")
	if err == nil {
		err = s.appendEach("counted_cells", func(add addRow) error { return t.eachClassCell(class, add) })
	}
	if err != nil {
		return fmt.Errorf("count trials per task by class: %w", err)
	}
	t.close()
	s.counted = nil
	return nil
}

// eachClassCell adds the rows of counted_cells by class.
func (t *tally) eachClassCell(class map[PlacedTask]int32, add addRow) error {
	inner := make([]int32, len(t.tasks)) // by rank
	for i, rank := range t.taskNumbers() {
		inner[rank] = int32(i)
	}
	classes, ofPlace := int32(0), make([][]int32, t.placeCount()) // by task, one plus the class
	for i := range ofPlace {
		ofPlace[i] = make([]int32, len(t.tasks))
	}
	for at, c := range class {
		ofPlace[at.Place][inner[at.Task]] = c + 1
		classes = max(classes, c+1)
	}
	runNo, codes := t.runNumbers(), int32(len(t.codes))
	var tally cellTally
	return t.kept.each(func(run int32, tasks []int32, ofTask []uint16) error {
		r := t.runs[run]
		of, runAt := ofPlace[r.place], time.UnixMicro(r.cells[0].runAt).UTC()
		tally.start(int(classes+1) * int(codes))
		for i, task := range tasks {
			tally.add(of[task]*codes + int32(ofTask[i]))
		}
		return tally.each(func(at int32, n int64) error {
			if at < codes {
				return nil // of no class
			}
			counts := t.codes[at%codes]
			return add(runNo[run], at/codes-1, runAt, counts.n, counts.c, counts.ungraded, counts.cached, n, nil, int64(0))
		})
	})
}

// cellTally counts how often numbers occur: in a table, or, where they may be large, by sorting.
type cellTally struct {
	table []int64
	list  []int32
	large bool
}

// start begins anew, for numbers below most.
func (c *cellTally) start(most int) {
	if c.large = most > mostTable; c.large {
		c.list = c.list[:0]
		return
	}
	c.table = resized(c.table, most)
	clear(c.table)
}

func (c *cellTally) add(at int32) {
	if c.large {
		c.list = append(c.list, at)
		return
	}
	c.table[at]++
}

func (c *cellTally) each(use func(at int32, n int64) error) error {
	if !c.large {
		for at, n := range c.table {
			if n > 0 {
				if err := use(int32(at), n); err != nil {
					return err
				}
			}
		}
		return nil
	}
	slices.Sort(c.list)
	for i := 0; i < len(c.list); {
		n := 1
		for i+n < len(c.list) && c.list[i+n] == c.list[i] {
			n++
		}
		if err := use(c.list[i], int64(n)); err != nil {
			return err
		}
		i += n
	}
	return nil
}
