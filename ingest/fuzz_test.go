package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"passhat/ingest/store"
)

// seeds are texts that have something of everything JSON can hold, and can't.
var seeds = []string{
	`{"task_id":"a","ok":true,"score":0.5,"x":[1,2,{"y":null}],"s":"a\u00e9\ud83d\ude00\ud800\n"}`,
	`{"task":"a","runs":[{"ok":true},false,null,{"variant":3,"error":{"type":"T","message":"m"}}],"k":4}`,
	`{"id":1e400,"passed":NaN,"score":-Infinity,"trial":9223372036854775808}`,
	`{"a":{"b":[[[[]]]]},"a":1}`, `[]`, `{}`, `{"":""}`, `{"task_id":"`, "{\"task_id\":\"\xff\xfe\",\"ok\":1}",
	`{"task_id":"a","n":10,"c":3,"usage":{"prompt_tokens":1},"config":{"temperature":1},"scores":{"a":1,"b":{"value":2}}}`,
	`{"results":[{"task":"a","ok":1},{"task":"b","ok":0}],"model":"m"}`,
	`[{"task_id":"a","ok":true},`, `{"task_id":"a","ok":true,"extra":{"b":1}}`,
}

// FuzzScan compares the scanner with encoding/json on what that takes, and
// holds what is cleaned to being JSON.
func FuzzScan(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, ok := JSONValue(b)
		if json.Valid(b) && !ok && len(b) < maxDepth {
			t.Fatalf("encoding/json takes %q, the scanner does not", b)
		}
		if !ok {
			return
		}
		var c cleaner
		out, err := c.value(nil, v)
		if err != nil {
			if json.Valid(b) && len(b) < maxDepth {
				t.Fatalf("valid %q cannot be cleaned: %v", b, err)
			}
			return
		}
		if !json.Valid(out) || !utf8.Valid(out) {
			t.Fatalf("%q was cleaned to %q, which is not JSON", b, out)
		}
		if again, err := c.value(nil, mustJSON(t, out)); err != nil || !bytes.Equal(again, out) {
			t.Fatalf("cleaning %q again gives %q, %v", out, again, err)
		}
		if v.Kind == String && json.Valid(b) {
			var want string
			if json.Unmarshal(b, &want) == nil {
				got, _ := v.text(nil)
				if string(appendValid(nil, got)) != want {
					t.Fatalf("%q decodes to %q, want %q", b, got, want)
				}
			}
		}
		if v.Kind == Number && json.Valid(b) {
			var want float64
			if json.Unmarshal(b, &want) == nil {
				if got, ok := v.float(); !ok || got != want {
					t.Fatalf("%q is read as %v, want %v", b, got, want)
				}
			}
		}
	})
}

func mustJSON(t *testing.T, b []byte) Value {
	t.Helper()
	v, ok := JSONValue(b)
	if !ok {
		t.Fatalf("cleaned text %q does not scan", b)
	}
	return v
}

// fuzzFormat reads hostile bytes by one format and holds every trial and error
// to what the store and the user may expect.
func fuzzFormat(t *testing.T, f Format, name string, b []byte, opt Options) {
	t.Helper()
	path := filepath.Join(fuzzDir(t), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := NewTestInput(path)
	if err != nil {
		return
	}
	opt.MaxRow = 1 << 16
	n := 0
	for tr, err := range f.Read(context.Background(), in, &opt) {
		if n++; n > 200_000 {
			return
		}
		var bad *SyntaxError
		switch {
		case err == nil:
			checkTrial(t, tr)
		case errors.As(err, &bad):
			if bad.Reason == "" || bad.Source == "" || len(bad.Raw) > RawLimit {
				t.Fatalf("bad reject %+v", bad)
			}
		}
	}
	if in.consumed < 0 || in.Compression == Plain && in.consumed > in.limit {
		t.Fatalf("consumed %d of %d bytes", in.consumed, in.limit)
	}
}

// fuzzFolder is one folder for all inputs of a process: making one for each
// takes longer than reading it.
var fuzzFolder string

func fuzzDir(t *testing.T) string {
	t.Helper()
	if fuzzFolder == "" {
		var err error
		if fuzzFolder, err = os.MkdirTemp("", "passhat-fuzz-*"); err != nil {
			t.Fatal(err)
		}
	}
	return fuzzFolder
}

// TestMain removes fuzzFolder.
func TestMain(m *testing.M) {
	code := m.Run()
	if fuzzFolder != "" {
		os.RemoveAll(fuzzFolder)
	}
	os.Exit(code)
}

func checkTrial(t *testing.T, tr *store.Trial) {
	t.Helper()
	for _, s := range []string{tr.TaskID, tr.RunID, tr.Suite, tr.Variant, tr.Model, tr.ErrorMessage, tr.Extra, tr.Scores, tr.Config} {
		if !utf8.ValidString(s) {
			t.Fatalf("invalid UTF-8 in %q", s)
		}
	}
	for _, s := range []string{tr.Extra, tr.Scores, tr.Config} {
		if s != "" && !json.Valid([]byte(s)) {
			t.Fatalf("not JSON: %q", s)
		}
	}
	if tr.Trial.OK && tr.Trial.V < 0 || tr.Score.OK && math.IsNaN(tr.Score.V) {
		t.Fatalf("bad numbers in %+v", tr)
	}
}

func FuzzJSONL(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s+"\n"+s), "$.a.b[0]")
	}
	f.Fuzz(func(t *testing.T, b []byte, path string) {
		opt := Options{}
		if _, err := parsePath(path); err == nil {
			opt.Map = []Pair{{"variant", path}}
		}
		fuzzFormat(t, jsonlFormat, "a.jsonl", b, opt)
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) { fuzzFormat(t, jsonFormat, "a.json", b, Options{}) })
}

func FuzzRule(f *testing.F) {
	for _, s := range []string{"score >= 0.5", "not (scores.a = 1 and passed) or abs(score - 1) <= 1e-6", `scores["x y"] < -2 * 3 + 1`, "((", "not not true"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRule(s)
		if err != nil {
			return
		}
		r.Judge(&store.Trial{Scores: `{"a":1}`, Score: store.Some(0.5)})
	})
}
