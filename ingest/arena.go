package ingest

import "strconv"

// arena holds the bytes of many small strings in few blocks, which are never
// written again.
type arena struct {
	block []byte
}

const arenaBlock = 64 << 10

func (a *arena) room(n int) {
	if cap(a.block)-len(a.block) >= n {
		return
	}
	a.block = make([]byte, 0, max(arenaBlock, n))
}

// str copies b into the arena.
func (a *arena) str(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	a.room(len(b))
	i := len(a.block)
	a.block = append(a.block, b...)
	return view(a.block[i:])
}

// line makes the text of a line number.
func (a *arena) line(n int64) string {
	a.room(20)
	i := len(a.block)
	a.block = strconv.AppendInt(a.block, n, 10)
	return view(a.block[i:])
}
