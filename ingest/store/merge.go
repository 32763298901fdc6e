package store

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// run writes one job's file into the staging folder.
func (c *compaction) run(ctx context.Context, st *state, j *job) error {
	if j.kind == sharedRows {
		return c.joinRows(ctx, st, j)
	}
	cols := taskRunColumns
	if j.kind == sharedTrials {
		cols = trialColumns[:]
	}
	m := &merger{st: st, out: &j.out, group: newRowGroup(cols), purged: j.purged, enc: encoder{path: filepath.Join(c.dir, j.staged), cols: cols}}
	m.batchAt, m.suiteAt, m.runAt = placeOf(cols, cBatch), placeOf(cols, cSuite), placeOf(cols, cRunID)
	if j.kind == sharedTrials {
		m.group = newTrialGroup()
		defer trialGroups.Put(m.group)
	}
	for _, in := range j.inputs {
		m.path = in.path
		if err := m.copy(ctx, c.s.path(filepath.FromSlash(in.path))); err != nil {
			m.enc.abandon()
			return err
		}
	}
	return m.finish(j)
}

// finish writes what is left and describes the file.
func (m *merger) finish(j *job) error {
	err := m.enc.write(m.group)
	m.group.reset()
	if err != nil {
		m.enc.abandon()
		return err
	}
	f, err := m.enc.close(m.enc.cols)
	if err != nil {
		return err
	}
	f.Path = j.out.Path
	if err := m.check(j); err != nil {
		return err
	}
	if j.kind == sharedTrials {
		m.describe(j, &f)
	}
	j.out.File = f
	return nil
}

// check refuses to go on from files that lost rows, since the originals would
// be removed.
func (m *merger) check(j *job) error {
	in, want := map[string]bool{}, map[string]int64{}
	for _, i := range j.inputs {
		in[i.path] = true
	}
	for _, r := range m.st.live(KindTrials) {
		files := r.Files
		if j.kind == sharedTaskRuns {
			files = nil
			if r.TaskRuns != nil {
				files = []File{*r.TaskRuns}
			}
		}
		for _, f := range files {
			if in[f.Path] {
				want[r.Batch] += f.Rows
			}
		}
	}
	for _, s := range j.out.Shares {
		want[s.Batch] -= s.Rows
	}
	for key, n := range j.purged {
		want[key.batch] -= n
	}
	for batch, n := range want {
		if n != 0 {
			return fmt.Errorf("the files of batch %s do not hold the rows that were written (%+d): passhat verify tells which", batch, -n)
		}
	}
	return nil
}

// describe gives a trial file the range of times and the suites of what it was
// made of; rows of ended batches may make it wider than need be.
func (m *merger) describe(j *job, f *File) {
	in := map[string]bool{}
	for _, i := range j.inputs {
		in[i.path] = true
	}
	unknown := false
	for _, r := range m.st.live(KindTrials) {
		for _, old := range r.Files {
			if !in[old.Path] {
				continue
			}
			if f.RunAtMin.IsZero() || old.RunAtMin.Before(f.RunAtMin) {
				f.RunAtMin = old.RunAtMin
			}
			if old.RunAtMax.After(f.RunAtMax) {
				f.RunAtMax = old.RunAtMax
			}
			unknown = unknown || old.Suites == nil
			f.Suites = append(f.Suites, old.Suites...)
		}
	}
	slices.Sort(f.Suites)
	f.Suites = slices.Compact(f.Suites)
	if unknown || len(f.Suites) > maxSuites {
		f.Suites = nil
	}
}

// share counts rows of a batch.
func (f *SharedFile) share(batch string, rows int64) {
	if n := len(f.Shares); n > 0 && f.Shares[n-1].Batch == batch {
		f.Shares[n-1].Rows += rows
		return
	}
	f.Shares = append(f.Shares, Share{batch, rows})
}

// merger appends the live rows of Parquet files to one.
type merger struct {
	st    *state
	out   *SharedFile
	group *rowGroup
	enc   encoder

	// Where these columns are in the table.
	batchAt, suiteAt, runAt int
	purged                  map[purgeKey]int64

	// Of the file being read:
	path   string // in the store
	places []int  // which column of it each of ours is, -1 for one that it lacks

	// Of the row group being read:
	keep   []bool
	kept   int32
	levels []int16
	bytes  []parquet.ByteArray
	ints   []int64
	ints32 []int32
	floats []float64
	bools  []bool
}

