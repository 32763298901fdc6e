package store

import "math"

// tallier makes tallies of row groups, one for each Part; it keeps its scratch
// from one to the next.
type tallier struct {
	keys    []uint64 // by row: the key as one number
	gid     []int32  // by row: its group
	firsts  []int32  // by group: its first row
	keyOf   []int32  // by row: its groupKey; empty where all have the first
	shared  []groupKey
	cached  []bool
	table   []gidSlot
	tallies []tally // by group
	odds    odds
	ids     [len(rollupText)][]uint32 // by code: its number in the roll-up, plus one
	keyIDs  []uint32                  // by groupKey: its number in the roll-up, plus one
}

type gidSlot struct {
	key uint64
	id  int32 // plus one; 0: empty
}

// add tallies the rows of a row group and merges them into r. Rows are grouped
// by the dictionary codes of the key columns that vary, taken as digits of one
// number; text is touched once for each value.
func (a *tallier) add(g *rowGroup, r *rollup) error {
	if g.rows == 0 {
		return nil
	}
	a.group(g)
	a.start(g)
	a.count(g)
	r.mu.Lock()
	defer r.mu.Unlock()
	a.forget(g)
	for i := range a.tallies {
		if r.full() {
			if err := r.spill(); err != nil {
				return err
			}
			a.forget(g)
		}
		t := &a.tallies[i]
		t.key, t.task = a.keyID(t.key, g, r), a.textID(kTaskID, t.task, g, r)
		r.put(t, &a.odds)
	}
	return nil
}

// forget forgets the numbers that the roll-up gave.
func (a *tallier) forget(g *rowGroup) {
	for i, c := range rollupText {
		a.ids[i] = sized(a.ids[i], len(g.text[c].values)+1)
		clear(a.ids[i])
	}
	a.keyIDs = sized(a.keyIDs, len(a.shared))
	clear(a.keyIDs)
}

// textID is the roll-up's number of a code plus one of text column k.
func (a *tallier) textID(k int, code uint32, g *rowGroup, r *rollup) uint32 {
	if code == 0 {
		return 0
	}
	id := &a.ids[k][code]
	if *id == 0 {
		*id = r.id(g.text[rollupText[k]].values[code-1]) + 1
	}
	return *id - 1
}

// keyID is the roll-up's number of a shared key.
func (a *tallier) keyID(key uint32, g *rowGroup, r *rollup) uint32 {
	if a.keyIDs[key] == 0 {
		k := a.shared[key]
		for i, code := range k.text {
			k.text[i] = a.textID(i, code, g, r)
		}
		a.keyIDs[key] = r.keyID(&k) + 1
	}
	return a.keyIDs[key] - 1
}

// group finds the groups: first those of rows that differ in their task at most,
// then the tasks in them.
func (a *tallier) group(g *rowGroup) {
	rows := int(g.rows)
	a.keys, a.gid = sized(a.keys, rows), sized(a.gid, rows)
	clear(a.keys)
	cards := uint64(1) // keys are below it
	for i, c := range rollupText {
		if i != kTaskID {
			cards = a.digit(cards, g.text[c].spans, len(g.text[c].values))
		}
	}
	for _, c := range rollupNums {
		cards = a.digit(cards, sameCodes(&g.nums[c]), len(g.nums[c].values))
	}
	a.number()
	a.share(g)
	a.keyOf = a.keyOf[:0]
	if len(a.firsts) > 1 {
		a.keyOf = append(a.keyOf, a.gid...)
	}
	task := g.text[cTaskID]
	if len(task.spans) == 1 {
		return
	}
	cards = a.renumber()
	a.digit(cards, task.spans, len(task.values))
	a.number()
}

// renumber makes the numbers of groups the keys and says below what they are.
func (a *tallier) renumber() uint64 {
	for i, id := range a.gid {
		a.keys[i] = uint64(id)
	}
	return uint64(len(a.firsts))
}

// digit appends the codes of a column to the keys, which are below cards, and
// says below what they are then.
func (a *tallier) digit(cards uint64, spans []span, values int) uint64 {
	if len(spans) == 1 {
		return cards
	}
	base := uint64(values) + 1
	if cards > math.MaxUint64/base {
		a.number()
		cards = a.renumber()
	}
	for i, s := range spans {
		end := len(a.keys)
		if i+1 < len(spans) {
			end = int(spans[i+1].start)
		}
		code := uint64(s.code + 1)
		part := a.keys[s.start:end]
		for j := range part {
			part[j] = part[j]*base + code
		}
	}
	return cards * base
}

// number numbers the different keys in order of appearance.
func (a *tallier) number() {
	if len(a.table) == 0 {
		a.table = make([]gidSlot, 1<<10)
	}
	clear(a.table)
	a.firsts = a.firsts[:0]
	last, lastID := uint64(0), int32(-1)
	for i, key := range a.keys {
		if lastID >= 0 && key == last {
			a.gid[i] = lastID
			continue
		}
		s := a.slot(key)
		if s.id == 0 {
			a.firsts = append(a.firsts, int32(i))
			*s = gidSlot{key, int32(len(a.firsts))}
			last, lastID = key, s.id-1
			if len(a.firsts) > len(a.table)/2 {
				a.growTable()
			}
		} else {
			last, lastID = key, s.id-1
		}
		a.gid[i] = lastID
	}
}

func (a *tallier) slot(key uint64) *gidSlot {
	mask := uint64(len(a.table) - 1)
	for i := key * 0x9e3779b97f4a7c15 >> 20 & mask; ; i = (i + 1) & mask {
		if s := &a.table[i]; s.id == 0 || s.key == key {
			return s
		}
	}
}

func (a *tallier) growTable() {
	old := a.table
	a.table = make([]gidSlot, 4*len(old))
	for _, s := range old {
		if s.id > 0 {
			*a.slot(s.key) = s
		}
	}
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

// share makes the keys of the groups as they are without tasks, in codes.
func (a *tallier) share(g *rowGroup) {
	a.shared = sized(a.shared, len(a.firsts))
	clear(a.shared)
	for k, c := range rollupText {
		if k != kTaskID {
			a.eachFirst(g.text[c].spans, func(i int, code int32) { a.shared[i].text[k] = uint32(code + 1) })
		}
	}
	for k, c := range rollupNums {
		a.eachFirst(g.nums[c].spans, func(i int, code int32) {
			if code != null {
				a.shared[i].nums[k], a.shared[i].has[k] = g.nums[c].values[code], true
			}
		})
	}
}

// start makes the tallies with their keys and tasks, as codes.
func (a *tallier) start(g *rowGroup) {
	a.odds = a.odds[:0]
	a.tallies = sized(a.tallies, len(a.firsts))
	for i := range a.tallies {
		a.tallies[i] = tally{runAt: math.MaxInt64}
		if len(a.keyOf) > 0 {
			a.tallies[i].key = uint32(a.keyOf[a.firsts[i]])
		}
	}
	a.eachFirst(g.text[cTaskID].spans, func(i int, code int32) { a.tallies[i].task = uint32(code + 1) })
}

// eachFirst calls f with the code of the first row of every group.
func (a *tallier) eachFirst(spans []span, f func(i int, code int32)) {
	at := 0
	for i, row := range a.firsts { // they ascend
		for at+1 < len(spans) && spans[at+1].start <= row {
			at++
		}
		f(i, spans[at].code)
	}
}

// count adds the rows to their tallies. A cached trial is no trial: it counts
// as cached and nowhere else.
func (a *tallier) count(g *rowGroup) {
	a.cached = sized(a.cached, int(g.rows))
	clear(a.cached)
	gid, tallies, cached := a.gid, a.tallies, a.cached
	g.eachNum(cCached, func(row int32, v uint64) { cached[row] = v != 0 })
	for row, id := range gid {
		t := &tallies[id]
		if cached[row] {
			t.cached++
			continue
		}
		t.n++
		t.ungraded++ // taken back below
	}
	g.eachNum(cRunAt, func(row int32, v uint64) {
		t := &tallies[gid[row]]
		t.runAt = min(t.runAt, int64(v))
	})
	g.eachNum(cPassed, func(row int32, v uint64) {
		if !cached[row] {
			t := &tallies[gid[row]]
			t.ungraded--
			t.c += int64(v)
		}
	})
	g.eachText(cErrorType, func(row int32) {
		if !cached[row] {
			tallies[gid[row]].errors++
		}
	})
	for i, c := range rollupFloats {
		a.sumFloats(&g.nums[c], i)
	}
	for i, c := range rollupInts {
		a.sumInts(&g.nums[c], i)
	}
}

// sumFloats adds a column of floats to sum i of the tallies.
func (a *tallier) sumFloats(col *numColumn, i int) {
	rows := int32(len(a.gid))
	for n, s := range col.spans {
		if s.code == null {
			continue
		}
		v, end := math.Float64frombits(col.values[s.code]), rows
		if n+1 < len(col.spans) {
			end = col.spans[n+1].start
		}
		for row := s.start; row < end; row++ {
			if !a.cached[row] {
				a.tallies[a.gid[row]].floats[i].add(v, &a.odds)
			}
		}
	}
}

// sumInts adds a column of integers to sum i of the tallies.
func (a *tallier) sumInts(col *numColumn, i int) {
	rows := int32(len(a.gid))
	for n, s := range col.spans {
		if s.code == null {
			continue
		}
		v, end := int64(col.values[s.code]), rows
		if n+1 < len(col.spans) {
			end = col.spans[n+1].start
		}
		for row := s.start; row < end; row++ {
			if !a.cached[row] {
				a.tallies[a.gid[row]].ints[i].add(v)
			}
		}
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
