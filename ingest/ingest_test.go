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
	"time"

	"passhat/ingest"
	"passhat/ingest/store"
)

// bench is a folder with a store and logs.
type desk struct {
	t   *testing.T
	dir string
	st  *store.Store
}

func newDesk(t *testing.T) *desk {
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

func TestRunTimes(t *testing.T) {
	for _, c := range []struct{ name, file, line, want, from string }{
		{"log", "a.jsonl", `{"task_id":"a","ok":true,"run_at":"2026-11-01T00:00:00Z"}`, "2026-11-01T00:00:00Z", "log"},
		{"started", "a.jsonl", `{"task_id":"a","ok":true,"started_at":1793491200000}`, "2026-11-01T00:00:00Z", "log"},
		{"file name", "a_2026-10-30T12-30-00.jsonl", `{"task_id":"a","ok":true}`, "2026-10-30T12:30:00Z", "file name"},
		{"file name date", "a-20261030.jsonl", `{"task_id":"a","ok":true}`, "2026-10-30T00:00:00Z", "file name"},
		{"file time", "a.jsonl", `{"task_id":"a","ok":true}`, "2026-11-03T04:05:06Z", "file time"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			log := d.write(c.file, c.line+"\n")
			if err := os.Chtimes(log, sampleTime, sampleTime); err != nil {
				t.Fatal(err)
			}
			d.one(ingest.Options{}, log)
			r := storedRows(t, d.st)[0]
			if r["run_at"] != c.want || r["run_at_from"] != c.from {
				t.Errorf("run_at %v from %v, want %s from %s", r["run_at"], r["run_at_from"], c.want, c.from)
			}
		})
	}
}

func TestNaiveTimesTakeTheZone(t *testing.T) {
	d := newDesk(t)
	s := d.one(ingest.Options{TZ: "Europe/Berlin"}, d.write("a.jsonl", `{"task_id":"a","ok":true,"started_at":"2026-07-01 12:00:00"}`+"\n"))
	if got := storedRows(t, d.st)[0]["started_at"]; got != "2026-07-01T10:00:00Z" {
		t.Errorf("started_at %v", got)
	}
	if !strings.Contains(strings.Join(s.Notes, "\n"), "Europe/Berlin") {
		t.Errorf("the zone is not said aloud: %q", s.Notes)
	}
}

func TestFoldersPassOverOtherFiles(t *testing.T) {
	d := newDesk(t)
	d.write("logs/a.jsonl", `{"task_id":"a","ok":true}`+"\n")
	d.write("logs/readme.txt", "hello\n")
	sum, err := d.ingest(ingest.Options{}, d.path("logs"))
	if err != nil || len(sum.PassedOver) != 1 || len(sum.Sources) != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
	_, err = d.ingest(ingest.Options{}, d.path("logs/readme.txt"))
	if err == nil || !strings.Contains(err.Error(), "--as") {
		t.Errorf("a named file of no format: %v", err)
	}
	_, err = d.ingest(ingest.Options{}, d.write("empty.jsonl", ""))
	if err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("an empty file: %v", err)
	}
}

func TestOneBadSourceKeepsTheOthers(t *testing.T) {
	d := newDesk(t)
	good := d.write("good.jsonl", `{"task_id":"a","ok":true}`+"\n")
	bad := d.write("bad.jsonl", strings.Repeat("{x\n", 5)+`{"task_id":"b","ok":true}`+"\n")
	sum, err := d.ingest(ingest.Options{As: "jsonl"}, bad, good)
	if err == nil || len(sum.Sources) != 2 || sum.Sources[0].Err == nil || sum.Sources[1].Err != nil {
		t.Errorf("%+v, %v", sum, err)
	}
	d.wantRows("a/0 true")
}

func TestManyJobsKeepOrder(t *testing.T) {
	var b strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&b, `{"task_id":"t%d","ok":%t,"note":"%060d"}`+"\n", i%7, i%3 == 0, i)
	}
	var want []string
	for _, jobs := range []int{1, 8} {
		d := newDesk(t)
		d.one(ingest.Options{Jobs: jobs}, d.write("a.jsonl", b.String()))
		rows := storedRows(t, d.st)
		if len(rows) != 30_000 {
			t.Fatalf("%d rows", len(rows))
		}
		sortRows(rows)
		var got []string
		for _, r := range rows {
			got = append(got, fmt.Sprint(r["task_id"], r["trial"], r["passed"], r["source_row"]))
		}
		if want == nil {
			want = got
		} else if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Error("the rows depend on the number of jobs")
		}
	}
}

