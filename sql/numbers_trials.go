package sql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"slices"

	"passhat/ingest/store"
)

// setTrials are the single trials of a set of runs, those that count.
type setTrials struct {
	no, rows, configs int64
	durations         []float64
	parts             [][]float64 // durations of row groups
	sums              [len(trialCounts)]wholeMean
}

// wholeMean is a sum of whole numbers and how many they are.
type wholeMean struct{ sum, n int64 }

// trialCounts are the columns of trials of which the mean is told.
var trialCounts = [...]string{"turns", "tool_calls", "input_tokens", "output_tokens"}

// trialGroupOf are the columns of a row group of trials that SetTrials looks at.
type trialGroupOf struct {
	duration, cached, config column
	counts                   [len(trialCounts)]column
}

const setTrialsTable = `
CREATE OR REPLACE TABLE passhat_store.set_trials (set_no INTEGER, trials BIGINT, configs BIGINT, p50 DOUBLE, p95 DOUBLE, p99 DOUBLE,
	turns DOUBLE, tool_calls DOUBLE, input_tokens DOUBLE, output_tokens DOUBLE);`

// mostDurations is the number of trials in sets up to which they are held, by 8 bytes each.
const mostDurations = 16_000_000

// SetTrials reads the single trials of runs of the last PlaceRuns, in sets as in SetRuns, and fills
//
//	passhat_store.set_trials  set_no, trials, configs (how many have one), quantiles of duration_s in seconds as
//	                          quantile_cont has them, and means of turns, tool_calls, input_tokens and output_tokens
//
// Cached trials are left out; those without a verdict count, whatever PlaceRuns was to count. It
// says false where there are too many, or a file is not as the store writes it.
//
// The trials are read beside what else is done until the function that it returns is called, which
// must be, and which fills the table.
func (s *Session) SetTrials(ctx context.Context, runs []InSet) func() (bool, error) {
	n := s.numbers
	if n == nil {
		return func() (bool, error) { return false, nil }
	}
	known := n.keysOfRuns()
	var rows [][]driver.Value
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = store.Caught(func() error {
			sets, err := s.readTrials(ctx, known, runs)
			if err == nil {
				rows, err = rowsOfSets(ctx, sets, s.decoders())
			}
			return err
		})
	}()
	return func() (bool, error) {
		<-done
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if err != nil {
			return false, nil // DuckDB says what is wrong, if anything is
		}
		err := s.Exec(ctx, setTrialsTable)
		if err == nil {
			err = s.appendRows("set_trials", rows)
		}
		if err != nil {
			return false, fmt.Errorf("sum up the trials of several runs: %w", err)
		}
		return true, nil
	}
}

// keysOfRuns are the names of runs by their numbers.
func (n *numbers) keysOfRuns() map[int32]store.RunKey {
	out := map[int32]store.RunKey{}
	for i, span := range n.spans {
		out[span.runNo] = n.runKey(n.runs[i].keys)
	}
	return out
}

// rowsOfSets are the rows of set_trials, several made at once.
func rowsOfSets(ctx context.Context, sets []*setTrials, workers int) ([][]driver.Value, error) {
	rows := make([][]driver.Value, len(sets))
	return rows, inParallel(ctx, len(sets), workers, func(i int) { rows[i] = sets[i].row() })
}

// readTrials reads what is needed of the trials of each set, in the order of runs; sets without
// trials are left out.
func (s *Session) readTrials(ctx context.Context, key map[int32]store.RunKey, runs []InSet) ([]*setTrials, error) {
	sets, setOf, wanted := map[int32]*setTrials{}, map[store.RunKey]*setTrials{}, map[store.RunKey]bool{}
	var all, found []*setTrials
	for _, r := range runs {
		run, ok := key[r.RunNo]
		if !ok || setOf[run] != nil {
			return nil, errUncounted
		}
		if r.Set < 0 {
			continue
		}
		if sets[r.Set] == nil {
			sets[r.Set] = &setTrials{no: int64(r.Set)}
			all = append(all, sets[r.Set])
		}
		setOf[run], wanted[run] = sets[r.Set], true
	}
	batches, held := newInterner(), int64(0)
	gone := s.goneRows(batches)
	err := eachGroup(ctx, s.filesWith(s.have.trials, wanted), s.decoders(), func(r *groupReader) (*countGroup, error) {
		return setTrialGroup(r, wanted)
	}, func(g *countGroup) error {
		for _, part := range g.parts {
			if gone != nil && gone(batches.id(part.batch), part.run) {
				continue
			}
			if held += part.of.rows; held > mostDurations || !setOf[part.run].merge(part.of) {
				return errUncounted
			}
		}
		return nil
	})
	for _, set := range all {
		if set.rows > 0 {
			found = append(found, set)
		}
	}
	return found, err
}

// trialPart are the trials of a run in a row group.
type trialPart struct {
	run   store.RunKey
	batch []byte
	of    *setTrials
}

// merge adds trials of a further part; false: the sums are not exact.
func (s *setTrials) merge(part *setTrials) bool {
	s.rows, s.configs, s.parts = s.rows+part.rows, s.configs+part.configs, append(s.parts, part.durations)
	for i, m := range part.sums {
		s.sums[i].n += m.n
		if s.sums[i].sum += m.sum; s.sums[i].sum > mostWhole || s.sums[i].sum < -mostWhole {
			return false
		}
	}
	return true
}

// mostWhole is the size up to which all whole numbers are floats.
const mostWhole = 1 << 53

