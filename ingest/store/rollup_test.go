package store_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest/store"
)

// rollupKey is the roll-up's key, rollupSQL the roll-up made from trials.
const rollupKey = `suite, run_id, run_at_from, task_id, shape, risk, model, agent, harness, harness_version, effort,
	score_name, pass_rule, config_hash, git_commit, git_branch, temperature, top_p, planned_trials`

func rollupSQL(from string) string {
	var sums strings.Builder
	for _, c := range []string{"score", "cost_usd", "duration_s"} {
		fmt.Fprintf(&sums, ", round(fsum(%[1]s) FILTER (live), 6) AS sum_%[1]s, count(%[1]s) FILTER (live) AS n_%[1]s", c)
	}
	for _, c := range []string{"input_tokens", "output_tokens", "reasoning_tokens", "turns", "tool_calls"} {
		fmt.Fprintf(&sums, ", (sum(%[1]s) FILTER (live))::BIGINT AS sum_%[1]s, count(%[1]s) FILTER (live) AS n_%[1]s", c)
	}
	return `SELECT ` + rollupKey + `, min(run_at) AS run_at, count(*) FILTER (live) AS n, count(*) FILTER (live AND passed) AS c,
		count(*) FILTER (live AND passed IS NULL) AS ungraded, count(*) FILTER (cached) AS cached,
		count(*) FILTER (live AND error_type IS NOT NULL) AS errors` + sums.String() + `
		FROM (SELECT *, cached IS NOT TRUE AS live FROM ` + from + `) GROUP BY ALL`
}

// randomTrials varies every column of the roll-up's key and values.
func randomTrials(r *rand.Rand, n int) []store.Trial {
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	out := make([]store.Trial, n)
	for i := range out {
		out[i] = store.Trial{
			Suite: pick("a", "b", ""), RunID: pick("r1", "r2", "r3"), RunAt: day.AddDate(0, r.IntN(3), 0), RunAtFrom: pick("log", "file time"),
			TaskID: fmt.Sprint("t", r.IntN(20)), Shape: pick("", "lookup"), Risk: pick("", "high"), Model: pick("m1", "m2"), Effort: pick("", "low"),
			PlannedTrials: store.Opt[int32]{V: int32(r.IntN(2)), OK: r.IntN(2) == 0}, Temperature: store.Opt[float64]{V: 0.5, OK: r.IntN(2) == 0},
			Passed: store.Opt[bool]{V: r.IntN(2) == 0, OK: r.IntN(5) > 0}, Score: store.Opt[float64]{V: r.NormFloat64(), OK: r.IntN(3) > 0},
			CostUSD: store.Opt[float64]{V: r.Float64() * math.Pow(10, float64(r.IntN(9)-6)), OK: r.IntN(3) > 0}, ErrorType: pick("", "", "timeout"),
			InputTokens: store.Opt[int64]{V: r.Int64N(1000), OK: r.IntN(3) > 0}, Turns: store.Opt[int32]{V: r.Int32N(9), OK: r.IntN(3) > 0},
			Cached: store.Opt[bool]{V: r.IntN(4) == 0, OK: r.IntN(2) == 0}, SourceRow: fmt.Sprint(i),
		}
	}
	return out
}

// TestRollup compares the roll-up with a GROUP BY over the trials, and one made
// by one Part in memory with others made by several or merged from pieces.
func TestRollup(t *testing.T) {
	rows := randomTrials(rand.New(rand.NewPCG(3, 4)), 20_000)
	for i := range rows {
		if i%11 == 0 {
			rows[i].TaskID = "" // also beside others of the same key
		}
	}
	db := duck(t)
	var prints []string
	for _, c := range []struct{ parts, held int }{{1, 1 << 18}, {3, 1 << 18}, {1, 1000}, {3, 170}} {
		parts := c.parts
		defer store.SetLimits(1_200_000, c.held)()
		s := open(t)
		writeParts(t, s, "/roll", rows, parts)
		sn, err := s.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer sn.Close()
		trials := "read_parquet(" + fileList(sn.Trials()) + ", hive_partitioning=false)"
		roll := "read_parquet(" + fileList(sn.TaskRuns()) + ")"
		fromTrials := rollupSQL(trials)
		rounded := "SELECT " + rollupKey + ", run_at, n, c, ungraded, cached, errors"
		for _, c := range []string{"score", "cost_usd", "duration_s"} {
			rounded += fmt.Sprintf(", round(sum_%[1]s, 6) AS sum_%[1]s, n_%[1]s", c)
		}
		for _, c := range []string{"input_tokens", "output_tokens", "reasoning_tokens", "turns", "tool_calls"} {
			rounded += fmt.Sprintf(", sum_%[1]s, n_%[1]s", c)
		}
		rounded += " FROM " + roll
		for _, d := range []string{fromTrials + " EXCEPT ALL " + rounded, rounded + " EXCEPT ALL " + fromTrials} {
			if n := strs(t, db, "SELECT count(*) FROM ("+d+")"); n[0] != "0" {
				t.Errorf("%d parts: %s groups differ; one is %s", parts, n[0], strs(t, db, "SELECT to_json(x)::VARCHAR FROM ("+d+") x LIMIT 1"))
			}
		}
		prints = append(prints, strings.Join(strs(t, db, "SELECT to_json(x)::VARCHAR FROM (SELECT * EXCLUDE (batch) FROM "+roll+") x"), "\n"))
	}
	for _, p := range prints[1:] {
		if prints[0] != p {
			t.Error("the roll-up depends on the number of Parts or pieces")
		}
	}
}

