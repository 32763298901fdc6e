package sql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"math"
	"sync"

	"passhat/ingest/store"
)

// setTrials are the single trials of a set of runs, those that count.
type setTrials struct {
	no, rows, configs int64
	durations         []float64
	sums              [len(trialCounts)]wholeMean
}

// wholeMean is a sum of whole numbers and how many they are.
type wholeMean struct{ sum, n int64 }

// trialCounts are the columns of trials of which the mean is told.
var trialCounts = [...]string{"turns", "tool_calls", "input_tokens", "output_tokens"}

// trialGroupOf are the columns of a row group of trials that SetTrials looks at.
type trialGroupOf struct {
	duration, passed, cached, config column
	counts                           [len(trialCounts)]column
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
// Cached trials are left out, and, where PlaceRuns was to count graded ones, those without a verdict. It
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
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("a file is damaged: %v", r)
			}
		}()
		var sets []*setTrials
		if sets, err = s.readTrials(ctx, known, n.graded, runs); err == nil {
			rows = rowsOfSets(sets, s.decoders())
		}
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
func rowsOfSets(sets []*setTrials, workers int) [][]driver.Value {
	rows := make([][]driver.Value, len(sets))
	var wg sync.WaitGroup
	free := make(chan struct{}, workers)
	for i, set := range sets {
		wg.Go(func() {
			free <- struct{}{}
			rows[i] = set.row()
			<-free
		})
	}
	wg.Wait()
	return rows
}

// readTrials reads what is needed of the trials of each set, in the order of runs; sets without
// trials are left out.
func (s *Session) readTrials(ctx context.Context, key map[int32]store.RunKey, graded bool, runs []InSet) ([]*setTrials, error) {
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
	t, batches, held := newTally(CountSpec{}), newInterner(), 0
	gone := s.goneRows(batches)
	err := eachGroup(ctx, s.filesWith(s.have.trials, wanted), s.decoders(), func(r *groupReader) (*countGroup, error) {
		return setTrialGroup(r)
	}, func(g *countGroup) error {
		return t.eachSegment(g, batches, func(keys []int32, batch int32, _ *taskCodes, from, to int) error {
			run := t.runKey(keys)
			set := setOf[run]
			if set == nil || gone != nil && gone(batch, run) {
				return nil
			}
			if held += to - from; held > mostDurations {
				return errUncounted
			}
			return set.add(g.trials, graded, from, to)
		})
	})
	for _, set := range all {
		if set.rows > 0 {
			found = append(found, set)
		}
	}
	return found, err
}

// setTrialGroup decodes a row group.
func setTrialGroup(r *groupReader) (*countGroup, error) {
	r.buf = &decodeBuf{} // they outlive the decoding
	noTask := &column{spans: []colSpan{{0, noValue}}}
	g := &countGroup{rows: r.rows, keys: []*column{r.column("suite", true), r.column("run_id", true), noTask, r.column("batch", true)}, trials: &trialGroupOf{}}
	of := g.trials
	of.duration, of.passed, of.cached, of.config = *r.column("duration_s", false), *r.column("passed", false), *r.column("cached", false), *r.column("config", false)
	for i, name := range trialCounts {
		of.counts[i] = *r.column(name, false)
	}
	return g, r.err
}

// there says whether a row has a value.
func (c *column) there(row int) bool { return c.code(row) != noValue }

// add takes rows of a run of the set.
func (s *setTrials) add(of *trialGroupOf, graded bool, from, to int) error {
	for row := from; row < to; row++ {
		if v, ok := of.cached.number(row); ok && v != 0 || graded && !of.passed.there(row) {
			continue
		}
		s.rows++
		if of.config.there(row) {
			s.configs++
		}
		if v, ok := of.duration.number(row); ok {
			d := floatOf(v)
			if math.IsNaN(d) || d == 0 && math.Signbit(d) {
				return errUncounted // whose order is DuckDB's
			}
			s.durations = append(s.durations, d)
		}
		for i := range of.counts {
			v, ok := of.counts[i].number(row)
			if !ok {
				continue
			}
			m := &s.sums[i]
			if m.n++; !addTo(&m.sum, int64(v)) || m.sum > 1<<53 || m.sum < -1<<53 {
				return errUncounted
			}
		}
	}
	return nil
}

// row is the set's row of set_trials.
func (s *setTrials) row() []driver.Value {
	out := []driver.Value{int32(s.no), s.rows, s.configs}
	for _, q := range []float64{0.5, 0.95, 0.99} {
		if len(s.durations) == 0 {
			out = append(out, nil)
			continue
		}
		out = append(out, quantile(s.durations, q))
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

// quantile is DuckDB's quantile_cont; it puts the values in another order.
func quantile(values []float64, q float64) float64 {
	at := float64(len(values)-1) * q
	low, high := int(math.Floor(at)), int(math.Ceil(at))
	lo := smallest(values, low)
	if low == high {
		return lo
	}
	hi := values[low+1]
	for _, v := range values[low+1:] {
		hi = min(hi, v)
	}
	d := at - float64(low)
	return float64(lo*(1-d)) + float64(hi*d) // each product rounded on its own
}

// smallest is the value that would stand at place k if the values were sorted; those
// after it are not smaller then (quickselect, Hoare 1961).
func smallest(values []float64, k int) float64 {
	from, to := 0, len(values)-1
	for from < to {
		a, b, c := values[from], values[from+(to-from)/2], values[to]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := from, to
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
