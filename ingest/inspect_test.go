package ingest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"passhat/ingest"
	"passhat/ingest/store"
	"passhat/sql"
)

func init() {
	scored := func(file, scorer string) {
		realCases["inspect_ai/"+file] = []realCase{{sources: []string{"inspect_ai/" + file}, truth: []string{"scorers", scorer}}}
	}
	for _, file := range []string{"derived_in_progress_no_header.eval", "log_formats.json", "minimal_mockllm.eval", "popularity_100_epochs1.eval",
		"popularity_10_scored.eval", "popularity_cancelled.json", "popularity_epochs2_deflate.eval"} {
		scored(file, "match")
	}
	scored("ais_decoder_zstd_chunked.eval", "model_graded_qa")
	scored("ais_decoder_zstd_monolith.eval", "model_graded_qa")
	scored("class_eval_pass_at_1_reducer.eval", "class_eval_scorer")
	scored("cyse2_epochs4_header_only_1_sample.json", "vul_exploit_scorer")
	scored("gpqa_gpt5_epochs4.eval", "choice")
	scored("intercode_ctf_epochs10_partial_samples.eval", "includes")
	scored("security_guide_16_epochs1.eval", "model_graded_fact")
	for _, file := range []string{"cvebench_header_1_sample.json", "log_tool_call_error_epoch4.json", "popularity_10_unscored.eval"} {
		realCases["inspect_ai/"+file] = []realCase{{sources: []string{"inspect_ai/" + file}, ungraded: true}}
	}
	realCases["inspect_ai/no_samples.json"] = []realCase{{sources: []string{"inspect_ai/no_samples.json"},
		fails: "holds no trials", why: "the samples were taken out of the file; only the header is left"}}
}

// inspectRead reads sources without writing, and returns what is said of each and
// their first trials.
func inspectRead(t *testing.T, opt ingest.Options, sources ...string) (ingest.Summary, []goldenRow, error) {
	t.Helper()
	opt.Env, opt.DryRun = noEnv, true
	sum, err := ingest.Ingest(t.Context(), newDesk(t).st, sources, opt)
	var rows []goldenRow
	for _, s := range sum.Sources {
		for i := range s.Preview {
			rows = append(rows, rowOf(&s.Preview[i]))
		}
	}
	return sum, rows, err
}

func inspectNotes(sum ingest.Summary) string {
	var notes []string
	for _, s := range sum.Sources {
		notes = append(notes, s.Notes...)
	}
	return strings.Join(notes, "\n")
}

// writeLog writes a document to a fresh folder.
func writeLog(t *testing.T, name, text string) string {
	t.Helper()
	return newDesk(t).write(name, text)
}

// inspectDoc is a finished log of one task with the given samples.
func inspectDoc(samples string) string {
	return `{"version":2,"status":"success","eval":{"task":"sums","task_id":"T1","model":"acme/m1","created":"2026-09-01T10:00:00+02:00",
		"dataset":{"samples":1},"config":{"epochs":1}},"results":{"scores":[{"name":"match","scorer":"match"}]},"samples":[` + samples + `]}`
}

