package reports_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// trials makes n trials of a task of which the first c passed.
func trials(run, task string, n, c int) []store.Trial {
	at := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	var out []store.Trial
	for i := range n {
		out = append(out, store.Trial{
			Suite: "s", RunID: run, RunAt: at, RunAtFrom: store.RunAtLog, TaskID: task,
			Trial: store.Some(int32(i)), TrialFrom: store.TrialExplicit, Passed: store.Some(i < c), Model: "m",
		})
	}
	return out
}

func near(t *testing.T, what string, got any, want, tol float64) {
	t.Helper()
	x, ok := got.(float64)
	if !ok || math.Abs(x-want) > tol {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Two tasks of 20 % and 80 %: pass^3 is (0.2³ + 0.8³)/2, never the 0.125 that
// comes of powering the average.
func TestPerTaskThenAveraged(t *testing.T) {
	s := openHistory(t, append(trials("r", "a", 2000, 400), trials("r", "b", 2000, 1600)...), sql.Config{})
	row := table(t, run(t, s, "passk", "k=3"), "passk")[0]
	near(t, "pass^3", row["pass_hat_k"], 0.26, 0.001)
	near(t, "mean", row["mean"], 0.5, 1e-12)
}

func TestPolicy(t *testing.T) {
	in := trials("r", "a", 4, 2)
	in[3].Passed = store.Opt[bool]{} // P P F U
	in = append(in, trials("r", "b", 4, 4)...)
	in[4].Cached = store.Some(true)
	for i := range in {
		in[i].PlannedTrials = store.Some(int32(5))
	}
	s := openHistory(t, in, sql.Config{})
	get := func(words ...string) map[string]any {
		return table(t, run(t, s, "passk", append(words, "k=2")...), "passk")[0]
	}
	fail, exclude, bounds := get(), get("policy=exclude"), get("policy=bounds")
	near(t, "fail", fail["pass_hat_k"], (1.0/6+1)/2, 1e-12)
	near(t, "exclude", exclude["pass_hat_k"], (1.0/3+1)/2, 1e-12)
	near(t, "low", bounds["pass_hat_k_low"], (1.0/6+1)/2, 1e-12)
	near(t, "high", bounds["pass_hat_k_high"], (1.0/2+1)/2, 1e-12)
	if _, there := fail["pass_hat_k_low"]; there {
		t.Error("policy fail shows bounds")
	}
	for name, want := range map[string]int64{"trials": 7, "ungraded": 1, "missing": 2, "n_min": 3, "n_max": 4} {
		if fail[name] != want {
			t.Errorf("%s is %v, want %d", name, fail[name], want)
		}
	}
	res := run(t, s, "passk", "k=2")
	head := strings.Join(res.Head, "\n")
	for _, want := range []string{"temperature: not in the log", "1 ungraded trial of 1 task counted as failed", "2 planned but missing", "1 cached left out"} {
		if !strings.Contains(head, want) {
			t.Errorf("head lacks %q:\n%s", want, head)
		}
	}
	if !strings.Contains(strings.Join(res.Sections[0].Notes, "\n"), "policy exclude would give pass^2 = 0.6667 instead of 0.5833") {
		t.Errorf("notes: %q", res.Sections[0].Notes)
	}
}

func TestSeveralRuns(t *testing.T) {
	var in []store.Trial
	// a: 3/4, 1/4, 2/4 in three runs; b: 4/4 in each; c: only in one run.
	for i, c := range []int{3, 1, 2} {
		name := string(rune('x' + i))
		in = append(append(in, trials(name, "a", 4, c)...), trials(name, "b", 4, 4)...)
	}
	in = append(in, trials("x", "c", 4, 0)...)
	s := openHistory(t, in, sql.Config{})
	row := table(t, run(t, s, "passk", "runs=all", "by=model", "k=2"), "passk")[0]
	// pass^2 of a: 1/2, 0, 1/6; per run with b: 3/4, 1/2, 7/12.
	mean := (3.0/4 + 1.0/2 + 7.0/12) / 3
	near(t, "within-run pass^2", row["pass_hat_k"], mean, 1e-12)
	ss := 0.0
	for _, v := range []float64{3.0 / 4, 1.0 / 2, 7.0 / 12} {
		ss += (v - mean) * (v - mean)
	}
	half := 4.302652729911275 * math.Sqrt(ss/2/3) // t(2) at 0.975
	near(t, "lower of t(R-1)", row["fixed_lower"], math.Max(0, mean-half), 1e-9)
	near(t, "upper of t(R-1)", row["fixed_upper"], math.Min(1, mean+half), 1e-9)
	// e_2(3/4, 1/4, 2/4)/3 = (3/16 + 6/16 + 2/16)/3.
	near(t, "across-run pass^2", row["pass_hat_k_across"], (11.0/16/3+1)/2, 1e-12)
	if row["runs"] != int64(3) && row["runs"] != "3" || row["tasks"] != int64(2) {
		t.Errorf("runs %v, tasks %v, want 3 and 2", row["runs"], row["tasks"])
	}
	res := run(t, s, "passk", "runs=all", "by=model", "k=2", "pool=trial")
	row = table(t, res, "passk")[0]
	near(t, "pooled pass^2", row["pass_hat_k"], (6.0*5/12/11+1+0)/3, 1e-12)
	if !strings.Contains(strings.Join(res.Warnings, "\n"), "pooled as if one run") {
		t.Errorf("warnings %q", res.Warnings)
	}
	// With two runs the interval stays within them.
	res = run(t, s, "passk", "runs=2", "by=model", "k=2")
	if m := table(t, res, "passk")[0]["fixed_method"].(string); !strings.HasSuffix(m, "within these runs") {
		t.Errorf("method %q", m)
	}
}

func TestWeightsAndLabels(t *testing.T) {
	s := openHistory(t, append(append(trials("r", "a", 4, 4), trials("r", "b", 4, 0)...), trials("r", "c", 4, 2)...), sql.Config{})
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "w.csv")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	res := run(t, s, "passk", "k=1", "weights="+file("task_id,weight\na,3\nb,1\nc,0\n"))
	row := table(t, res, "passk")[0]
	near(t, "weighted mean", row["mean"], 0.75, 1e-12)
	near(t, "equal weights", row["mean_equal"], 0.5, 1e-12)
	if row["tasks"] != int64(2) || !strings.HasPrefix(res.Stamp.Weights, "w.csv sha256:") {
		t.Errorf("tasks %v, stamp %q", row["tasks"], res.Stamp.Weights)
	}
	near(t, "a suite's own weight comes first", table(t, run(t, s, "passk", "k=1",
		"weights="+file("suite,task_id,weight\n,a,1\n,b,1\n,c,1\ns,a,2\nother,b,9\n")), "passk")[0]["mean"], 2.5/4, 1e-12)
	shapes := table(t, run(t, s, "shapes", "labels="+file("task_id,shape\na,lookup\nb,lookup\n")), "shapes")
	if len(shapes) != 2 || shapes[0]["shape"] != "unclassified" || shapes[1]["shape"] != "lookup" || shapes[1]["tasks"] != int64(2) {
		t.Errorf("shapes %v", shapes)
	}
	for _, tt := range []struct{ text, want string }{
		{"", "line 1: a header"},
		{"task,weight\na,1\n", "line 1: the header has task, weight"},
		{"task_id,weight\na,1\nb,-1\n", `line 3: weight "-1" of task b`},
		{"task_id,weight\na,1\nb,NaN\n", `line 3: weight "NaN" of task b`},
		{"task_id,weight\na,1\na,2\n", "line 3: task a stands twice, first on line 2"},
		{"task_id,weight\na,1\n", "no weight for task b, c"},
		{"task_id,weight\na,0\nb,0\nc,0\n", "every task that was run has the weight 0"},
		{"task_id,weight\na\n", "record on line 2: wrong number of fields"},
	} {
		_, err := reports.Run(t.Context(), s, report(t, "passk"), request(t, "weights="+file(tt.text)))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("weights %q: error %v, want %s", tt.text, err, tt.want)
		}
	}
}

