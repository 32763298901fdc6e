package store

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// rollupLimit is how many groups a batch's roll-up may have; beyond it the
// roll-up is left out, for it would hardly be smaller than the trials.
var rollupLimit = 300_000

// The text columns of the roll-up's key, in the order of taskRunColumns.
var rollupText = [...]int{
	cSuite, cRunID, cRunAtFrom, cTaskID, cShape, cRisk, cModel, cAgent, cHarness, cHarnessVersion,
	cEffort, cScoreName, cPassRule, cConfigHash, cGitCommit, cGitBranch,
}

// The other columns of the key.
var rollupNums = [...]int{cTemperature, cTopP, cPlannedTrials}

// What is summed.
var (
	rollupFloats = [...]int{cScore, cCostUSD, cDurationS}
	rollupInts   = [...]int{cInputTokens, cOutputTokens, cReasoningTokens, cTurns, cToolCalls}
)

var taskRunColumns = func() []Column {
	var cols []Column
	for i, c := range rollupText {
		cols = append(cols, trialColumns[c])
		if rollupText[i] == cRunID {
			cols = append(cols, trialColumns[cRunAt]) // the earliest
		}
	}
	for _, c := range rollupNums {
		cols = append(cols, trialColumns[c])
	}
	for _, name := range []string{"n", "c", "ungraded", "cached", "errors"} {
		cols = append(cols, Column{name, "BIGINT"})
	}
	for _, c := range rollupFloats {
		cols = append(cols, Column{"sum_" + trialColumns[c].Name, "DOUBLE"}, Column{"n_" + trialColumns[c].Name, "BIGINT"})
	}
	for _, c := range rollupInts {
		cols = append(cols, Column{"sum_" + trialColumns[c].Name, "BIGINT"}, Column{"n_" + trialColumns[c].Name, "BIGINT"})
	}
	return append(cols, trialColumns[cBatch])
}()

// tally is one row of the roll-up.
type tally struct {
	text  [len(rollupText)]string
	nums  [len(rollupNums)]Opt[uint64]
	runAt int64 // microseconds, the earliest

	n, c, ungraded, cached, errors int64

	floats [len(rollupFloats)]exactSum
	ints   [len(rollupInts)]intSum
}

func (t *tally) merge(o *tally) {
	t.runAt = min(t.runAt, o.runAt)
	t.n += o.n
	t.c += o.c
	t.ungraded += o.ungraded
	t.cached += o.cached
	t.errors += o.errors
	for i := range t.floats {
		t.floats[i].merge(&o.floats[i])
	}
	for i := range t.ints {
		t.ints[i].merge(&o.ints[i])
	}
}

// key is the tally's group as one text.
func (t *tally) key(buf []byte) []byte {
	for _, s := range t.text {
		buf = binary.AppendUvarint(buf, uint64(len(s)))
		buf = append(buf, s...)
	}
	for _, v := range t.nums {
		if v.OK {
			buf = append(buf, 1)
		} else {
			buf = append(buf, 0)
		}
		buf = binary.LittleEndian.AppendUint64(buf, v.V)
	}
	return buf
}

func (t *tally) compare(o *tally) int {
	for i := range t.text {
		if c := strings.Compare(t.text[i], o.text[i]); c != 0 {
			return c
		}
	}
	for i, v := range t.nums {
		w := o.nums[i]
		switch {
		case v.OK != w.OK:
			if v.OK {
				return -1 // NULL last
			}
			return 1
		case v.V != w.V:
			if v.V < w.V {
				return -1
			}
			return 1
		}
	}
	return 0
}

// rollup collects tallies. It gives up when there are more than rollupLimit.
type rollup struct {
	groups map[hash128]*tally
	over   bool
	list   []*tally // by sort
	buf    []byte

	// Scratch of add, kept between row groups.
	gid, codes []int32
	table      map[uint64]int32
}

func newRollup() *rollup { return &rollup{groups: map[hash128]*tally{}} }

// put merges a tally that nobody else holds.
func (r *rollup) put(t *tally) {
	if r.over {
		return
	}
	r.buf = t.key(r.buf[:0])
	key := hashBytes(r.buf)
	if have, ok := r.groups[key]; ok {
		have.merge(t)
		return
	}
	if len(r.groups) >= rollupLimit {
		r.over, r.groups = true, nil
		return
	}
	r.groups[key] = t
}

