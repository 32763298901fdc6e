package sql

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"passhat/ingest/store"
)

// countGroup are the wanted columns of a row group, of a roll-up or of trials.
type countGroup struct {
	rows  int
	keys  []*column // in the order of tally.in; the batch is last
	truth []int8    // of the condition, nil where there is none

	// Of a roll-up. A column whose values are all the same has one element.
	n, c, ungraded, cached,
	costN []int64

	runAt []int64
	nano  []int64
	cost  []costIs

	// Of trials: what came to their tasks, in the order of their rows, and how many of them are counted.
	folds []trialFold
	next  int
	cut   []bool // rows that begin something else

	// Of a roll-up, for tasks of a set of runs.
	errors []int64
	shape  *column

	parts  []trialPart // of trials of a set of runs
	failed []failedTrial

	kept decodeBuf
}

// costIs is what is known of a row's money.
type costIs uint8

const (
	noCost    costIs = iota
	odd              // no amount that can be counted, such as NaN
	countable        // in nano-dollars
)

// at is the value of a row.
func at[T any](col []T, row int) T {
	if len(col) == 1 {
		return col[0]
	}
	return col[row]
}

// tallyStored adds the stored roll-ups.
func (s *Session) tallyStored(ctx context.Context, t *tally) error {
	batches := newInterner()
	gone := s.goneRows(batches)
	return eachGroup(ctx, s.rollFiles(t.spec.Runs), s.decoders(), func(r *groupReader) (*countGroup, error) {
		g := r.group()
		g.keys = r.keys(t.spec.Settings)
		if t.spec.Where != nil {
			g.truth = t.spec.Where.truths(r)
		}
		g.n, g.c, g.ungraded, g.cached, g.costN = r.ints("n"), r.ints("c"), r.ints("ungraded"), r.ints("cached"), r.ints("n_cost_usd")
		g.runAt = r.times("run_at")
		r.nanos("sum_cost_usd", g)
		return g, r.err
	}, func(g *countGroup) error {
		return t.eachSegment(g, batches, func(keys []int32, batch int32, tasks *taskCodes, from, to int) error {
			run := t.runKey(keys)
			if s.live[run] || t.spec.Runs != nil && !t.spec.Runs[run] || gone != nil && gone(batch, run) {
				return nil
			}
			return t.addRolled(g, keys, tasks, from, to)
		})
	})
}

