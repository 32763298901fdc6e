package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
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
	m := &merger{st: st, out: &j.out, group: newRowGroup(cols), enc: encoder{path: filepath.Join(c.dir, j.staged), cols: cols}}
	if j.kind == sharedTrials {
		m.group = newTrialGroup()
		defer trialGroups.Put(m.group)
	}
	for _, in := range j.inputs {
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

// joinRows appends row hashes to each other.
func (c *compaction) joinRows(ctx context.Context, st *state, j *job) error {
	out, err := createSum(filepath.Join(c.dir, j.staged))
	if err != nil {
		return err
	}
	for _, in := range j.inputs {
		if ctx.Err() != nil || !st.alive(in.batch) {
			continue
		}
		if err := appendRows(out, c.s.path(filepath.FromSlash(in.path)), in); err != nil {
			out.f.Close()
			return err
		}
		j.skips[in.key()] = j.out.Rows
		j.out.share(in.batch, in.rows)
		j.out.Rows += in.rows
	}
	f, err := out.finish()
	f.Path, f.Rows = j.out.Path, j.out.Rows
	j.out.File = f
	return err
}

func appendRows(out io.Writer, path string, in *input) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, plain(err))
	}
	defer f.Close()
	n, err := io.Copy(out, bufio.NewReaderSize(io.NewSectionReader(f, 16*in.skip, 16*in.rows), 1<<16))
	if err == nil && n != 16*in.rows {
		err = fmt.Errorf("it holds %d row hashes; %d were written", n/16, in.rows)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, plain(err))
	}
	return nil
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

	// Of the row group being read:
	keep   []bool // rows of live batches; nil: all
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
	places, batch, err := m.places(in)
	if err == nil {
		for g := range in.NumRowGroups() {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err = m.copyGroup(in.RowGroup(g), places, batch); err != nil {
				break
			}
		}
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// places says which column of the file each of ours is, -1 for one that it
// lacks, and which is the batch.
func (m *merger) places(in *file.Reader) (places []int, batch int, err error) {
	there := map[string]int{}
	schema := in.MetaData().Schema
	for i := range schema.NumColumns() {
		there[schema.Column(i).Name()] = i
	}
	batch = -1
	for _, c := range m.group.cols {
		at, ok := there[c.Name]
		if !ok {
			at = -1
		}
		delete(there, c.Name)
		if c.Name == trialColumns[cBatch].Name {
			batch = at
		}
		places = append(places, at)
	}
	for name := range there {
		return nil, 0, fmt.Errorf("it has a column %q that this passhat does not know", name)
	}
	if batch < 0 {
		return nil, 0, errors.New("it has no column batch")
	}
	return places, batch, nil
}

// copyGroup appends the live rows of a row group.
func (m *merger) copyGroup(rg *file.RowGroupReader, places []int, batch int) error {
	rows := int(rg.NumRows())
	if rows > maxRowGroup {
		return fmt.Errorf("a row group has %d rows; at most %d were wanted", rows, maxRowGroup)
	}
	if err := m.choose(rg, batch, rows); err != nil {
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
	for i, at := range places {
		if err := m.copyColumn(rg, at, i, rows); err != nil {
			return fmt.Errorf("column %s: %w", m.group.cols[i].Name, err)
		}
	}
	m.group.rows += m.kept
	m.group.bytes += 64 * int(m.kept)
	return nil
}

// choose reads the batches of a row group's rows and keeps those that are live.
func (m *merger) choose(rg *file.RowGroupReader, batch, rows int) error {
	m.keep = sized(m.keep, rows)
	m.kept = 0
	i, last, live, run := 0, "", false, int64(0)
	err := m.text(rg, batch, rows, func(v []byte) {
		if string(v) != last || i == 0 {
			if live {
				m.out.share(last, run)
			}
			last, run = string(v), 0
			live = m.st.alive(last)
		}
		m.keep[i] = live
		if live {
			m.kept++
			run++
		}
		i++
	})
	if live {
		m.out.share(last, run)
	}
	return err
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

// readBatch is how many values are decoded at once.
const readBatch = 8192

// text calls use for every row's text, nil for NULL.
func (m *merger) text(rg *file.RowGroupReader, at, rows int, use func([]byte)) error {
	cr, err := rg.Column(at)
	if err != nil {
		return plain(err)
	}
	r, ok := cr.(*file.ByteArrayColumnChunkReader)
	if !ok {
		return errors.New("it is no text")
	}
	m.bytes = sized(m.bytes, readBatch)
	return each(m, rows, m.bytes, r.ReadBatch, func(v parquet.ByteArray, ok bool) {
		if !ok {
			v = nil
		}
		use(v)
	})
}

// numbers calls use for every row's number, as the 64 bits that numColumn holds.
func (m *merger) numbers(rg *file.RowGroupReader, at, rows int, use func(uint64, bool)) error {
	cr, err := rg.Column(at)
	if err != nil {
		return plain(err)
	}
	switch r := cr.(type) {
	case *file.Int32ColumnChunkReader:
		m.ints32 = sized(m.ints32, readBatch)
		return each(m, rows, m.ints32, r.ReadBatch, func(v int32, ok bool) { use(uint64(v), ok) })
	case *file.Int64ColumnChunkReader:
		m.ints = sized(m.ints, readBatch)
		return each(m, rows, m.ints, r.ReadBatch, func(v int64, ok bool) { use(uint64(v), ok) })
	case *file.Float64ColumnChunkReader:
		m.floats = sized(m.floats, readBatch)
		return each(m, rows, m.floats, r.ReadBatch, func(v float64, ok bool) { use(math.Float64bits(v), ok) })
	case *file.BooleanColumnChunkReader:
		m.bools = sized(m.bools, readBatch)
		return each(m, rows, m.bools, r.ReadBatch, func(v, ok bool) {
			bit := uint64(0)
			if v {
				bit = 1
			}
			use(bit, ok)
		})
	}
	return errors.New("it is no number")
}

// each calls use for every row of a column chunk, in order.
func each[T any](m *merger, rows int, values []T, read func(int64, []T, []int16, []int16) (int64, int, error), use func(T, bool)) error {
	m.levels = sized(m.levels, readBatch)
	for done := 0; done < rows; {
		n, _, err := read(int64(min(readBatch, rows-done)), values, m.levels, nil)
		if err != nil {
			return plain(err)
		}
		if n == 0 {
			return fmt.Errorf("it has %d values; %d were wanted", done, rows)
		}
		var zero T
		at := 0
		for _, level := range m.levels[:n] {
			if level == 0 {
				use(zero, false)
				continue
			}
			use(values[at], true)
			at++
		}
		done += int(n)
	}
	return nil
}
