package ingest

import (
	"os"
	"slices"
	"strings"

	"passhat/ingest/store"
)

// finisher applies to trials of any format what the user and the environment
// say. One finisher is for one goroutine.
type finisher struct {
	suite, run     string
	renames        map[string]string // runs of the log by another name
	folder         bool              // the source is one trial of a run: its numbers don't count
	dependent      bool              // --allow-dependent
	sets           []fixedValue
	extra          string // `"team":"x"`, members for extra
	rule           *Rule
	commit, branch string // from CI
	m              Mapper // what setters need

	clean [6][]byte // see redactText
	model []byte    // the last one that was no address with a password

	count finishCounts
}

// finishCounts is what the finisher changed and a user should hear of.
type finishCounts struct {
	trials, ungraded int64
	scoredUngraded   int64            // with a score but no verdict
	judged, rejudged int64            // by --pass-when; of these, against the log's verdict
	zeros            map[string]int64 // by column: zeros that mean unknown
	negative         map[string]int64 // by column: numbers below zero, taken as unknown
	redacted         int64            // tokens taken out of free text
}

type fixedValue struct {
	col columnID
	val Value
}

// newFinisher checks the options it applies. Errors are of kind *UsageError.
func newFinisher(opt *Options) (*finisher, error) {
	f := &finisher{suite: opt.Suite, run: opt.Run, renames: opt.Renames, folder: opt.rank > 0, dependent: opt.AllowDependent}
	loc, err := opt.location()
	if err != nil {
		return nil, err
	}
	f.m = Mapper{loc: loc, stable: true}
	if opt.PassWhen != "" {
		if f.rule, err = ParseRule(opt.PassWhen); err != nil {
			return nil, err
		}
	}
	var members []string
	for _, p := range opt.Set {
		if key, ok := strings.CutPrefix(p.Name, "extra."); ok && key != "" {
			v, err := f.m.clean.untyped(append(appendQuoted(nil, []byte(key)), ':'), []byte(p.Value))
			if err != nil {
				return nil, usagef("--set", "%s=%s: %v", p.Name, p.Value, err)
			}
			members = append(members, string(v))
			continue
		}
		col, ok := columnNamed(p.Name)
		if !ok || slices.Contains([]string{"trial_from", "run_at_from", "extra", "config_hash"}, p.Name) {
			return nil, unknownColumn("--set", p.Name)
		}
		v := fixedValue{col, Value{Kind: Untyped, Text: []byte(p.Value)}}
		var t store.Trial
		if reason := f.set(&t, v); reason != "" {
			return nil, usagef("--set", "%s: %s", p.Name, reason)
		}
		f.sets = append(f.sets, v)
	}
	f.extra = strings.Join(members, ",")
	f.commit, f.branch = ciCommit(opt.env())
	return f, nil
}

func (o *Options) env() func(string) string {
	if o.Env != nil {
		return o.Env
	}
	return os.Getenv
}

// ciCommit is the commit and branch that the usual CI systems tell of.
func ciCommit(env func(string) string) (commit, branch string) {
	if env("CI") == "" {
		return "", ""
	}
	first := func(names ...string) string {
		for _, n := range names {
			if v := env(n); v != "" {
				return v
			}
		}
		return ""
	}
	return first("GITHUB_SHA", "CI_COMMIT_SHA", "BUILDKITE_COMMIT", "CIRCLE_SHA1", "GIT_COMMIT"),
		first("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME", "BUILDKITE_BRANCH", "CIRCLE_BRANCH", "GIT_BRANCH")
}

// set gives a column its fixed value; an empty one is NULL.
func (f *finisher) set(t *store.Trial, v fixedValue) string {
	name := columns[v.col].name
	if name == "config" || name == "scores" {
		o, ok := JSONValue(v.val.Text)
		if !ok || o.Kind != Object {
			return notA(v.val, "a JSON object")
		}
		text, err := f.m.clean.value(nil, o)
		if err != nil {
			return err.Error()
		}
		if name == "scores" {
			t.Scores = string(text)
		} else {
			t.Config, t.ConfigHash = string(text), string(hex16(text))
		}
		return ""
	}
	if len(v.val.Text) == 0 {
		return "the value is empty"
	}
	if name == "trial" {
		t.TrialFrom = store.TrialExplicit
	}
	if reason := columns[v.col].set(&f.m, t, v.val); reason != "" {
		return reason
	}
	if name == "passed" {
		t.PassRule = "--set"
	}
	return ""
}

