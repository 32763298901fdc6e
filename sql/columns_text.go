package sql

import (
	"encoding/binary"

	pq "github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
)

// textColumn reads a column of texts that stand in its pages as they are and have no NULL
// among them, and gives each different one a code; nil: it is not so. The writer leaves a
// dictionary out where the same texts follow each other again and again, as the tasks of run
// after run do, since compression makes them smaller than their codes.
func (r *groupReader) textColumn(at int) (*column, error) {
	pages, width, err := r.pages(at, false)
	if pages == nil || err != nil {
		return nil, err
	}
	defer pages.Close()
	if width != 0 {
		return nil, nil // numbers
	}
	optional := r.optional(at)
	if r.buf.of == nil {
		r.buf.of = map[string]int32{}
	}
	clear(r.buf.of)
	t := &textReader{codes: r.buf.codes.take(r.rows), of: r.buf.of, last: noValue}
	for len(t.codes) < r.rows && pages.Next() {
		page, ok := pages.Page().(*file.DataPageV1)
		if !ok || pq.Encoding(page.Encoding()) != pq.Encodings.Plain {
			return nil, nil
		}
		rows := min(int(page.NumValues()), r.rows-len(t.codes))
		b, ok := withoutLevels(page.Data(), rows, optional)
		if !ok || !t.page(b, rows) {
			return nil, nil
		}
	}
	if err := pages.Err(); err != nil || len(t.codes) < r.rows {
		return nil, err
	}
	return &column{codes: t.codes, texts: t.texts}, nil
}

// withoutLevels are the values of a page; false: some rows have none.
func withoutLevels(b []byte, rows int, optional bool) ([]byte, bool) {
	levels, rest, ok := levelsOf(b, rows, optional)
	return rest, ok && levels == nil
}

// mostUnlike is the number of texts, all different, after which no more are looked for.
const mostUnlike = 65_536

// textReader gives texts codes. What followed a text before is likely to follow it again.
type textReader struct {
	codes []int32
	texts [][]byte
	after []int32 // by code, the one that followed it last
	last  int32
	of    map[string]int32
	block []byte // from which texts are cut
}

// page reads so many texts; false: there are not so many.
func (t *textReader) page(b []byte, rows int) bool {
	for range rows {
		if len(b) < 4 {
			return false
		}
		n := int(binary.LittleEndian.Uint32(b))
		if n < 0 || n > len(b)-4 {
			return false
		}
		text := b[4 : 4+n]
		b = b[4+n:]
		code := int32(noValue)
		if t.last != noValue {
			code = t.after[t.last]
		}
		if code == noValue || string(t.texts[code]) != string(text) {
			code = t.code(text)
			if t.last != noValue {
				t.after[t.last] = code
			}
		}
		t.codes, t.last = append(t.codes, code), code
	}
	return true
}

// code looks a text up.
func (t *textReader) code(text []byte) int32 {
	if t.of != nil {
		if code, ok := t.of[string(text)]; ok {
			return code
		}
	}
	code := int32(len(t.texts))
	if len(t.block)+len(text) > cap(t.block) || t.block == nil {
		t.block = make([]byte, 0, max(len(text), 1<<14))
	}
	at := len(t.block)
	t.block = append(t.block, text...)           // the page is the reader's
	own := t.block[at:len(t.block):len(t.block)] // not nil, which is NULL
	t.texts, t.after = append(t.texts, own), append(t.after, noValue)
	if t.of != nil {
		t.of[string(own)] = code
		if len(t.of) == mostUnlike && len(t.codes) == mostUnlike-1 {
			t.of = nil
		}
	}
	return code
}