func TestMixedConfigurationWarns(t *testing.T) {
	in := append(trials("r", "a", 4, 4), trials("r", "b", 4, 4)...)
	for i := range in {
		in[i].Temperature = store.Some(float64(i % 2))
		in[i].EnvironmentID = []string{"e1", "e2"}[i%2]
		in[i].HarnessVersion = "1.0"
		in[i].Seed = store.Some(int64(i))
		in[i].PassRule = "log: ok"
	}
	in[0].HarnessVersion = ""
	in[1].Passed, in[1].PassRule = store.Opt[bool]{}, "" // ungraded, so by no rule
	s := openHistory(t, in, sql.Config{})
	res := run(t, s, "passk")
	all := strings.Join(res.Warnings, "\n")
	for _, want := range []string{"differ in temperature: 0.0, 1.0", "differ in harness_version: 1.0, or not in the log", "differ in environment_id: 2 tasks"} {
		if !strings.Contains(all, want) {
			t.Errorf("warnings lack %q:\n%s", want, all)
		}
	}
	if strings.Contains(all, "differ in model") || strings.Contains(all, "pass_rule") {
		t.Errorf("a warning without a cause:\n%s", all)
	}
	if got := res.Stamp.Configuration["seed"]; got != "varies from 0 to 7" {
		t.Errorf("seed %q", got)
	}
}

