package ingest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"passhat/ingest/store"
)

// formRead is what was made of lines.
type formRead struct {
	trials  []store.Trial // as they are stored
	rejects []string
	stats   Stats
	count   finishCounts
	formed  int // lines that were read by a form
}

// readForms reads lines, with or without forms.
func readForms(t testing.TB, forms bool, log []string, opt *Options) (got formRead) {
	t.Helper()
	r, err := newLineReader(&Input{Name: "a.jsonl"}, opt)
	if err != nil {
		t.Fatal(err)
	}
	finish, err := newFinisher(opt)
	if err != nil {
		t.Fatal(err)
	}
	r.m.stable = true
	if !forms {
		r.forms.rest = math.MaxInt
	}
	for no, line := range log {
		r.m.Trials, r.m.Rejects = r.m.Trials[:0], r.m.Rejects[:0]
		before := linesOf(r.forms.list)
		r.lines([]byte(line+"\n"), int64(no)+1)
		for i := range r.m.Trials {
			finish.finish(&r.m.Trials[i])
		}
		got.trials = append(got.trials, r.m.Trials...)
		for _, bad := range r.m.Rejects {
			got.rejects = append(got.rejects, fmt.Sprintf("%+v", *bad))
		}
		if n := linesOf(r.forms.list); n > before {
			got.formed++
		}
	}
	r.m.foldShapes()
	got.stats, got.count = r.m.stats, finish.count
	return got
}

// formsAgree holds both ways of reading to the same trials and tells how many lines were
// read by a form.
func formsAgree(t *testing.T, log []string, opt *Options) int {
	t.Helper()
	want, got := readForms(t, false, log, opt), readForms(t, true, log, opt)
	for i := range min(len(got.trials), len(want.trials)) {
		if got.trials[i] != want.trials[i] {
			t.Fatalf("row %d:\n%+v, want\n%+v", i+1, got.trials[i], want.trials[i])
		}
	}
	formed := got.formed
	got.formed = 0
	if got.trials, want.trials = got.trials[len(want.trials):], nil; len(got.trials) == 0 {
		got.trials = nil
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v,\nwant %+v", got, want)
	}
	return formed
}

// TestLineForms: lines that are read by the form of those before are read as others,
// whatever the options.
func TestLineForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	byForm, byOption := 0, [9]int{}
	for i := range 80 {
		bits := uint8(0)
		if i%2 == 1 {
			bits = uint8(rng.Uint32() & rng.Uint32())
		}
		n := formsAgree(t, formLog(rng, 500), formOptions(bits))
		for bit := range 8 {
			byOption[bit] += n * int(bits>>bit&1)
		}
		byForm += n
	}
	for bit := range 8 {
		if byOption[bit] < 200 {
			t.Errorf("option %d: %d lines were read by a form of those before", bit, byOption[bit])
		}
	}
	if byForm < 5000 {
		t.Errorf("%d lines were read by a form of those before: the test tries nothing", byForm)
	}
}

// TestFormTimes: a time is read by its form as it is without, also where the form has not
// seen a day yet.
func TestFormTimes(t *testing.T) {
	line := func(at string) string { return `{"task_id":"t","passed":true,"started_at":` + at + `}` }
	got := readForms(t, true, []string{
		line("null"), line("null"), line(`"` + noDay + `T12:00:00Z"`), line(`"2026-11-30T12:00:00Z"`), line(`"` + noDay + `T12:00:00Z"`),
	}, formOptions(0))
	if len(got.trials) != 3 || len(got.rejects) != 2 || got.formed < 2 {
		t.Fatalf("%d trials, rejects %q, %d by a form; want 3, two for what is no time, 2", len(got.trials), got.rejects, got.formed)
	}
	if at := got.trials[2].StartedAt; !at.Equal(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)) {
		t.Errorf("%s", at)
	}
}

// TestFormsAreSmall: a form keeps nothing of values that change, and there is none for
// lines of a great many keys or of a long one.
func TestFormsAreSmall(t *testing.T) {
	read := func(lines int, line func(n int) string) *lineReader {
		r, err := newLineReader(&Input{Name: "a.jsonl"}, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.m.stable = true
		for n := range lines {
			r.m.Trials = r.m.Trials[:0]
			r.lines([]byte(line(n)+"\n"), 1)
		}
		r.m.Trials = r.m.Trials[:1:1]
		return r
	}
	long := strings.Repeat("long ", 12<<20)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := read(5, func(n int) string { return fmt.Sprintf(`{"task_id":"t%d","output":"%s%d","passed":true}`, n, long, n) })
	r.m.Trials[0] = store.Trial{}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if len(r.forms.list) != 1 || r.forms.list[0].lines < 2 {
		t.Errorf("%d forms: long lines have none", len(r.forms.list))
	}
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > int64(len(long))/2 {
		t.Errorf("of lines of %d bytes %d are kept", len(long), kept)
	}
	for name, line := range map[string]func(n int) string{
		"keys": func(n int) string {
			var b strings.Builder
			for i := range maxFormValues {
				fmt.Fprintf(&b, `,"k%d":%d`, i, n)
			}
			return `{"task_id":"t","passed":true` + b.String() + "}"
		},
		"a long key": func(int) string {
			return `{"task_id":"t","` + strings.Repeat("k", maxFormText) + `":1,"passed":true}`
		},
		"blanks": func(int) string { return `{"task_id":"t","passed":true` + strings.Repeat(" ", maxFormText) + `}` },
	} {
		if r := read(5, line); len(r.forms.list) > 0 || len(r.m.Trials) != 1 {
			t.Errorf("%s: %d forms, %d trials", name, len(r.forms.list), len(r.m.Trials))
		}
	}
}

// FuzzLineForms puts bytes into the lines of a log, takes them out and changes them: an
// edit is the place of a line, one in the line and what happens there. The first byte
// chooses the options.
func FuzzLineForms(f *testing.F) {
	f.Add(uint64(1), []byte("\x00\x40\x10\"\x80\x20\\\xc0\x05\x00"))
	f.Add(uint64(2), []byte("\x00\x50\x30\xff\xa0\x18}\xb0\x18,"))
	for bit := range 8 {
		f.Add(uint64(3+bit), []byte{1 << bit, 0x60, 0x30, 0xfe})
	}
	f.Fuzz(func(t *testing.T, seed uint64, edits []byte) {
		rng := rand.New(rand.NewPCG(seed, 9))
		log := formLog(rng, 300)
		bits := uint8(0)
		if len(edits) > 0 {
			bits, edits = edits[0], edits[1:]
		}
		for ; len(edits) >= 3; edits = edits[3:] {
			at := int(edits[0]) * len(log) / 256
			line := []byte(log[at])
			if len(line) == 0 {
				continue
			}
			place := int(edits[1]) * len(line) / 256
			switch edits[2] % 3 {
			case 0:
				line = slices.Insert(line, place, edits[2])
			case 1:
				line[place] = edits[2]
			default:
				line = slices.Delete(line, place, place+1)
			}
			log[at] = strings.ReplaceAll(string(line), "\n", " ")
		}
		formsAgree(t, log, formOptions(bits))
	})
}

func linesOf(forms []*lineForm) (n int) {
	for _, f := range forms {
		n += f.lines
	}
	return n
}
