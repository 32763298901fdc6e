package sql

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest/store"
)

func besides(t *testing.T) *Session {
	t.Helper()
	st, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	snap, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), snap, Config{Threads: 2, Leave: true})
	if err != nil {
		t.Fatal(err)
	}
	db := s.db
	t.Cleanup(func() {
		s.Close()
		db.Close() // which Leave leaves to the end of the process
		snap.Close()
	})
	return s
}

// Only what statements begin with says where their table goes, never a literal or a comment.
func TestSharedTables(t *testing.T) {
	const literal = "it''s CREATE OR REPLACE TEMP TABLE x; CREATE OR REPLACE TEMP VIEW y"
	text := "CREATE OR REPLACE TEMP TABLE a AS SELECT '" + literal + "' AS t; -- CREATE OR REPLACE TEMP TABLE z\n" +
		"CREATE OR REPLACE TEMP VIEW b AS SELECT *, 'CREATE OR REPLACE TEMP VIEW ' AS u FROM a;\nSELECT 'CREATE OR REPLACE TEMP TABLE '"
	s := besides(t)
	if got := s.ofAll(text); got != text {
		t.Errorf("on one connection: %s", got)
	}
	other, err := s.Beside(t.Context())
	if err != nil || other == nil {
		t.Fatal(other, err)
	}
	want := "CREATE OR REPLACE TABLE passhat_run.a AS SELECT '" + literal + "' AS t; -- CREATE OR REPLACE TEMP TABLE z\n" +
		"CREATE OR REPLACE VIEW passhat_run.b AS SELECT *, 'CREATE OR REPLACE TEMP VIEW ' AS u FROM a;\nSELECT 'CREATE OR REPLACE TEMP TABLE '"
	if got := s.ofAll(text); got != want {
		t.Errorf("on two connections: %s", got)
	}
	if err := s.Exec(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	var told string
	if err := other.conn.QueryRowContext(t.Context(), "SELECT t FROM b").Scan(&told); err != nil || told != strings.ReplaceAll(literal, "''", "'") {
		t.Errorf("the other connection reads %q, %v", told, err)
	}
}

// A second connection that could not be had leaves the session as it was, and can be had later.
func TestBesideFails(t *testing.T) {
	s := besides(t)
	paths := func() (path string) {
		t.Helper()
		if err := s.conn.QueryRowContext(t.Context(), "SELECT current_setting('search_path')").Scan(&path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	before, open := paths(), s.db.Stats().InUse
	ctx, stop := context.WithCancel(t.Context())
	stop()
	s.db.SetMaxOpenConns(1) // no second one is to be had
	for _, ctx := range []context.Context{ctx, briefly(t)} {
		if other, err := s.Beside(ctx); err == nil || other != nil || !strings.Contains(err.Error(), "second connection") {
			t.Errorf("got %v, %v", other, err)
		}
	}
	s.db.SetMaxOpenConns(0)
	if _, err := s.Beside(ctx); err == nil {
		t.Error("a second connection after the end")
	}
	// The other connection can be made, but not the first one's settings.
	if err := s.Exec(t.Context(), "SET lock_configuration = true"); err != nil {
		t.Fatal(err)
	}
	if other, err := s.Beside(t.Context()); err == nil || other != nil {
		t.Errorf("with locked settings: got %v, %v", other, err)
	}
	if got := paths(); got != before || s.shared || s.beside != nil || s.db.Stats().InUse != open {
		t.Errorf("search path %q, shared %v, %d connections are in use; want %q, false, %d", got, s.shared, s.db.Stats().InUse, before, open)
	}
}

// Beside works after a failure half way.
func TestBesideAfterFailure(t *testing.T) {
	s := besides(t)
	if err := s.Exec(t.Context(), "CREATE SCHEMA "+sharedSchema); err != nil { // as a failure after it leaves it
		t.Fatal(err)
	}
	if other, err := s.Beside(t.Context()); err != nil || other == nil {
		t.Errorf("got %v, %v", other, err)
	}
	if other, err := s.Beside(t.Context()); err != nil || other != nil {
		t.Errorf("a third connection: %v, %v", other, err)
	}
}

// briefly is a context that ends soon.
func briefly(t *testing.T) context.Context {
	ctx, stop := context.WithTimeout(t.Context(), 1)
	t.Cleanup(stop)
	return ctx
}

// What a statement may take begins with the earliest of those that run: two beside each other
// may not each take all of it.
func TestStatementsShareTheirRoom(t *testing.T) {
	w := &watched{}
	first, end := w.begin(100)
	second, endSecond := w.begin(900)
	if first != 100 || second != 100 {
		t.Errorf("they begin at %d and %d, want both at 100", first, second)
	}
	end()
	third, endThird := w.begin(1200)
	if third != 900 {
		t.Errorf("the third begins at %d, want 900, where the second did", third)
	}
	endSecond()
	endThird()
	if alone, _ := w.begin(2000); alone != 2000 {
		t.Errorf("one alone begins at %d, want 2000", alone)
	}
}
