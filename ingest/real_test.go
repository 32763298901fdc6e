package ingest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"passhat/ingest"
	"passhat/ingest/store"
	"passhat/sql"
	"passhat/udf/stats"
)

// realData holds the public result files, and realOracle what each must yield.
const (
	realData   = "../../shared/data"
	realOracle = "../../shared/oracle/real_data.json"
)

// realCase says how one table of an entry of the oracle is got from real files.
type realCase struct {
	// sources are read into one fresh store, relative to realData; globs will do.
	sources []string
	opt     ingest.Options
	// where picks the trials of this table, as a condition on trials.
	where string
	// task is the SQL expression of the table's name for a task; "" is task_id.
	task string
	// truth is the path within the entry to the table, ungraded trials counted
	// as failures; exclude, if set, to that without them. nil is the entry.
	truth, exclude []string
	// ungraded says that the entry has no table, since nothing of it is graded:
	// there are as many trials as its samples_in_file.
	ungraded bool
	// fails, if set, says that the file is refused with words that have this in
	// them, and why that is right.
	fails, why string
}

// realCases has what every entry needs, by its key; each format's test file
// adds its own.
var realCases = map[string][]realCase{}

// TestRealData reads every file that the oracle knows and compares the counts
// of every task and pass^k.
func TestRealData(t *testing.T) {
	b, err := os.ReadFile(realOracle)
	if err != nil {
		t.Skipf("the real result files are not here (%v): none of the oracle's entries was tried", err)
	}
	var oracle map[string]any
	if err := json.Unmarshal(b, &oracle); err != nil {
		t.Fatal(err)
	}
	delete(oracle, "_definitions")
	for key := range realCases {
		if oracle[key] == nil {
			t.Errorf("the oracle has no entry %s", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(oracle)) {
		t.Run(key, func(t *testing.T) {
			cases := realCases[key]
			if len(cases) == 0 {
				t.Error("no case reads this entry of the oracle")
			}
			for _, c := range cases {
				t.Run(c.where, func(t *testing.T) { c.run(t, oracle[key]) })
			}
		})
	}
}

// counts are the trials, graded trials and passes of one task.
type counts struct{ n, graded, c int64 }

func (c realCase) run(t *testing.T, entry any) {
	got, err := c.read(t)
	if c.fails != "" {
		if err == nil {
			t.Fatalf("it was read; wanted a refusal: %s", c.why)
		}
		checkContains(t, err.Error(), c.fails)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if c.ungraded {
		var n, graded int64
		for _, g := range got {
			n, graded = n+g.n, graded+g.graded
		}
		if want := entry.(map[string]any)["samples_in_file"].(float64); float64(n) != want || graded != 0 {
			t.Errorf("%d trials, %d graded; the oracle has %g, none graded", n, graded, want)
		}
		return
	}
	compareTruth(t, got, walk(t, entry, c.truth), func(n counts) (int64, int64) { return n.c, n.n })
	if c.exclude != nil {
		compareTruth(t, got, walk(t, entry, c.exclude), func(n counts) (int64, int64) { return n.c, n.graded })
	}
}

func checkContains(t *testing.T, text, want string) {
	t.Helper()
	if !containsFold(text, want) {
		t.Errorf("%q does not say %q", text, want)
	}
}

// read ingests the sources into a fresh store and counts by task, through the
// view that reports read.
func (c realCase) read(t *testing.T) (map[string]counts, error) {
	t.Helper()
	st, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, s := range c.sources {
		sources = append(sources, filepath.Join(realData, s))
	}
	opt := c.opt
	opt.Env = noEnv
	if _, err := ingest.Ingest(t.Context(), st, sources, opt); err != nil {
		return nil, err
	}
	snap, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	session, err := sql.Open(t.Context(), snap, sql.Config{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	task, where := c.task, c.where
	if task == "" {
		task = "task_id"
	}
	if where == "" {
		where = "TRUE"
	}
	rows, err := session.Query(t.Context(), fmt.Sprintf(`SELECT (%s)::VARCHAR AS task, count(*)::BIGINT, count(passed)::BIGINT,
		count(*) FILTER (passed)::BIGINT FROM trials WHERE cached IS NOT TRUE AND (%s) GROUP BY ALL ORDER BY ALL`, task, where), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	got := map[string]counts{}
	for rows.Next() {
		v := rows.Values()
		got[v[0].(string)] = counts{v[1].(int64), v[2].(int64), v[3].(int64)}
	}
	return got, rows.Err()
}

// walk goes down the path of keys in an entry of the oracle.
func walk(t *testing.T, entry any, path []string) map[string]any {
	t.Helper()
	for _, key := range path {
		m, ok := entry.(map[string]any)
		if !ok || m[key] == nil {
			t.Fatalf("the oracle's entry has no %v", path)
		}
		entry = m[key]
	}
	return entry.(map[string]any)
}

// compareTruth compares the counts, task by task where the truth has them, and
// pass^k.
func compareTruth(t *testing.T, got map[string]counts, truth map[string]any, of func(counts) (c, n int64)) {
	t.Helper()
	want := truthTasks(truth)
	var trials, passes, tasks int64
	for task, g := range got {
		c, n := of(g)
		if n == 0 {
			continue
		}
		tasks, trials, passes = tasks+1, trials+n, passes+c
		if w, ok := want[task]; want != nil && (!ok || w != [2]int64{n, c}) {
			t.Errorf("task %s: n = %d, c = %d; the oracle has %v", task, n, c, w)
		}
	}
	for task := range want {
		if _, ok := got[task]; !ok {
			t.Errorf("task %s of the oracle is not there", task)
		}
	}
	for name, n := range map[string]int64{"n_tasks": tasks, "n_trials": trials, "n_pass": passes} {
		if w, ok := truth[name].(float64); ok && int64(w) != n {
			t.Errorf("%s = %d; the oracle has %g", name, n, w)
		}
	}
	checked := 0
	for _, name := range []string{"pass_hat", "pass_hat_k"} {
		table, _ := truth[name].(map[string]any)
		for text, w := range table {
			value, ok := w.(float64)
			used := int64(-1)
			if m, isMap := w.(map[string]any); isMap {
				value, ok = m["value"].(float64)
				if u, has := m["tasks_used"].(float64); has {
					used = int64(u)
				}
			}
			k, err := strconv.ParseInt(text, 10, 64)
			if err != nil || !ok {
				continue
			}
			checked++
			if g, tasks := meanPassHat(t, got, k, of); math.Abs(g-value) > 1e-9 || used >= 0 && tasks != used {
				t.Errorf("pass^%d = %.12f over %d tasks; the oracle has %.12f over %d", k, g, tasks, value, used)
			}
		}
	}
	if checked == 0 && want == nil && truth["n_trials"] == nil {
		t.Error("the oracle's table holds nothing to compare with")
	}
}

// truthTasks reads the two forms in which the oracle has tasks.
func truthTasks(truth map[string]any) map[string][2]int64 {
	table, ok := truth["per_task"].(map[string]any)
	if !ok {
		if table, ok = truth["tasks"].(map[string]any); !ok {
			return nil
		}
	}
	want := map[string][2]int64{}
	for task, v := range table {
		switch v := v.(type) {
		case []any:
			want[task] = [2]int64{int64(v[0].(float64)), int64(v[1].(float64))}
		case map[string]any:
			want[task] = [2]int64{int64(v["n"].(float64)), int64(v["c"].(float64))}
		}
	}
	return want
}

func meanPassHat(t *testing.T, got map[string]counts, k int64, of func(counts) (c, n int64)) (mean float64, tasks int64) {
	t.Helper()
	for _, g := range got {
		c, n := of(g)
		if n < k || n == 0 {
			continue
		}
		p, err := stats.PassHatK(c, n, k)
		if err != nil {
			t.Fatal(err)
		}
		mean, tasks = mean+p, tasks+1
	}
	return mean / float64(max(tasks, 1)), tasks
}

func containsFold(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

func init() {
	realCases["tau-bench/historical_trajectories/gpt-4o-airline.json"] = []realCase{
		{sources: []string{"tau-bench/historical_trajectories/gpt-4o-airline.json"}},
	}
}