// addRolled counts rows of one run of a roll-up.
func (t *tally) addRolled(g *countGroup, keys []int32, tasks *taskCodes, from, to int) error {
	entered := false
	for row := from; row < to; row++ {
		if g.truth != nil && at(g.truth, row) != yes {
			continue
		}
		if !entered && (t.current == nil || !sameKeys(t.current.keys, keys)) {
			if err := t.enter(keys); err != nil {
				return err
			}
		}
		entered = true
		err := t.count(tasks.number(t, keys[inSuite], row), tallyRow{
			n: at(g.n, row), c: at(g.c, row), ungraded: at(g.ungraded, row), cached: at(g.cached, row), runAt: at(g.runAt, row),
			nano: at(g.nano, row), priced: at(g.cost, row) == countable, costN: at(g.costN, row),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tally) runKey(keys []int32) store.RunKey {
	return store.RunKey{Suite: t.in[inSuite].names[keys[inSuite]], RunID: t.in[inRun].names[keys[inRun]]}
}

// rollFiles are the roll-ups that can hold one of the runs.
func (s *Session) rollFiles(runs map[store.RunKey]bool) []store.File {
	return s.filesWith(s.have.taskRuns, runs)
}

// filesWith are those of files that can hold one of the runs; nil means any.
func (s *Session) filesWith(files []store.File, runs map[store.RunKey]bool) []store.File {
	if runs == nil {
		return files
	}
	batches := s.have.batchesOf(runs)
	var out []store.File
	for _, f := range files {
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

// decoders is how many row groups are decoded at once.
func (s *Session) decoders() int {
	n := runtime.GOMAXPROCS(0)
	if s.cfg.Threads > 0 {
		n = min(n, s.cfg.Threads)
	}
	return max(1, min(n, 8))
}

// eachSegment calls use for every stretch of rows of a group that have the same keys, the
// task aside, which each row has its own of. keys are good until it returns.
func (t *tally) eachSegment(g *countGroup, batches *interner, use func(keys []int32, batch int32, tasks *taskCodes, from, to int) error) error {
	if g.rows == 0 {
		return nil
	}
	last := len(g.keys) - 1
	spans := make([][]colSpan, len(g.keys))
	for i, col := range g.keys {
		switch i {
		case inTask:
			spans[i] = []colSpan{{0, 0}}
		case last:
			spans[i] = idSpans(col, g.rows, batches)
		default:
			spans[i] = idSpans(col, g.rows, t.in[i])
		}
	}
	tasks := &taskCodes{col: g.keys[inTask], in: t.in[inTask], suite: -1}
	keys, at := make([]int32, len(g.keys)), make([]int, len(g.keys))
	for from := 0; from < g.rows; {
		to := g.rows
		for i, of := range spans {
			for at[i]+1 < len(of) && int(of[at[i]+1].start) <= from {
				at[i]++
			}
			keys[i] = of[at[i]].code
			if at[i]+1 < len(of) {
				to = min(to, int(of[at[i]+1].start))
			}
		}
		if err := use(keys[:last], keys[last], tasks, from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// idSpans are a column's runs of rows by the numbers of its values.
func idSpans(col *column, rows int, in *interner) []colSpan {
	ids := make([]int32, col.size()) // 0: not looked up
	var buf [8]byte
	id := func(code int32) int32 {
		if code == noValue {
			return 0
		}
		if ids[code] == 0 {
			ids[code] = in.id(col.bytes(code, buf[:]))
		}
		return ids[code]
	}
	var out []colSpan
	add := func(row, code int32) {
		if n := len(out); n == 0 || out[n-1].code != id(code) {
			out = append(out, colSpan{row, id(code)})
		}
	}
	switch {
	case col.codes != nil:
		for row, code := range col.codes {
			if row == 0 || code != col.codes[row-1] {
				add(int32(row), code)
			}
		}
	case len(col.spans) > 0:
		for _, s := range col.spans {
			add(s.start, s.code)
		}
	default:
		for row := range rows {
			add(int32(row), int32(row))
		}
	}
	return out
}

// taskCodes numbers the tasks of a row group's rows.
type taskCodes struct {
	col   *column
	in    *interner
	ids   []int32 // by code, the number of the name
	nos   []int32 // by code, one plus the number of the task in suite
	suite int32
}

func (c *taskCodes) number(t *tally, suite int32, row int) int32 {
	code := int32(row)
	if c.col.codes != nil {
		code = c.col.codes[row]
	} else if len(c.col.spans) > 0 {
		code = c.col.spans[0].code
	}
	if c.suite != suite {
		c.suite = suite
		c.nos = make([]int32, c.col.size()+1)
		if c.ids == nil {
			c.ids = make([]int32, c.col.size()+1)
		}
	}
	if no := c.nos[code+1]; no > 0 {
		return no - 1
	}
	if code != noValue && c.ids[code+1] == 0 {
		var buf [8]byte
		c.ids[code+1] = c.in.id(c.col.bytes(code, buf[:]))
	}
	no := t.taskNo(suite, c.ids[code+1])
	c.nos[code+1] = no + 1
	return no
}

// keys are the columns that tell rows apart, in the order of tally.in, and the batch.
func (r *groupReader) keys(settings []string) []*column {
	var out []*column
	for _, name := range append(append([]string{"suite", "run_id", "task_id"}, settings...), "batch") {
		out = append(out, r.lasting(name, name != "task_id"))
	}
	return out
}

// lasting is a column that outlives the decoding.
func (r *groupReader) lasting(name string, spans bool) *column {
	buf := r.buf
	defer func() { r.buf = buf }()
	r.buf = r.kept
	return r.column(name, spans)
}

// ints are the values of a column of counts, which has no NULL.
func (r *groupReader) ints(name string) []int64 {
	col := r.column(name, false)
	if r.err != nil {
		return nil
	}
	if code, ok := col.alike(); ok && code != noValue {
		return []int64{int64(col.nums[code])}
	}
	out := r.kept.counts.take(r.rows)[:r.rows]
	for row := range out {
		v, ok := col.number(row)
		if !ok {
			r.err = fmt.Errorf("column %s: it has no value in row %d: %w", name, row, errUncounted)
			return nil
		}
		out[row] = int64(v)
	}
	return out
}

// times are the values of a column of times, in microseconds.
func (r *groupReader) times(name string) []int64 {
	if !r.micros(name) && r.err == nil {
		r.err = errUncounted
	}
	return r.ints(name)
}

// nanos sets the money in nano-dollars, and what is known of each amount.
func (r *groupReader) nanos(name string, g *countGroup) {
	col := r.column(name, false)
	if code, ok := col.alike(); r.err != nil || ok && code == noValue {
		g.nano, g.cost = append(g.nano[:0], 0), append(g.cost[:0], noCost)
		return
	}
	g.nano, g.cost = resized(g.nano, r.rows), resized(g.cost, r.rows)
	if col.codes == nil {
		for row := range g.nano {
			v, _ := col.number(row)
			g.nano[row], g.cost[row] = amount(v)
		}
		return
	}
	// A number is taken once for each value of the column.
	values, kinds := make([]int64, col.size()+1), make([]costIs, col.size()+1)
	for i, v := range col.nums {
		values[i+1], kinds[i+1] = amount(v)
	}
	for row, code := range col.codes {
		g.nano[row], g.cost[row] = values[code+1], kinds[code+1]
	}
}

func amount(bits uint64) (int64, costIs) {
	if n, ok := nano(floatOf(bits)); ok {
		return n, countable
	}
	return 0, odd
}

// countGroups are row groups whose memory can be used again, decodeBufs what their decoding took.
var (
	countGroups = sync.Pool{New: func() any { return &countGroup{} }}
	decodeBufs  = sync.Pool{New: func() any { return &decodeBuf{} }}
)

// group is what the row group is decoded into.
func (r *groupReader) group() *countGroup {
	g := countGroups.Get().(*countGroup)
	*g = countGroup{rows: r.rows, folds: g.folds[:0], nano: g.nano, cost: g.cost, cut: g.cut, kept: g.kept}
	g.kept.reset()
	r.kept = &g.kept
	return g
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