func TestK(t *testing.T) {
	s := openHistory(t, append(trials("r", "a", 5, 5), trials("r", "b", 4, 2)...), sql.Config{})
	for _, tt := range []struct {
		k    string
		want []any
	}{
		{"", []any{int64(1), int64(3)}}, {"max", []any{int64(4)}}, {"all", []any{int64(1), int64(2), int64(3), int64(4)}},
		{"5,2,2", []any{int64(2), int64(5)}}, {"2-4", []any{int64(2), int64(3), int64(4)}},
	} {
		var words []string
		if tt.k != "" {
			words = []string{"k=" + tt.k}
		}
		var got []any
		rows := table(t, run(t, s, "passk", words...), "passk")
		for _, r := range rows {
			got = append(got, r["k"])
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("k %q: %s", tt.k, diff)
		}
		if last := rows[len(rows)-1]; tt.k == "5,2,2" && (last["not_estimable"] != int64(1) || last["pass_hat_k"] != 1.0) {
			t.Errorf("k = 5: %v", last)
		}
	}
	if n := len(table(t, run(t, s, "curve"), "curve")); n != 4 {
		t.Errorf("the curve has %d points, want 4", n)
	}
}

func TestTopAndOrder(t *testing.T) {
	s := small(t)
	rows := table(t, run(t, s, "tasks", "top=4"), "tasks")
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	if !slices.IsSortedFunc(rows, func(a, b map[string]any) int {
		return int(1e9 * (a["rate"].(float64) - b["rate"].(float64)))
	}) {
		t.Errorf("not worst first: %v", rows)
	}
	if tr, _ := rows[0]["trace"].(string); !strings.HasPrefix(tr, "traces/") {
		t.Errorf("the worst task has no trace: %v", rows[0])
	}
	rows = table(t, run(t, s, "tasks", "by=variant", "where=task_id = 'shop-09' AND run_id = 'night-2'"), "tasks")
	if len(rows) != 2 || rows[0]["n"] != int64(2) {
		t.Errorf("by variant: %v", rows)
	}
}

