package ingest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestRememberedValues: a reader that remembers what stood in the lines before makes
// the same trials and rejects as one that reads each line anew.
func TestRememberedValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	values := []string{`""`, `"a"`, `"ab"`, `"a\"b"`, `"a\\"`, `"\u0061"`, `"a","x":"a"`, `"ä"`, "\"a\xff\"", `"` + strings.Repeat("long ", 20) + `"`, `1`, `12`, `null`, `"a`}
	read := func(fresh bool, lines []string) (all []string) {
		var r *lineReader
		for no, line := range lines {
			if r == nil || fresh {
				var err error
				if r, err = newLineReader(&Input{Name: "a.jsonl"}, &Options{}); err != nil {
					t.Fatal(err)
				}
				r.m.stable = true
			}
			r.m.Trials, r.m.Rejects = r.m.Trials[:0], r.m.Rejects[:0]
			r.lines([]byte(line+"\n"), int64(no)+1)
			for _, got := range r.m.Trials {
				all = append(all, fmt.Sprintf("%+v", got))
			}
			for _, bad := range r.m.Rejects {
				all = append(all, fmt.Sprintf("%+v", *bad))
			}
		}
		return all
	}
	for range 40 {
		var lines []string
		few := values[:2+rng.IntN(len(values)-1)]
		for range 300 {
			pick := func() string { return few[rng.IntN(len(few))*rng.IntN(2)] }
			lines = append(lines, fmt.Sprintf(`{"task_id":%s,"run_id": %s ,"model":%s,"region":%s,"passed":true}`, pick(), pick(), pick(), pick()))
		}
		if got, want := read(false, lines), read(true, lines); !reflect.DeepEqual(got, want) {
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Fatalf("row %d:\n%s, want\n%s", i+1, got[i], want[i])
				}
			}
			t.Fatalf("%d rows, want %d", len(got), len(want))
		}
	}
}
