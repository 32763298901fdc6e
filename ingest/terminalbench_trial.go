package ingest

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

const tbPassRule = "is_resolved"

// tbErrors are the failure modes whose kind their name does not tell.
var tbErrors = map[string]string{
	"parse_error": "scorer", "test_timeout": "timeout", "agent_timeout": "timeout", "unknown": "other", "unknown_agent_error": "agent",
	"fatal_llm_parse_error": "agent", "context_length_exceeded": "context_length", "output_length_exceeded": "model",
	"agent_installation_failed": "infra",
}

// trial reads one trial of the run under way.
func (r *tbReader) trial(at string, raw []byte) error {
	v, ok := JSONValue(raw)
	bad := func(below, reason string) error {
		if !r.yield(nil, NewSyntaxError(r.in, 0, at+below, reason, raw)) {
			return errStopped
		}
		return nil
	}
	if !ok || v.Kind != Object {
		return bad("", "found "+quoteShort(raw)+", an object with trial_name, task_id and is_resolved is wanted")
	}
	t := newTrial(r.info.base, at, raw)
	t.TaskID = v.get("task_id").words()
	if t.TaskID == "" {
		return bad(".task_id", "missing: a trial needs its task")
	}
	verdict := v.get("is_resolved")
	if verdict.Kind != Null && verdict.Kind != Bool {
		return bad(".is_resolved", "found "+quoteShort(verdict.Text)+", true, false or null is wanted")
	}
	t.TrialUID = firstOf(v.get("id"), v.get("uuid")).words()
	r.number(&t, v)
	if t.Passed = verdict.truth(); t.Passed.OK {
		t.PassRule = tbPassRule
	}
	r.tests(&t, v.get("parser_results"))
	if mode := v.get("failure_mode").words(); mode != "" && mode != "unset" && mode != "none" {
		t.ErrorMessage, t.ErrorType = mode, tbErrors[mode]
		if t.ErrorType == "" {
			t.ErrorType = ErrorType(mode, "")
		}
	}
	t.InputTokens, t.OutputTokens = v.get("total_input_tokens").whole(), v.get("total_output_tokens").whole()
	t.ToolCalls = v.get("n_commands").small()
	t.Trace = v.get("recording_path").words()
	r.times(&t, v)
	r.count(&t)
	if !r.yield(&t, nil) {
		return errStopped
	}
	return nil
}

// number takes the trial's number and run out of its name.
func (r *tbReader) number(t *store.Trial, v Value) {
	name := v.get("trial_name").words()
	t.PlannedTrials = r.info.attempts
	m := tbTrialName.FindStringSubmatch(name)
	if m != nil {
		if n, err := strconv.ParseInt(m[1], 10, 32); err == nil && n >= 1 {
			t.Trial, t.TrialFrom = store.Some(int32(n-1)), store.TrialExplicit
		}
		if n, err := strconv.ParseInt(m[2], 10, 32); err == nil && !t.PlannedTrials.OK {
			t.PlannedTrials = store.Some(int32(n))
		}
	}
	if t.RunID == "" {
		if t.RunID = tbRunName(m, v.get("recording_path").words()); t.RunID == "" {
			t.RunID = r.otherRun() // a trial that threw inside the harness has no recording
		}
	}
	if !r.submission {
		return
	}
	if m == nil || m[2] != "1" {
		t.Trial = store.Opt[int32]{} // numbered by the frame
	} else {
		t.Trial = store.Some(r.rank)
	}
	t.TrialFrom = store.TrialFolder
}

// tbRunName is the run that a trial's name or its recording's path tells of.
func tbRunName(m []string, recording string) string {
	if m != nil && m[3] != "" {
		return m[3]
	}
	if run, rest, ok := strings.Cut(recording, "/"); ok && strings.Count(rest, "/") >= 3 && run != "." && run != ".." {
		return run
	}
	return ""
}

// tbRecording finds the run in the recordings' paths.
var tbRecording = regexp.MustCompile(`"recording_path":\s*"([^"/\\]+)/[^"/]+/[^"/]+/`)

// otherRun is the run that other trials of the file name, "" if none does or
// they name several.
func (r *tbReader) otherRun() string {
	if r.looked {
		return r.fileRun
	}
	r.looked = true
	head, err := r.in.head()
	if err != nil {
		return ""
	}
	for _, m := range tbRecording.FindAllSubmatch(head, -1) {
		if run := strings.ToValidUTF8(string(m[1]), "\uFFFD"); r.fileRun == "" || r.fileRun == run {
			r.fileRun = run
		} else {
			r.fileRun = ""
			break
		}
	}
	if r.fileRun == "." || r.fileRun == ".." {
		r.fileRun = ""
	}
	return r.fileRun
}

// tests makes scores of the results of the single tests.
func (r *tbReader) tests(t *store.Trial, results Value) {
	if results.Kind != Object {
		return
	}
	scores, passed, n, long := jsonObject{}, int64(0), int64(0), 0
	results.eachMember(func(name string, v Value) bool {
		n++
		ok := v.words() == "passed"
		if ok {
			passed++
		}
		if long += len(name) + 8; long <= maxExtraValue {
			scores.raw(name, strconv.AppendInt(nil, int64(boolInt(ok)), 10))
		}
		return true
	})
	if n == 0 {
		if t.Passed.V {
			r.empty++
		}
		return
	}
	scores.int("tests", n)
	scores.int("tests_passed", passed)
	t.Scores = scores.String()
	t.Score, t.ScoreName = store.Some(float64(passed)/float64(n)), "share of tests passed"
}

// times takes when and how long the trial ran.
func (r *tbReader) times(t *store.Trial, v Value) {
	t.StartedAt = r.in.time(v.get("trial_started_at"), r.opt)
	between := func(name string) store.Opt[float64] {
		return secondsBetween(v.get(name+"_started_at"), v.get(name+"_ended_at"), r.in, r.opt)
	}
	extra, whole := jsonObject{}, between("trial")
	if t.DurationS = between("agent"); !t.DurationS.OK {
		t.DurationS = whole
	}
	extra.keep("trial_name", v.get("trial_name"))
	extra.num("trial_s", whole)
	extra.num("test_s", between("test"))
	if r.submission {
		extra.text("run", r.info.run.name)
	}
	for i, key := range r.info.extra.keys {
		extra.raw(key, r.info.extra.values[i])
	}
	t.Extra = extra.String()
}

func (r *tbReader) count(t *store.Trial) {
	nc := r.tasks[t.TaskID]
	nc[0]++
	r.trials++
	if t.Passed.V {
		nc[1]++
		r.passes++
	}
	r.tasks[t.TaskID] = nc
}

// passAtK is the mean of 1 - C(n-c,k)/C(n,k) over tasks of at least k trials,
// as harnesses print it (Chen et al. 2021); not ok without such a task.
func passAtK(tasks map[string][2]int64, k int64) (mean float64, ok bool) {
	n := 0
	for _, task := range slices.Sorted(maps.Keys(tasks)) {
		nc := tasks[task]
		if nc[0] < k || k < 1 || k > 1000 {
			continue
		}
		miss := 1.0
		for i := range k {
			miss *= max(float64(nc[0]-nc[1]-i), 0) / float64(nc[0]-i)
		}
		mean += 1 - miss
		n++
	}
	return mean / float64(max(n, 1)), n > 0
}

func sortedKeys[V any](m map[int64]V) []int64 { return slices.Sorted(maps.Keys(m)) }

// formatNumber writes a number of a log for a message.
func formatNumber(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }
