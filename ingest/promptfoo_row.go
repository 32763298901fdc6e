package ingest

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"passhat/ingest/store"
)

// pfRow is one row of an eval: one test under one provider and prompt, once.
type pfRow struct {
	pos         string
	raw         []byte
	id          string
	description string
	vars        []pfVar // sorted by key
	checks      string  // hash of the assertions, where nothing else tells tests apart
	model       string
	label       string
	promptIdx   int64
	testIdx     int64
	repeat      int64 // the test's own --repeat; 0: none
	repeatIndex store.Opt[int32]
	success     bool
	judged      bool // success is there
	cached      bool
	failure     store.Opt[int64]
	ended       time.Time

	provider, testCase, metadata, response, grading, named, tokens Value
	score, latency, cost, errorText, promptID                      Value
}

type pfVar struct {
	key  string
	val  Value
	hash uint64
}

// The values of failureReason.
const pfFailedByError = 2

// maxPFVars is how many vars of a test are looked at.
const maxPFVars = 1000

// newPFRow reads the members of a row of a file.
func newPFRow(pos string, raw []byte) (row *pfRow, at, reason string) {
	v, ok := JSONValue(raw)
	if !ok || v.Kind != Object {
		return nil, "", "found " + quoteShort(raw) + ", a result row {…} is wanted"
	}
	row = &pfRow{pos: pos, raw: raw, promptIdx: -1, testIdx: -1}
	var vars, prompt, success Value
	v.eachMember(func(key string, v Value) bool {
		switch key {
		case "id":
			row.id = v.words()
		case "description":
			row.description = v.words()
		case "vars":
			vars = v
		case "provider":
			row.provider = v
		case "prompt":
			prompt = v
		case "promptId":
			row.promptID = v
		case "promptIdx":
			row.promptIdx = indexOf(v)
		case "testIdx":
			row.testIdx = indexOf(v)
		case "testCase", "test":
			row.testCase = v
		case "success":
			success = v
		case "failureReason":
			row.failure = v.whole()
		case "score":
			row.score = v
		case "namedScores":
			row.named = v
		case "gradingResult":
			row.grading = v
		case "error":
			row.errorText = v
		case "latencyMs":
			row.latency = v
		case "cost":
			row.cost = v
		case "tokenUsage":
			row.tokens = v
		case "response":
			row.response = v
		case "metadata":
			row.metadata = v
		}
		return true
	})
	at, reason = row.settle(vars, prompt, success)
	return row, at, reason
}

func indexOf(v Value) int64 {
	if n := v.whole(); n.OK {
		return n.V
	}
	return -1
}

// settle works out what several members decide together.
func (row *pfRow) settle(vars, prompt, success Value) (at, reason string) {
	switch b := success.truth(); {
	case b.OK:
		row.success, row.judged = b.V, true
	case success.Kind != Null:
		return ".success", "found " + quoteShort(success.Text) + ", true or false is wanted"
	}
	if vars.Kind == Null {
		vars = row.testCase.get("vars")
	}
	if vars.Kind != Object && vars.Kind != Null {
		return ".vars", "found " + vars.Kind.String() + ", an object is wanted"
	}
	fill(&row.description, row.testCase.get("description").words())
	if n := row.testCase.get("options", "repeat").whole(); n.OK {
		row.repeat = n.V
	}
	row.setVars(vars)
	row.model = row.provider.get("label").words()
	fill(&row.model, row.provider.get("id").words())
	fill(&row.model, row.provider.words())
	row.label = prompt.get("label").words()
	fill(&row.label, prompt.get("display").words())
	fill(&row.label, prompt.get("raw").words())
	fill(&row.label, prompt.words())
	row.cached = row.response.get("cached").truth().V
	if row.model == "" && row.description == "" && len(row.vars) == 0 && success.Kind == Null {
		return "", "none of provider, vars and success is there: it is no result row"
	}
	if len(row.vars) == 0 && row.description == "" {
		row.checks = string(hex16(row.testCase.get("assert").Text))[:8]
	}
	return "", ""
}

// setVars takes the vars that name a test, sorted: not those that promptfoo
// adds while it runs, which differ from repeat to repeat.
func (row *pfRow) setVars(vars Value) {
	vars.eachMember(func(key string, v Value) bool {
		switch {
		case key == "__repeatIndex":
			row.repeatIndex = v.small()
		case strings.HasPrefix(key, "_"), key == "sessionId":
		default:
			row.vars = append(row.vars, pfVar{key, v, xxh3.Hash(v.Text)})
		}
		return len(row.vars) < maxPFVars
	})
	slices.SortStableFunc(row.vars, func(a, b pfVar) int { return strings.Compare(a.key, b.key) })
}

// varsJSON is the vars as JSON, sorted by key: all, or those in only.
func (row *pfRow) varsJSON(only map[string]bool) string {
	var o jsonObject
	for _, v := range row.vars {
		if only == nil || only[v.key] {
			o.keep(v.key, v.val)
		}
	}
	if s := o.String(); s != "" {
		return s
	}
	return "{}"
}

// group is the key of what the row repeats.
func (row *pfRow) group() pfGroupKey {
	h := xxh3.New()
	h.WriteString(row.description)
	h.WriteString("\x00" + row.checks)
	for _, v := range row.vars {
		h.WriteString("\x00" + v.key + "\x00")
		h.Write(v.val.Text)
	}
	return pfGroupKey{task: h.Sum128(), model: row.model, label: row.label, prompt: row.promptIdx}
}

