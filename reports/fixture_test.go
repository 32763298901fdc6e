package reports_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

var update = flag.Bool("update", false, "write the golden files anew")

const fixtures = "../testdata/reports"

// history reads testdata/reports/history.csv: one line for each task of a run,
// a letter for each trial: P passed, F failed, U ungraded, C cached.
func history(t testing.TB) []store.Trial {
	t.Helper()
	f, err := os.Open(filepath.Join(fixtures, "history.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []store.Trial
	for _, l := range lines[1:] {
		at, err := time.Parse(time.RFC3339, l[2])
		if err != nil {
			t.Fatal(err)
		}
		for i, verdict := range l[8] {
			tr := store.Trial{
				Suite: l[0], RunID: l[1], RunAt: at, RunAtFrom: store.RunAtLog, Model: l[3], Effort: l[4],
				TaskID: l[5], Shape: l[6], Trial: store.Some(int32(i)), TrialFrom: store.TrialExplicit,
				Variant: fmt.Sprint(i % 2), Extra: fmt.Sprintf(`{"region":"%s"}`, []string{"eu", "us"}[i%2]),
			}
			if n, err := strconv.Atoi(l[7]); err == nil {
				tr.PlannedTrials = store.Some(int32(n))
			}
			if n, err := strconv.Atoi(l[9]); err == nil {
				tr.Turns = store.Some(int32(n))
			}
			if x, err := strconv.ParseFloat(l[10], 64); err == nil {
				tr.CostUSD = store.Some(x)
			}
			switch verdict {
			case 'P':
				tr.Passed = store.Some(true)
			case 'F':
				tr.Passed = store.Some(false)
				tr.ErrorType, tr.Trace = l[11], ""
				if l[12] != "" {
					tr.Trace = fmt.Sprintf("%s/%d.json", l[12], i)
				}
			case 'C':
				tr.Passed, tr.Cached = store.Some(true), store.Some(true)
			}
			out = append(out, tr)
		}
	}
	return out
}

// commit puts trials into a store as one source.
func commit(t testing.TB, st *store.Store, path string, trials []store.Trial) {
	t.Helper()
	sum := sha256.Sum256([]byte(fmt.Sprint(path, len(trials))))
	src := store.Source{Path: path, Format: "jsonl", FormatVersion: 1, Hash: hex.EncodeToString(sum[:]), Size: 1}
	plan, err := st.Plan(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	b, err := st.Begin(t.Context(), src, plan)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Abort()
	part, err := b.Part()
	if err != nil {
		t.Fatal(err)
	}
	for i := range trials {
		trials[i].SourceRow = strconv.Itoa(i + 1)
		h := sha256.Sum256([]byte(fmt.Sprint(path, i)))
		copy(trials[i].RowHash[:], h[:])
		if err := part.Append(&trials[i]); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// openHistory makes a store of the trials and a session over it.
func openHistory(t testing.TB, trials []store.Trial, cfg sql.Config) *sql.Session {
	t.Helper()
	if cfg.Threads == 0 {
		cfg.Threads = 1 // so few rows: a second thread would only wait
	}
	st, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	if len(trials) > 0 {
		commit(t, st, "/logs/history.jsonl", trials)
	}
	return over(t, st, cfg)
}

func over(t testing.TB, st *store.Store, cfg sql.Config) *sql.Session {
	t.Helper()
	snap, err := st.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	s, err := sql.Open(context.Background(), snap, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		snap.Close()
	})
	return s
}

// report finds a built-in report.
func report(t testing.TB, name string) *reports.Report {
	t.Helper()
	all, err := reports.Load()
	if err != nil {
		t.Fatal(err)
	}
	r, err := reports.Find(all, name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// request fills a request from name=value words, at a fixed time.
func request(t testing.TB, words ...string) reports.Request {
	t.Helper()
	q := reports.Request{Now: time.Date(2026, 11, 5, 0, 0, 0, 0, time.UTC), Version: "test"}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		if err := q.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	return q
}

// run runs a built-in report and fails the test on an error.
func run(t testing.TB, s *sql.Session, name string, words ...string) *reports.Result {
	t.Helper()
	res, err := reports.Run(t.Context(), s, report(t, name), request(t, words...))
	if err != nil {
		t.Fatalf("%s %v: %v", name, words, err)
	}
	return res
}

// table reads a section as rows of column name to value.
func table(t testing.TB, res *reports.Result, section string) []map[string]any {
	t.Helper()
	for _, sec := range res.Sections {
		if sec.Name != section {
			continue
		}
		var out []map[string]any
		for row, err := range sec.Rows {
			if err != nil {
				t.Fatal(err)
			}
			m := map[string]any{}
			for i, c := range sec.Columns {
				m[c.Name] = row[i]
			}
			out = append(out, m)
		}
		return out
	}
	t.Fatalf("no section %s", section)
	return nil
}

func render(t testing.TB, res *reports.Result, form string) string {
	t.Helper()
	var b bytes.Buffer
	if err := reports.Write(&b, form, res, reports.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// golden compares text with a golden file, or writes it under -update.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(fixtures, name)
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s differs (-want +got), -update writes it anew:\n%s", path, diff)
	}
}
