package reports_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

type variant struct {
	name  string
	words []string
}

// runs that the golden files and the invariance tests go over.
var variants = []variant{
	{"default", nil},
	{"all-runs", []string{"runs=all"}},
	{"within-runs", []string{"runs=all", "by=suite,model", "k=1,2,4"}},
	{"pooled", []string{"runs=all", "by=suite", "pool=trial", "k=3,5"}},
	{"bounds-weights", []string{"policy=bounds", "weights=" + fixtures + "/weights.csv", "top=5"}},
	{"exclude-shape", []string{"policy=exclude", "by=shape", "where=suite = 'shop'", "k=max"}},
	{"variant-bootstrap", []string{"by=variant,extra.region", "interval=bootstrap", "seed=3", "where=trial < 4", "conf=90%"}},
	{"common", []string{"runs=all", "tasks=common", "k=all", "by=suite,run_id", "labels=" + fixtures + "/labels.csv"}},
}

// ownVariants are those of reports that not every request suits.
var ownVariants = map[string][]variant{
	"compare": {
		{"default", []string{"old=last~1:suite=shop", "new=last:model=model-a"}},
		{"runs", []string{"old=night-1", "new=trial-high", "k=4", "top=3"}},
		{"efforts", []string{"old=effort=low", "new=effort=high", "runs=all", "where=suite = 'shop'", "policy=exclude"}},
		{"shape-weights", []string{"old=night-1", "new=night-3", "by=shape", "weights=" + fixtures + "/weights.csv", "policy=bounds", "k=1"}},
	},
	"weekly": {
		{"default", []string{"week=2026-W45"}},
		{"night-weeks", []string{"week=2026-W44", "by=suite,effort", "k=2"}},
	},
	"diagnose":     {{"default", []string{"k=2"}}, {"night-last", []string{"by=effort", "k=3"}}},
	"flaky":        {{"default", nil}, {"night-all", []string{"max_flakiness=0.5", "by=suite,effort"}}},
	"errors":       {{"default", nil}, {"night-bounds", []string{"runs=all", "policy=bounds", "by=effort"}}},
	"cost":         {{"default", []string{"runs=all"}}, {"night-all", []string{"runs=all", "by=effort", "top=4"}}},
	"attribute":    {{"default", []string{"by=effort", "where=suite = 'shop'"}}, {"night-effort", []string{"by=effort", "where=harness_version = '1.4'", "runs=all", "top=5"}}},
	"independence": {{"default", []string{"runs=all"}}, {"night-last", nil}},
	"noise":        {{"default", []string{"p=0.9", "task_count=50"}}, {"night-last", []string{"drop=0.05", "price=0.3"}}},
	"plan":         {{"default", []string{"price=0.3", "task_count=50"}}, {"night-all", []string{"budget=4", "top=5"}}},
	"contract":     {{"default", nil}, {"night-declared", []string{"contract=" + fixtures + "/contract.yaml", "by=effort"}}},
	"effort": {
		{"default", nil},
		{"all-runs", []string{"runs=all", "k=2"}},
		{"where-weights", []string{"where=trial < 3", "weights=" + fixtures + "/weights.csv", "policy=exclude", "conf=0.8", "top=2"}},
	},
}

func variantsOf(name string) []variant {
	if own, ok := ownVariants[name]; ok {
		return own
	}
	return variants
}

