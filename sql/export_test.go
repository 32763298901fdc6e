package sql_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"passhat/ingest/store"
	"passhat/sql"
)

// exportStore has what makes an export hard: a trial twice, a dropped source,
// labels, prices, ungraded and cached trials, names that are hostile to paths
// and SQL, no suite at all, two months, a reject.
func exportStore(t *testing.T) *store.Store {
	t.Helper()
	st := newStore(t)
	ingest(t, st, "/logs/a.jsonl", []store.Trial{trial("r1", "t1", 0, true), trial("r1", "t1", 1, false), trial("r1", "t2", 0, true), trial("r1", "t2", 1, true)})
	ingest(t, st, "/logs/b.jsonl", []store.Trial{trial("r1", "t1", 0, true), trial("r1", "t3", 0, false)})
	ingest(t, st, "/logs/gone.jsonl", []store.Trial{trial("r9", "t1", 0, true)})
	if _, err := st.Drop(t.Context(), store.DropRequest{Source: "/logs/gone.jsonl"}); err != nil {
		t.Fatal(err)
	}
	var odd []store.Trial
	for i, suite := range []string{"", "../../etc", `it's "q" /x=%2F` + "\n", "2026-01-01", "*.parquet", "é中"} {
		x := trial("r2", "o'brien; DROP TABLE trials", int32(i), i%2 == 0)
		x.Suite, x.RunAt, x.TrialUID = suite, night.AddDate(0, i%2, 0), fmt.Sprint("u", i)
		if i == 1 {
			x.Passed = store.Opt[bool]{}
		}
		if i == 2 {
			x.Cached = store.Some(true)
		}
		x.CostUSD = store.Some(0.1 * float64(i))
		odd = append(odd, x)
	}
	ingest(t, st, "/logs/c.jsonl", odd)
	b := begin(t, st, store.KindTrials, "/logs/r.jsonl", "rejects")
	if err := b.Reject(store.Reject{Source: "/logs/r.jsonl", Line: 7, Reason: "no JSON", Raw: "{\"x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	addLabels(t, st, store.Label{Suite: "s", TaskID: "t1", Shape: "lookup", Weight: store.Some(3.0)}, store.Label{TaskID: "t2", Risk: "read_only"})
	addPrices(t, st, store.Price{Model: "m", Input: store.Some(1.0), Output: store.Some(2.0)})
	return st
}

// chosen makes the relation that is exported.
func chosen(t *testing.T, s *sql.Session, where string) sql.Export {
	t.Helper()
	err := s.Exec(t.Context(), "CREATE OR REPLACE TEMP VIEW chosen AS SELECT t.*, coalesce(l.weight, 1) AS weight FROM trials AS t "+
		"LEFT JOIN labels AS l ON l.suite = t.suite AND l.task_id = t.task_id WHERE "+where)
	if err != nil {
		t.Fatal(err)
	}
	return sql.Export{Trials: "chosen", Whole: where == "true", Conf: 0.95, Facts: [][2]string{{"store", "it's ours"}}}
}

// same says whether two relations of a session hold the same rows, whatever
// their order.
func same(t *testing.T, s *sql.Session, a, b string) {
	t.Helper()
	for _, pair := range [][2]string{{a, b}, {b, a}} {
		for _, row := range all(t, s, "SELECT x::VARCHAR FROM ("+pair[0]+" EXCEPT ALL "+pair[1]+") AS x ORDER BY 1 LIMIT 3", nil) {
			t.Errorf("only in %s and not in %s: %v", pair[0], pair[1], row[0])
		}
	}
}

func TestExportDuckDB(t *testing.T) {
	st := exportStore(t)
	s := over(t, st, sql.Config{})
	file := filepath.Join(t.TempDir(), "it's [a] copy.db")
	out, err := s.ExportDuckDB(t.Context(), file, chosen(t, s, "true"))
	if err != nil {
		t.Fatal(err)
	}
	if want := all(t, s, "SELECT count(*) FROM trials", nil)[0][0]; out.Tables[0] != (sql.ExportedTable{Name: "trials", Rows: want.(int64)}) || want != int64(11) {
		t.Errorf("%v trials, exported %v", want, out.Tables)
	}
	// Under a name of its own it must be found too: that is how a client attaches it.
	if err := s.Exec(t.Context(), "ATTACH "+sql.Literal(file)+" AS back (READ_ONLY)"); err != nil {
		t.Fatal(err)
	}
	same(t, s, "SELECT * FROM trials", "SELECT * EXCLUDE (weight) FROM back.trials")
	same(t, s, "SELECT * FROM task_runs", "SELECT * EXCLUDE (weight) FROM back.task_runs")
	for _, name := range []string{"runs", "sources", "rejects", "labels", "prices"} {
		same(t, s, "SELECT * FROM "+name, "SELECT * FROM back."+name)
	}
	same(t, s, "SELECT * FROM fields", "SELECT * FROM back.fields WHERE field <> 'weight'")
	check(t, s, "SELECT DISTINCT task_id, weight FROM back.task_runs WHERE weight <> 1", []any{"t1", 3.0})
	check(t, s, "SELECT * FROM back.export_info", []any{"store", "it's ours"})
	check(t, s, "SELECT back.pass_hat_k(10, 12, 5) = pass_hat_k(10, 12, 5), round(back.pass_hat_k_bayes(8, 8, 3, 1, 1), 12)", []any{true, 0.75})
	check(t, s, "SELECT count(*) FROM back.latest_trials", []any{int64(11)})
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the export lie %v, %v", entries, err)
	}
}

// The intervals are those of the functions, and a task's counts are those of
// its run and configuration.
func TestExportedIntervals(t *testing.T) {
	s := over(t, exportStore(t), sql.Config{})
	file := filepath.Join(t.TempDir(), "x.db")
	e := chosen(t, s, "t.suite = 's'")
	e.K = []int32{1, 2, 3}
	if _, err := s.ExportDuckDB(t.Context(), file, e); err != nil {
		t.Fatal(err)
	}
	if err := s.Exec(t.Context(), "ATTACH "+sql.Literal(file)+" AS back (READ_ONLY)"); err != nil {
		t.Fatal(err)
	}
	check(t, s, "SELECT task_id, k, n, c, weight, pass_hat_k FROM back.task_intervals ORDER BY task_id, k",
		[]any{"t1", int64(1), int64(2), int64(1), 3.0, 0.5}, []any{"t1", int64(2), int64(2), int64(1), 3.0, 0.0}, []any{"t1", int64(3), int64(2), int64(1), 3.0, nil},
		[]any{"t2", int64(1), int64(2), int64(2), 1.0, 1.0}, []any{"t2", int64(2), int64(2), int64(2), 1.0, 1.0}, []any{"t2", int64(3), int64(2), int64(2), 1.0, nil},
		[]any{"t3", int64(1), int64(1), int64(0), 1.0, 0.0}, []any{"t3", int64(2), int64(1), int64(0), 1.0, nil}, []any{"t3", int64(3), int64(1), int64(0), 1.0, nil})
	check(t, s, `SELECT count(*) FROM back.task_intervals WHERE wilson_lower <> wilson_ci(c, n, 0.95).lower OR exact_upper <> clopper_pearson_ci(c, n, 0.95).upper
		OR pass_hat_k_lower <> pass_hat_k_ci(c, n, k, 0.95).lower OR conf <> 0.95`, []any{int64(0)})
	check(t, s, `SELECT k, tasks, not_estimable, trials, mean, pass_hat_k, lower = pass_ci([0.5, 1, 0], [3, 1, 1], NULL, 0.95).lower,
		fixed_upper = fixed_suite_ci([1, 2, 0], [2, 2, 1], [3, 1, 1], 1, 0.95).upper FROM back.run_intervals ORDER BY k`,
		[]any{int64(1), int64(3), int64(0), int64(5), 0.5, 0.5, true, true},
		[]any{int64(2), int64(3), int64(1), int64(5), 0.5, 0.25, nil, false},
		[]any{int64(3), int64(3), int64(3), int64(5), 0.5, nil, nil, nil})
	// What is not exported has left no trace.
	check(t, s, "SELECT count(*), count(DISTINCT batch) FROM back.sources WHERE kind = 'trials'", []any{int64(2), int64(2)})
	check(t, s, "SELECT count(*) FROM back.rejects", []any{int64(0)})
}

func TestExportParquet(t *testing.T) {
	s := over(t, exportStore(t), sql.Config{})
	dir := filepath.Join(t.TempDir(), "la[k]e's")
	if _, err := s.ExportParquet(t.Context(), dir, chosen(t, s, "true")); err != nil {
		t.Fatal(err)
	}
	glob := strings.NewReplacer("[", "[[]").Replace(dir)
	read := func(name, how string) string {
		return "SELECT * FROM read_parquet(" + sql.Literal(glob+"/"+name) + how + ")"
	}
	same(t, s, "SELECT * FROM trials", "SELECT * EXCLUDE (weight, month) FROM ("+read("trials/*/*/*.parquet", ", hive_partitioning = false")+")")
	same(t, s, "SELECT * FROM trials", "SELECT * EXCLUDE (weight, month) FROM ("+read("trials/*/*/*.parquet", ", hive_types = {'suite': VARCHAR, 'month': VARCHAR}")+")")
	for _, name := range []string{"runs", "sources", "rejects", "labels", "prices"} {
		same(t, s, "SELECT * FROM "+name, read(name+".parquet", ""))
	}
	same(t, s, "SELECT * FROM task_runs", "SELECT * EXCLUDE (weight) FROM ("+read("task_runs.parquet", "")+")")
	// Names of suites must not lead out of the folder.
	folders, err := os.ReadDir(filepath.Join(dir, "trials"))
	if err != nil || len(folders) != 7 {
		t.Errorf("trials has the folders %v, %v; want one for each suite", folders, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
		t.Errorf("beside the export lie %v, %v", entries, err)
	}
}

func TestExportParquetOfLongNames(t *testing.T) {
	st := newStore(t)
	x := trial("r", "t", 0, true)
	x.Suite = strings.Repeat("ü", 100)
	ingest(t, st, "/logs/a", []store.Trial{x})
	s := over(t, st, sql.Config{})
	dir := filepath.Join(t.TempDir(), "lake")
	out, err := s.ExportParquet(t.Context(), dir, chosen(t, s, "true"))
	if err != nil || len(out.Notes) != 1 {
		t.Fatalf("%v, %v; want a note that suites cannot name folders", out.Notes, err)
	}
	check(t, s, "SELECT suite FROM read_parquet("+sql.Literal(dir+"/trials/month=*/*.parquet")+")", []any{x.Suite})
}

// An export takes no other thing's place, and only on demand that of another.
func TestExportReplaces(t *testing.T) {
	st := newStore(t)
	ingest(t, st, "/logs/a", []store.Trial{trial("r", "t", 0, true)})
	s := over(t, st, sql.Config{})
	e := chosen(t, s, "true")
	root := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	notes, log := put("notes/todo.txt", "buy milk"), put("log.jsonl", `{"passed":true}`)
	empty := filepath.Join(root, "empty")
	if err := os.Mkdir(empty, 0o777); err != nil {
		t.Fatal(err)
	}
	file, lake := filepath.Join(root, "x.db"), filepath.Join(root, "lake")
	duckdb := func(to string, force bool) error {
		e.Force = force
		_, err := s.ExportDuckDB(t.Context(), to, e)
		return err
	}
	parquet := func(to string, force bool) error {
		e.Force = force
		_, err := s.ExportParquet(t.Context(), to, e)
		return err
	}
	for _, step := range []struct {
		what string
		err  error
		want string // "": no error
	}{
		{"a new file", duckdb(file, false), ""},
		{"that again", duckdb(file, false), "exists already"},
		{"by force", duckdb(file, true), ""},
		{"over a log", duckdb(log, true), "no DuckDB database"},
		{"over a folder", duckdb(empty, true), "is a folder"},
		{"into no folder", duckdb(filepath.Join(root, "nosuch", "x.db"), true), "no such file"},
		{"over another folder", parquet(filepath.Dir(notes), true), "only exports are replaced"},
		{"over a file", parquet(file, true), "is a file"},
		{"over an empty folder", parquet(empty, false), ""},
		{"a new folder", parquet(lake, false), ""},
		{"that folder again", parquet(lake, false), "exists already"},
		{"the folder by force", parquet(lake, true), ""},
	} {
		if step.want == "" != (step.err == nil) || step.err != nil && !strings.Contains(step.err.Error(), step.want) {
			t.Errorf("%s: %v, want %q", step.what, step.err, step.want)
		}
		if taken := errors.Is(step.err, sql.ErrTaken); taken != (step.want == "exists already") {
			t.Errorf("%s: ErrTaken is %v", step.what, taken)
		}
	}
	put("x.db.wal", "x")
	if err := duckdb(file, true); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a database in use was replaced: %v", err)
	}
	for path, want := range map[string]string{notes: "buy milk", log: `{"passed":true}`} {
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			t.Errorf("%s is now %q, %v", path, b, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(root, ".passhat*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestExportInterrupted(t *testing.T) {
	s := over(t, newStore(t), sql.Config{})
	e := chosen(t, s, "(SELECT count(*) FROM range(200000000) AS a(x) WHERE x % 7 = 1) > 0")
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	dir := t.TempDir()
	if _, err := s.ExportDuckDB(ctx, filepath.Join(dir, "x.db"), e); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := s.ExportParquet(ctx, filepath.Join(dir, "lake"), e); err == nil {
		t.Error("an interrupted export to Parquet has no error")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("an interrupted export left %v, %v", left, err)
	}
	// The session goes on.
	if _, err := s.ExportDuckDB(t.Context(), filepath.Join(dir, "x.db"), chosen(t, s, "true")); err != nil {
		t.Error(err)
	}
}

// A process that is killed while it exports leaves the whole export or none,
// and its leftovers go with the next one.
func TestExportKilled(t *testing.T) {
	const variable = "PASSHAT_TEST_EXPORT"
	if dir := os.Getenv(variable); dir != "" {
		exportUntilKilled(t, dir)
		return
	}
	dir := t.TempDir()
	for i := range 6 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestExportKilled$")
		cmd.Env = append(os.Environ(), variable+"="+dir, "TMPDIR="+t.TempDir()) // what it leaves goes with the test
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// It says when it begins, and after each export.
		wait := "begun"
		if i > 2 {
			wait = "exported"
		}
		for said := bufio.NewScanner(out); said.Scan() && said.Text() != wait; {
		}
		time.Sleep(time.Duration(10+i*50) * time.Millisecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		if n := wholeExports(t, dir); n < 2 && i > 2 {
			t.Errorf("%d exports are there, though two were made", n)
		}
	}
	s := over(t, newStore(t), sql.Config{})
	e := chosen(t, s, "true")
	e.Force = true
	if _, err := s.ExportDuckDB(t.Context(), filepath.Join(dir, "x.db"), e); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".passhat*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// exportUntilKilled exports again and again, each time in the place of the last.
func exportUntilKilled(t *testing.T, dir string) {
	st := newStore(t)
	var trials []store.Trial
	for i := range 2000 {
		trials = append(trials, trial("r", fmt.Sprint("t", i%100), int32(i/100), i%3 > 0))
	}
	ingest(t, st, "/logs/a", trials)
	s := over(t, st, sql.Config{})
	e := chosen(t, s, "true")
	e.Force = true
	fmt.Println("begun")
	for {
		if _, err := s.ExportDuckDB(t.Context(), filepath.Join(dir, "x.db"), e); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ExportParquet(t.Context(), filepath.Join(dir, "lake"), e); err != nil {
			t.Fatal(err)
		}
		fmt.Println("exported")
	}
}

// wholeExports checks what stands under the exports' names.
func wholeExports(t *testing.T, dir string) (found int) {
	t.Helper()
	s := over(t, newStore(t), sql.Config{})
	if file := filepath.Join(dir, "x.db"); exists(file) {
		found++
		if err := s.Exec(t.Context(), "ATTACH "+sql.Literal(file)+" AS back (READ_ONLY)"); err != nil {
			t.Fatal(err)
		}
		check(t, s, "SELECT (SELECT count(*) FROM back.trials), (SELECT count(*) FROM back.export_info), back.flakiness(1, 2)",
			[]any{int64(2000), int64(1), 1.0})
	}
	if lake := filepath.Join(dir, "lake"); exists(lake) {
		found++
		check(t, s, "SELECT (SELECT count(*) FROM "+sql.Literal(lake+"/trials/*/*/*.parquet")+"), (SELECT count(*) FROM "+sql.Literal(lake+"/export_info.parquet")+")",
			[]any{int64(2000), int64(1)})
	}
	return found
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
