package store

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// TestRollupSortFits: a roll-up is sorted by one number of 64 bits for each group, made
// of its places among the keys, twice, and among the texts. It is full before these could
// need more, even where every group has a key and texts of its own.
func TestRollupSortFits(t *testing.T) {
	most := func(groups int) (keys, texts int) { return groups, groups*len(rollupText) + 1 }
	keys, texts := most(rollupLimit)
	if n := 2*bits.Len(uint(keys)) + bits.Len(uint(texts)); n > 64 {
		t.Errorf("%d groups need %d bits", rollupLimit, n)
	}
	was := rollupLimit
	rollupLimit = 3000
	defer func() { rollupLimit = was }()
	r, rng := newRollup(""), rand.New(rand.NewPCG(1, 2))
	for n := 0; !r.full(); n++ {
		var k groupKey
		for i := range k.text {
			if i != kTaskID {
				k.text[i] = r.id(fmt.Sprint("k", rng.Uint32(), "-", i))
			}
		}
		k.nums[0], k.has[0] = rng.Uint64(), n%2 == 0
		// Of three groups the second has the first one's run, the third none.
		if last := len(r.keys) - 1; n%3 == 1 {
			copy(k.text[:kTaskID], r.keys[last].text[:kTaskID])
		} else if n%3 == 2 {
			k.text[kSuite], k.text[kRunID] = 0, 0
		}
		r.put(&tally{key: r.keyID(&k), task: r.id(fmt.Sprint("t", rng.Uint32())), n: 1}, &odds{})
	}
	if keys, texts = most(rollupLimit); len(r.keys) > keys || len(r.texts) > texts || r.count != rollupLimit {
		t.Fatalf("%d groups, %d keys, %d texts; more than %d, %d", r.count, len(r.keys), len(r.texts), keys, texts)
	}
	r.sort()
	var before rollKey
	n := 0
	err := r.each(func(k *rollKey, _ *tally, _ *odds) error {
		if n++; n > 1 && before.compare(k) >= 0 {
			t.Fatalf("group %d: %v stands behind %v", n, k, before)
		}
		before = *k
		return nil
	})
	if err != nil || n != rollupLimit {
		t.Errorf("%d groups, %v", n, err)
	}
}
