package reports

import (
	"context"
	"embed"
	"fmt"
	"slices"

	"passhat/sql"
)

//go:embed lists/*.sql
var listFiles embed.FS

// lists are the tables that commands print of a store, with the columns that
// the terminal leaves out.
var lists = []struct {
	name  string
	notes []string
	wide  []string
}{
	{"runs", []string{"n: fewest trials of a task; pass_hat_k: pass^k at k = n"},
		[]string{"n_max", "cached", "planned_trials", "cost_usd", "model", "agent", "effort", "harness", "harness_version",
			"git_commit", "git_branch", "run_at_from"}},
	{"sources", nil, []string{"kind", "size", "options", "warnings", "passhat", "batch", "number"}},
	{"rejects", nil, []string{"batch", "number"}},
	{"status", nil, nil},
}

// Query runs one statement and gives its answer as a result of one section,
// whose rows stream: the session must stay open until they are read.
func Query(ctx context.Context, s *sql.Session, name, text string, params map[string]any) (*Result, error) {
	rows, err := s.Query(ctx, text, params)
	if err != nil {
		return nil, err
	}
	var cols []Column
	for _, c := range rows.Columns() {
		// A query plan is a drawing of many lines.
		plan := c.Name == "explain_value"
		cols = append(cols, Column{Name: c.Name, Type: c.Type, Kind: Kind(c.Kind), Wrap: plan})
	}
	return &Result{Name: name, Sections: []Section{{Name: name, Columns: cols, Rows: rows.All()}}}, nil
}

// List gives one of the tables that commands print of a store: runs, sources,
// rejects or status.
func List(ctx context.Context, s *sql.Session, name string) (*Result, error) {
	text, err := listFiles.ReadFile("lists/" + name + ".sql")
	if err != nil {
		return nil, fmt.Errorf("no list %q", name)
	}
	res, err := Query(ctx, s, name, string(text), nil)
	if err != nil {
		return nil, fmt.Errorf("list the %s: %w", name, err)
	}
	for _, l := range lists {
		if l.name != name {
			continue
		}
		res.Sections[0].Notes = l.notes
		for i := range res.Sections[0].Columns {
			c := &res.Sections[0].Columns[i]
			c.Wide = slices.Contains(l.wide, c.Name)
		}
	}
	return res, nil
}