// setTrialGroup sums up the wanted runs of a row group.
func setTrialGroup(r *groupReader, wanted map[store.RunKey]bool) (*countGroup, error) {
	g := r.group()
	suites, runs, batches := r.column("suite", false), r.column("run_id", false), r.column("batch", false)
	if r.err != nil {
		return g, r.err
	}
	var of *trialGroupOf
	return g, eachStretch(r.rows, []*column{suites, runs, batches}, func(from, to int) error {
		run := store.RunKey{Suite: string(suites.text(from)), RunID: string(runs.text(from))}
		if !wanted[run] {
			return nil
		}
		if of == nil {
			of = &trialGroupOf{}
			of.duration, of.cached, of.config = *r.column("duration_s", false), *r.column("cached", false), *r.column("config", false)
			for i, name := range trialCounts {
				of.counts[i] = *r.column(name, false)
			}
			if r.err != nil {
				return r.err
			}
		}
		part := trialPart{run: run, batch: slices.Clone(batches.text(from)), of: &setTrials{}}
		g.parts = append(g.parts, part)
		return part.of.add(of, from, to)
	})
}

// there says whether a row has a value.
func (c *column) there(row int) bool { return c.code(row) != noValue }

// add takes rows of a run of the set, in stretches of rows that all count.
func (s *setTrials) add(of *trialGroupOf, from, to int) error {
	counts := func(row int) bool {
		v, ok := of.cached.number(row)
		return !ok || v == 0
	}
	_, all := of.cached.alike()
	for from < to {
		end := from + 1
		if all {
			end = to
		}
		if !counts(from) {
			from = end
			continue
		}
		for end < to && counts(end) {
			end++
		}
		if err := s.addStretch(of, from, end); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// addStretch takes rows, column by column.
func (s *setTrials) addStretch(of *trialGroupOf, from, to int) error {
	s.rows += int64(to - from)
	s.configs += of.config.valuesIn(from, to)
	if there := of.duration.valuesIn(from, to); there > 0 {
		s.durations = slices.Grow(s.durations, int(there))
		for row := from; row < to; row++ {
			v, ok := of.duration.number(row)
			if !ok {
				continue
			}
			d := floatOf(v)
			if math.IsNaN(d) || d == 0 && math.Signbit(d) {
				return errUncounted // whose order is DuckDB's
			}
			s.durations = append(s.durations, d)
		}
	}
	for i := range of.counts {
		if !s.sums[i].add(&of.counts[i], from, to) {
			return errUncounted
		}
	}
	return nil
}

// valuesIn is how many rows have a value.
func (c *column) valuesIn(from, to int) int64 {
	if c.codes == nil {
		if c.there(from) {
			return int64(to - from)
		}
		return 0
	}
	n := int64(0)
	for _, code := range c.codes[from:to] {
		if code != noValue {
			n++
		}
	}
	return n
}

// add takes rows of a column of whole numbers; false: the sum is not exact.
func (m *wholeMean) add(c *column, from, to int) bool {
	for row := from; row < to; row++ {
		v, ok := c.number(row)
		if !ok {
			continue
		}
		// Each is small enough for the sum not to overflow before it is looked at.
		if x := int64(v); x > mostWhole || x < -mostWhole {
			return false
		}
		m.n++
		if m.sum += int64(v); m.sum > mostWhole || m.sum < -mostWhole {
			return false
		}
	}
	return true
}

// row is the set's row of set_trials.
func (s *setTrials) row() []driver.Value {
	out := []driver.Value{int32(s.no), s.rows, s.configs}
	s.durations = slices.Concat(append(s.parts, s.durations)...)
	sorted := 0 // so many of the durations are the smallest ones
	for _, q := range []float64{0.5, 0.95, 0.99} {
		if len(s.durations) == 0 {
			out = append(out, nil)
			continue
		}
		var v float64
		v, sorted = quantile(s.durations, sorted, q)
		out = append(out, v)
	}
	for _, m := range s.sums {
		if m.n == 0 {
			out = append(out, nil)
			continue
		}
		out = append(out, float64(m.sum)/float64(m.n))
	}
	return out
}

// quantile is DuckDB's quantile_cont; it puts the values in another order. The first of
// them, so many, are known not to be larger than the others, and those before the place
// that it returns are so then.
func quantile(values []float64, first int, q float64) (float64, int) {
	at := float64(len(values)-1) * q
	low, high := int(math.Floor(at)), int(math.Ceil(at))
	first = min(first, low)
	lo := smallest(values[first:], low-first)
	if low == high {
		return lo, low
	}
	hi := values[low+1]
	for _, v := range values[low+1:] {
		hi = min(hi, v)
	}
	d := at - float64(low)
	return float64(lo*(1-d)) + float64(hi*d), low // each product rounded on its own
}

// smallest is the value that would stand at place k if the values were sorted; those
// after it are not smaller then (quickselect, Hoare 1961). Values that lie so that it would take
// many rounds are sorted instead.
func smallest(values []float64, k int) float64 {
	from, to := 0, len(values)-1
	for left := selectLooks * len(values); from < to; left -= to - from + 1 {
		if left < 0 {
			slices.Sort(values[from : to+1])
			break
		}
		i, j := partition(values, from, to)
		switch {
		case k <= j:
			to = j
		case k >= i:
			from = i
		default:
			return values[k]
		}
	}
	return values[k]
}

// selectLooks is how often smallest may look at each value, on average; it takes about three.
const selectLooks = 12

// partition puts the values of a range that are not larger than some value of it before those that
// are not smaller: up to j, and from i on. Those between are that value.
func partition(values []float64, from, to int) (i, j int) {
	a, b, c := values[from], values[from+(to-from)/2], values[to]
	pivot := max(min(a, b), min(max(a, b), c))
	i, j = from, to
	for i <= j {
		for values[i] < pivot {
			i++
		}
		for values[j] > pivot {
			j--
		}
		if i <= j {
			values[i], values[j] = values[j], values[i]
			i, j = i+1, j-1
		}
	}
	return i, j
}
