package ingest_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest"
	"passhat/ingest/store"
)

func TestRunTimes(t *testing.T) {
	for _, c := range []struct{ name, file, line, want, from string }{
		{"log", "a.jsonl", `{"task_id":"a","ok":true,"run_at":"2026-11-01T00:00:00Z"}`, "2026-11-01T00:00:00Z", "log"},
		{"started", "a.jsonl", `{"task_id":"a","ok":true,"started_at":1793491200000}`, "2026-11-01T00:00:00Z", "log"},
		{"file name", "a_2026-10-30T12-30-00.jsonl", `{"task_id":"a","ok":true}`, "2026-10-30T12:30:00Z", "file name"},
		{"file name date", "a_20261030.jsonl", `{"task_id":"a","ok":true}`, "2026-10-30T00:00:00Z", "file name"},
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

func TestUnfinishedLineThatCannotGrowIsAReject(t *testing.T) {
	text := `{"task_id":"a","ok":true}` + "\n" + `{"task_id":"b","o`
	var gz bytes.Buffer
	z := gzip.NewWriter(&gz)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	d := newDesk(t)
	s := d.one(ingest.Options{}, d.write("a.jsonl.gz", gz.String()))
	if s.Waiting != 0 || s.Store.Rejects != 1 || s.FirstReject.Line != 2 {
		t.Errorf("compressed: %+v", s)
	}
	d = newDesk(t)
	s = d.one(ingest.Options{Stdin: strings.NewReader(text)}, "-")
	if s.Waiting != 0 || s.Store.Rejects != 1 || s.FirstReject.Line != 2 {
		t.Errorf("standard input: %+v", s)
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
		`{"task_id":"a","ok":true,"api_key":"s3cret","config":{"temperature":1,"OPENAI_API_KEY":"s3cret","nested":{"headers":{"x":"s3cret"}},"model_kwargs":{"api_base":"http://s3cret","top_p":0.3}},"meta":[{"hf_token":"s3cret","max_tokens":5}],"llm_args":{"seed":3,"extra_headers":{"k":"s3cret"}}}`+"\n"))
	row := encode(t, storedRows(t, d.st))
	if strings.Contains(row, "s3cret") {
		t.Errorf("a secret was stored: %s", row)
	}
	if !strings.Contains(row, `max_tokens`) || !strings.Contains(row, `\"seed\":3`) || !strings.Contains(row, `"top_p":0.3`) {
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
