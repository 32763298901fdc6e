package store

import (
	"math"
	"path"
	"path/filepath"
)

// rollupBytes is how much a row group of the roll-up holds at most: ids of
// kilobytes fill it before there are many rows.
const rollupBytes = 32 << 20

// writeRollup stages the roll-up, without some runs. facts, if not nil, sees all.
func (b *Batch) writeRollup(leaveOut map[RunKey]bool, facts *rollFacts) (staged, error) {
	e := encoder{path: filepath.Join(b.dir, "task_runs.parquet"), cols: taskRunColumns}
	w := rollWriter{g: newRowGroup(taskRunColumns), batch: b.id}
	err := b.roll.each(func(k *rollKey, t *tally, o *odds) error {
		if facts != nil {
			facts.see(k, t)
		}
		if len(leaveOut) > 0 && leaveOut[k.run()] {
			return nil
		}
		w.store(k, t, o)
		if w.g.rows < maxRowGroup && w.g.bytes < rollupBytes {
			return nil
		}
		defer w.reset()
		return e.write(w.g)
	})
	if err == nil {
		err = e.write(w.g)
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

// store appends a tally, of which the odd sums are o.
func (w *rollWriter) store(k *rollKey, t *tally, o *odds) {
	g := w.g
	row, col := g.rows, 0
	num := func(v uint64, ok bool) { g.nums[col].add(row, v, ok); col++ }
	for i, s := range k.text {
		if !sameText(s, w.last[i]) {
			g.bytes += g.text[col].add(row, s)
		}
		col++
		if rollupText[i] == cRunID {
			num(uint64(t.runAt), true)
		}
	}
	w.last = k.text
	for i, v := range k.nums {
		num(v, k.has[i])
	}
	for _, n := range t.counts() {
		num(uint64(*n), true)
	}
	for i := range t.floats {
		s := &t.floats[i]
		num(math.Float64bits(s.value(o)), s.n > 0)
		num(uint64(s.n), true)
	}
	for i := range t.ints {
		s := &t.ints[i]
		num(uint64(s.value()), s.n > 0)
		num(uint64(s.n), true)
	}
	if row == 0 {
		g.text[col].add(row, w.batch)
	}
	g.rows++
}