// copy appends the live rows of a file.
func (m *merger) copy(ctx context.Context, path string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read %s: the file is damaged: %v", path, r)
		}
	}()
	in, err := file.OpenParquetFile(path, false)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, plain(err))
	}
	defer in.Close()
	err = m.findColumns(in)
	for g := 0; err == nil && g < in.NumRowGroups(); g++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err = m.copyGroup(in.RowGroup(g))
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// findColumns fills places.
func (m *merger) findColumns(in *file.Reader) error {
	there := map[string]int{}
	schema := in.MetaData().Schema
	for i := range schema.NumColumns() {
		there[schema.Column(i).Name()] = i
	}
	m.places = m.places[:0]
	for _, c := range m.group.cols {
		at, ok := there[c.Name]
		if !ok {
			at = -1
		}
		delete(there, c.Name)
		m.places = append(m.places, at)
	}
	for name := range there {
		return fmt.Errorf("it has a column %q that this passhat does not know", name)
	}
	for _, i := range []int{m.batchAt, m.suiteAt, m.runAt} {
		if m.places[i] < 0 {
			return fmt.Errorf("it has no column %s", m.group.cols[i].Name)
		}
	}
	return nil
}

// placeOf finds a column of the trials in another table.
func placeOf(cols []Column, trial int) int {
	return slices.IndexFunc(cols, func(c Column) bool { return c.Name == trialColumns[trial].Name })
}

// copyGroup appends the live rows of a row group.
func (m *merger) copyGroup(rg *file.RowGroupReader) error {
	rows := int(rg.NumRows())
	if rows > maxRowGroup {
		return fmt.Errorf("a row group has %d rows; at most %d were wanted", rows, maxRowGroup)
	}
	if err := m.choose(rg, rows); err != nil {
		return err
	}
	if m.kept == 0 {
		return nil
	}
	if m.group.rows+m.kept > maxRowGroup || m.group.bytes > maxHeld {
		if err := m.enc.write(m.group); err != nil {
			return err
		}
		m.group.reset()
	}
	for i, at := range m.places {
		if err := m.copyColumn(rg, at, i, rows); err != nil {
			return fmt.Errorf("column %s: %w", m.group.cols[i].Name, err)
		}
	}
	m.group.rows += m.kept
	m.group.bytes += 64 * int(m.kept)
	return nil
}

// choose decides which rows of a row group are kept: those of live batches,
// without the runs that were taken out of them.
func (m *merger) choose(rg *file.RowGroupReader, rows int) error {
	m.keep = sized(m.keep, rows)
	var owner []Share // by stretches of rows
	err := m.text(rg, m.places[m.batchAt], rows, func(v []byte) {
		if n := len(owner); n > 0 && owner[n-1].Batch == string(v) {
			owner[n-1].Rows++
			return
		}
		owner = append(owner, Share{string(v), 1})
	})
	if err != nil {
		return err
	}
	masked := false
	at := 0
	for _, o := range owner {
		alive := m.st.alive(o.Batch)
		masked = masked || alive && len(m.st.masks[o.Batch]) > 0
		for range o.Rows {
			m.keep[at] = alive
			at++
		}
	}
	if masked {
		if err := m.purge(rg, rows, owner); err != nil {
			return err
		}
	}
	m.kept, at = 0, 0
	for _, o := range owner {
		n := int64(0)
		for range o.Rows {
			if m.keep[at] {
				n++
			}
			at++
		}
		if m.st.alive(o.Batch) {
			m.out.share(o.Batch, n)
		}
		m.kept += int32(n)
	}
	return nil
}

// purge leaves out the runs that were taken out of batches that live on.
func (m *merger) purge(rg *file.RowGroupReader, rows int, owner []Share) error {
	keys := make([]RunKey, 0, rows)
	last := ""
	err := m.text(rg, m.places[m.suiteAt], rows, func(v []byte) {
		if string(v) != last {
			last = string(v)
		}
		keys = append(keys, RunKey{Suite: last})
	})
	if err != nil {
		return err
	}
	at := 0
	err = m.text(rg, m.places[m.runAt], rows, func(v []byte) {
		if string(v) != last {
			last = string(v)
		}
		keys[at].RunID = last
		at++
	})
	if err != nil {
		return err
	}
	at = 0
	for _, o := range owner {
		masks := m.st.masks[o.Batch]
		for range o.Rows {
			if m.keep[at] && masks[keys[at]] {
				m.keep[at] = false
				m.purged[purgeKey{m.path, o.Batch}]++
			}
			at++
		}
	}
	return nil
}

// copyColumn appends one column's kept values to the group under construction.
func (m *merger) copyColumn(rg *file.RowGroupReader, at, col, rows int) error {
	row, i := m.group.rows, 0
	text, nums := m.group.text[col], &m.group.nums[col]
	if at < 0 {
		if text != nil {
			text.add(row, "")
		} else {
			nums.add(row, 0, false)
		}
		return nil
	}
	if text != nil {
		return m.text(rg, at, rows, func(v []byte) {
			if m.keep[i] {
				// add copies what it keeps.
				m.group.bytes += text.add(row, unsafe.String(unsafe.SliceData(v), len(v)))
				row++
			}
			i++
		})
	}
	return m.numbers(rg, at, rows, func(v uint64, ok bool) {
		if m.keep[i] {
			nums.add(row, v, ok)
			row++
		}
		i++
	})
}