func builtins(t testing.TB) []*reports.Report {
	t.Helper()
	all, err := reports.Load()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// rendered is everything of a result in plain lines, free of the output forms'
// layout: columns (* wide), rows, sentences, stamp. Twelve digits are as many as
// every platform's arithmetic agrees on.
func rendered(t *testing.T, res *reports.Result) string {
	t.Helper()
	var b strings.Builder
	undated := func(s string) string { return strings.Split(s, " of 20")[0] } // files have the date of a checkout
	for _, h := range res.Head {
		fmt.Fprintln(&b, undated(h))
	}
	for _, sec := range res.Sections {
		fmt.Fprintf(&b, "\n[%s] %s\n", sec.Name, sec.Heading)
		var names []string
		for _, c := range sec.Columns {
			name := c.Name
			if c.Wide {
				name += "*"
			}
			names = append(names, name)
		}
		fmt.Fprintln(&b, strings.Join(names, " | "))
		for row, err := range sec.Rows {
			if err != nil {
				t.Fatal(err)
			}
			var cells []string
			for _, v := range row {
				switch v := v.(type) {
				case nil:
					cells = append(cells, "-")
				case float64:
					cells = append(cells, fmt.Sprintf("%.12g", v))
				default:
					cells = append(cells, fmt.Sprint(v))
				}
			}
			fmt.Fprintln(&b, strings.Join(cells, " | "))
		}
		for _, n := range sec.Notes {
			fmt.Fprintln(&b, "note:", n)
		}
	}
	for _, w := range res.Warnings {
		fmt.Fprintln(&b, "warning:", w)
	}
	for _, f := range res.Foot {
		fmt.Fprintln(&b, "next:", f)
	}
	stamp := *res.Stamp
	stamp.Weights = undated(stamp.Weights)
	stamp.Filter = maps.Clone(stamp.Filter)
	stamp.Filter["labels"] = undated(stamp.Filter["labels"])
	text, err := json.MarshalIndent(stamp, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return b.String() + string(text) + "\n"
}

// sourceOf gives the history that a variant is run on.
func sourceOf(t testing.TB, name string) []store.Trial {
	if strings.HasPrefix(name, "night-") {
		return nights()
	}
	return history(t)
}

func TestBuiltinGolden(t *testing.T) {
	for _, rep := range builtins(t) {
		for _, v := range variantsOf(rep.Name) {
			t.Run(rep.Name+"/"+v.name, func(t *testing.T) {
				golden(t, rep.Name+"-"+v.name+".golden", rendered(t, resultOf(t, rep, v)))
			})
		}
	}
}

// The same trials in another order, in several sources, on another number of
// threads and by way of single trials instead of counts give the same bytes.
func TestBuiltinInvariance(t *testing.T) {
	two := map[string]*sql.Session{}
	for _, name := range []string{"", "night-"} {
		trials := sourceOf(t, name)
		turned := slices.Clone(trials)
		slices.Reverse(turned)
		two[name] = openHistory(t, turned, sql.Config{Threads: 4})
	}
	for i, rep := range builtins(t) {
		for j, v := range variantsOf(rep.Name) {
			if (i+j)%2 == 1 {
				continue // every report and every variant has its turn all the same
			}
			name := ""
			if strings.HasPrefix(v.name, "night-") {
				name = "night-"
			}
			a := resultOf(t, rep, v)
			b, err := reports.Run(t.Context(), two[name], rep, request(t, v.words...))
			if err != nil {
				t.Fatal(err)
			}
			b.Stamp.Sources = a.Stamp.Sources // another content, another hash
			if diff := cmp.Diff(rendered(t, a), rendered(t, b)); diff != "" {
				t.Errorf("%s %s depends on the order of trials or on threads:\n%s", rep.Name, v.name, diff)
			}
		}
	}
}

func TestCountsAgreeWithTrials(t *testing.T) {
	for _, rep := range builtins(t) {
		if rep.Name == "contract" {
			continue // its second point is about what was planned
		}
		for _, v := range variantsOf(rep.Name) {
			rollup := !slices.ContainsFunc(v.words, func(w string) bool {
				return strings.HasPrefix(w, "where=") || strings.HasPrefix(w, "by=variant")
			})
			if !rollup || strings.HasPrefix(v.name, "night-") || v.name == "within-runs" || v.name == "pooled" {
				continue // single trials anyway, or another history, or as good as all-runs
			}
			words := v.words
			counts := resultOf(t, rep, v)
			// A condition on a column that task_runs lacks: single trials are read.
			trials := run(t, small(t), rep.Name, append(slices.Clone(words), "where=trial >= 0 OR trial IS NULL")...)
			for i, sec := range counts.Sections {
				a, b := table(t, counts, sec.Name), table(t, trials, sec.Name)
				for _, rows := range [][]map[string]any{a, b} {
					for _, r := range rows {
						// Not known once single trials are filtered.
						delete(r, "missing")
						delete(r, "planned")
					}
				}
				if diff := cmp.Diff(a, b); diff != "" {
					t.Errorf("%s %v section %d: counts and trials differ:\n%s", rep.Name, words, i, diff)
				}
			}
		}
	}
}

// Each statement of a built-in report ends in an ORDER BY outside brackets, and
// the parameters it declares are those it uses.
func TestBuiltinForm(t *testing.T) {
	for _, rep := range builtins(t) {
		used := map[string]bool{}
		for _, st := range rep.Statements {
			for _, p := range st.Params {
				used[p] = true
			}
			if st.Kind == reports.TableStatement {
				continue // read by statements that have an order
			}
			tail := st.SQL[strings.LastIndex(st.SQL, ")")+1:]
			if !strings.Contains(tail, "ORDER BY") && !strings.Contains(st.SQL[strings.LastIndex(st.SQL, "\n")+1:], "ORDER BY") {
				t.Errorf("%s, %s %s: no ORDER BY at the end", rep.Name, st.Kind, st.Name)
			}
		}
		if rep.Description == "" || rep.Title == "" {
			t.Errorf("%s: no title or no description", rep.Name)
		}
		declared := map[string]bool{}
		for _, p := range rep.Params {
			declared[p.Name] = true
			if p.Meaning == "" {
				t.Errorf("%s: parameter %s has no meaning", rep.Name, p.Name)
			}
		}
		if len(rep.Uses) > 0 {
			continue // the report used may want the flags
		}
		if diff := cmp.Diff(declared, used); diff != "" {
			t.Errorf("%s: declared and used parameters differ:\n%s", rep.Name, diff)
		}
	}
}

// The first columns are those of the contract, in its order.
func TestChiefColumns(t *testing.T) {
	for _, tt := range []struct {
		report, section string
		columns         []string
	}{
		{"passk", "passk", strings.Fields("suite model agent effort k tasks n_min n_max not_estimable trials ungraded missing mean pass_at_k pass_hat_k gap lower upper fixed_lower fixed_upper stable_pass flaky_tasks stable_fail cost_per_trial")},
		{"curve", "curve", strings.Fields("suite model agent effort k tasks pass_at_k pass_hat_k lower upper")},
		{"tasks", "tasks", strings.Fields("task_id shape n c rate pass_hat_k lower upper flakiness class errors trace")},
		{"shapes", "shapes", strings.Fields("shape tasks mean pass_hat_k share_of_failures")},
		{"compare", "compare", strings.Fields("d_mean d_pass_hat_k lower upper p verdict d_cost d_p95 d_turns")},
		{"weekly", "changes", strings.Fields("newly_failing newly_flaky fixed never_passing")},
		{"diagnose", "diagnose", strings.Fields("mean mean_pow_k pass_hat_k ratio concentration flaky_share")},
		{"flaky", "flaky", strings.Fields("task_id n c rate flakiness flakiness_unbiased p_exceeds runs runs_flaky first_flaky last_flaky")},
		{"errors", "errors", strings.Fields("error_type count share tasks")},
		{"cost", "cost", strings.Fields("pass_1 pass_hat_k cost_per_trial cost_per_pass p95")},
		{"attribute", "attribute", strings.Fields("flakiness_before flakiness_after d_flakiness lower upper")},
		{"independence", "independence", strings.Fields("check finding figures")},
		{"noise", "noise", strings.Fields("se two_se mde tasks_needed")},
		{"plan", "plan", strings.Fields("task_id risk history n cost")},
		{"contract", "checklist", strings.Fields("point answer evidence")},
		{"effort", "effort", strings.Fields("suite model effort mean pass_hat_k flakiness")},
		{"effort", "pairs", strings.Fields("d_mean d_pass_hat_k tasks_hurt verdict")},
	} {
		res := resultOf(t, report(t, tt.report), variantsOf(tt.report)[0])
		var got []string
		for _, sec := range res.Sections {
			if sec.Name != tt.section {
				continue
			}
			for _, c := range sec.Columns {
				if slices.Contains(tt.columns, c.Name) {
					got = append(got, c.Name)
				}
				if slices.Contains(tt.columns, c.Name) && c.Wide && !slices.Contains([]string{
					"suite", "model", "agent", "effort", "not_estimable", "ungraded", "missing", "cost_per_trial", "errors", "d_cost", "d_p95", "d_turns", "p95"}, c.Name) {
					t.Errorf("%s: the chief column %s is left out on the terminal", tt.report, c.Name)
				}
			}
		}
		if diff := cmp.Diff(tt.columns, got); diff != "" {
			t.Errorf("%s: %s", tt.report, diff)
		}
	}
}

func TestDescribe(t *testing.T) {
	s := openHistory(t, nil, sql.Config{})
	for _, rep := range builtins(t) {
		text, err := reports.Describe(t.Context(), s, rep)
		if err != nil {
			t.Errorf("%s: %v", rep.Name, err)
			continue
		}
		for _, want := range append([]string{rep.Title, "Parameters", "*", "SELECT"}, strings.Fields(rep.Description)[0]) {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the description lacks %q:\n%s", rep.Name, want, text)
			}
		}
	}
}

func TestNewReportRuns(t *testing.T) {
	text, err := reports.NewReport("seldom")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/seldom.sql", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	all, err := reports.Load(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	rep, err := reports.Find(all, "seldom")
	if err != nil {
		t.Fatal(err)
	}
	s := openHistory(t, history(t), sql.Config{})
	res, err := reports.Run(t.Context(), s, rep, request(t, "max_rate=0.5"))
	if err != nil {
		t.Fatal(err)
	}
	rows := table(t, res, "seldom")
	if len(rows) == 0 {
		t.Fatal("no rows")
	}
	for _, r := range rows {
		if r["rate"].(float64) > 0.5 {
			t.Errorf("%v has a rate over 0.5", r)
		}
	}
	if _, err := reports.NewReport("Bad Name"); err == nil {
		t.Error("a bad name was taken")
	}
}

func TestShowSQL(t *testing.T) {
	s := small(t)
	res := run(t, s, "passk", "show-sql=true")
	if !slices.ContainsFunc(res.SQL, func(q string) bool { return strings.Contains(q, "selected_kinds AS") }) {
		t.Errorf("the statements do not show how the counts are made: %q", res.SQL)
	}
}

func TestStampRepeats(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1793577600")
	s := small(t)
	var texts []string
	for range 2 {
		res, err := reports.Run(context.Background(), s, report(t, "passk"), reports.Request{Version: "1.2.3"})
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, fmt.Sprintf("%+v", *res.Stamp))
		st := res.Stamp
		if st.Made.Unix() != 1793577600 || st.Version != "1.2.3" || st.K != "1,3" || st.Policy != "fail" || st.Seed != 1 || st.Weights != "equal" {
			t.Errorf("stamp %+v", *st)
		}
		if len(st.Sources) != 1 || st.Sources[0].Hash == "" || st.Sources[0].Source != "/logs/history.jsonl" {
			t.Errorf("sources %+v", st.Sources)
		}
		want := map[string]string{"temperature": "not in the log", "top_p": "not in the log", "seed": "not in the log", "model": "model-a, or not in the log"}
		for _, k := range slices.Sorted(maps.Keys(want)) {
			if st.Configuration[k] != want[k] {
				t.Errorf("configuration %s: %q, want %q", k, st.Configuration[k], want[k])
			}
		}
	}
	if texts[0] != texts[1] {
		t.Error("two stamps of one result differ")
	}
}
