package ingest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// This file passes over JSON text by looking only at what can end something.
// Of what is passed over it is checked that strings end, that brackets match
// and how deep they nest; words, numbers, commas and the encoding of text are
// looked at where a value is kept.

// shortText is how many steps of eight bytes are taken before a search whose
// beginning costs more and whose bytes cost less.
const shortText = 4

// textEnd returns the index of the quote that ends the string whose inside is
// at b[i], -1 if the text ends first.
func textEnd(b []byte, i int) int {
	for n := 0; n < shortText && i+8 <= len(b); n++ {
		w := binary.LittleEndian.Uint64(b[i:])
		q, s := w^(ones*'"'), w^(ones*'\\')
		hit := ((q-ones)&^q | (s-ones)&^s) & highs
		if hit == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(hit) >> 3
		if b[i] == '"' {
			return i
		}
		i += 2
	}
	return longTextEnd(b, i)
}

func longTextEnd(b []byte, i int) int {
	for from := i; i < len(b); i++ {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			return -1
		}
		if i += q; backslashes(b, from, i)&1 == 0 {
			return i
		}
	}
	return -1
}

// backslashes counts those that stand before b[end], back to b[from].
func backslashes(b []byte, from, end int) int {
	n := 0
	for end-n > from && b[end-n-1] == '\\' {
		n++
	}
	return n
}

// nextMark returns the index of the first quote or bracket from b[i] on, or of
// a byte that has no place outside of strings; len(b) if there is none.
func nextMark(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		q := w ^ (ones * '"')
		// With 0x26 set all four brackets are 0x7F, the next byte is 0x80.
		hit := ((q-ones)&^q | ((w | ones*0x26) + ones)) & highs
		if hit != 0 {
			return i + bits.TrailingZeros64(hit)>>3
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c == '"' || c|0x26 >= 0x7F {
			break
		}
	}
	return i
}

// skipNested finds the end of the object or list at b[i].
func skipNested(b []byte, i int) (int, *scanError) {
	var nest nesting
	for start := i; ; i++ {
		if i = nextMark(b, i); i == len(b) {
			return 0, scanErrorf(start, "this %q is never closed", b[start])
		}
		switch c := b[i]; c {
		case '"':
			e := textEnd(b, i+1)
			if e < 0 {
				return 0, scanErrorf(i, "this string does not end")
			}
			i = e
		case '{', '[':
			if !nest.open(c == '{') {
				return 0, scanErrorf(i, "nested deeper than %d levels", maxDepth)
			}
		case '}', ']':
			if !nest.close(c == '}') {
				return 0, scanErrorf(i, "found %q, which closes nothing that is open", c)
			}
			if nest.depth == 0 {
				return i + 1, nil
			}
		}
	}
}

// elementScan finds the end of an element in text that comes in pieces.
type elementScan struct {
	nest    nesting
	over    int  // brackets beyond maxDepth, open or closed: the element is passed over
	open    int  // those of them that are open
	inText  bool // inside a string
	escaped bool // behind a backslash that escapes what follows
	scalar  bool // a number or word, which ends before what can't be part of it
}

// scan looks through b and returns how much of it belongs to the element, and
// whether the element ends there; fault is not "" where brackets don't match.
func (e *elementScan) scan(b []byte) (n int, done bool, fault string) {
	if e.scalar {
		n, done = scalarEnd(b)
		return n, done, ""
	}
	if len(b) == 0 {
		return 0, false, ""
	}
	i := boolInt(e.escaped)
	e.escaped = false
	for {
		if e.inText {
			end := textEnd(b, i)
			if end < 0 {
				e.escaped = backslashes(b, i, len(b))&1 == 1
				return len(b), false, ""
			}
			e.inText = false
			if i = end + 1; e.nest.depth == 0 {
				return i, true, ""
			}
		}
		if i = nextMark(b, i); i == len(b) {
			return i, false, ""
		}
		switch c := b[i]; {
		case c == '"':
			e.inText = true
		case c == '{' || c == '[':
			if !e.nest.open(c == '{') {
				e.over++
				e.open++
			}
		case c != '}' && c != ']':
		case e.open > 0:
			e.open--
		case !e.nest.close(c == '}'):
			return i, false, fmt.Sprintf("found %q, which closes nothing that is open", c)
		case e.nest.depth == 0:
			return i + 1, true, ""
		}
		i++
	}
}

// scalarEnd finds what ends a number or word.
func scalarEnd(b []byte) (n int, done bool) {
	for i, c := range b {
		if c == ',' || c == ']' || c == '}' || c == ' ' || c == '\n' || c == '\r' || c == '\t' {
			return i, true
		}
	}
	return len(b), false
}