// merge takes over what o holds.
func (r *rollup) merge(o *rollup) {
	if o.over {
		r.over, r.groups = true, nil
		return
	}
	for _, t := range o.groups {
		r.put(t)
	}
}

// sort puts the tallies into list, in the order of their keys.
func (r *rollup) sort() {
	r.list = slices.Collect(maps.Values(r.groups))
	slices.SortFunc(r.list, (*tally).compare)
}

// taskCounts sums the tallies up per run and task.
func (r *rollup) taskCounts() []TaskCount {
	type key struct {
		RunKey
		task string
	}
	// A report groups by these by default, so trials of one task under two of
	// them don't add up to a larger k.
	type config struct {
		key
		model, agent, effort string
	}
	at := map[key]int{}
	type plan struct{ n, cached, planned int64 }
	plans := map[config]plan{}
	out := []TaskCount{}
	for _, t := range r.list {
		k := key{RunKey{t.text[0], t.text[1]}, t.text[3]}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, TaskCount{RunKey: k.RunKey, TaskID: k.task, Least: math.MaxInt64})
		}
		out[i].Found += t.n
		out[i].Ungraded += t.ungraded
		c := config{k, t.text[6], t.text[7], t.text[10]}
		p := plans[c]
		p.n, p.cached = p.n+t.n, p.cached+t.cached
		if planned := t.nums[2]; planned.OK {
			p.planned = max(p.planned, int64(planned.V))
		}
		plans[c] = p
	}
	for c, p := range plans {
		i := at[c.key]
		out[i].Least = min(out[i].Least, p.n)
		out[i].Planned += int32(p.planned)
		out[i].Missing += max(0, p.planned-p.n-p.cached)
	}
	slices.SortFunc(out, func(a, b TaskCount) int {
		if c := a.RunKey.compare(b.RunKey); c != 0 {
			return c
		}
		return strings.Compare(a.TaskID, b.TaskID)
	})
	return out
}

// partlyNamed says of which runs some trials lack the model, agent or effort
// that the others have: reports by it show them apart.
func (r *rollup) partlyNamed() (notes []string) {
	for _, c := range []struct {
		name string
		at   int
	}{{"model", 6}, {"agent", 7}, {"effort", 10}} {
		without, named := map[RunKey]int64{}, map[RunKey]string{}
		for _, t := range r.list {
			key := RunKey{t.text[0], t.text[1]}
			if t.text[c.at] == "" {
				without[key] += t.n
			} else {
				named[key] = t.text[c.at]
			}
		}
		var trials int64
		example := ""
		for _, t := range r.list {
			key := RunKey{t.text[0], t.text[1]}
			if n := without[key]; n > 0 && named[key] != "" {
				trials += n
				delete(without, key)
				if example == "" {
					example = named[key]
				}
			}
		}
		if trials > 0 {
			notes = append(notes, fmt.Sprintf("%d trials have no %s though others of their run do (%s): reports by %s count them apart; --set %s=… puts it right",
				trials, c.name, example, c.name, c.name))
		}
	}
	return notes
}

func (b *Batch) writeRollup(roll *rollup, leaveOut map[RunKey]bool) (staged, error) {
	e := encoder{path: filepath.Join(b.dir, "task_runs.parquet"), cols: taskRunColumns}
	g := newRowGroup(taskRunColumns)
	for _, t := range roll.list {
		if leaveOut[RunKey{t.text[0], t.text[1]}] {
			continue
		}
		t.store(g, b.id)
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
func (t *tally) store(g *rowGroup, batch string) {
	row, col := g.rows, 0
	num := func(v uint64, ok bool) { g.nums[col].add(row, v, ok); col++ }
	for i, s := range t.text {
		g.text[col].add(row, s)
		col++
		if rollupText[i] == cRunID {
			num(uint64(t.runAt), true)
		}
	}
	for _, v := range t.nums {
		num(v.V, v.OK)
	}
	for _, v := range []int64{t.n, t.c, t.ungraded, t.cached, t.errors} {
		num(uint64(v), true)
	}
	for i := range t.floats {
		s := &t.floats[i]
		num(math.Float64bits(s.value()), s.n > 0)
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
