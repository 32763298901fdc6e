package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"passhat/ingest/store"
)

// readList reads the list of a document on several goroutines, in pieces of the
// given size, and returns what came in which order.
func readList(t *testing.T, text string, jobs, piece, maxRow int, each func(raw []byte) string) (got []string, err error) {
	t.Helper()
	was, wasWaiting := pieceBytes, waitingBytes
	pieceBytes, waitingBytes = piece, 4*piece
	defer func() { pieceBytes, waitingBytes = was, wasWaiting }()
	in := &Input{Name: "a.json"}
	s := newArrayStream(iotest.OneByteReader(strings.NewReader(text)), maxRow)
	s.buf = make([]byte, piece)
	d := &document{ctx: context.Background(), in: in, s: s, yield: func(_ *store.Trial, err error) bool {
		got = append(got, err.Error())
		return true
	}}
	if d.s.begin() != '[' {
		t.Fatalf("%q is no list", text)
	}
	err = decodeElements(d, "l", jobs, func() func(string, []byte, *string) {
		return func(at string, raw []byte, to *string) { *to = at + "=" + each(raw) }
	}, func(s *string) error {
		got = append(got, *s)
		return nil
	})
	if c := d.s.peek(); err == nil && c != 0 {
		got = append(got, "then "+string(c))
	}
	return got, d.end(err)
}

// TestListInPieces reads lists on one and on four goroutines in pieces of every
// small size: places, order, rejects and errors are the same.
func TestListInPieces(t *testing.T) {
	for _, text := range []string{
		`[]`, `[ 1 , "two\"" , {"three":[3,"]"]} , null,[[ ]] ]`, `[1,2,3`, `[{"a":1},{"b":`, `[1,2,]`, `[1 2]`, `[{"a":1}}`, `[1,2]x`,
		`["` + strings.Repeat("long ", 9) + `",1,"` + strings.Repeat(`\\`, 30) + `",{"k":"` + strings.Repeat("x", 50) + `"},5,6,7]`,
		"[" + strings.Repeat(`{"n":1}, `, 40) + "2]", "[" + strings.Repeat("[", maxDepth+2) + strings.Repeat("]", maxDepth+2) + ",1]",
	} {
		echo := func(raw []byte) string { return string(raw) }
		want, wantErr := readList(t, text, 1, 1<<16, 40, echo)
		for _, jobs := range []int{1, 4} {
			for _, piece := range []int{1, 2, 3, 5, 8, 13, 32, 64, 150} {
				got, err := readList(t, text, jobs, piece, 40, echo)
				if fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatalf("%.80q by %d in pieces of %d: %q, %v\nwant %q, %v", text, jobs, piece, got, err, want, wantErr)
				}
			}
		}
	}
}

// TestListOfTinyElements holds no more of what was made of them than of some,
// however many fit into a piece.
func TestListOfTinyElements(t *testing.T) {
	was := pieceRows
	pieceRows = 3
	defer func() { pieceRows = was }()
	text := "[" + strings.Repeat("{},", 300) + `{"a":1}` + strings.Repeat(",7", 99) + `,"` + strings.Repeat("x", 50) + `",8]`
	var alive, most atomic.Int64
	echo := func(raw []byte) string {
		most.Store(max(most.Load(), alive.Add(1)))
		return string(raw)
	}
	for _, piece := range []int{64, 1 << 16} {
		got, err := readList(t, text, 2, piece, 40, func(raw []byte) string { return string(raw) })
		if err != nil || len(got) != 402 || got[299] != "l[299]={}" || got[300] != `l[300]={"a":1}` || got[399] != "l[399]=7" || got[401] != "l[401]=8" {
			t.Fatalf("in pieces of %d: %d elements, %v: %q", piece, len(got), err, got)
		}
	}
	l := &parallelList[string]{d: &document{ctx: context.Background()}, take: func(*string) error { alive.Add(-1); return nil },
		newDecoder: func() func(string, []byte, *string) {
			return func(_ string, raw []byte, to *string) { *to = echo(raw) }
		}}
	p := &piece[string]{rows: make([]listRow, 1000)}
	l.decode(p, l.newDecoder())
	l.takePiece(p)
	if most.Load() > int64(pieceRows)+1 || alive.Load() != 0 || l.err != nil {
		t.Errorf("%d elements at once, %d left, %v", most.Load(), alive.Load(), l.err)
	}
}

// TestListStopsWhereItsReaderStops ends the reading, by an error and by a panic,
// at an element in the middle.
func TestListStopsWhereItsReaderStops(t *testing.T) {
	text := "[" + strings.Repeat("1,", 500) + "2" + strings.Repeat(",3", 500) + "]"
	func() {
		defer func() {
			if r := recover(); r != "at two" {
				t.Errorf("recovered %v, want the decoder's panic", r)
			}
		}()
		_, err := readList(t, text, 3, 16, 1000, func(raw []byte) string {
			if raw[0] == '2' {
				panic("at two")
			}
			return ""
		})
		t.Errorf("no panic, %v", err)
	}()
	s := newArrayStream(strings.NewReader(text), 1000)
	s.buf = make([]byte, 16)
	was := pieceBytes
	pieceBytes = 16
	defer func() { pieceBytes = was }()
	d := &document{ctx: context.Background(), in: &Input{Name: "a.json"}, s: s}
	s.peek()
	n, enough := 0, errors.New("enough")
	err := decodeElements(d, "l", 3, func() func(string, []byte, *int) {
		return func(_ string, raw []byte, to *int) { *to = int(raw[0] - '0') }
	}, func(v *int) error {
		if n++; *v == 2 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || n != 501 {
		t.Errorf("stopped behind %d elements by %v, want 501", n, err)
	}
	if _, err := io.ReadAll(s.r); err != nil {
		t.Error(err)
	}
}
