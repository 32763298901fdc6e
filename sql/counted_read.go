package sql

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	pqschema "github.com/apache/arrow-go/v18/parquet/schema"

	"passhat/ingest/store"
)

// rollGroup are the wanted columns of a row group of a roll-up. A column whose
// values are all the same has one element.
type rollGroup struct {
	rows  int
	keys  [][]int32 // in the order of tally.in
	batch []int32
	n, c, ungraded, cached,
	runAt, costN []int64
	nano   []int64
	priced []bool
	// suites and runs are the names by number, as far as the group needs them.
	suites, runs []string
}

// at is the value of a row.
func at[T any](col []T, row int) T {
	if len(col) == 1 {
		return col[0]
	}
	return col[row]
}

// tallyStored adds the stored roll-ups: one goroutine decodes, this one counts.
func (s *Session) tallyStored(ctx context.Context, t *tally) error {
	batches := newInterner()
	files := s.rollFiles(t.spec.Runs)
	if len(files) == 0 {
		return nil
	}
	gone := s.goneRows(batches)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	groups := make(chan *rollGroup, 2)
	var failed error
	go func() {
		defer close(groups)
		for _, f := range files {
			if failed = readRollup(ctx, f.Path, t, batches, groups); failed != nil {
				return
			}
		}
	}()
	var err error
	for g := range groups {
		if err == nil {
			if err = t.addGroup(g, s.live, gone); err != nil {
				stop()
			}
		}
	}
	if err == nil {
		err = failed
	}
	return err
}

// rollFiles are the roll-ups that can hold one of the runs.
func (s *Session) rollFiles(runs map[store.RunKey]bool) []store.File {
	if runs == nil {
		return s.have.taskRuns
	}
	batches := map[string]bool{}
	s.have.runs(func(r *store.Record, run store.RunKey) {
		if runs[run] {
			batches[r.Batch] = true
		}
	})
	var out []store.File
	for _, f := range s.have.taskRuns {
		if slices.ContainsFunc(f.Batches, func(b string) bool { return batches[b] }) {
			out = append(out, f)
		}
	}
	return out
}

// goneRows says which rows are masked: of a batch, or of a run in it. nil: none.
func (s *Session) goneRows(batches *interner) func(batch int32, run store.RunKey) bool {
	if len(s.have.maskedBatches) == 0 && len(s.have.maskedRuns) == 0 {
		return nil
	}
	whole := map[int32]bool{}
	for _, b := range s.have.maskedBatches {
		whole[batches.id([]byte(b))] = true
	}
	runs := map[int32]map[store.RunKey]bool{}
	for _, m := range s.have.maskedRuns {
		b := batches.id([]byte(m.Batch))
		if runs[b] == nil {
			runs[b] = map[store.RunKey]bool{}
		}
		runs[b][m.RunKey] = true
	}
	return func(batch int32, run store.RunKey) bool { return whole[batch] || runs[batch][run] }
}

