package store

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"
)

// rollupLimit is how many groups a batch's roll-up may have; beyond it the
// roll-up is left out, for it would hardly be smaller than the trials.
var rollupLimit = 300_000

// rollupTextLimit is how many bytes of different text its keys may hold, which
// only ids of kilobytes reach.
const rollupTextLimit = 64 << 20

// The text columns of the roll-up's key, in the order of taskRunColumns.
var rollupText = [...]int{
	cSuite, cRunID, cRunAtFrom, cTaskID, cShape, cRisk, cModel, cAgent, cHarness, cHarnessVersion,
	cEffort, cScoreName, cPassRule, cConfigHash, cGitCommit, cGitBranch,
}

// Places in rollupText.
const (
	kSuite    = 0
	kRunID    = 1
	kTaskID   = 3
	kModel    = 6
	kAgent    = 7
	kEffort   = 10
	kPassRule = 12
)

// The other columns of the key.
var rollupNums = [...]int{cTemperature, cTopP, cPlannedTrials}

const kPlanned = 2 // place in rollupNums

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

// groupKey is the group of a tally. Text stands as a number: a code of its row
// group plus one, later a place in rollup.texts; 0 is NULL. Neither it nor a
// tally holds a pointer, so that hundreds of thousands of them cost the garbage
// collector nothing.
type groupKey struct {
	text [len(rollupText)]uint32
	nums [len(rollupNums)]uint64
	has  [len(rollupNums)]bool
}

// tally is one row of the roll-up.
type tally struct {
	groupKey
	runAt int64 // microseconds, the earliest

	n, c, ungraded, cached, errors int64

	floats [len(rollupFloats)]exactSum
	ints   [len(rollupInts)]intSum
}

// merge adds o, whose sums overflow into from, while those of t do into to.
func (t *tally) merge(o *tally, to, from *partials) {
	t.runAt = min(t.runAt, o.runAt)
	t.n += o.n
	t.c += o.c
	t.ungraded += o.ungraded
	t.cached += o.cached
	t.errors += o.errors
	for i := range t.floats {
		t.floats[i].merge(&o.floats[i], to, from)
	}
	for i := range t.ints {
		t.ints[i].merge(&o.ints[i])
	}
}

func (k *groupKey) hash() uint64 {
	var b [4*len(rollupText) + 9*len(rollupNums)]byte
	at := b[:0]
	for _, id := range k.text {
		at = binary.LittleEndian.AppendUint32(at, id)
	}
	for i, v := range k.nums {
		at = binary.LittleEndian.AppendUint64(at, v)
		if k.has[i] {
			at = append(at, 1)
		}
	}
	return xxh3.Hash(at)
}

func (k *groupKey) compare(o *groupKey) int {
	if c := slices.Compare(k.text[:], o.text[:]); c != 0 {
		return c
	}
	for i, v := range k.nums {
		switch {
		case k.has[i] != o.has[i]:
			if k.has[i] {
				return -1 // NULL last
			}
			return 1
		case v != o.nums[i]:
			return cmp.Compare(v, o.nums[i])
		}
	}
	return 0
}

// rollup collects the tallies of a batch, from all its Parts. It gives up when
// there are more than rollupLimit.
type rollup struct {
	mu    sync.Mutex
	over  bool
	texts []string
	ids   map[string]uint32
	bytes int // of texts
	slabs [][]tally
	count int
	table []rollupSlot
	sums  partials
	list  []*tally // by sort
}

type rollupSlot struct {
	hash uint32
	at   uint32 // place among the tallies plus one; 0: empty
}

const slabTallies = 1024

func newRollup() *rollup {
	return &rollup{texts: []string{""}, ids: map[string]uint32{"": 0}, table: make([]rollupSlot, 256)}
}

// id numbers a text.
func (r *rollup) id(s string) uint32 {
	id, ok := r.ids[s]
	if !ok {
		s = strings.Clone(s)
		id = uint32(len(r.texts))
		r.ids[s] = id
		r.texts = append(r.texts, s)
		r.bytes += len(s)
	}
	return id
}