func TestRequestFaults(t *testing.T) {
	s := small(t)
	for _, tt := range []struct{ word, want string }{
		{"k=0", `k "0": whole numbers ≥ 1`},
		{"k=1;2", `k "1;2"`},
		{"k=1-99999", "more than 1000 values"},
		{"conf=1.5", `conf "1.5": a level between 0 and 1`},
		{"seed=-1", `seed "-1"`},
		{"top=x", `top "x"`},
		{"policy=exlude", "(did you mean exclude?)"},
		{"pool=runs", "(did you mean run?)"},
		{"interval=exact", "auto or bootstrap is wanted"},
		{"tasks=some", "all or common is wanted"},
		{"by=modle", "(did you mean model?)"},
		{"by=extra", "a JSON column cannot group"},
		{"since=yesterday", `since "yesterday": a date such as`},
		{"until=2026-W60", "has no week 60"},
		{"runs=0", "a number ≥ 1"},
		{"runs=nightly", "no trial matches --runs nightly (did you mean night-1, night-2 or night-3?); the newest runs are trial-high"},
		{"where=passed)", "where"},
		{"where=passed; DROP TABLE x", "where"},
		{"where=modle = 'x'", "where"},
		{"where=model = 'none'", "no trial matches"},
		{"weights=/nowhere/w.csv", "no such file"},
		{"nonsense=1", `report passk has no parameter "nonsense"`},
		{"resamples=many", "parameter resamples"},
	} {
		name, value, _ := strings.Cut(tt.word, "=")
		q := request(t)
		err := q.Set(name, value)
		if err == nil {
			_, err = reports.Run(t.Context(), s, report(t, "passk"), q)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %s", tt.word, err, tt.want)
		}
		var ue *reports.UsageError
		if data := strings.Contains(tt.want, "no trial matches"); errors.As(err, &ue) == data {
			t.Errorf("%s: the error %v is of the wrong kind", tt.word, err)
		}
	}
	empty := openHistory(t, nil, sql.Config{})
	if _, err := reports.Run(t.Context(), empty, report(t, "passk"), request(t)); err == nil || !strings.Contains(err.Error(), "there are no trials") {
		t.Errorf("empty store: %v", err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "soon")
	if _, err := reports.Run(t.Context(), s, report(t, "passk"), reports.Request{}); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("SOURCE_DATE_EPOCH: %v", err)
	}
}

// What logs leave out or spell strangely must neither break grouping nor SQL.
func TestHostileNames(t *testing.T) {
	in := slices.Concat(trials("it's; DROP", `a"'$k\`, 6, 1), trials("it's; DROP", "", 6, 4), trials("", `a"'$k\`, 6, 3), trials("", "", 6, 2))
	for i := range in {
		in[i].Extra = `{"re'gion":"\"x\""}`
		in[i].Agent = []string{"", "x\x1b[31m", "日本"}[i%3]
		in[i].Effort = []string{"low", "high"}[i/12]
	}
	in[0].Suite = ""
	s := openHistory(t, in, sql.Config{})
	more := map[string][]string{"compare": {"old=it's; DROP", "new=effort=high"}}
	by := map[string]string{"attribute": "effort", "effort": "effort,agent,extra.re'gion"}
	optional := map[string]bool{"effort pairs": true} // a run has one effort
	for _, rep := range builtins(t) {
		split := by[rep.Name]
		if split == "" {
			split = "agent,extra.re'gion"
		}
		choices := [][]string{{"by=" + split, "runs=all"}, {"runs=it's; DROP", "policy=bounds"}}
		if rep.Name == "attribute" || rep.Name == "compare" {
			choices = choices[:1] // two runs are wanted
		}
		for _, words := range choices {
			words = append(words, more[rep.Name]...)
			res, err := reports.Run(t.Context(), s, rep, request(t, words...))
			if err != nil {
				t.Errorf("%s %v: %v", rep.Name, words, err)
				continue
			}
			for _, sec := range res.Sections {
				if len(table(t, res, sec.Name)) == 0 && !optional[rep.Name+" "+sec.Name] {
					t.Errorf("%s %v: section %s is empty", rep.Name, words, sec.Name)
				}
			}
		}
	}
}

// A task that the policy leaves without a trial in one of several pooled runs
// is not in every run, so it leaves the average.
func TestTaskWithoutGradedTrialInOneRun(t *testing.T) {
	lost := trials("r2", "a", 2, 0)
	for i := range lost {
		lost[i].Passed = store.Opt[bool]{}
	}
	in := slices.Concat(trials("r1", "a", 2, 2), trials("r1", "b", 2, 1), lost, trials("r2", "b", 2, 2))
	s := openHistory(t, in, sql.Config{})
	for _, name := range []string{"passk", "curve"} {
		row := table(t, run(t, s, name, "by=suite", "runs=all", "policy=exclude", "k=1"), name)[0]
		near(t, name, row["pass_hat_k"], 0.75, 1e-12)
	}
}

func TestCurveIsBounded(t *testing.T) {
	s := openHistory(t, trials("r", "a", 3, 2), sql.Config{})
	if n := len(table(t, run(t, s, "curve", "k=2147483647"), "curve")); n != 1000 {
		t.Errorf("%d rows, want the 1000 of the limit", n)
	}
}
