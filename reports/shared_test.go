package reports_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// The two histories are read by many tests, so each has one session, which
// lives as long as the test binary. Only built-in reports may run there: one's
// own lock the session.
var shared struct {
	dir      string
	sessions map[string]*sql.Session
	results  map[string]*reports.Result
	closers  []func() error
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "passhat-reports-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	shared.dir, shared.sessions, shared.results = dir, map[string]*sql.Session{}, map[string]*reports.Result{}
	code := m.Run()
	for _, end := range shared.closers {
		if err := end(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// small is the session over testdata/reports/history.csv.
func small(t testing.TB) *sql.Session { return sharedSession(t, "small", history) }

// long is the session over the made-up nights.
func long(t testing.TB) *sql.Session {
	return sharedSession(t, "long", func(testing.TB) []store.Trial { return nights() })
}

func sharedSession(t testing.TB, name string, trials func(testing.TB) []store.Trial) *sql.Session {
	t.Helper()
	if s := shared.sessions[name]; s != nil {
		return s
	}
	st, err := store.Open(filepath.Join(shared.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	commit(t, st, "/logs/history.jsonl", trials(t))
	snap, err := st.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	s, err := sql.Open(context.Background(), snap, sql.Config{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	shared.sessions[name] = s
	shared.closers = append(shared.closers, func() error {
		s.Close()
		return snap.Close()
	})
	return s
}

// resultOf is the result of a report on the history that the variant asks for,
// computed once; its rows can be read again.
func resultOf(t testing.TB, rep *reports.Report, v variant) *reports.Result {
	t.Helper()
	s, on := small(t), "small"
	if strings.HasPrefix(v.name, "night-") {
		s, on = long(t), "long"
	}
	key := strings.Join(append([]string{on, rep.Name}, v.words...), "\x00")
	if res := shared.results[key]; res != nil {
		return res
	}
	res, err := reports.Run(t.Context(), s, rep, request(t, v.words...))
	if err != nil {
		t.Fatalf("%s %v: %v", rep.Name, v.words, err)
	}
	shared.results[key] = res
	return res
}
