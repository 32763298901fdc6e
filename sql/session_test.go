package sql_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest/store"
	"passhat/sql"
)

// open opens a session over snap that ends with the test.
func open(t testing.TB, snap *store.Snapshot, cfg sql.Config) *sql.Session {
	t.Helper()
	s, err := sql.Open(context.Background(), snap, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// all reads an answer whole.
func all(t testing.TB, s *sql.Session, text string, params map[string]any) [][]any {
	t.Helper()
	rows, err := s.Query(context.Background(), text, params)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var out [][]any
	for row, err := range rows.All() {
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		out = append(out, row)
	}
	return out
}

func TestEmptyStore(t *testing.T) {
	for _, locked := range []bool{false, true} {
		s := open(t, nil, sql.Config{Locked: locked})
		for _, view := range sql.Views {
			want := [][]any{{int64(0)}}
			if view == "fields" {
				want = [][]any{{int64(len(store.Columns()))}}
			}
			if diff := cmp.Diff(want, all(t, s, "SELECT count(*) FROM "+view, nil)); diff != "" {
				t.Errorf("locked %v: rows of %s (-want +got):\n%s", locked, view, diff)
			}
		}
	}
}

func TestTrialsHasTheContractsColumns(t *testing.T) {
	s := open(t, nil, sql.Config{})
	rows, err := s.Query(context.Background(), "SELECT * FROM trials", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []store.Column
	for _, c := range rows.Columns() {
		got = append(got, store.Column{Name: c.Name, Type: c.Type})
	}
	if diff := cmp.Diff(store.Columns(), got); diff != "" {
		t.Errorf("columns of trials (-want +got):\n%s", diff)
	}
}
