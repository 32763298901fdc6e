package store

import (
	"encoding/binary"
	"math/bits"
)

// appendPacked appends the low width bits of each value, without gaps; the
// number of values is a multiple of 8, so that the last byte is full.
func appendPacked[T int32 | uint64](b []byte, values []T, width int) []byte {
	acc, n := uint64(0), 0
	for _, v := range values {
		x := uint64(v) & (1<<width - 1)
		acc |= x << n
		n += width
		if n < 64 {
			continue
		}
		b = binary.LittleEndian.AppendUint64(b, acc)
		n -= 64
		acc = x >> (width - n) // 0 where n is 0
	}
	for ; n > 0; n -= 8 {
		b = append(b, byte(acc))
		acc >>= 8
	}
	return b
}

// appendRun appends n times v to the hybrid of runs and packed values.
func appendRun(b []byte, v int32, n, width int) []byte {
	b = binary.AppendUvarint(b, uint64(n)<<1)
	for range (width + 7) / 8 {
		b = append(b, byte(v))
		v >>= 8
	}
	return b
}

// appendHybrid appends values of so many bits as runs of equal ones, where there
// are eight and more, and as packed groups of eight.
func appendHybrid(b []byte, values []int32, width int) []byte {
	literal := 0 // values from here on wait to be packed
	for i := 0; i < len(values); {
		n := 1
		for i+n < len(values) && values[i+n] == values[i] {
			n++
		}
		if n < 8 {
			i += n
			continue
		}
		fill := -(i - literal) & 7 // so many of the run complete the last group
		if n-fill < 8 {
			i += n
			continue
		}
		b = appendLiteral(b, values[literal:i+fill], width)
		b = appendRun(b, values[i], n-fill, width)
		i += n
		literal = i
	}
	return appendLiteral(b, values[literal:], width)
}

func appendLiteral(b []byte, values []int32, width int) []byte {
	if len(values) == 0 {
		return b
	}
	groups := (len(values) + 7) / 8
	b = binary.AppendUvarint(b, uint64(groups)<<1|1)
	whole := len(values) &^ 7
	b = appendPacked(b, values[:whole], width)
	if whole < len(values) {
		var last [8]int32
		copy(last[:], values[whole:])
		b = appendPacked(b, last[:], width)
	}
	return b
}

// widthOf is how many bits hold the codes of so many values, at least one.
func widthOf(values int) int { return max(bits.Len(uint(max(values-1, 0))), 1) }

// Parquet's DELTA_BINARY_PACKED: blocks of differences, in four parts that have
// a width each.
const (
	deltaBlock = 128
	deltaPart  = deltaBlock / 4
)

// appendDeltas appends integers as differences. Those of 32 bits wrap around at
// 32, as their readers do.
func appendDeltas(b []byte, values []int64, narrow bool) []byte {
	b = binary.AppendUvarint(b, deltaBlock)
	b = binary.AppendUvarint(b, deltaBlock/deltaPart)
	b = binary.AppendUvarint(b, uint64(len(values)))
	if len(values) == 0 {
		return append(b, 0)
	}
	b = binary.AppendVarint(b, values[0])
	var deltas [deltaBlock]uint64
	for at := 1; at < len(values); at += deltaBlock {
		n := min(deltaBlock, len(values)-at)
		least := int64(0)
		for i := range n {
			d := values[at+i] - values[at+i-1]
			if narrow {
				d = int64(int32(d))
			}
			deltas[i] = uint64(d)
			if i == 0 || d < least {
				least = d
			}
		}
		b = appendDeltaBlock(b, &deltas, n, least, narrow)
	}
	return b
}

func appendDeltaBlock(b []byte, deltas *[deltaBlock]uint64, n int, least int64, narrow bool) []byte {
	for i := range n {
		deltas[i] -= uint64(least)
		if narrow {
			deltas[i] = uint64(uint32(deltas[i]))
		}
	}
	clear(deltas[n:])
	b = binary.AppendVarint(b, least)
	var widths [deltaBlock / deltaPart]byte
	for p := range widths {
		all := uint64(0)
		for _, d := range deltas[p*deltaPart : (p+1)*deltaPart] {
			all |= d
		}
		widths[p] = byte(bits.Len64(all))
	}
	b = append(b, widths[:]...)
	for p, w := range widths {
		if w == 64 {
			for _, d := range deltas[p*deltaPart : (p+1)*deltaPart] {
				b = binary.LittleEndian.AppendUint64(b, d)
			}
		} else if w > 0 {
			b = appendPacked(b, deltas[p*deltaPart:(p+1)*deltaPart], int(w))
		}
	}
	return b
}

// appendTexts appends texts as what each has in common with the one before it
// and the rest (Parquet's DELTA_BYTE_ARRAY).
func (s *scratch) appendTexts(b []byte, texts [][]byte) []byte {
	s.ints, s.ints2 = sized(s.ints, len(texts)), sized(s.ints2, len(texts))
	var last []byte
	for i, t := range texts {
		n, most := 0, min(len(t), len(last))
		for n+8 <= most && binary.LittleEndian.Uint64(t[n:]) == binary.LittleEndian.Uint64(last[n:]) {
			n += 8
		}
		for n < most && t[n] == last[n] {
			n++
		}
		s.ints[i], s.ints2[i] = int64(n), int64(len(t)-n)
		last = t
	}
	b = appendDeltas(b, s.ints, true)
	b = appendDeltas(b, s.ints2, true)
	for i, t := range texts {
		b = append(b, t[s.ints[i]:]...)
	}
	return b
}