// isError reports whether the row has no verdict because something broke.
// Rows of old versions have no failureReason: there an error beside no grading.
func (row *pfRow) isError() bool {
	if row.failure.OK {
		return row.failure.V == pfFailedByError
	}
	return !row.success && row.errorText.words() != "" && row.grading.Kind != Object
}

// trial makes a trial of a row.
func (row *pfRow) trial(base store.Trial) store.Trial {
	t := newTrial(base, row.pos, row.raw)
	t.TrialUID, t.Model = row.id, row.model
	var extra, scores jsonObject
	if row.isError() {
		t.ErrorMessage = row.errorText.words()
		t.ErrorType = ErrorType("", t.ErrorMessage)
	} else if row.judged {
		t.Passed, t.PassRule = store.Some(row.success), "success"
	}
	if x := row.score.number(); x.OK && !row.isError() {
		t.Score, t.ScoreName = x, "score"
		scores.num("score", x)
	}
	row.checksInto(&scores)
	row.usage(&t)
	row.extra(&t, &extra)
	t.Shape = row.shape()
	if text := row.response.get("output"); text.Kind != Null {
		b := text.Text
		if text.Kind == String {
			b, _ = text.text(nil)
		}
		t.OutputHash = string(hex16(b))
	}
	if row.cached {
		t.Cached = store.Some(true)
	}
	t.Scores, t.Extra = scores.String(), extra.String()
	return t
}

// checksInto takes every metric and assertion by name.
func (row *pfRow) checksInto(scores *jsonObject) {
	row.named.eachMember(func(key string, v Value) bool {
		scores.num(key, v.number())
		return len(scores.keys) < maxPFVars
	})
	row.grading.get("componentResults").eachElement(func(_ int, c Value) bool {
		name := c.get("assertion", "metric").words()
		if name == "" {
			name = c.get("assertion", "type").words()
		}
		x := c.get("score").number()
		if b := c.get("pass").truth(); !x.OK && b.OK {
			x = store.Some(float64(boolInt(b.V)))
		}
		if name != "" && !slices.Contains(scores.keys, name) {
			scores.num(name, x)
		}
		return len(scores.keys) < maxPFVars
	})
}

// usage takes time, money and tokens; what an error or a cached answer has of
// them is not the trial's own.
func (row *pfRow) usage(t *store.Trial) {
	if ms := row.latency.number(); ms.OK && ms.V > 0 && !row.cached {
		t.DurationS = store.Some(ms.V / 1000)
		if !row.ended.IsZero() && ms.V < math.MaxInt32 {
			t.StartedAt = row.ended.Add(-time.Duration(ms.V * float64(time.Millisecond)))
		}
	} else if !row.ended.IsZero() {
		t.StartedAt = row.ended
	}
	if c := row.cost.number(); c.OK && c.V >= 0 && (c.V > 0 || !row.isError() && !row.cached) {
		t.CostUSD = c
	}
	tokens := row.tokens
	if tokens.Kind != Object {
		tokens = row.response.get("tokenUsage")
	}
	t.InputTokens, t.OutputTokens = tokens.get("prompt").whole(), tokens.get("completion").whole()
	if n := tokens.get("completionDetails", "reasoning").whole(); n.V > 0 {
		t.ReasoningTokens = n
	}
	if (row.isError() || row.cached) && t.InputTokens.V == 0 && t.OutputTokens.V == 0 {
		t.InputTokens, t.OutputTokens = store.Opt[int64]{}, store.Opt[int64]{}
	}
}

func (row *pfRow) extra(t *store.Trial, extra *jsonObject) {
	if len(row.vars) > 0 {
		if s := row.varsJSON(nil); len(s) <= maxExtra {
			extra.raw("vars", []byte(s))
		}
	}
	extra.text("description", row.description)
	if id := row.provider.get("id").words(); id != t.Model {
		extra.text("provider_id", id)
	}
	extra.text("prompt_id", row.promptID.words())
	if row.promptIdx >= 0 {
		extra.int("prompt_idx", row.promptIdx)
	}
	if row.testIdx >= 0 {
		extra.int("test_idx", row.testIdx)
	}
	if !row.isError() {
		reason := row.grading.get("reason").words()
		fill(&reason, row.errorText.words())
		extra.text("reason", reason)
	}
	extra.text("comment", row.grading.get("comment").words())
	var meta jsonObject
	for _, from := range []Value{row.testCase.get("metadata"), row.metadata} {
		from.eachMember(func(key string, v Value) bool {
			if !strings.HasPrefix(key, "_") && key != "errorContext" && len(meta.keys) < maxPFVars {
				meta.keep(key, v)
			}
			return true
		})
	}
	if s := meta.String(); s != "" && len(s) <= maxExtra {
		extra.raw("metadata", []byte(s))
	}
	extra.text("session_id", row.response.get("sessionId").words())
}

func (row *pfRow) shape() string {
	for _, key := range []string{"shape", "category", "domain", "pluginId"} {
		for _, from := range []Value{row.testCase.get("metadata"), row.metadata} {
			if v := from.get(key); v.Kind == String && len(v.Text) > 0 && len(v.Text) <= 100 {
				return v.words()
			}
		}
	}
	return ""
}
