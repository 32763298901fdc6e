package ingest_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest"
	"passhat/ingest/store"
)

// desk is a folder with a store and logs.
type desk struct {
	t   testing.TB
	dir string
	st  *store.Store
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	dir := t.TempDir()
	st, err := store.Open(filepath.Join(dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	return &desk{t, dir, st}
}

func (d *desk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *desk) write(name, text string) string {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(d.path(name)), 0o777); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(d.path(name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	return d.path(name)
}

func (d *desk) ingest(opt ingest.Options, sources ...string) (ingest.Summary, error) {
	d.t.Helper()
	if opt.Env == nil {
		opt.Env = noEnv
	}
	return ingest.Ingest(d.t.Context(), d.st, sources, opt)
}

// one ingests one source that must succeed.
func (d *desk) one(opt ingest.Options, source string) ingest.SourceSummary {
	d.t.Helper()
	sum, err := d.ingest(opt, source)
	if err != nil {
		d.t.Fatal(err)
	}
	s := sum.Sources[0]
	if got := s.Store; s.Plan.Action != store.Skip && !opt.DryRun && got.Read != got.Stored+got.Duplicates+got.Rejects {
		d.t.Errorf("read %d is not stored %d + duplicates %d + rejects %d", got.Read, got.Stored, got.Duplicates, got.Rejects)
	}
	return s
}

// rows are the stored rows as "task/trial verdict".
func (d *desk) rows() []string {
	d.t.Helper()
	rows := storedRows(d.t, d.st)
	sortRows(rows)
	var out []string
	for _, r := range rows {
		verdict := "ungraded"
		if p, ok := r["passed"]; ok {
			verdict = fmt.Sprint(p)
		}
		out = append(out, fmt.Sprintf("%v/%v %s", r["task_id"], r["trial"], verdict))
	}
	return out
}

func (d *desk) wantRows(want ...string) {
	d.t.Helper()
	if got := d.rows(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		d.t.Errorf("stored rows:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (d *desk) wantAction(s ingest.SourceSummary, want store.Action) {
	d.t.Helper()
	if s.Store.Action != want {
		d.t.Errorf("action %v, want %v", s.Store.Action, want)
	}
}

func TestIngestTwiceSkips(t *testing.T) {
	d := newDesk(t)
	log := d.write("a.jsonl", `{"task_id":"a","ok":true}`+"\n")
	d.wantAction(d.one(ingest.Options{}, log), store.New)
	d.wantAction(d.one(ingest.Options{}, log), store.Skip)
	d.wantRows("a/0 true")
}

func TestOtherOptionsReplace(t *testing.T) {
	d := newDesk(t)
	log := d.write("a.jsonl", `{"task_id":"a","ok":true}`+"\n")
	d.one(ingest.Options{Set: []ingest.Pair{{"shape", "lookup"}}}, log)
	d.wantAction(d.one(ingest.Options{Set: []ingest.Pair{{"shape", "needs_tool"}, {"extra.team", "x"}}}, log), store.Replace)
	rows := storedRows(t, d.st)
	if len(rows) != 1 || rows[0]["shape"] != "needs_tool" || rows[0]["extra"] != `{"team":"x"}` {
		t.Errorf("got %v", rows)
	}
}

func TestGrownFileReadsTheRest(t *testing.T) {
	d := newDesk(t)
	night := func(n int) string {
		return fmt.Sprintf(`{"run_id":"n%d","task_id":"a","trial":0,"ok":true}`+"\n", n)
	}
	log := d.write("a.jsonl", night(1)+`{"run_id":"n1","task_id":"unfini`)
	s := d.one(ingest.Options{}, log)
	if s.Waiting == 0 || s.Store.Rejects != 0 {
		t.Errorf("an unfinished line waits and is no reject: %+v", s)
	}
	d.write("a.jsonl", night(1)+night(2))
	// The unfinished line was never read, so what follows it may differ.
	s = d.one(ingest.Options{}, log)
	d.wantAction(s, store.Append)
	if s.Store.Read != 1 {
		t.Errorf("read %d rows, want only the new one", s.Store.Read)
	}
	d.write("a.jsonl", night(1)+night(2)+strings.TrimSuffix(night(3), "\n"))
	d.wantAction(d.one(ingest.Options{}, log), store.Append) // parses without its end: counts
	d.write("a.jsonl", night(1)+night(2)+night(3)+"\n"+`{"run_id":"n4","task_id":"b",`+"\n")
	s = d.one(ingest.Options{MaxRejects: "1"}, log)
	d.wantAction(s, store.Append)
	if s.FirstReject == nil || s.FirstReject.Line != 5 {
		t.Errorf("the reject's line counts from the file's beginning: %+v", s.FirstReject)
	}
	d.wantRows("a/0 true", "a/0 true", "a/0 true")
}

// TestOverwrittenEveryNight is the log of a loop that overwrites its file.
func TestOverwrittenEveryNight(t *testing.T) {
	d := newDesk(t)
	for night := range 3 {
		var b strings.Builder
		for task := range 4 {
			fmt.Fprintf(&b, `{"task_id":"t%d","shape":"lookup","k":8,"runs":[`, task)
			for v := range 8 {
				fmt.Fprintf(&b, `{"variant":%d,"ok":%t,"error":null},`, v, (v+task+night)%4 > 0)
			}
			s := strings.TrimSuffix(b.String(), ",")
			b.Reset()
			b.WriteString(s + "]}\n")
		}
		s := d.one(ingest.Options{}, d.write("loop.jsonl", b.String()))
		d.wantAction(s, store.New)
		if s.Store.Stored != 32 || len(s.Store.Tasks) != 4 || s.Store.Tasks[0].Found != 8 || s.Store.Tasks[0].Planned != 8 {
			t.Errorf("night %d: %+v", night, s.Store)
		}
	}
	runs := map[any]int{}
	for _, r := range storedRows(t, d.st) {
		runs[r["run_id"]]++
	}
	if len(runs) != 3 {
		t.Errorf("three nights are three runs, got %v", runs)
	}
	for run, n := range runs {
		if n != 32 {
			t.Errorf("run %v has %d trials, want 32", run, n)
		}
	}
}

func TestRejectLimits(t *testing.T) {
	good := strings.Repeat(`{"task_id":"a","ok":true}`+"\n", 98)
	for _, c := range []struct {
		name, max string
		strict    bool
		bad       int
		stored    bool
	}{
		{"one by default", "", false, 1, true},
		{"two by default", "", false, 2, false},
		{"count", "2", false, 2, true},
		{"share", "2%", false, 2, true},
		{"share exceeded", "1%", false, 2, false},
		{"none", "0", false, 1, false},
		{"strict", "100%", true, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			log := d.write("a.jsonl", good+strings.Repeat("{broken\n", c.bad))
			sum, err := d.ingest(ingest.Options{MaxRejects: c.max, Strict: c.strict}, log)
			var rejected *ingest.RejectedError
			if (err == nil) != c.stored || err != nil && !errors.As(err, &rejected) {
				t.Fatalf("error %v, want stored = %t", err, c.stored)
			}
			if !c.stored {
				if !strings.Contains(err.Error(), "line 99") {
					t.Errorf("%v does not name the first reject's line", err)
				}
				d.wantRows()
				failed, ferr := d.st.FailedRejects()
				if !c.strict && (ferr != nil || len(failed) != 1) {
					t.Errorf("rejects of the failed source: %v, %v", failed, ferr)
				}
				return
			}
			if got := sum.Sources[0].Store; got.Read != int64(98+c.bad) || got.Rejects != int64(c.bad) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	d := newDesk(t)
	log := d.write("a.jsonl", strings.Repeat(`{"task":"a","ok":true}`+"\n", 9))
	s := d.one(ingest.Options{DryRun: true}, log)
	if len(s.Preview) != 5 || s.Preview[4].TaskID != "a" || s.Preview[4].Trial.V != 4 || s.Store.Read != 9 {
		t.Errorf("got %+v", s)
	}
	if len(s.Mapping) != 2 || s.Mapping[0] != (ingest.MappedColumn{Column: "task_id", From: "task", Rows: 9}) {
		t.Errorf("mapping %v", s.Mapping)
	}
	if _, err := os.Stat(d.path("store")); !os.IsNotExist(err) {
		t.Errorf("a dry run made the store: %v", err)
	}
}

func TestCompressedAndStdin(t *testing.T) {
	text := `{"task_id":"a","ok":true}` + "\n" + `{"task_id":"b","ok":false}` + "\n"
	var gz bytes.Buffer
	z := gzip.NewWriter(&gz)
	z.Write([]byte(text))
	z.Close()

	d := newDesk(t)
	d.one(ingest.Options{}, d.write("a.jsonl.gz", gz.String()))
	d.wantRows("a/0 true", "b/0 false")

	d = newDesk(t)
	d.one(ingest.Options{Stdin: strings.NewReader(text)}, "-")
	d.wantRows("a/0 true", "b/0 false")

	d = newDesk(t)
	_, err := d.ingest(ingest.Options{}, d.write("cut.jsonl.gz", gz.String()[:gz.Len()-10]))
	if err == nil || !strings.Contains(err.Error(), "cut.jsonl.gz") || !strings.Contains(err.Error(), "ends early") {
		t.Errorf("a truncated gz: %v", err)
	}
	d.wantRows()
}

func TestPassWhenAndScores(t *testing.T) {
	log := `{"task_id":"a","reward":0.6}
{"task_id":"b","reward":0.4,"ok":true}
{"task_id":"c","scores":{"exact":1,"style":0.2}}
{"task_id":"d"}
`
	for _, c := range []struct {
		name string
		opt  ingest.Options
		want []string
	}{
		{"a score is no verdict", ingest.Options{}, []string{"a/0 ungraded", "b/0 true", "c/0 ungraded", "d/0 ungraded"}},
		{"score", ingest.Options{PassWhen: "score >= 0.5"}, []string{"a/0 true", "b/0 false", "c/0 ungraded", "d/0 ungraded"}},
		{"named", ingest.Options{PassWhen: "scores.exact = 1 and scores.style > 0.1"}, []string{"a/0 ungraded", "b/0 true", "c/0 true", "d/0 ungraded"}},
		{"either", ingest.Options{PassWhen: "score >= 0.5 or passed"}, []string{"a/0 true", "b/0 true", "c/0 ungraded", "d/0 ungraded"}},
		{"chosen", ingest.Options{Score: "style", PassWhen: "score > 0.1"}, []string{"a/0 ungraded", "b/0 true", "c/0 true", "d/0 ungraded"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.one(c.opt, d.write("a.jsonl", log))
			d.wantRows(c.want...)
		})
	}
}

func TestMapPaths(t *testing.T) {
	d := newDesk(t)
	log := d.write("a.jsonl", `{"meta":{"case":{"name":"a"},"tags":["x","eu"]},"id":"row-1","ok":false,"grade":{"final":true},"packed":"{\"n\":7}"}`+"\n")
	d.one(ingest.Options{Map: []ingest.Pair{
		{"task_id", "$.meta.case.name"}, {"variant", `$.meta["tags"][1]`}, {"passed", "$.grade.final"}, {"trial", "packed.n"},
	}}, log)
	d.wantRows("a/7 true")
	if v := storedRows(t, d.st)[0]["variant"]; v != "eu" {
		t.Errorf("variant %v, want eu", v)
	}
}

// Verifiers writes the name of the environment as task of every example.
func TestExampleIDBeforeTask(t *testing.T) {
	d := newDesk(t)
	log := d.write("results.jsonl", `{"example_id":7,"task":"wordle","ok":true}`+"\n"+`{"example_id":8,"task":"wordle","ok":false}`+"\n")
	d.one(ingest.Options{}, log)
	d.wantRows("7/0 true", "8/0 false")
}

func TestUsageErrors(t *testing.T) {
	for _, c := range []struct {
		opt  ingest.Options
		want string
	}{
		{ingest.Options{As: "jsonnl"}, "--as"},
		{ingest.Options{Set: []ingest.Pair{{"modle", "x"}}}, "did you mean model?"},
		{ingest.Options{Set: []ingest.Pair{{"temperature", "hot"}}}, "not a number"},
		{ingest.Options{Map: []ingest.Pair{{"score", "$.a["}}}, "--map"},
		{ingest.Options{Map: []ingest.Pair{{"reward", "$.a"}}}, "did you mean score?"},
		{ingest.Options{PassWhen: "score >"}, "--pass-when"},
		{ingest.Options{PassWhen: "score"}, "wanted a condition"},
		{ingest.Options{PassWhen: "scor > 1"}, `"scor" is not known`},
		{ingest.Options{TZ: "Mars/Olympus"}, "--tz"},
		{ingest.Options{MaxRejects: "many"}, "--max-rejects"},
	} {
		d := newDesk(t)
		_, err := d.ingest(c.opt, d.write("a.jsonl", `{"task_id":"a","ok":true}`))
		var usage *ingest.UsageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want one with %q", c.opt, err, c.want)
		}
		d.wantRows()
	}
}
