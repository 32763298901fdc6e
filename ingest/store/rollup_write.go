package store

import (
	"math"
	"path"
	"path/filepath"
	"sync"
)

// rollupBytes is how much a row group of the roll-up holds at most: ids of
// kilobytes fill it before there are many rows.
const rollupBytes = 32 << 20

// writeRollup stages the roll-up, without some runs. facts, if not nil, sees all.
func (b *Batch) writeRollup(leaveOut map[RunKey]bool, facts *rollFacts) (staged, error) {
	e := encoder{path: filepath.Join(b.dir, "task_runs.parquet"), cols: taskRunColumns, beside: true}
	w := rollWriter{g: newRowGroup(taskRunColumns), batch: b.id}
	var err error
	if len(leaveOut) == 0 && len(b.roll.pieces) == 0 && b.roll.bytes < rollupBytes/2 {
		err = w.writeHeld(b.roll, &e, facts)
	} else {
		err = w.writeEach(b.roll, &e, leaveOut, facts)
	}
	if err != nil {
		e.abandon()
		return staged{}, err
	}
	f, err := e.close(taskRunColumns)
	f.Path = path.Join(dirTaskRuns, b.id+".parquet")
	return staged{e.path, f}, err
}

func (k *rollKey) run() RunKey { return RunKey{k.text[kSuite], k.text[kRunID]} }

// rollWriter fills a row group of taskRunColumns.
type rollWriter struct {
	g     *rowGroup
	batch string
	last  [len(rollupText)]string // the texts of the row before
}

func (w *rollWriter) reset() {
	w.g.reset()
	w.last = [len(rollupText)]string{}
}

// writeEach writes the groups one after the other.
func (w *rollWriter) writeEach(r *rollup, e *encoder, leaveOut map[RunKey]bool, facts *rollFacts) error {
	err := r.each(func(k *rollKey, t *tally, o *odds) error {
		if facts != nil {
			facts.see(k, t)
		}
		if len(leaveOut) > 0 && leaveOut[k.run()] {
			return nil
		}
		row := w.g.rows
		w.storeKey(row, k, t, false)
		w.storeCounts(row, t)
		w.storeSums(row, t, o)
		if w.g.rows++; w.g.rows < maxRowGroup && w.g.bytes < rollupBytes {
			return nil
		}
		defer w.reset()
		return e.write(w.g)
	})
	if err != nil {
		return err
	}
	return e.write(w.g)
}

// writeHeld does the same for groups of little text that are all held: their keys and
// their sums are put into columns side by side.
func (w *rollWriter) writeHeld(r *rollup, e *encoder, facts *rollFacts) error {
	for from := 0; from < len(r.order); from += maxRowGroup {
		order := r.order[from:min(from+maxRowGroup, len(r.order))]
		var wg sync.WaitGroup
		var fault error
		wg.Go(func() {
			fault = Caught(func() error {
				for row, place := range order {
					w.storeSums(int32(row), r.at(place), &r.odds)
				}
				return nil
			})
		})
		var k rollKey
		key := uint32(math.MaxUint32)
		for row, place := range order {
			t := r.at(place)
			same := t.key == key
			if same {
				k.text[kTaskID] = r.texts[t.task]
			} else {
				r.fill(&k, t)
				key = t.key
			}
			if facts != nil {
				facts.see(&k, t)
			}
			w.storeKey(int32(row), &k, t, same)
			w.storeCounts(int32(row), t)
		}
		if wg.Wait(); fault != nil {
			return fault
		}
		w.g.rows = int32(len(order))
		if err := e.write(w.g); err != nil {
			return err
		}
		w.reset()
	}
	return nil
}

// Places of columns in taskRunColumns, of which run_at stands behind run_id.
const (
	rollRunAt  = kRunID + 1
	rollNums   = len(rollupText) + 1
	rollCounts = rollNums + len(rollupNums)
	rollSums   = rollCounts + 5
	rollBatch  = rollSums + 2*(len(rollupFloats)+len(rollupInts))
)

// storeKey puts the key of a tally into a row; same says that it is that of the row
// before but for the task.
func (w *rollWriter) storeKey(row int32, k *rollKey, t *tally, same bool) {
	g := w.g
	g.nums[rollRunAt].add(row, uint64(t.runAt), true)
	if same {
		g.bytes += g.text[kTaskID+1].add(row, k.text[kTaskID])
		return
	}
	for i, s := range k.text {
		col := i
		if i > kRunID {
			col++
		}
		if !sameText(s, w.last[i]) {
			g.bytes += g.text[col].add(row, s)
		}
	}
	w.last = k.text
	w.last[kTaskID] = "" // it may change without this being told
	for i, v := range k.nums {
		g.nums[rollNums+i].add(row, v, k.has[i])
	}
	if row == 0 {
		g.text[rollBatch].add(row, w.batch)
	}
}

func (w *rollWriter) storeCounts(row int32, t *tally) {
	for i, n := range t.counts() {
		w.g.nums[rollCounts+i].add(row, uint64(*n), true)
	}
}

// storeSums puts the sums of a tally, of which the odd ones are o, into a row.
func (w *rollWriter) storeSums(row int32, t *tally, o *odds) {
	cols := w.g.nums[rollSums:]
	for i := range t.floats {
		s := &t.floats[i]
		cols[2*i].add(row, math.Float64bits(s.value(o)), s.n > 0)
		cols[2*i+1].add(row, uint64(s.n), true)
	}
	cols = cols[2*len(t.floats):]
	for i := range t.ints {
		s := &t.ints[i]
		cols[2*i].add(row, uint64(s.value()), s.n > 0)
		cols[2*i+1].add(row, uint64(s.n), true)
	}
}
