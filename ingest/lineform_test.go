package ingest

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"passhat/ingest/store"
)

// formValues are what fields of random logs hold, by what they are called.
var formValues = map[string][]string{
	"suite": {`"a"`, `"b c"`, `""`, `null`}, "run_id": {`"r1"`, `"r2"`, `7`, `"r\"3"`}, "task_id": {`"t1"`, `"t2"`, `"t3"`, `"\u0074"`, `""`, `null`, `"` + strings.Repeat("t", 80) + `"`},
	"variant": {`"v"`, `null`}, "model": {`"m"`, `"m2"`, `{"a":1}`}, "agent": {`"A"`}, "effort": {`"Low"`, `"high"`, `1`}, "shape": {`"s"`, `null`},
	"trace": {`"x/1"`, `"x/2"`, `"x/12"`, `null`}, "trial": {`0`, `1`, `12`, `1.0`, `-1`, `"3"`, `12345678901`, `null`}, "trial_from": {`"order"`, `""`, `null`},
	"passed": {`true`, `false`, `null`, `"pass"`, `0`, `"error"`, `"skipped"`, `truex`}, "ok": {`true`, `false`},
	"score": {`0.5`, `1`, `true`, `-1`, `1e3`, `"0.25"`, `NaN`, `null`, `0.`, `007`, `123456789012345.5`}, "score_name": {`"s"`, `""`},
	"started_at": {`"2026-11-30T12:00:00Z"`, `"2026-11-30T12:00:01.250Z"`, `"2026-11-30T12:00:02+00:00"`, `"2026-11-30T12:00:03+02:00"`, `"2026-02-30T12:00:00Z"`, `"2026-02-30T12:00:60Z"`, `"2026-11-30T12:00:00"`, `"2026-11-30T12:00:00.Z"`, `"2026-11-30T12:00:00.1234567890123Z"`, `1780000000`, `"1889-11-30T12:00:00Z"`, `null`},
	"run_at":     {`"2026-11-30T00:00:00Z"`, `"2026-12-01T00:00:00Z"`}, "duration_s": {`1.5`, `2`, `-3`, `"4"`, `1e400`, `null`}, "duration_ms": {`1500`, `null`},
	"cost_usd": {`0.25`, `0`, `0.123456789012`, `1.2.3`}, "input_tokens": {`1`, `999999999`, `9999999999`, `1.5`, `null`}, "turns": {`1`, `3`, `[1,2]`, `-1`},
	"temperature": {`0.7`, `null`}, "seed": {`42`, `-42`}, "planned_trials": {`8`, `null`}, "region": {`"eu"`, `{"a":[1,2]}`, `null`, `5`}, "api_key": {`"sk-1"`, `null`},
	"error": {`null`, `"it broke"`, `{"type":"timeout","message":"m"}`}, "usage": {`{"input":1}`, `null`}, "config": {`{"temperature":0.2}`, `null`}, "runs": {`[true,false]`, `3`}, "n": {`3`, `null`}, "trace_url": {`"y"`},
}

// formLog makes lines of a few shapes in which values stay for a while.
func formLog(rng *rand.Rand, lines int) (log []string) {
	names := slices.Sorted(maps.Keys(formValues))
	var shapes [][]string
	for range 1 + rng.IntN(4) {
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		shapes = append(shapes, append([]string{"task_id"}, names[:1+rng.IntN(14)]...))
	}
	if rng.IntN(2) == 0 { // the usual fields
		shapes = append(shapes[:0], strings.Fields("suite run_id task_id trial passed score model effort started_at duration_s input_tokens cost_usd trace"))
	}
	last, stay := map[string]string{}, []int{1, 1 + rng.IntN(20), 80 + rng.IntN(200)}
	rare := rng.IntN(5)
	shape := shapes[0]
	for range lines {
		if rng.IntN(4) == 0 {
			shape = shapes[rng.IntN(len(shapes))]
		}
		var b strings.Builder
		for i, name := range shape {
			values := formValues[name]
			if rare > 0 && rng.IntN(200) > 0 {
				values = values[:min(len(values), 2)]
			}
			if v := values[rng.IntN(len(values))]; last[name] == "" || rng.IntN(stay[len(name)%len(stay)]) == 0 {
				last[name] = v
			}
			b.WriteString([]string{"{", ",", ", "}[min(i, 1+rng.IntN(400)/399)])
			fmt.Fprintf(&b, `"%s":%s%s`, name, []string{"", " "}[rng.IntN(300)/299], last[name])
		}
		log = append(log, b.String()+[]string{"}", " }", "} x", ""}[max(0, rng.IntN(400)-396)])
	}
	return log
}

// readForms reads lines, with or without forms.
func readForms(t *testing.T, forms bool, log []string) (all []store.Trial, rejects []string, stats Stats, formed int) {
	t.Helper()
	r, err := newLineReader(&Input{Name: "a.jsonl"}, &Options{})
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
		all = append(all, r.m.Trials...)
		for _, bad := range r.m.Rejects {
			rejects = append(rejects, fmt.Sprintf("%+v", *bad))
		}
		if n := linesOf(r.forms.list); n > before {
			formed++
		}
	}
	r.m.foldShapes()
	return all, rejects, r.m.stats, formed
}

// formsAgree holds both ways of reading to the same trials and tells how many lines were
// read by a form.
func formsAgree(t *testing.T, log []string) int {
	t.Helper()
	want, wantBad, wantStats, _ := readForms(t, false, log)
	got, bad, stats, n := readForms(t, true, log)
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("row %d:\n%+v, want\n%+v", i+1, got[i], want[i])
		}
	}
	if len(got) != len(want) || !reflect.DeepEqual(bad, wantBad) || !reflect.DeepEqual(stats, wantStats) {
		t.Fatalf("%d rows, %q, %+v, want %d, %q, %+v", len(got), bad, stats, len(want), wantBad, wantStats)
	}
	return n
}

// TestLineForms: lines that are read by the form of those before are read as others.
func TestLineForms(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	byForm := 0
	for range 60 {
		byForm += formsAgree(t, formLog(rng, 600))
	}
	if byForm < 3000 {
		t.Errorf("%d lines were read by a form of those before: the test tries nothing", byForm)
	}
}

// FuzzLineForms puts bytes into the lines of a log, takes them out and changes them: an
// edit is the place of a line, one in the line and what happens there.
func FuzzLineForms(f *testing.F) {
	f.Add(uint64(1), []byte("\x40\x10\"\x80\x20\\\xc0\x05\x00"))
	f.Add(uint64(2), []byte("\x50\x30\xff\xa0\x18}\xb0\x18,"))
	f.Fuzz(func(t *testing.T, seed uint64, edits []byte) {
		rng := rand.New(rand.NewPCG(seed, 9))
		log := formLog(rng, 300)
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
		formsAgree(t, log)
	})
}

func linesOf(forms []*lineForm) (n int) {
	for _, f := range forms {
		n += f.lines
	}
	return n
}