// finish completes a trial as far as it stands alone.
func (f *finisher) finish(t *store.Trial) {
	for _, v := range f.sets {
		f.set(t, v)
	}
	if f.suite != "" {
		t.Suite = f.suite
	}
	if f.run != "" {
		t.RunID, t.RunMade = f.run, false
	} else if name := f.renames[t.RunID]; name != "" {
		t.RunID = name
	}
	if f.folder {
		t.Trial, t.TrialFrom = store.Opt[int32]{}, store.TrialFolder
	}
	if f.extra != "" {
		addMember(t, f.extra)
	}
	if f.dependent && t.Cached.V {
		// It counts now; that it was cached stays known.
		t.Cached = store.Opt[bool]{}
		addMember(t, `"cached":true`)
	}
	if t.GitCommit == "" && f.commit != "" {
		t.GitCommit = f.commit
		fill(&t.GitBranch, f.branch)
	}
	if f.rule != nil {
		f.judge(t)
	}
	if t.ErrorType != "" || t.ErrorMessage != "" {
		t.ErrorType = ErrorType(t.ErrorType, t.ErrorMessage)
	}
	if t.Effort != "" {
		t.Effort = lower(t.Effort)
	}
	f.redact(t)
	f.unknownZeros(t)
	f.belowZero(t)
	f.count.trials++
	if !t.Passed.OK {
		f.count.ungraded++
		if t.Score.OK || t.Scores != "" {
			f.count.scoredUngraded++
		}
	}
}

// addMember puts clean JSON members before those of extra.
func addMember(t *store.Trial, members string) {
	if len(t.Extra) > 2 {
		t.Extra = "{" + members + "," + t.Extra[1:]
	} else {
		t.Extra = "{" + members + "}"
	}
}

// judge applies --pass-when, also against the log's own verdict: the user asked
// for it. Where the rule cannot tell, the log's verdict stands.
func (f *finisher) judge(t *store.Trial) {
	passed, ok := f.rule.Judge(t)
	if !ok {
		return
	}
	if t.Passed.OK && t.Passed.V != passed {
		f.count.rejudged++
	}
	f.count.judged++
	t.Passed, t.PassRule = store.Some(passed), f.rule.text
}

// unknownZeros makes NULL of zeros that a trial which plainly ran cannot have
// meant: it read and wrote something, and it cost something unless a cache
// answered.
func (f *finisher) unknownZeros(t *store.Trial) {
	zeroIn := t.InputTokens.OK && t.InputTokens.V == 0
	zeroOut := t.OutputTokens.OK && t.OutputTokens.V == 0
	zeroCost := t.CostUSD.OK && t.CostUSD.V == 0
	if !zeroIn && !zeroOut && !zeroCost || t.Cached.V {
		return
	}
	ran := t.Passed.V || t.Turns.V > 0 || t.ToolCalls.V > 0 || t.InputTokens.V > 0 || t.OutputTokens.V > 0 ||
		t.Passed.OK && t.ErrorType == ""
	if !ran {
		return
	}
	if zeroIn {
		t.InputTokens = store.Opt[int64]{}
		f.zero("input_tokens")
	}
	if zeroOut && (zeroIn || t.InputTokens.V == 0) {
		t.OutputTokens = store.Opt[int64]{}
		f.zero("output_tokens")
	}
	if zeroCost {
		t.CostUSD = store.Opt[float64]{}
		f.zero("cost_usd")
	}
}

func (f *finisher) zero(column string) { countIn(&f.count.zeros, column) }

// belowZero makes NULL of what cannot be less than nothing: a mean over it would
// be wrong without a sign of it.
func (f *finisher) belowZero(t *store.Trial) {
	if t.CostUSD.V < 0 {
		t.CostUSD = store.Opt[float64]{}
		countIn(&f.count.negative, "cost_usd")
	}
	if t.DurationS.V < 0 {
		t.DurationS = store.Opt[float64]{}
		countIn(&f.count.negative, "duration_s")
	}
	if t.TTFTS.V < 0 {
		t.TTFTS = store.Opt[float64]{}
		countIn(&f.count.negative, "ttft_s")
	}
	if t.InputTokens.V|t.OutputTokens.V|t.ReasoningTokens.V >= 0 {
		return // none has a sign
	}
	for _, c := range []struct {
		name string
		n    *store.Opt[int64]
	}{{"input_tokens", &t.InputTokens}, {"output_tokens", &t.OutputTokens}, {"reasoning_tokens", &t.ReasoningTokens}} {
		if c.n.V < 0 {
			*c.n = store.Opt[int64]{}
			countIn(&f.count.negative, c.name)
		}
	}
}

func countIn(m *map[string]int64, name string) {
	if *m == nil {
		*m = map[string]int64{}
	}
	(*m)[name]++
}

func (c *finishCounts) add(o *finishCounts) {
	c.trials += o.trials
	c.ungraded += o.ungraded
	c.scoredUngraded += o.scoredUngraded
	c.judged += o.judged
	c.rejudged += o.rejudged
	c.zeros = addCounts(c.zeros, o.zeros)
	c.negative = addCounts(c.negative, o.negative)
	c.redacted += o.redacted
}

func lower(s string) string {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' {
			return strings.ToLower(s)
		}
	}
	return s
}
