package store_test

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest/store"
)

// want is the trials table as the contract has it.
const want = `suite VARCHAR
run_id VARCHAR
run_at TIMESTAMPTZ
run_at_from VARCHAR
task_id VARCHAR
trial INTEGER
trial_from VARCHAR
planned_trials INTEGER
trial_uid VARCHAR
variant VARCHAR
shape VARCHAR
risk VARCHAR
passed BOOLEAN
score DOUBLE
scores JSON
score_name VARCHAR
pass_rule VARCHAR
error_type VARCHAR
error_message VARCHAR
model VARCHAR
agent VARCHAR
harness VARCHAR
harness_version VARCHAR
effort VARCHAR
temperature DOUBLE
top_p DOUBLE
seed BIGINT
config JSON
config_hash VARCHAR
git_commit VARCHAR
git_branch VARCHAR
environment_id VARCHAR
started_at TIMESTAMPTZ
duration_s DOUBLE
ttft_s DOUBLE
input_tokens BIGINT
output_tokens BIGINT
reasoning_tokens BIGINT
cost_usd DOUBLE
turns INTEGER
tool_calls INTEGER
retries INTEGER
cached BOOLEAN
trace VARCHAR
output_hash VARCHAR
extra JSON
source VARCHAR
source_row VARCHAR
batch VARCHAR
ingested_at TIMESTAMPTZ`

func columnLines(cols []store.Column) []string {
	var out []string
	for _, c := range cols {
		out = append(out, c.Name+" "+c.Type)
	}
	return out
}

func TestColumns(t *testing.T) {
	if diff := cmp.Diff(strings.Split(want, "\n"), columnLines(store.Columns())); diff != "" {
		t.Error(diff)
	}
	fields := store.Schema().Fields()
	for i, c := range store.Columns() {
		if fields[i].Name != c.Name || !fields[i].Nullable {
			t.Errorf("arrow field %d is %v; %s was wanted", i, fields[i], c.Name)
		}
	}
}

// TestContract compares the columns with the table in the contract.
func TestContract(t *testing.T) {
	text, err := os.ReadFile("../../../shared/contract.md")
	if err != nil {
		t.Skip("the contract is not beside the project: ", err)
	}
	_, section, _ := strings.Cut(string(text), "## 2. The `trials` table")
	section, _, _ = strings.Cut(section, "\nViews:")
	var got []string
	for _, line := range strings.Split(section, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || strings.TrimSpace(cells[1]) == "column" || strings.HasPrefix(cells[1], "-") {
			continue
		}
		types := strings.Split(strings.TrimSpace(cells[2]), ",")
		for i, name := range strings.Split(cells[1], ",") {
			typ := strings.TrimSpace(types[min(i, len(types)-1)])
			if typ == "" {
				typ = map[string]string{"ingested_at": "TIMESTAMPTZ"}[strings.TrimSpace(name)]
				if typ == "" {
					typ = "VARCHAR"
				}
			}
			got = append(got, strings.TrimSpace(name)+" "+typ)
		}
	}
	if diff := cmp.Diff(got, columnLines(store.Columns())); diff != "" {
		t.Error(diff)
	}
}

// full is a trial with a value in every column.
func full() store.Trial {
	return store.Trial{
		Suite: "s", RunID: "r", RunAt: day, RunAtFrom: "log", TaskID: "t", Trial: store.Some[int32](3), TrialFrom: "explicit",
		PlannedTrials: store.Some[int32](5), TrialUID: "u", Variant: "v", Shape: "lookup", Risk: "read_only", Passed: store.Some(true),
		Score: store.Some(0.1), Scores: `{"a":1}`, ScoreName: "a", PassRule: "a >= 1", ErrorType: "timeout", ErrorMessage: "too long",
		Model: "m", Agent: "ag", Harness: "h", HarnessVersion: "1", Effort: "high", Temperature: store.Some(0.5), TopP: store.Some(1.0),
		Seed: store.Some[int64](math.MinInt64), Config: `{"b":[1,2]}`, ConfigHash: "ch", GitCommit: "gc", GitBranch: "gb", EnvironmentID: "e",
		StartedAt: day.Add(1500 * time.Microsecond), DurationS: store.Some(12.25), TTFTS: store.Some(math.Inf(1)),
		InputTokens: store.Some[int64](1), OutputTokens: store.Some[int64](2), ReasoningTokens: store.Some[int64](3),
		CostUSD: store.Some(0.01), Turns: store.Some[int32](-4), ToolCalls: store.Some[int32](5), Retries: store.Some[int32](6),
		Cached: store.Some(false), Trace: "http://x", OutputHash: "oh", Extra: `{"k":"v"}`, SourceRow: "simulations[17]",
	}
}