// countedTrials are the trials that count, as reports see them: "task verdict".
func countedTrials(t *testing.T, st *store.Store) []string {
	t.Helper()
	snap, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	session, err := sql.Open(t.Context(), snap, sql.Config{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	rows, err := session.Query(t.Context(), "SELECT task_id || ' ' || coalesce(passed::VARCHAR, 'ungraded') FROM trials ORDER BY task_id, passed", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		out = append(out, rows.Values()[0].(string))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestInspectValues: a score becomes a number and a verdict as Inspect has it,
// but what Inspect takes for 0 with a warning stays ungraded.
func TestInspectValues(t *testing.T) {
	tests := []struct {
		value  string
		score  any // nil: none
		passed any // nil: ungraded
	}{
		{`"C"`, 1.0, true}, {`"I"`, 0.0, false}, {`"P"`, 0.5, false}, {`"N"`, 0.0, false},
		{`"yes"`, 1.0, true}, {`"No"`, 0.0, false}, {`"TRUE"`, 1.0, true}, {`"false"`, 0.0, false},
		{`true`, 1.0, true}, {`false`, 0.0, false}, {`1`, 1.0, true}, {`1.5`, 1.5, true}, {`0.999`, 0.999, false}, {`-2`, -2.0, false},
		{`"1"`, 1.0, true}, {`" 0.25 "`, 0.25, false}, {`"1e2"`, 100.0, true},
		{`NaN`, nil, nil}, {`null`, nil, nil}, {`Infinity`, nil, nil}, {`-Infinity`, nil, nil},
		{`"c"`, nil, nil}, {`"A-"`, nil, nil}, {`""`, nil, nil}, {`"nan"`, nil, nil}, {`"inf"`, nil, nil}, {`[1,0]`, nil, nil},
		{`{"a":1,"b":0}`, nil, nil}, {`{"only":1}`, 1.0, true}, {`{"only":null}`, nil, nil}, {`1e999`, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) {
			_, rows, err := inspectRead(t, ingest.Options{}, writeLog(t, "a.json", inspectDoc(`{"id":1,"epoch":1,"scores":{"match":{"value":`+tt.value+`}}}`)))
			if err != nil || len(rows) != 1 {
				t.Fatalf("%d trials, error %v", len(rows), err)
			}
			if rows[0]["score"] != tt.score || rows[0]["passed"] != tt.passed {
				t.Errorf("score %v passed %v, want %v %v", rows[0]["score"], rows[0]["passed"], tt.score, tt.passed)
			}
		})
	}
}

// TestInspectScoreChoice: which of several scores is taken, and that it is said.
func TestInspectScoreChoice(t *testing.T) {
	const sample = `{"id":"a","epoch":1,"scores":{"style":{"value":0},"checks":{"value":{"tests":1,"lint":0}},"match":{"value":"C"}}}`
	header := func(eval, results string) string {
		return `{"version":2,"status":"success","eval":{"task":"t","task_id":"T","model":"m","dataset":{}` + eval + `},"results":` + results + `,"samples":[` + sample + `]}`
	}
	const listed = `{"scores":[{"name":"tests","scorer":"checks"},{"name":"lint","scorer":"checks"},{"name":"match","scorer":"match"},{"name":"match","scorer":"match","reducer":"pass_at_2"}]%}`
	with := func(more string) string { return strings.Replace(listed, "%", more, 1) }
	tests := []struct {
		name, doc, ask  string
		score, note     string // score_name; "" none
		passed          any
		fails, notNoted string
	}{
		{name: "first of the results", doc: header("", with("")), score: "checks.tests", passed: true,
			note: "several scores: passed and score are those of checks.tests (the first in the log's results); by --score: checks.lint, match, style"},
		{name: "headline of the results", doc: header("", with(`,"headline":{"scorer":"match","score":"match","metric":"accuracy"}`)), score: "match", passed: true, note: "the log's headline metric"},
		{name: "headline of the task", doc: header(`,"headline_metric":{"scorer":"checks","score":"lint"}`, with("")), score: "checks.lint", passed: false, note: "the log's headline metric"},
		{name: "stale headline", doc: header(`,"headline_metric":{"score":"gone"}`, with("")), score: "checks.tests", passed: true, note: "the first in the log's results"},
		{name: "of the scorers", doc: header(`,"scorers":[{"name":"acme/match"}]`, "null"), score: "match", passed: true, note: "the first of the log's scorers"},
		{name: "of the sample", doc: header("", "null"), score: "style", passed: false, note: "the first of the samples' scores"},
		{name: "asked", doc: header("", with("")), ask: "match", score: "match", passed: true, notNoted: "several scores"},
		{name: "asked within", doc: header("", with("")), ask: "checks.lint", score: "checks.lint", passed: false, notNoted: "several scores"},
		{name: "asked a set", doc: header("", with("")), ask: "checks", passed: nil, notNoted: "several scores"},
		{name: "asked in vain", doc: header("", with("")), ask: "mach", fails: "--score mach: no sample has such a score; there are: checks.tests, checks.lint, match, style"},
		{name: "results of another", doc: header("", `{"scores":[{"name":"gone","scorer":"gone"}]}`), passed: nil, note: "the score gone (the first in the log's results) is in no sample: all are ungraded"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sum, rows, err := inspectRead(t, ingest.Options{Score: tt.ask}, writeLog(t, "a.json", tt.doc))
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Fatalf("error %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil || len(rows) != 1 {
				t.Fatalf("%d trials, error %v", len(rows), err)
			}
			if name, _ := rows[0]["score_name"].(string); name != tt.score || rows[0]["passed"] != tt.passed {
				t.Errorf("score %q passed %v, want %q %v", name, rows[0]["passed"], tt.score, tt.passed)
			}
			if want := `{"style":0,"checks.tests":1,"checks.lint":0,"match":1}`; rows[0]["scores"] != want {
				t.Errorf("scores %s, want %s", rows[0]["scores"], want)
			}
			notes := inspectNotes(sum)
			if !strings.Contains(notes, tt.note) || tt.notNoted != "" && strings.Contains(notes, tt.notNoted) {
				t.Errorf("it says %q, want %q", notes, tt.note)
			}
		})
	}
}

// TestInspectRetry: a log and the log of its retry hold each sample once, the
// graded record counting.
func TestInspectRetry(t *testing.T) {
	first := inspectDoc(`{"id":1,"epoch":1,"uuid":"u1","scores":{"match":{"value":"C"}}},{"id":2,"epoch":1,"uuid":"u2","error":{"message":"connection reset"}}`)
	again := inspectDoc(`{"id":1,"epoch":1,"uuid":"u1","scores":{"match":{"value":"C"}}},{"id":"2","epoch":1,"uuid":"u9","scores":{"match":{"value":"I"}}}`)
	for _, order := range [][]string{{first, again}, {again, first}} {
		d := newDesk(t)
		if _, err := d.ingest(ingest.Options{}, d.write("a.json", order[0]), d.write("b.json", order[1])); err != nil {
			t.Fatal(err)
		}
		if got, want := countedTrials(t, d.st), []string{"1 true", "2 false"}; !slices.Equal(got, want) {
			t.Errorf("trials that count: %q, want %q", got, want)
		}
	}
	// Another verdict for the same sample and epoch is refused.
	other := inspectDoc(`{"id":1,"epoch":1,"uuid":"u3","scores":{"match":{"value":"I"}}}`)
	d := newDesk(t)
	if _, err := d.ingest(ingest.Options{}, d.write("a.json", first), d.write("b.json", other)); err == nil || !strings.Contains(err.Error(), "T1") {
		t.Errorf("another verdict: error %v", err)
	}
}

// TestInspectArchives: what is said of archives that are not whole.
func TestInspectArchives(t *testing.T) {
	header := func(more string) string {
		return `{"version":2,"status":"success","eval":{"task":"t","task_id":"T","model":"m","dataset":{"sample_ids":["a","b"]},"config":{"epochs":2}}` + more + `}`
	}
	const list = `[{"id":"a","epoch":1,"scores":{"s":{"value":1}}},{"id":"a","epoch":2,"scores":{"s":{"value":0}}}]`
	start := member{name: "_journal/start.json", text: header("")}
	tests := []struct {
		name    string
		members []member
		trials  int
		passed  int
		notes   []string
		fails   string
	}{
		{name: "whole but for a task", members: []member{start, {name: "summaries.json", text: list}, {name: "header.json", text: header(`,"results":{"total_samples":4,"scores":[]}`)}}, trials: 2, passed: 1,
			notes: []string{"the log's header speaks of 4 samples (results.total_samples), 2 are in the log: the absent ones are missing, not failed", "of the 2 samples of the dataset 1 has a trial"}},
		{name: "journal only", members: []member{start, {name: "_journal/summaries/10.json", text: `[{"id":"a","epoch":1,"scores":{"s":{"value":1}}}]`},
			{name: "_journal/summaries/9.json", text: `[{"id":"a","epoch":1,"error":"boom","scores":{}}]`}}, trials: 1, passed: 1,
			notes: []string{"the archive has no header.json", "4 samples", "a later one replaces, left out: 1"}},
		{name: "the last member is valid", members: []member{start, {name: "header.json", text: `{"version":99}`}, {name: "summaries.json", text: `[]`},
			{name: "summaries.json", text: list, method: zstd.ZipMethodWinZip}, {name: "header.json", text: header("")}}, trials: 2, passed: 1},
		{name: "sample without summary", members: []member{start, {name: "_journal/summaries/1.json", text: `[{"id":"a","epoch":1,"scores":{"s":{"value":1}}}]`},
			{name: "samples/a_epoch_1.json", text: `{"id":"a","epoch":1,"scores":{"s":{"value":0}}}`},
			{name: "samples/x/../y_epoch_2.json", text: `{"id":"x/../y","epoch":2,"messages":[{"role":"assistant","tool_calls":[{},{}]}],"scores":{"s":{"value":1}}}`}}, trials: 2, passed: 2},
		{name: "invalidated", members: []member{start, {name: "summaries.json", text: list}, {name: "header.json", text: header(`,"invalidated":true`)},
			{name: "samples/a_epoch_1.json", text: `{"id":"a","epoch":1,"events":[1,2],"invalidation":{"author":"me"}}`},
			{name: "samples/a_epoch_2/sample.json", text: `{"id":"a","epoch":2}`}}, trials: 1, notes: []string{"invalidated samples left out: 1"}},
		{name: "still running", members: []member{start, {name: "_journal/summaries/1.json", text: `[{"id":"a","epoch":1,"completed":false},{"id":"b","epoch":1,"completed":true,"scores":{"s":{"value":1}}}]`}},
			trials: 1, passed: 1, notes: []string{"samples still running left out: 1"}},
		{name: "no samples", members: []member{start, {name: "header.json", text: header(`,"results":{"total_samples":4}`)}}, fails: "the log holds no trials: its samples are not in the file (status success; its header speaks of 4 samples)"},
		{name: "samples not logged", members: []member{{name: "_journal/start.json", text: `{"version":2,"eval":{"task":"t","model":"m","config":{"log_samples":false}}}`}},
			fails: "the run was told not to log samples"},
		{name: "unknown version", members: []member{start, {name: "header.json", text: strings.Replace(header(""), `"version":2`, `"version":4`, 1)}}, fails: `header.json: version: found "4", logs of version 1 to 3 are understood`},
		{name: "no header", members: []member{{name: "_journal/start.json", text: `[]`}}, fails: "found a list, the header of an Inspect log is wanted"},
		{name: "no eval", members: []member{{name: "_journal/start.json", text: `{"version":2}`}}, fails: "eval: found null, an object with task, task_id and model is wanted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sum, rows, err := inspectRead(t, ingest.Options{}, writeZip(t, tt.members...))
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Fatalf("error %v, want %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			passed := 0
			for _, r := range rows {
				if r["passed"] == true {
					passed++
				}
			}
			if len(rows) != tt.trials || passed != tt.passed || sum.Sources[0].Format != "inspect" {
				t.Errorf("%s: %d trials, %d passed; want %d, %d", sum.Sources[0].Format, len(rows), passed, tt.trials, tt.passed)
			}
			for _, want := range tt.notes {
				if !strings.Contains(inspectNotes(sum), want) {
					t.Errorf("it says %q, not %q", inspectNotes(sum), want)
				}
			}
		})
	}
}

// TestInspectSecrets: neither keys nor whole arguments of a model are stored.
func TestInspectSecrets(t *testing.T) {
	doc := strings.Replace(inspectDoc(`{"id":1,"epoch":1,"metadata":{"api_key":"SECRET4","domain":"math"},"scores":{"match":{"value":1}}}`), `"dataset"`,
		`"model_args":{"api_key":"SECRET1","reasoning_effort":"high","headers":{"a":"SECRET2"}},"model_base_url":"https://u:SECRET3@h","task_args":{"token":"SECRET5","n":3},
		"solver_args":{"config":{"password":"SECRET6"}},"model_roles":{"grader":{"model":"acme/g","args":{"key":"SECRET7"},"base_url":"SECRET8","config":{"temperature":0,"extra_headers":{"x":"SECRET9"}}}},"dataset"`, 1)
	_, rows, err := inspectRead(t, ingest.Options{}, writeLog(t, "a.json", doc))
	if err != nil {
		t.Fatal(err)
	}
	text := encode(t, rows)
	if strings.Contains(text, "SECRET") {
		t.Errorf("a secret was stored: %s", text)
	}
	if rows[0]["effort"] != "high" || rows[0]["shape"] != "math" || !strings.Contains(text, `\"model_roles\":{\"grader\":{\"model\":\"acme/g\",\"temperature\":0}}`) {
		t.Errorf("unexpected row %s", text)
	}
}

// What stands in a score that is itself named like a secret may be one; whether it
// says that the trial passed is none.
func TestInspectScoreNamedLikeSecret(t *testing.T) {
	for scores, passed := range map[string]any{
		// Its name is between the first quotes.
		`{"cookie":"PLANT"}`: nil, `{"cookie":{"value":"PLANT","answer":"PLANT"}}`: nil, `{"cookie":{"value":"C","answer":"PLANT"}}`: true,
		`{"headers":{"value":{"x":"PLANT","y":1},"answer":"PLANT"}}`: nil, `{"headers":{"value":{"x":"PLANT"}}}`: nil, `{"fine":{"value":{"api_key":"PLANT"},"answer":"PLANT"}}`: nil,
	} {
		sum, rows, err := inspectRead(t, ingest.Options{Score: strings.Split(scores, `"`)[1]}, writeLog(t, "a.json", inspectDoc(`{"id":1,"epoch":1,"scores":`+scores+`}`)))
		if err != nil {
			t.Fatal(err)
		}
		if text := encode(t, rows) + inspectNotes(sum); strings.Contains(text, "PLANT") || len(rows) != 1 || rows[0]["passed"] != passed {
			t.Errorf("%s: %s", scores, text)
		}
	}
}

// TestInspectTokens: tokens of caches belong to the input, those of graders to
// neither.
func TestInspectTokens(t *testing.T) {
	tests := []struct {
		name, usage string
		in, out     any
		cost        any
	}{
		{"cached apart", `"model_usage":{"m":{"input_tokens":9,"output_tokens":5,"total_tokens":314,"input_tokens_cache_read":200,"input_tokens_cache_write":100,"total_cost":0.5}}`, int64(309), int64(5), 0.5},
		{"cached within", `"model_usage":{"m":{"input_tokens":309,"output_tokens":5,"total_tokens":314,"input_tokens_cache_read":200}}`, int64(309), int64(5), nil},
		{"grader", `"model_usage":{"m":{"input_tokens":100,"output_tokens":10,"total_tokens":110,"total_cost":1.5},"g":{"input_tokens":40,"output_tokens":4,"total_tokens":44,"total_cost":0.25}},
			"role_usage":{"grader":{"input_tokens":40,"output_tokens":4,"total_tokens":44,"total_cost":0.25}}`, int64(100), int64(10), 1.5},
		{"role of the agent", `"model_usage":{"m":{"input_tokens":100,"output_tokens":10}},"role_usage":{"planner":{"input_tokens":40,"output_tokens":4}}`, int64(100), int64(10), nil},
		{"price of one model only", `"model_usage":{"m":{"input_tokens":1,"output_tokens":1,"total_cost":1},"n":{"input_tokens":1,"output_tokens":1}}`, int64(2), int64(2), nil},
		{"none", `"model_usage":{}`, nil, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, rows, err := inspectRead(t, ingest.Options{}, writeLog(t, "a.json", inspectDoc(`{"id":1,"epoch":1,"scores":{"match":{"value":1}},`+tt.usage+`}`)))
			if err != nil {
				t.Fatal(err)
			}
			if r := rows[0]; r["input_tokens"] != tt.in || r["output_tokens"] != tt.out || r["cost_usd"] != tt.cost {
				t.Errorf("input %v output %v cost %v, want %v %v %v", r["input_tokens"], r["output_tokens"], r["cost_usd"], tt.in, tt.out, tt.cost)
			}
		})
	}
}

// TestInspectSorted: a document whose keys were sorted has its header behind and
// before the samples.
func TestInspectSorted(t *testing.T) {
	doc := `{"eval":{"created":"2026-01-02T03:04:05Z","dataset":{},"model":"m","task":"t","task_id":"T"},"plan":{},"results":null,
		"samples":[{"epoch":3,"id":18446744073709551617,"scores":{"s":{"value":1}}}],"status":"cancelled","version":2}`
	sum, rows, err := inspectRead(t, ingest.Options{}, writeLog(t, "a.json", doc))
	if err != nil || len(rows) != 1 {
		t.Fatal(err)
	}
	if r := rows[0]; r["task_id"] != "18446744073709551617" || r["trial"] != int32(2) || r["planned_trials"] != int32(3) || !strings.Contains(inspectNotes(sum), `status is "cancelled"`) {
		t.Errorf("unexpected row %v, said %q", r, inspectNotes(sum))
	}
	if from := rows[0]["trial_from"]; from != store.TrialExplicit {
		t.Errorf("trial_from %v", from)
	}
}

// TestInspectFolder: every log of a folder is a source of its own, what lies
// beside them is passed over.
func TestInspectFolder(t *testing.T) {
	d := newDesk(t)
	one := inspectDoc(`{"id":1,"epoch":1,"scores":{"match":{"value":1}}}`)
	d.write("logs/a.json", one)
	d.write("logs/b.json", strings.Replace(one, `"T1"`, `"T2"`, 1))
	d.write("logs/logs.json", `{"a.json":{"version":2,"status":"success","eval":{"task":"sums"}}}`)
	d.write("logs/eval-set.json", `{"eval_set_id":"x","tasks":[]}`)
	sum, rows, err := inspectRead(t, ingest.Options{}, d.path("logs"))
	if err != nil || len(rows) != 2 || len(sum.PassedOver) != 2 {
		t.Fatalf("%d trials, passed over %v, error %v", len(rows), sum.PassedOver, err)
	}
	runs := []any{rows[0]["run_id"], rows[1]["run_id"]}
	if !slices.Contains(runs, any("T1")) || !slices.Contains(runs, any("T2")) {
		t.Errorf("runs %v", runs)
	}
}
