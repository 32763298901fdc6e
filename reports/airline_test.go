package reports_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest"
	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// The published figures of a real log: gpt-4o on the airline tasks.
func TestAirline(t *testing.T) {
	path := "../../shared/data/tau-bench/historical_trajectories/gpt-4o-airline.json"
	if _, err := os.Stat(path); err != nil {
		t.Skip("../shared/data is not there: the public logs are kept outside the project")
	}
	st, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ingest.Ingest(t.Context(), st, []string{path}, ingest.Options{}); err != nil {
		t.Fatal(err)
	}
	s := over(t, st, sql.Config{})
	res, err := reports.Run(t.Context(), s, report(t, "passk"), request(t, "k=all"))
	if err != nil {
		t.Fatal(err)
	}
	rows := table(t, res, "passk")
	if len(rows) != 4 {
		t.Fatalf("%d rows, want 4", len(rows))
	}
	for i, want := range []float64{0.42, 41.0 / 150, 0.22, 0.20} {
		near(t, "pass^k", rows[i]["pass_hat_k"], want, 1e-9)
		if rows[i]["tasks"] != int64(50) || rows[i]["trials"] != int64(200) {
			t.Errorf("%v tasks and %v trials, want 50 and 200", rows[i]["tasks"], rows[i]["trials"])
		}
	}
	near(t, "mean flakiness", rows[0]["flakiness"], 0.44, 1e-9)
	notes := strings.Join(res.Sections[0].Notes, "\n")
	if !strings.Contains(notes, "10 of 50 tasks always passed; with n = 4 that bounds each one's true rate only above 0.40 (95 %)") {
		t.Errorf("notes:\n%s", notes)
	}
	if !strings.Contains(res.Head[0], "temperature: not in the log") {
		t.Errorf("head %q", res.Head)
	}
	// The two readings of this file disagree, and both are shown.
	d := run(t, s, "diagnose", "k=4")
	row := table(t, d, "diagnose")[0]
	near(t, "ratio", row["ratio"], 0.2/(0.42*0.42*0.42*0.42), 1e-9)
	if row["flaky_tasks"] != int64(26) || row["by_ratio"] != "hard tasks" || !strings.Contains(d.Head[0], "The readings disagree") {
		t.Errorf("%v\n%s", row, d.Head[0])
	}
}