func TestRoundTrip(t *testing.T) {
	s := open(t)
	rows := []store.Trial{full(), {TaskID: "bad \xff text", Extra: "nothing \u2028", SourceRow: "2"}, full()}
	sum := writeParts(t, s, "/full", rows, 1)
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	db := duck(t)
	from := "read_parquet(" + fileList(sn.Trials()) + ", hive_partitioning=false)"
	types := strs(t, db, "SELECT column_name || ' ' || replace(column_type, 'TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ') FROM (DESCRIBE SELECT * EXCLUDE (_run_made) FROM "+from+")")
	if diff := cmp.Diff(strings.Split(want, "\n"), types); diff != "" {
		t.Error(diff)
	}
	got := strs(t, db, "SET TimeZone = 'UTC'; SELECT to_json(x)::VARCHAR FROM (SELECT * EXCLUDE (ingested_at) FROM "+from+") x WHERE run_id = 'r'")
	one := `{"suite":"s","run_id":"r","run_at":"2026-03-05 10:00:00+00","run_at_from":"log","task_id":"t","trial":3,"trial_from":"explicit",` +
		`"planned_trials":5,"trial_uid":"u","variant":"v","shape":"lookup","risk":"read_only","passed":true,"score":0.1,"scores":{"a":1},"score_name":"a",` +
		`"pass_rule":"a >= 1","error_type":"timeout","error_message":"too long","model":"m","agent":"ag","harness":"h","harness_version":"1","effort":"high",` +
		`"temperature":0.5,"top_p":1.0,"seed":-9223372036854775808,"config":{"b":[1,2]},"config_hash":"ch","git_commit":"gc","git_branch":"gb",` +
		`"environment_id":"e","started_at":"2026-03-05 10:00:00.0015+00","duration_s":12.25,"ttft_s":Infinity,"input_tokens":1,"output_tokens":2,` +
		`"reasoning_tokens":3,"cost_usd":0.01,"turns":-4,"tool_calls":5,"retries":6,"cached":false,"trace":"http://x","output_hash":"oh","extra":{"k":"v"},` +
		`"source":"/full","source_row":"simulations[17]","batch":"` + sum.Batch + `","_run_made":false}`
	if diff := cmp.Diff([]string{one, one}, got); diff != "" {
		t.Error(diff)
	}
	// What is missing is NULL, but for the shape and the time of the run.
	filled := strs(t, db, "SELECT k FROM (UNPIVOT (SELECT COLUMNS(*)::VARCHAR FROM "+from+" WHERE source_row = '2') ON COLUMNS(*) INTO NAME k VALUE v) ORDER BY k")
	if diff := cmp.Diff([]string{"_run_made", "batch", "extra", "ingested_at", "run_at", "run_at_from", "shape", "source", "source_row", "task_id"}, filled); diff != "" {
		t.Error(diff)
	}
	if got := strs(t, db, "SELECT task_id || shape || run_at_from FROM "+from+" WHERE source_row = '2'"); got[0] != "bad \uFFFD textunclassifiedingest" {
		t.Errorf("row 2 is %q", got)
	}
	if rows[1].Shape != "" || !rows[1].RunAt.IsZero() {
		t.Error("Append changed its argument")
	}
}