func (r *rollup) at(i int) *tally { return &r.slabs[i/slabTallies][i%slabTallies] }

// put merges a tally whose key is in numbers of r.texts.
func (r *rollup) put(t *tally, from *partials) {
	hash := t.hash()
	mask := uint64(len(r.table) - 1)
	i := hash & mask
	for ; r.table[i].at > 0; i = (i + 1) & mask {
		if r.table[i].hash != uint32(hash>>32) {
			continue
		}
		if have := r.at(int(r.table[i].at) - 1); have.groupKey == t.groupKey {
			have.merge(t, &r.sums, from)
			return
		}
	}
	if r.count >= rollupLimit || r.bytes > rollupTextLimit {
		r.giveUp()
		return
	}
	if r.count == len(r.slabs)*slabTallies {
		r.slabs = append(r.slabs, make([]tally, slabTallies))
	}
	fresh := r.at(r.count)
	*fresh = *t
	for i := range fresh.floats {
		if s := &fresh.floats[i]; s.over > 0 {
			*s = exactSum{}
			s.merge(&t.floats[i], &r.sums, from)
		}
	}
	r.count++
	r.table[i] = rollupSlot{uint32(hash >> 32), uint32(r.count)}
	if r.count > len(r.table)/2 {
		r.grow()
	}
}

func (r *rollup) grow() {
	r.table = make([]rollupSlot, 4*len(r.table))
	mask := uint64(len(r.table) - 1)
	for n := range r.count {
		hash := r.at(n).hash()
		i := hash & mask
		for r.table[i].at > 0 {
			i = (i + 1) & mask
		}
		r.table[i] = rollupSlot{uint32(hash >> 32), uint32(n + 1)}
	}
}

func (r *rollup) giveUp() {
	r.over = true
	r.texts, r.ids, r.slabs, r.table, r.sums, r.list = nil, nil, nil, nil, partials{}, nil
}

// sort puts the tallies into list, in the order of their keys; from then on a
// text's number is its place in the order of texts.
func (r *rollup) sort() {
	if r.over {
		return
	}
	order := make([]uint32, len(r.texts))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return strings.Compare(r.texts[a], r.texts[b]) })
	rank, sorted := make([]uint32, len(order)), make([]string, len(order))
	for i, id := range order {
		rank[id], sorted[i] = uint32(i), r.texts[id]
	}
	r.texts, r.ids, r.table = sorted, nil, nil
	width := bits.Len(uint(len(order)))
	most := min(64/width, len(rollupText)/2) // texts that one number holds
	keys := make([]sortKey, r.count)
	for i := range keys {
		t := r.at(i)
		for c, id := range t.text {
			t.text[c] = rank[id]
		}
		keys[i] = sortKey{t.digits(0, most, width), t.digits(most, most, width), t}
	}
	slices.SortFunc(keys, func(a, b sortKey) int {
		switch {
		case a.first != b.first:
			return cmp.Compare(a.first, b.first)
		case a.second != b.second:
			return cmp.Compare(a.second, b.second)
		}
		return a.t.compare(&b.t.groupKey)
	})
	r.list = make([]*tally, r.count)
	for i, k := range keys {
		r.list[i] = k.t
	}
}

// sortKey holds the foremost texts of a tally's key, so that sorting looks at the
// tallies themselves only where these are equal.
type sortKey struct {
	first, second uint64
	t             *tally
}

// digits makes one number of n texts of the key, each of so many bits.
func (k *groupKey) digits(from, n, width int) (all uint64) {
	for _, id := range k.text[from : from+n] {
		all = all<<width | uint64(id)
	}
	return all
}

func (r *rollup) runOf(t *tally) RunKey {
	return RunKey{r.texts[t.text[kSuite]], r.texts[t.text[kRunID]]}
}