// addGroup counts the rows of a row group but those of other runs.
func (t *tally) addGroup(g *rollGroup, live map[store.RunKey]bool, gone func(int32, store.RunKey) bool) error {
	keys := make([]int32, len(t.in))
	var vary []int // the columns that tell runs apart here
	for i, col := range g.keys {
		if keys[i] = col[0]; len(col) > 1 && i != inTask {
			vary = append(vary, i)
		}
	}
	batch, skip := int32(-1), false
	for row := range g.rows {
		change := row == 0
		for _, i := range vary {
			if k := g.keys[i][row]; k != keys[i] {
				keys[i], change = k, true
			}
		}
		if b := at(g.batch, row); b != batch {
			batch, change = b, true
		}
		keys[inTask] = at(g.keys[inTask], row)
		if change {
			run := store.RunKey{Suite: g.suites[keys[inSuite]], RunID: g.runs[keys[inRun]]}
			skip = live[run] || t.spec.Runs != nil && !t.spec.Runs[run] || gone != nil && gone(batch, run)
			if !skip && (t.current == nil || !sameKeys(t.current.keys, keys)) {
				if err := t.enter(keys); err != nil {
					return err
				}
			}
		}
		if skip {
			continue
		}
		err := t.count(keys[inTask], tallyRow{
			n: at(g.n, row), c: at(g.c, row), ungraded: at(g.ungraded, row), cached: at(g.cached, row), runAt: at(g.runAt, row),
			nano: at(g.nano, row), priced: at(g.priced, row), costN: at(g.costN, row),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readRollup sends the row groups of a roll-up.
func readRollup(ctx context.Context, path string, t *tally, batches *interner, groups chan<- *rollGroup) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read %s: the file is damaged: %v", path, r)
		}
	}()
	in, err := file.OpenParquetFile(path, false)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	defer in.Close()
	place := map[string]int{}
	for i := range in.MetaData().Schema.NumColumns() {
		place[in.MetaData().Schema.Column(i).Name()] = i
	}
	for i := range in.NumRowGroups() {
		r := &rollReader{rg: in.RowGroup(i), place: place}
		if r.rg.NumRows() == 0 {
			continue
		}
		g, err := r.group(t, batches)
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		select {
		case groups <- g:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// rollReader decodes the columns of a row group.
type rollReader struct {
	rg    *file.RowGroupReader
	place map[string]int
	def   []int16
	err   error
}

// mostRows is the largest row group that is taken, far above what the store writes.
const mostRows = 4_000_000

func (r *rollReader) group(t *tally, batches *interner) (*rollGroup, error) {
	g := &rollGroup{rows: int(r.rg.NumRows())}
	if g.rows > mostRows {
		return nil, errUncounted
	}
	r.def = make([]int16, g.rows)
	names := append([]string{"suite", "run_id", "task_id"}, t.spec.Settings...)
	for i, name := range names {
		g.keys = append(g.keys, r.numbers(name, t.in[i]))
	}
	g.batch = r.numbers("batch", batches)
	g.suites, g.runs = t.in[inSuite].names, t.in[inRun].names
	g.n, g.c, g.ungraded, g.cached = r.ints("n"), r.ints("c"), r.ints("ungraded"), r.ints("cached")
	g.costN, g.runAt = r.ints("n_cost_usd"), r.micros("run_at")
	g.nano, g.priced = r.nanos("sum_cost_usd")
	return g, r.err
}

// column opens a column; same holds the bytes that all its values have, and all
// says whether there is such a value, NULL for no bytes.
func (r *rollReader) column(name string) (c file.ColumnChunkReader, same []byte, all bool) {
	at, ok := r.place[name]
	if r.err != nil || !ok {
		if !ok {
			r.err = errUncounted
		}
		return nil, nil, false
	}
	chunk, err := r.rg.MetaData().ColumnChunk(at)
	if err != nil {
		r.err = err
		return nil, nil, false
	}
	if st, err := chunk.Statistics(); err == nil && st != nil && st.HasNullCount() {
		switch {
		case st.NullCount() == r.rg.NumRows():
			return nil, nil, true
		case st.NullCount() == 0 && st.HasMinMax():
			if low := st.EncodeMin(); len(low) > 0 && string(low) == string(st.EncodeMax()) && chunk.Type() != pq.Types.Double {
				return nil, low, true
			}
		}
	}
	if c, err = r.rg.Column(at); err != nil {
		r.err = err
	}
	return c, nil, false
}

// numbers are the values of a column of texts, or of numbers as settings.
func (r *rollReader) numbers(name string, in *interner) []int32 {
	col, same, all := r.column(name)
	switch {
	case r.err != nil:
		return nil
	case all && same == nil:
		return []int32{0}
	case all:
		return []int32{in.id(same)}
	}
	out := make([]int32, r.rg.NumRows())
	switch col := col.(type) {
	case *file.ByteArrayColumnChunkReader:
		values := make([]pq.ByteArray, 8192)
		r.spread(len(out), len(values), func(want int64, def []int16) (int64, int, error) {
			return col.ReadBatchInPage(want, values, def, nil)
		}, func(row, value int) { out[row] = in.id(values[value]) })
	case *file.Float64ColumnChunkReader:
		values := make([]float64, 8192)
		r.spread(len(out), len(values), func(want int64, def []int16) (int64, int, error) {
			return col.ReadBatchInPage(want, values, def, nil)
		}, func(row, value int) {
			out[row] = in.id(binary.LittleEndian.AppendUint64(nil, math.Float64bits(values[value])))
		})
	case *file.Int32ColumnChunkReader:
		values := make([]int32, 8192)
		r.spread(len(out), len(values), func(want int64, def []int16) (int64, int, error) {
			return col.ReadBatchInPage(want, values, def, nil)
		}, func(row, value int) {
			out[row] = in.id(binary.LittleEndian.AppendUint32(nil, uint32(values[value])))
		})
	default:
		r.err = errUncounted
	}
	return out
}

// spread reads a column in steps and calls use for each row that has a value.
func (r *rollReader) spread(rows, step int, read func(want int64, def []int16) (int64, int, error), use func(row, value int)) {
	for row := 0; row < rows && r.err == nil; {
		want := min(rows-row, step)
		total, values, err := read(int64(want), r.def[:want])
		if err != nil || total <= 0 {
			r.err = fmt.Errorf("a column ends at row %d of %d: %w", row, rows, errUncounted)
			return
		}
		if int64(values) == total {
			for i := range values {
				use(row+i, i)
			}
		} else {
			value := 0
			for i, d := range r.def[:total] {
				if d > 0 {
					use(row+i, value)
					value++
				}
			}
		}
		row += int(total)
	}
}

// ints are the values of a column of counts, which has no NULL.
func (r *rollReader) ints(name string) []int64 {
	col, same, all := r.column(name)
	switch {
	case r.err != nil:
		return nil
	case all && len(same) == 8:
		return []int64{int64(binary.LittleEndian.Uint64(same))}
	case all:
		r.err = errUncounted
		return nil
	}
	c, ok := col.(*file.Int64ColumnChunkReader)
	if !ok {
		r.err = errUncounted
		return nil
	}
	out := make([]int64, r.rg.NumRows())
	for row := 0; row < len(out) && r.err == nil; {
		total, values, err := c.ReadBatch(int64(len(out)-row), out[row:], r.def, nil)
		if err != nil || total <= 0 || int64(values) != total {
			r.err = errUncounted
		}
		row += int(total)
	}
	return out
}

// micros are the values of a column of times.
func (r *rollReader) micros(name string) []int64 {
	at, ok := r.place[name]
	if !ok {
		r.err = errUncounted
		return nil
	}
	logical, ok := r.rg.MetaData().Schema.Column(at).LogicalType().(pqschema.TimestampLogicalType)
	if !ok || logical.TimeUnit() != pqschema.TimeUnitMicros {
		r.err = errUncounted
		return nil
	}
	return r.ints(name)
}

// nanos are the values of a column of money in nano-dollars, and whether there is
// one.
func (r *rollReader) nanos(name string) ([]int64, []bool) {
	col, _, all := r.column(name)
	if r.err != nil || all {
		return []int64{0}, []bool{false}
	}
	c, ok := col.(*file.Float64ColumnChunkReader)
	if !ok {
		r.err = errUncounted
		return nil, nil
	}
	out, there := make([]int64, r.rg.NumRows()), make([]bool, r.rg.NumRows())
	values := make([]float64, 8192)
	r.spread(len(out), len(values), func(want int64, def []int16) (int64, int, error) {
		return c.ReadBatchInPage(want, values, def, nil)
	}, func(row, value int) { out[row], there[row] = nano(values[value]) })
	return out, there
}
