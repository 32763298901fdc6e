package store

import (
	"math"
	"path"
	"path/filepath"
)

// writeRollup stages the roll-up, without some runs.
func (b *Batch) writeRollup(leaveOut map[RunKey]bool) (staged, error) {
	e := encoder{path: filepath.Join(b.dir, "task_runs.parquet"), cols: taskRunColumns}
	g := newRowGroup(taskRunColumns)
	for _, t := range b.roll.list {
		if len(leaveOut) > 0 && leaveOut[b.roll.runOf(t)] {
			continue
		}
		b.roll.store(t, g, b.id)
		if g.rows < maxRowGroup {
			continue
		}
		if err := e.write(g); err != nil {
			e.abandon()
			return staged{}, err
		}
		g.reset()
	}
	if err := e.write(g); err != nil {
		e.abandon()
		return staged{}, err
	}
	f, err := e.close(taskRunColumns)
	f.Path = path.Join(dirTaskRuns, b.id+".parquet")
	return staged{e.path, f}, err
}

// store appends a tally to a row group of taskRunColumns.
func (r *rollup) store(t *tally, g *rowGroup, batch string) {
	row, col := g.rows, 0
	num := func(v uint64, ok bool) { g.nums[col].add(row, v, ok); col++ }
	for i, id := range t.text {
		g.text[col].add(row, r.texts[id])
		col++
		if rollupText[i] == cRunID {
			num(uint64(t.runAt), true)
		}
	}
	for i, v := range t.nums {
		num(v, t.has[i])
	}
	for _, v := range []int64{t.n, t.c, t.ungraded, t.cached, t.errors} {
		num(uint64(v), true)
	}
	for i := range t.floats {
		s := &t.floats[i]
		num(math.Float64bits(s.value(&r.sums)), s.n > 0)
		num(uint64(s.n), true)
	}
	for i := range t.ints {
		s := &t.ints[i]
		num(uint64(s.value()), s.n > 0)
		num(uint64(s.n), true)
	}
	g.text[col].add(row, batch)
	g.rows++
}