// TestWideColumns writes columns that change between dictionary and plain form,
// with NULLs between, over several row groups, and reads every value back.
func TestWideColumns(t *testing.T) {
	const n = 300_000
	s := open(t)
	rows := make([]store.Trial, n)
	for i := range rows {
		tr := &rows[i]
		tr.RunAt, tr.RunID, tr.TaskID = day, "r", itoa(i%777)
		tr.SourceRow = itoa(i)
		tr.Trial, tr.Seed = store.Some(int32(i)), store.Some(int64(i)<<20)
		if i > n/2 && i%3 != 0 { // plain from the second row group on, with NULLs
			tr.TrialUID, tr.Extra = itoa(i), `{"i":`+itoa(i)+`}`
			tr.Score, tr.Passed = store.Some(float64(i)/7), store.Some(i%2 == 0)
		}
		if i%1000 == 0 {
			tr.Model = "m"
		}
	}
	writeParts(t, s, "/wide", rows, 1)
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	got := strs(t, duck(t), `SELECT count(*) || ' ' || count(DISTINCT source_row) || ' ' || count(trial_uid) || ' ' || count(score) || ' ' ||
		count_if(task_id = (i % 777)::VARCHAR AND trial = i AND seed = i::BIGINT << 20
			AND CASE WHEN i > 150000 AND i % 3 != 0 THEN trial_uid = i::VARCHAR AND (extra->>'i')::INT = i AND score = i / 7 AND passed = (i % 2 = 0)
				ELSE trial_uid IS NULL AND extra IS NULL AND score IS NULL AND passed IS NULL END
			AND (model IS NOT NULL) = (i % 1000 = 0))
		FROM (SELECT *, source_row::INT AS i FROM read_parquet(`+fileList(sn.Trials())+`, hive_partitioning=false))`)
	if diff := cmp.Diff([]string{"300000 300000 100000 100000 300000"}, got); diff != "" {
		t.Error(diff)
	}
	sound(t, s)
}

// TestBadJSON stores what is no JSON: it must not make the file unreadable.
func TestBadJSON(t *testing.T) {
	values := []string{
		`{"a":1}`, ` [1, -0.5e+3, true, null, "\ud83d\ude00"] `, `{`, `{"a":}`, `[1,]`, `01`, `NaN`, `{"a":Infinity}`, `"\ud800"`, `"\udc00"`,
		"\"\x01\"", `tru`, `{"a" 1}`, `"\x"`, `1 2`, "\xff", strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), `1e999`, `-`, `""`,
	}
	s := open(t)
	rows := make([]store.Trial, len(values))
	for i, v := range values {
		rows[i] = store.Trial{Extra: v, SourceRow: itoa(i)}
	}
	writeParts(t, s, "/json", rows, 1)
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	got := strs(t, duck(t), "SELECT extra::VARCHAR FROM read_parquet("+fileList(sn.Trials())+") ORDER BY source_row::INT")
	for i, v := range values {
		want := v
		if !json.Valid([]byte(v)) || len(v) > 1000 || strings.HasPrefix(v, `"\u`) {
			quoted, _ := json.Marshal(strings.ToValidUTF8(v, "\uFFFD"))
			want = string(quoted)
		}
		if got[i] != want {
			t.Errorf("%.40q is stored as %.40q, want %.40q", v, got[i], want)
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"x\u00e9"]}`, `[`, `"\ud83d\ude00"`, `-0`, `0.`, "nul"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		mended := store.MendJSON(s)
		if !json.Valid([]byte(mended)) {
			t.Errorf("%q became %q, which is no JSON", s, mended)
		}
		if store.MendJSON(mended) != mended {
			t.Errorf("%q is mended twice", s)
		}
	})
}

func TestFolderName(t *testing.T) {
	tests := []struct{ suite, want string }{
		{"", "_none"},
		{"tau-bench.retail_2", "tau-bench.retail_2"},
		{"../..", "%2E.%2F.."},
		{"a b/ü", "a%20b%2F%C3%BC"},
		{strings.Repeat("x", 100), strings.Repeat("x", 64)},
		{strings.Repeat("x", 63) + "/", strings.Repeat("x", 63)},
	}
	for _, tt := range tests {
		if got := store.FolderName(tt.suite); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.suite, got, tt.want)
		}
	}
}
