package sql

import "encoding/binary"

// codeReader takes the codes of dictionary pages
// (https://parquet.apache.org/docs/file-format/data-pages/encodings/).
type codeReader struct {
	optional bool  // rows may be NULL
	spans    bool  // codes are kept as runs of rows
	size     int32 // of the dictionary
	rows     int   // so far
	codes    []int32
	found    []colSpan
	bad      bool // some code is none of the dictionary
	levels   []int32
	dense    []int32
}

// page adds a data page of so many rows.
func (r *codeReader) page(b []byte, rows int) error {
	if rows <= 0 {
		return errUncounted
	}
	levels, b, ok := levelsOf(b, rows, r.optional)
	if !ok {
		return errUncounted
	}
	here := levels == nil // no row is NULL
	if !here {
		var err error
		if r.levels, err = gather(r.levels[:0], levels, 1, rows); err != nil {
			return err
		}
	}
	there := rows
	if !here {
		there = 0
		for _, l := range r.levels {
			there += int(l & 1)
		}
	}
	if there == 0 {
		r.addRun(noValue, rows)
		return nil
	}
	if len(b) == 0 || b[0] > 31 {
		return errUncounted
	}
	if !here {
		return r.sparse(b, there)
	}
	err := hybrid(b[1:], int(b[0]), rows, func(v int32, n int) {
		r.bad = r.bad || uint32(v) >= uint32(r.size)
		r.addRun(v, n)
	}, r.addCodes)
	if r.bad {
		return errUncounted
	}
	return err
}

// sparse adds a page of which only some rows have a value.
func (r *codeReader) sparse(b []byte, there int) (err error) {
	if r.dense, err = gather(r.dense[:0], b[1:], int(b[0]), there); err != nil {
		return err
	}
	next := 0
	for i, l := range r.levels {
		if l&1 == 0 {
			r.levels[i] = noValue
			continue
		}
		r.levels[i] = r.dense[next]
		next++
		r.bad = r.bad || uint32(r.levels[i]) >= uint32(r.size)
	}
	if r.bad {
		return errUncounted
	}
	r.append(r.levels)
	return nil
}

// addRun adds n rows of one code.
func (r *codeReader) addRun(code int32, n int) {
	if r.spans {
		if last := len(r.found); last == 0 || r.found[last-1].code != code {
			r.found = append(r.found, colSpan{int32(r.rows), code})
		}
	} else {
		r.codes = appendTimes(r.codes, code, n)
	}
	r.rows += n
}

// addCodes adds rows of codes of the dictionary.
func (r *codeReader) addCodes(codes []int32) {
	var most uint32
	for _, code := range codes {
		most = max(most, uint32(code))
	}
	r.bad = r.bad || most >= uint32(r.size)
	r.append(codes)
}

func (r *codeReader) append(codes []int32) {
	if r.spans {
		for _, code := range codes {
			r.addRun(code, 1)
		}
		return
	}
	r.codes = append(r.codes, codes...)
	r.rows += len(codes)
}

func appendTimes(s []int32, v int32, n int) []int32 {
	at := len(s)
	for range n {
		s = append(s, v)
	}
	return s[:at+n]
}

// gather appends n values of a hybrid to s.
func gather(s []int32, b []byte, width, n int) ([]int32, error) {
	err := hybrid(b, width, n, func(v int32, n int) { s = appendTimes(s, v, n) }, func(v []int32) { s = append(s, v...) })
	return s, err
}

// soleRun is the value and length of a hybrid of bits that is one run; otherwise the
// length is 0.
func soleRun(b []byte) (int32, int) {
	head, n := binary.Uvarint(b)
	if n <= 0 || head&1 == 1 || head>>1 > mostRows || len(b) != n+1 {
		return 0, 0
	}
	return int32(b[n]), int(head >> 1)
}

// hybrid decodes n values of so many bits, which are runs of equal ones and packed
// groups of eight.
func hybrid(b []byte, width, n int, run func(v int32, n int), packed func(v []int32)) error {
	var buf [1024]int32
	for n > 0 {
		head, size := binary.Uvarint(b)
		if size <= 0 {
			return errUncounted
		}
		b = b[size:]
		if head&1 == 0 {
			bytes, v := (width+7)/8, int32(0)
			if len(b) < bytes || head == 0 {
				return errUncounted
			}
			for i := range bytes {
				v |= int32(b[i]) << (8 * i)
			}
			b = b[bytes:]
			count := int(min(head>>1, uint64(n)))
			run(v, count)
			n -= count
			continue
		}
		groups := head >> 1
		if groups == 0 || groups > mostRows {
			return errUncounted
		}
		end := min(int(groups)*width, len(b)) // the last group may be cut short
		for left := min(int(groups)*8, n); left > 0; {
			count := min(left, len(buf))
			need := (count*width + 7) / 8
			if need > end {
				return errUncounted
			}
			unpack(buf[:count], b, width)
			packed(buf[:count])
			step := len(buf) / 8 * width
			if count < len(buf) {
				step = end
			}
			b, end = b[min(step, len(b)):], end-min(step, end)
			left, n = left-count, n-count
		}
		b = b[end:]
	}
	return nil
}

// unpack decodes values of so many bits, which lie without gaps, the lowest first.
func unpack(out []int32, b []byte, width int) {
	mask := uint64(1)<<width - 1
	bit, i := 0, 0
	for ; i < len(out) && bit>>3+8 <= len(b); i++ {
		out[i] = int32(binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & mask)
		bit += width
	}
	for ; i < len(out); i++ { // the last bytes one by one
		v, at := uint64(0), bit>>3
		for shift := 0; shift < width+bit&7; shift += 8 {
			v |= uint64(b[at]) << shift
			at++
		}
		out[i] = int32(v >> (bit & 7) & mask)
		bit += width
	}
}

// bits appends n bits as codes, the lowest of a byte first.
func bits(codes []int32, b []byte, n int) []int32 {
	for ; n >= 8; n -= 8 {
		v := int32(b[0])
		codes = append(codes, v&1, v>>1&1, v>>2&1, v>>3&1, v>>4&1, v>>5&1, v>>6&1, v>>7)
		b = b[1:]
	}
	for i := range n {
		codes = append(codes, int32(b[0]>>i&1))
	}
	return codes
}
