package ingest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// slowScan is what elementScan does, a byte at a time.
type slowScan struct {
	stack           []byte
	over, open      int
	inText, escaped bool
}

func (e *slowScan) step(c byte) (done, fault bool) {
	switch {
	case e.escaped:
		e.escaped = false
	case e.inText:
		e.escaped = c == '\\'
		e.inText = c != '"'
		return c == '"' && len(e.stack) == 0, false
	case c == '"':
		e.inText = true
	case c == '{' || c == '[':
		if len(e.stack) == maxDepth {
			e.over++
			e.open++
		} else {
			e.stack = append(e.stack, c)
		}
	case (c == '}' || c == ']') && e.open > 0:
		e.open--
	case c == '}' || c == ']':
		if len(e.stack) == 0 || e.stack[len(e.stack)-1] != c-2 {
			return false, true
		}
		e.stack = e.stack[:len(e.stack)-1]
		return len(e.stack) == 0, false
	}
	return false, false
}

// slowly returns where the element that begins b ends, -1 where it is faulty
// and len(b)+1 where it doesn't end.
func slowly(b []byte) (end, over int) {
	var e slowScan
	for i, c := range b {
		done, fault := e.step(c)
		if fault {
			return -1, e.over
		}
		if done {
			return i + 1, e.over
		}
	}
	return len(b) + 1, e.over
}

// quickly is the same by elementScan, in pieces that end at the cuts.
func quickly(b []byte, cuts ...int) (end, over int) {
	var e elementScan
	from := 0
	for _, to := range append(cuts, len(b)) {
		n, done, fault := e.scan(b[from:to:to])
		if fault != "" {
			return -1, e.over
		}
		if from += n; done {
			return from, e.over
		}
	}
	return len(b) + 1, e.over
}