// TestRollupInPieces: what does not fit into memory has the same roll-up, to the
// last bit of numbers of any size, and a batch says the same of itself.
func TestRollupInPieces(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	rows := randomTrials(r, 8000)
	for i := range rows {
		odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -1e300, 5e-324, 1e-40, 0x1p36, -0x1p35, math.Copysign(0, -1), 1e12}
		rows[i].CostUSD = store.Some(r.NormFloat64())
		if i%7 == 0 {
			rows[i].CostUSD.V = odd[r.IntN(len(odd))]
		}
		rows[i].TaskID = fmt.Sprint("t", r.IntN(400))
		if i%100 == 0 {
			rows[i].TaskID = strings.Repeat("x", 1000+i)
		}
	}
	db := duck(t)
	var first string
	for _, held := range []int{1 << 18, 900, 33} {
		restore := store.SetLimits(1_200_000, held)
		s := open(t)
		sum := writeParts(t, s, "/wide", rows, 2)
		restore()
		sn, err := s.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer sn.Close()
		if len(sn.TaskRuns()) != 1 || !sn.Trials()[0].RolledUp || (sum.Tasks != nil) != (held == 1<<18) {
			t.Fatalf("%d held: %d roll-ups, %d tasks", held, len(sn.TaskRuns()), len(sum.Tasks))
		}
		rec := sn.Batches()[0]
		got := strings.Join(append(strs(t, db, "SELECT to_json(x)::VARCHAR FROM (SELECT * EXCLUDE (batch) FROM read_parquet("+fileList(sn.TaskRuns())+")) x"),
			fmt.Sprint(*rec.Unruled, rec.Ruled, sum.Notes)), "\n")
		if first == "" {
			first = got
		}
		if got != first {
			t.Errorf("%d held: the roll-up differs", held)
		}
	}
}

