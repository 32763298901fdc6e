package store

import "github.com/zeebo/xxh3"

// textIndex finds the number of a text in a list of different ones: open
// addressing. The list is its owner's, so that neither text nor pointer is kept
// twice.
type textIndex struct {
	slots []textSlot
	n     int
}

type textSlot struct {
	hash uint32
	at   int32 // place in the list plus one; 0: empty
}

// find returns the place of s in list; where it is not there, the hash by which
// add enters it.
func (x *textIndex) find(s string, list []string) (at int32, hash uint64, ok bool) {
	hash = xxh3.HashString(s)
	if len(x.slots) == 0 {
		return 0, hash, false
	}
	mask := uint64(len(x.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		switch e := &x.slots[i]; {
		case e.at == 0:
			return 0, hash, false
		case e.hash == uint32(hash>>32) && list[e.at-1] == s:
			return e.at - 1, hash, true
		}
	}
}

// add enters the last text of list, which has the hash.
func (x *textIndex) add(hash uint64, list []string) {
	if x.n >= len(x.slots)/2 {
		x.grow(list)
	}
	x.enter(textSlot{uint32(hash >> 32), int32(len(list))}, hash)
	x.n++
}

func (x *textIndex) enter(e textSlot, hash uint64) {
	mask := uint64(len(x.slots) - 1)
	i := hash & mask
	for x.slots[i].at > 0 {
		i = (i + 1) & mask
	}
	x.slots[i] = e
}

func (x *textIndex) grow(list []string) {
	old := x.slots
	x.slots = make([]textSlot, max(16, 4*len(old)))
	for _, e := range old {
		if e.at > 0 {
			x.enter(e, xxh3.HashString(list[e.at-1]))
		}
	}
}

// reset empties the index. One that was much larger than it is needed starts small.
func (x *textIndex) reset() {
	if len(x.slots) > 64*x.n+1024 {
		x.slots = nil
	}
	clear(x.slots)
	x.n = 0
}