// compareSkips holds the scanners that pass over text to the slow one.
func compareSkips(t *testing.T, b []byte, cuts ...int) {
	t.Helper()
	if len(b) == 0 || b[0] != '{' && b[0] != '[' && b[0] != '"' {
		return
	}
	want, over := slowly(b)
	if got, gotOver := quickly(b, cuts...); got != want || gotOver != over {
		t.Fatalf("%q cut at %v: the element ends at %d (%d too deep), want %d (%d)", b, cuts, got, gotOver, want, over)
	}
	if b[0] == '"' {
		end, escaped := stringEnd(b, 1)
		if want > len(b) {
			want = 0
		}
		if end != want-1 || textEnd(b, 1) != end || end > 0 && escaped != strings.Contains(string(b[1:end]), `\`) {
			t.Fatalf("%q: the string ends at %d and %d, escaped %t, want %d", b, end, textEnd(b, 1), escaped, want-1)
		}
		return
	}
	end, err := skipNested(b, 0)
	if (err == nil) != (want >= 0 && want <= len(b) && over == 0) || err == nil && end != want {
		t.Fatalf("%q: skipNested ends at %d (%v), want %d", b, end, err, want)
	}
}

// nasty are documents with something of everything that can mislead a scanner.
var nasty = []string{
	`{"a":"\\","b":"\\\"","c":[{"}":"]"},{"d":"\u005c"}],"e":"` + strings.Repeat(`\\`, 40) + `"}`,
	`["` + strings.Repeat("x", 31) + `","` + strings.Repeat("y", 33) + `\"","` + strings.Repeat(`\"`, 33) + `"]`,
	`"` + strings.Repeat("long text without an end ", 9) + `\`,
	`"` + strings.Repeat("z", 70) + `\\"`,
	"[ \n\t  {\r\n          \"k\" : [ ] ,\n          \"l\" : { } } ]",
	"[\"\xff\xfe\",\xff\xff\xff\xff\xff\xff\xff\xff{},\x7f\x02_yY[1]]",
	strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth),
	strings.Repeat("[", maxDepth+3) + strings.Repeat("]", maxDepth+3),
	`{"a":[1,2}`, `{"a":]}`, `[}`, `{"a":"`, `[1,2`, `{"a":{"b":[`, `[[]]]]`, `{"x":NaN,"y":-Infinity}`,
}

func TestSkipBordersAtEveryByte(t *testing.T) {
	for _, s := range nasty {
		b := []byte(s)
		for i := range len(b) + 1 {
			compareSkips(t, b, i)
			compareSkips(t, b[:i])
			if i < 200 {
				for j := i; j <= min(len(b), i+20); j++ {
					compareSkips(t, b, i, j)
				}
			}
		}
		every := make([]int, len(b))
		for i := range every {
			every[i] = i
		}
		compareSkips(t, b, every...)
	}
}

// randomJSON writes a document in one of the styles that logs have.
func randomJSON(r *rand.Rand, depth int) string {
	space := func() string { return strings.Repeat(" ", r.IntN(12)*r.IntN(2)) }
	text := func() string {
		var b strings.Builder
		for range r.IntN(1 + r.IntN(60)) {
			b.WriteString([]string{"a", "word ", "{", "}", "[", "]", "\"", "\\", "\n", "é", "☃", ",", ":", "0"}[r.IntN(14)])
		}
		out, _ := json.Marshal(b.String())
		return string(out)
	}
	switch n := r.IntN(8); {
	case depth > 0 && n < 3:
		var parts []string
		for range r.IntN(5) {
			parts = append(parts, space()+text()+space()+":"+space()+randomJSON(r, depth-1))
		}
		return "{" + strings.Join(parts, space()+",") + space() + "}"
	case depth > 0 && n < 5:
		var parts []string
		for range r.IntN(5) {
			parts = append(parts, space()+randomJSON(r, depth-1)+space())
		}
		return "[" + strings.Join(parts, ",") + "]"
	case n < 7:
		return text()
	}
	return []string{"null", "true", "false", "-1.5e3", "0", fmt.Sprint(r.Int64())}[r.IntN(6)]
}

// TestSkipAgreesWithEncodingJSON passes over random documents, whole and
// damaged: what encoding/json takes is taken whole, and both ways to pass over
// end at the same place whatever the text is.
func TestSkipAgreesWithEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for range 20_000 {
		b := []byte(randomJSON(r, 5))
		if !json.Valid(b) {
			t.Fatalf("the test's own text is no JSON: %q", b)
		}
		if c := b[0]; c == '{' || c == '[' || c == '"' {
			if end, _ := quickly(b, r.IntN(len(b)+1)); end != len(b) {
				t.Fatalf("%q is JSON, but was left at %d", b, end)
			}
		}
		for range 4 {
			m := append([]byte{}, b...)
			switch at := r.IntN(len(m)); r.IntN(4) {
			case 0:
				m[at] = "\"\\{}[],: \xff\x00a"[r.IntN(12)]
			case 1:
				m = m[:at]
			case 2:
				m = append(m[:at], m[min(len(m), at+1+r.IntN(3)):]...)
			default:
				m = append(m[:at:at], append([]byte{"\"\\{}[]"[r.IntN(6)]}, m[at:]...)...)
			}
			compareSkips(t, m, r.IntN(len(m)+1))
			if end, _ := slowly(m); json.Valid(m) && len(m) > 0 && strings.ContainsRune(`{["`, rune(m[0])) && end != len(m) {
				t.Fatalf("%q is JSON, but ends at %d", m, end)
			}
		}
	}
}

func FuzzSkip(f *testing.F) {
	for _, s := range append(nasty, seeds...) {
		f.Add([]byte(s), 3, 9)
	}
	f.Fuzz(func(t *testing.T, b []byte, i, j int) {
		n := len(b) + 1
		i, j = int(uint(i)%uint(n)), int(uint(j)%uint(n))
		compareSkips(t, b, min(i, j), max(i, j))
		if json.Valid(b) {
			b = b[skipSpace(b, 0):]
			if c := b[0]; c == '{' || c == '[' || c == '"' {
				if end, over := slowly(b); over == 0 && skipSpace(b, end) != len(b) {
					t.Fatalf("%q is JSON, but ends at %d", b, end)
				}
			}
		}
	})
}
