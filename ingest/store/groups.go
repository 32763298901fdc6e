package store

// groupIndex finds the place of a group in a list of different ones by its hash: open
// addressing.
type groupIndex struct {
	slots []textSlot
}

// tag is a part of a hash that the place in an index does not depend on.
func (h hash128) tag() uint32 { return uint32(h.hi) }

// reset makes room for so many groups.
func (x *groupIndex) reset(groups int) {
	size := 16
	for size < groups+groups/2 {
		size *= 2
	}
	x.slots = sized(x.slots, size)
	clear(x.slots)
}

// find returns the slot of a group, an empty one if it is not there; at gives the hash
// of what stands at a place.
func (x *groupIndex) find(h hash128, at func(int) hash128) *textSlot {
	mask, tag := uint64(len(x.slots)-1), h.tag()
	for i := h.lo & mask; ; i = (i + 1) & mask {
		s := &x.slots[i]
		if s.at == 0 || s.hash == tag && at(int(s.at)-1) == h {
			return s
		}
	}
}

// groupTable is what the batch and older batches hold of groups.
type groupTable struct {
	groups []groupSlot
	index  groupIndex
}

type groupSlot struct {
	hash  hash128
	mine  [3]uint64 // as idGroup.has
	older [3]uint64
	rows  int64 // of the batch
	run   uint32
}

func newGroupTable(groups int64) *groupTable {
	t := &groupTable{groups: make([]groupSlot, 0, groups)}
	t.index.reset(int(groups))
	return t
}

func (t *groupTable) hashAt(at int) hash128 { return t.groups[at].hash }

// find returns a group of the batch, nil if it is not there.
func (t *groupTable) find(h hash128) *groupSlot {
	if s := t.index.find(h, t.hashAt); s.at > 0 {
		return &t.groups[s.at-1]
	}
	return nil
}

func (t *groupTable) add(g *idGroup) {
	s := t.index.find(g.hash, t.hashAt)
	if s.at == 0 {
		if len(t.groups) > len(t.index.slots)*3/4 {
			t.grow()
			s = t.index.find(g.hash, t.hashAt)
		}
		t.groups = append(t.groups, groupSlot{hash: g.hash, run: g.run})
		*s = textSlot{g.hash.tag(), int32(len(t.groups))}
	}
	have := &t.groups[s.at-1]
	have.rows += int64(g.rows)
	for i, has := range g.has {
		have.mine[i] |= has
	}
}

func (t *groupTable) grow() {
	t.index.reset(2 * len(t.groups))
	for i := range t.groups {
		h := t.groups[i].hash
		*t.index.find(h, t.hashAt) = textSlot{h.tag(), int32(i + 1)}
	}
}
