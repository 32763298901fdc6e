package store

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// rollupLimit is how many groups a batch's roll-up may have; beyond it the
// roll-up is left out, for it would hardly be smaller than the trials.
var rollupLimit = 500_000

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

// key is the tally's group as one string.
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
	groups map[string]*tally
	over   bool
	buf    []byte

	// Scratch of add, kept between row groups.
	gid, codes []int32
	table      map[uint64]int32
}

func newRollup() *rollup { return &rollup{groups: map[string]*tally{}} }

// put merges a tally that nobody else holds.
func (r *rollup) put(t *tally) {
	if r.over {
		return
	}
	r.buf = t.key(r.buf[:0])
	if have, ok := r.groups[string(r.buf)]; ok {
		have.merge(t)
		return
	}
	if len(r.groups) >= rollupLimit {
		r.over, r.groups = true, nil
		return
	}
	r.groups[string(r.buf)] = t
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

// sorted returns the tallies in the order of their keys.
func (r *rollup) sorted() []*tally {
	out := make([]*tally, 0, len(r.groups))
	for _, t := range r.groups {
		out = append(out, t)
	}
	slices.SortFunc(out, (*tally).compare)
	return out
}

// add tallies the rows of a row group. Rows are grouped by the dictionary
// codes of the few key columns that vary, text is touched once a group.
func (r *rollup) add(g *rowGroup) {
	if r.over {
		return
	}
	rows := int(g.rows)
	r.gid = slices.Grow(r.gid[:0], rows)[:rows]
	r.codes = slices.Grow(r.codes[:0], rows)[:rows]
	clear(r.gid)
	firsts := []int32{0} // one row of each group
	for _, c := range rollupText {
		firsts = r.split(g.text[c].spans, firsts)
	}
	for _, c := range rollupNums {
		firsts = r.split(sameCodes(&g.nums[c]), firsts)
	}
	tallies := make([]*tally, len(firsts))
	for i, row := range firsts {
		tallies[i] = g.tallyOf(row)
	}
	r.count(g, tallies)
	for _, t := range tallies {
		r.put(t)
	}
}

// split refines the grouping in r.gid by one more column.
func (r *rollup) split(spans []span, firsts []int32) []int32 {
	if len(spans) == 1 {
		return firsts
	}
	expand(spans, r.codes)
	if r.table == nil {
		r.table = map[uint64]int32{}
	}
	clear(r.table)
	out := firsts[:0:0]
	lastKey, lastGid := uint64(math.MaxUint64), int32(0)
	for i, code := range r.codes {
		key := uint64(uint32(r.gid[i]))<<32 | uint64(uint32(code))
		if key != lastKey {
			id, ok := r.table[key]
			if !ok {
				id = int32(len(out))
				r.table[key] = id
				out = append(out, int32(i))
			}
			lastKey, lastGid = key, id
		}
		r.gid[i] = lastGid
	}
	return out
}

// sameCodes gives equal values of a numeric column equal codes.
func sameCodes(c *numColumn) []span {
	if len(c.spans) == 1 {
		return c.spans
	}
	codes := map[uint64]int32{}
	out := make([]span, len(c.spans))
	for i, s := range c.spans {
		out[i] = s
		if s.code == null {
			continue
		}
		v := c.values[s.code]
		if have, ok := codes[v]; ok {
			out[i].code = have
		} else {
			codes[v] = s.code
		}
	}
	return out
}

// tallyOf starts a tally with the key of one row.
func (g *rowGroup) tallyOf(row int32) *tally {
	t := &tally{runAt: math.MaxInt64}
	for i, c := range rollupText {
		col := g.text[c]
		if code := codeAt(col.spans, row); code != null {
			t.text[i] = col.values[code]
		}
	}
	for i, c := range rollupNums {
		col := &g.nums[c]
		if code := codeAt(col.spans, row); code != null {
			t.nums[i] = Some(col.values[code])
		}
	}
	return t
}

// codeAt finds the code of a row.
func codeAt(spans []span, row int32) int32 {
	i, found := slices.BinarySearchFunc(spans, row, func(s span, row int32) int { return int(s.start) - int(row) })
	if !found {
		i--
	}
	return spans[i].code
}

// count adds the rows to their tallies. A cached trial is no trial: it counts
// as cached and nowhere else.
func (r *rollup) count(g *rowGroup, tallies []*tally) {
	cached := make([]bool, g.rows)
	g.eachNum(cCached, func(row int32, v uint64) { cached[row] = v != 0 })
	for row, id := range r.gid {
		t := tallies[id]
		if cached[row] {
			t.cached++
			continue
		}
		t.n++
		t.ungraded++ // taken back below
	}
	g.eachNum(cRunAt, func(row int32, v uint64) {
		t := tallies[r.gid[row]]
		t.runAt = min(t.runAt, int64(v))
	})
	g.eachNum(cPassed, func(row int32, v uint64) {
		if !cached[row] {
			t := tallies[r.gid[row]]
			t.ungraded--
			t.c += int64(v)
		}
	})
	g.eachText(cErrorType, func(row int32) {
		if !cached[row] {
			tallies[r.gid[row]].errors++
		}
	})
	for i, c := range rollupFloats {
		g.eachNum(c, func(row int32, v uint64) {
			if !cached[row] {
				tallies[r.gid[row]].floats[i].add(math.Float64frombits(v))
			}
		})
	}
	for i, c := range rollupInts {
		g.eachNum(c, func(row int32, v uint64) {
			if !cached[row] {
				tallies[r.gid[row]].ints[i].add(int64(v))
			}
		})
	}
}

// eachNum calls f for every row whose column c is not NULL.
func (g *rowGroup) eachNum(c int, f func(row int32, v uint64)) {
	col := &g.nums[c]
	for i, s := range col.spans {
		if s.code == null {
			continue
		}
		end := g.rows
		if i+1 < len(col.spans) {
			end = col.spans[i+1].start
		}
		for row := s.start; row < end; row++ {
			f(row, col.values[s.code])
		}
	}
}

// eachText calls f for every row whose text column c is not NULL.
func (g *rowGroup) eachText(c int, f func(row int32)) {
	spans := g.text[c].spans
	for i, s := range spans {
		if s.code == null {
			continue
		}
		end := g.rows
		if i+1 < len(spans) {
			end = spans[i+1].start
		}
		for row := s.start; row < end; row++ {
			f(row)
		}
	}
}

// taskCounts sums the tallies up per run and task.
func (r *rollup) taskCounts() []TaskCount {
	type key struct {
		RunKey
		task string
	}
	at := map[key]int{}
	out := []TaskCount{}
	for _, t := range r.groups {
		k := key{RunKey{t.text[0], t.text[1]}, t.text[3]}
		i, ok := at[k]
		if !ok {
			i = len(out)
			at[k] = i
			out = append(out, TaskCount{RunKey: k.RunKey, TaskID: k.task})
		}
		out[i].Found += t.n
		out[i].Ungraded += t.ungraded
		if p := t.nums[2]; p.OK {
			out[i].Planned = max(out[i].Planned, int32(p.V))
		}
	}
	slices.SortFunc(out, func(a, b TaskCount) int {
		if c := a.RunKey.compare(b.RunKey); c != 0 {
			return c
		}
		return strings.Compare(a.TaskID, b.TaskID)
	})
	return out
}