func TestLongLinesAndElementsAreRejects(t *testing.T) {
	long := `{"task_id":"long","ok":true,"x":"` + strings.Repeat("y", 3<<20) + `"}`
	short := func(n int) string { return fmt.Sprintf(`{"task_id":"s%d","ok":true}`, n) }
	for name, text := range map[string]string{
		"a.jsonl": short(1) + "\n" + long + "\n" + short(2) + "\n",
		"a.json":  "[" + short(1) + "," + long + "," + short(2) + "]",
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			s := d.one(ingest.Options{MaxRow: 1 << 20}, d.write(name, text))
			if s.Store.Rejects != 1 || s.FirstReject == nil || !strings.Contains(s.FirstReject.Reason, "bytes long") {
				t.Errorf("%+v", s)
			}
			d.wantRows("s1/0 true", "s2/0 true")
		})
	}
}

func TestSecretsAreNotStored(t *testing.T) {
	d := newDesk(t)
	d.one(ingest.Options{}, d.write("a.jsonl",
		`{"task_id":"a","ok":true,"api_key":"s3cret","config":{"temperature":1,"OPENAI_API_KEY":"s3cret","nested":{"headers":{"x":"s3cret"}}},"meta":[{"hf_token":"s3cret","max_tokens":5}],"llm_args":{"seed":3,"extra_headers":{"k":"s3cret"}}}`+"\n"))
	row := encode(t, storedRows(t, d.st))
	if strings.Contains(row, "s3cret") {
		t.Errorf("a secret was stored: %s", row)
	}
	if !strings.Contains(row, `max_tokens`) || !strings.Contains(row, `"seed":3`) {
		t.Errorf("what is no secret was lost: %s", row)
	}
	err := filepath.Walk(d.path("store"), func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte("s3cret")) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLabelsAndPrices(t *testing.T) {
	d := newDesk(t)
	s := d.one(ingest.Options{As: "labels"}, d.write("labels.csv", "task_id;shape;weight\na;lookup;2\nb;multi_step;\n"))
	if s.Kind != store.KindLabels || s.Store.Stored != 2 {
		t.Errorf("%+v", s)
	}
	d.one(ingest.Options{As: "prices"}, d.write("prices.csv", "model,from,input,output\nvela-2,2026-01-01,2.5,10\n"))
	for name, text := range map[string]string{
		"no key":     "shape\nlookup\n",
		"weight":     "task_id,weight\na,heavy\n",
		"kind":       "task_id,kind\na,other\n",
		"ragged":     "task_id,shape\na\n",
		"empty task": "task_id,shape\n,lookup\n",
	} {
		if _, err := d.ingest(ingest.Options{As: "labels"}, d.write("bad.csv", text)); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: error %v, want one with the line", name, err)
		}
	}
}

func TestProgressEndsWithAll(t *testing.T) {
	d := newDesk(t)
	log := d.write("a.jsonl", strings.Repeat(`{"task_id":"a","ok":true}`+"\n", 100))
	var last ingest.Progress
	d.one(ingest.Options{Progress: func(p ingest.Progress) { last = p }}, log)
	if last.Rows != 100 || last.Done != last.Total || last.Total == 0 {
		t.Errorf("last progress %+v", last)
	}
}

func TestCICommit(t *testing.T) {
	d := newDesk(t)
	env := map[string]string{"CI": "true", "GITHUB_SHA": "abc", "GITHUB_REF_NAME": "main"}
	d.one(ingest.Options{Env: func(k string) string { return env[k] }}, d.write("a.jsonl",
		`{"task_id":"a","ok":true}`+"\n"+`{"task_id":"b","ok":true,"commit":"def"}`+"\n"))
	rows := storedRows(t, d.st)
	sortRows(rows)
	if rows[0]["git_commit"] != "abc" || rows[0]["git_branch"] != "main" || rows[1]["git_commit"] != "def" || rows[1]["git_branch"] != nil {
		t.Errorf("got %v", rows)
	}
}

func TestParseTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in, want string
		naive    bool
	}{
		{"2026-11-30T12:00:00Z", "2026-11-30T12:00:00Z", false},
		{"2026-11-30T12:00:00.123456789+05:30", "2026-11-30T06:30:00.123456789Z", false},
		{"2026-11-30 12:00", "2026-11-30T11:00:00Z", true},
		{"2026-07-30", "2026-07-29T22:00:00Z", true},
		{"2026-11-30T12-00-00", "2026-11-30T11:00:00Z", true},
		{"20261130T120000Z", "2026-11-30T12:00:00Z", false},
		{"2024-02-29T00:00:00-0100", "2024-02-29T01:00:00Z", false},
		{"2026-02-29", "", false},
		{"2026-13-01", "", false},
		{"2026-11-30T25:00:00Z", "", false},
		{"1026-11-30", "", false},
		{"yesterday", "", false},
	} {
		at, naive, ok := ingest.ParseTime([]byte(c.in), berlin)
		if got := at.Format(time.RFC3339Nano); ok != (c.want != "") || ok && (got != c.want || naive != c.naive) {
			t.Errorf("%s: %s naive %t ok %t, want %s naive %t", c.in, got, naive, ok, c.want, c.naive)
		}
	}
}