// TestRollupOfDuplicates: a run that holds a trial twice is not rolled up and
// is listed as overlapping; a run in two batches is rolled up in each.
func TestRollupOfDuplicates(t *testing.T) {
	s := open(t)
	text{path: "/a", content: lines("twice a 0 p", "twice a 0 p", "once a 0 p", "both a 0 p")}.ingest(t, s)
	text{path: "/b", content: lines("both a 0 p", "both a 1 f")}.ingest(t, s)
	sn, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer sn.Close()
	if diff := cmp.Diff([]store.RunKey{{Suite: "s", RunID: "both"}, {Suite: "s", RunID: "twice"}}, sn.Overlaps()); diff != "" {
		t.Error(diff)
	}
	got := strs(t, duck(t), "SELECT run_id || ' ' || n FROM read_parquet("+fileList(sn.TaskRuns())+") ORDER BY ALL")
	if diff := cmp.Diff([]string{"both 1", "both 2", "once 1"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestApartBatches: a run that was appended to overlaps only where some trial of it is in
// two batches, also where that one was without a verdict before.
func TestApartBatches(t *testing.T) {
	for name, c := range map[string]struct {
		sources [][]string
		overlap bool
	}{
		"other trials":           {[][]string{{"r a 0 p", "r a 1 u"}, {"r a 2 p", "r b 0 f"}, {"r a 3 u"}}, false},
		"the same trial":         {[][]string{{"r a 0 p", "r a 1 u"}, {"r a 2 p", "r a 0 p"}}, true},
		"graded later":           {[][]string{{"r a 0 p", "r a 1 u"}, {"r a 1 p"}}, true},
		"ungraded later":         {[][]string{{"r a 0 p", "r a 1 f"}, {"r a 1 u"}}, true},
		"ungraded both times":    {[][]string{{"r a 1 u"}, {"r a 1 u", "r c 0 p"}}, true},
		"the third of the first": {[][]string{{"r a 0 p"}, {"r a 1 p"}, {"r a 2 p", "r a 0 p"}}, true},
		"another run's":          {[][]string{{"r a 0 p", "q a 0 p"}, {"r a 1 p", "q a 0 p"}}, false},
	} {
		s := open(t)
		for i, rows := range c.sources {
			text{path: fmt.Sprint("/", i), content: lines(rows...)}.ingest(t, s)
		}
		sn, err := s.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(sn.Overlaps(), store.RunKey{Suite: "s", RunID: "r"}); got != c.overlap {
			t.Errorf("%s: overlaps %v, want %v", name, got, c.overlap)
		}
		sn.Close()
	}
}

func TestTaskCounts(t *testing.T) {
	s := open(t)
	rows := []store.Trial{
		{RunID: "r", TaskID: "b", PlannedTrials: store.Some[int32](3), Passed: store.Some(true)},
		{RunID: "r", TaskID: "b", PlannedTrials: store.Some[int32](3), Model: "other"},
		{RunID: "r", TaskID: "a", PlannedTrials: store.Some[int32](1), Cached: store.Some(true)},
	}
	want := []store.TaskCount{
		{RunKey: store.RunKey{RunID: "r"}, TaskID: "a", Planned: 1}, // a cached trial is there, though it does not count
		// Each of two models lacks two of its three trials.
		{RunKey: store.RunKey{RunID: "r"}, TaskID: "b", Planned: 6, Missing: 4, Found: 2, Least: 1, Ungraded: 1},
	}
	if diff := cmp.Diff(want, writeParts(t, s, "/x", rows, 2).Tasks); diff != "" {
		t.Error(diff)
	}
}

func TestExactSum(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{0.1, 0.2, 0.3}, 0.6},
		{[]float64{1e100, 1, -1e100}, 1},
		{[]float64{1e16, 1, 1}, 1e16 + 2},
		{[]float64{math.Inf(1), 1}, math.Inf(1)},
		{[]float64{math.Inf(-1), 1}, math.Inf(-1)},
		{[]float64{math.Inf(-1), math.Inf(1)}, nan},
		{[]float64{nan, 1}, nan},
		{[]float64{math.MaxFloat64, math.MaxFloat64}, math.Inf(1)},
	}
	for _, tt := range tests {
		if got := store.ExactSum(tt.values); got != tt.want && !(got != got && tt.want != tt.want) {
			t.Errorf("%v: %v, want %v", tt.values, got, tt.want)
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		n := 1 + r.IntN(50)
		values := make([]float64, n)
		exact := new(big.Float).SetPrec(4000)
		for i := range values {
			values[i] = math.Ldexp(r.Float64()-0.5, r.IntN(200)-100)
			exact.Add(exact, new(big.Float).SetFloat64(values[i]))
		}
		want, _ := exact.Float64()
		if got := store.ExactSum(values); got != want {
			t.Fatalf("%v: %v, want %v", values, got, want)
		}
		r.Shuffle(n, func(i, j int) { values[i], values[j] = values[j], values[i] })
		cut := r.IntN(n + 1)
		if got := store.ExactSum(values[:cut], values[cut:]); got != want {
			t.Fatalf("in two portions: %v, want %v", got, want)
		}
	}
}

func TestIntSum(t *testing.T) {
	tests := []struct {
		values []int64
		want   int64
	}{
		{[]int64{1, -3}, -2},
		{[]int64{math.MaxInt64, 1, -1}, math.MaxInt64},
		{[]int64{math.MaxInt64, math.MaxInt64, 1}, math.MaxInt64},
		{[]int64{math.MinInt64, -1}, math.MinInt64},
		{[]int64{math.MinInt64, math.MinInt64, math.MaxInt64, math.MaxInt64, 3}, 1},
	}
	for _, tt := range tests {
		if got := store.IntSum(tt.values...); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.values, got, tt.want)
		}
	}
}
