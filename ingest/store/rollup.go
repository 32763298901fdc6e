package store

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"
)

// rollupLimit is how many groups of a batch's roll-up are held in memory, some 40
// MB; beyond it they go to a file, sorted, and are merged when the batch is committed.
var rollupLimit = 1 << 17

// rollupTextLimit is how many bytes of different text their keys may hold, which
// only ids of kilobytes reach.
const rollupTextLimit = 32 << 20

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

// groupKey is the key of a group but for its task: hundreds of tasks share one.
// Text stands as a number: a code of its row group plus one, later a place in
// rollup.texts; 0 is NULL. The task's place is 0. Neither it nor a tally holds a
// pointer, so that hundreds of thousands of them cost the garbage collector nothing.
type groupKey struct {
	text [len(rollupText)]uint32
	nums [len(rollupNums)]uint64
	has  [len(rollupNums)]bool
}

// tally is one row of the roll-up.
type tally struct {
	key   uint32 // place of its groupKey
	task  uint32 // as the texts of a groupKey
	runAt int64  // microseconds, the earliest

	n, c, ungraded, cached, errors int64

	floats [len(rollupFloats)]floatSum
	ints   [len(rollupInts)]intSum
}

// merge adds other, which is of the same group and whose odd sums are from.
func (t *tally) merge(other *tally, o, from *odds) {
	t.runAt = min(t.runAt, other.runAt)
	t.n += other.n
	t.c += other.c
	t.ungraded += other.ungraded
	t.cached += other.cached
	t.errors += other.errors
	for i := range t.floats {
		t.floats[i].merge(&other.floats[i], o, from)
	}
	for i := range t.ints {
		t.ints[i].merge(&other.ints[i])
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

// compareNums compares what of a key is no text, NULL last.
func compareNums(a, b *[len(rollupNums)]uint64, hasA, hasB *[len(rollupNums)]bool) int {
	for i, v := range a {
		switch {
		case hasA[i] != hasB[i]:
			if hasA[i] {
				return -1
			}
			return 1
		case v != b[i]:
			return cmp.Compare(v, b[i])
		}
	}
	return 0
}

// rollup collects the tallies of a batch, from all its Parts.
type rollup struct {
	mu    sync.Mutex
	texts []string
	index textIndex
	bytes int // of texts
	keys  []groupKey
	slabs [][]tally
	count int
	odds  odds

	keyTable   []uint32 // places among the keys plus one; 0: empty
	tallyTable []rollupSlot
	order      []uint32 // places among the tallies, by sort

	path   string // of the file of pieces
	out    *os.File
	pieces []int64 // where each ends
	buf    []byte
}

type rollupSlot struct {
	id uint64 // key and task
	at uint32 // place among the tallies plus one; 0: empty
}

const slabTallies = 1024

func newRollup(path string) *rollup {
	r := &rollup{path: path}
	r.reset()
	return r
}

// reset forgets all groups.
func (r *rollup) reset() {
	r.texts, r.bytes = append(r.texts[:0], ""), 0
	r.index.reset()
	r.keys, r.count, r.odds = r.keys[:0], 0, nil
	r.keyTable, r.tallyTable = sized(r.keyTable, max(len(r.keyTable), 64)), sized(r.tallyTable, max(len(r.tallyTable), 256))
	clear(r.keyTable)
	clear(r.tallyTable)
}

// id numbers a text, which it keeps.
func (r *rollup) id(s string) uint32 {
	if s == "" {
		return 0
	}
	at, hash, ok := r.index.find(s, r.texts)
	if ok {
		return uint32(at)
	}
	r.texts = append(r.texts, s)
	r.index.add(hash, r.texts)
	r.bytes += len(s)
	return uint32(len(r.texts) - 1)
}

func (r *rollup) at(i uint32) *tally { return &r.slabs[i/slabTallies][i%slabTallies] }

// keyID numbers a key whose texts are numbers of r.texts.
func (r *rollup) keyID(k *groupKey) uint32 {
	mask := uint64(len(r.keyTable) - 1)
	i := k.hash() & mask
	for ; r.keyTable[i] > 0; i = (i + 1) & mask {
		if at := r.keyTable[i] - 1; r.keys[at] == *k {
			return at
		}
	}
	r.keys = append(r.keys, *k)
	r.keyTable[i] = uint32(len(r.keys))
	if len(r.keys) > len(r.keyTable)/2 {
		r.keyTable = make([]uint32, 4*len(r.keyTable))
		mask = uint64(len(r.keyTable) - 1)
		for n := range r.keys {
			i := r.keys[n].hash() & mask
			for r.keyTable[i] > 0 {
				i = (i + 1) & mask
			}
			r.keyTable[i] = uint32(n + 1)
		}
	}
	return uint32(len(r.keys) - 1)
}

// full says that no group more is to be held.
func (r *rollup) full() bool { return r.count >= rollupLimit || r.bytes > rollupTextLimit }

// slot finds the place of a group in the table.
func (r *rollup) slot(id uint64) *rollupSlot {
	mask := uint64(len(r.tallyTable) - 1)
	for i := id * 0x9e3779b97f4a7c15 >> 20 & mask; ; i = (i + 1) & mask {
		if s := &r.tallyTable[i]; s.at == 0 || s.id == id {
			return s
		}
	}
}

// put merges a tally whose key and task are those of r.
func (r *rollup) put(t *tally, from *odds) {
	id := uint64(t.key)<<32 | uint64(t.task)
	s := r.slot(id)
	if s.at > 0 {
		r.at(s.at-1).merge(t, &r.odds, from)
		return
	}
	if r.count == len(r.slabs)*slabTallies {
		r.slabs = append(r.slabs, make([]tally, slabTallies))
	}
	fresh := r.at(uint32(r.count))
	*fresh = *t
	for i := range fresh.floats {
		if f := &fresh.floats[i]; f.over > 0 {
			f.over = 0
			f.odd(&r.odds).merge(&(*from)[t.floats[i].over-1])
		}
	}
	r.count++
	*s = rollupSlot{id, uint32(r.count)}
	if r.count > len(r.tallyTable)/2 {
		old := r.tallyTable
		r.tallyTable = make([]rollupSlot, 4*len(old))
		for _, s := range old {
			if s.at > 0 {
				*r.slot(s.id) = s
			}
		}
	}
}

// sort puts the tallies into the order of their keys.
func (r *rollup) sort() {
	ids := make([]uint32, len(r.texts))
	for i := range ids {
		ids[i] = uint32(i)
	}
	slices.SortFunc(ids, func(a, b uint32) int { return strings.Compare(r.texts[a], r.texts[b]) })
	rank := make([]uint32, len(ids))
	for i, id := range ids {
		rank[id] = uint32(i)
	}
	run, rest := r.rankKeys(rank)
	// One number, since there are not so many groups that it would not hold the three.
	restBits, taskBits := bits.Len(uint(len(r.keys))), bits.Len(uint(len(r.texts)))
	pairs := make([]numSlot, r.count)
	for i := range pairs {
		t := r.at(uint32(i))
		pairs[i] = numSlot{uint64(run[t.key])<<(taskBits+restBits) | uint64(rank[t.task])<<restBits | uint64(rest[t.key]), int32(i)}
	}
	pairs, _ = sortPairs(pairs, nil)
	r.order = sized(r.order, r.count)
	for i, p := range pairs {
		r.order[i] = uint32(p.code)
	}
}

// rankKeys gives every key its place in the order of what stands before the task,
// and its place in the order of all.
func (r *rollup) rankKeys(rank []uint32) (run, rest []uint32) {
	ids := make([]uint32, len(r.keys))
	for i := range ids {
		ids[i] = uint32(i)
	}
	compare := func(a, b *groupKey, texts int) int {
		for i := range texts {
			if c := cmp.Compare(rank[a.text[i]], rank[b.text[i]]); c != 0 {
				return c
			}
		}
		return 0
	}
	slices.SortFunc(ids, func(i, j uint32) int {
		a, b := &r.keys[i], &r.keys[j]
		if c := compare(a, b, len(rollupText)); c != 0 {
			return c
		}
		return compareNums(&a.nums, &b.nums, &a.has, &b.has)
	})
	run, rest = make([]uint32, len(ids)), make([]uint32, len(ids))
	for i, id := range ids {
		rest[id] = uint32(i)
		if i > 0 {
			run[id] = run[ids[i-1]]
			if compare(&r.keys[id], &r.keys[ids[i-1]], kTaskID) != 0 {
				run[id]++
			}
		}
	}
	return run, rest
}
