package ingest

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"passhat/ingest/store"
)

// settle works out the columns that several fields of a row decide together.
func (m *Mapper) settle(t *store.Trial, shape *Shape) string {
	r := &m.row
	if t.TaskID == "" && !m.noTask && !shape.element {
		if len(shape.names) == 0 {
			return "no task: the row has no field"
		}
		return "no task: none of the fields " + fieldList(shape.names) + " names it (name one by --map task_id=PATH)"
	}
	if r.scores.Kind == Object {
		if reason := m.settleScores(t); reason != "" {
			return "scores: " + reason
		}
	}
	if m.score != "" && t.ScoreName != m.score && t.Score.OK {
		t.Score, t.ScoreName = store.Opt[float64]{}, "" // not the score that was asked for
	}
	if r.usage.Kind == Object {
		if reason := m.settleUsage(t); reason != "" {
			return "usage: " + reason
		}
	}
	if r.config.Kind == Object || len(r.sampling) > 0 {
		m.settleConfig(t)
	}
	if !r.ended.IsZero() && !t.StartedAt.IsZero() && !t.DurationS.OK && !r.ended.Before(t.StartedAt) {
		t.DurationS = store.Some(r.ended.Sub(t.StartedAt).Seconds())
	}
	if r.output.Kind == String && len(r.output.Text) > 0 {
		m.settleOutput(t)
	}
	if reason := m.settleVerdict(t, shape); reason != "" {
		return reason
	}
	if t.TrialFrom == "" && t.Trial.OK {
		t.TrialFrom = store.TrialExplicit
	}
	if len(m.extra) > 0 {
		m.extra[0] = '{'
		m.extra = append(m.extra, '}')
		t.Extra = m.arena.str(m.extra)
	}
	return ""
}

func fieldList(names []string) string {
	const shown = 6
	list := strings.Join(names[:min(len(names), shown)], ", ")
	if len(list) > 120 {
		list = list[:120] + "…"
	}
	if len(names) > shown {
		list += ", …"
	}
	return list
}

// settleScores keeps every score by name and picks the one called --score, or
// the only number there is.
func (m *Mapper) settleScores(t *store.Trial) string {
	raw := m.row.scores.Text
	if len(raw) > maxExtra {
		m.stats.omit("scores")
		return ""
	}
	var err *scanError
	if m.buf, err = m.clean.value(m.buf[:0], m.row.scores); err != nil {
		return err.Error()
	}
	t.Scores = m.arena.str(m.buf)
	m.list, _, err = scanObject(raw, 0, m.list[:0])
	if err != nil {
		return err.Error()
	}
	only, numbers := -1, 0
	for i, f := range m.list {
		if m.score != "" && m.name(f) == m.score {
			if n, ok := scoreOf(f.val); ok {
				t.Score, t.ScoreName = store.Some(n), m.score
			}
			return ""
		}
		if _, ok := scoreOf(f.val); ok {
			only, numbers = i, numbers+1
		}
	}
	if m.score == "" && !t.Score.OK && numbers == 1 {
		n, _ := scoreOf(m.list[only].val)
		t.Score, t.ScoreName = store.Some(n), m.name(m.list[only])
	} else if m.score == "" && !t.Score.OK && numbers > 1 {
		m.stats.SeveralScores++
	}
	return ""
}

// scoreOf is the number in a score: a number, a boolean, or an object with a
// value.
func scoreOf(v Value) (float64, bool) {
	switch v.Kind {
	case Bool:
		if v.Text[0] == 't' {
			return 1, true
		}
		return 0, true
	case Number:
		f, ok := v.float()
		return f, ok && f-f == 0 // neither NaN nor infinite
	case Object:
		for _, key := range []string{"value", "score"} {
			if got, ok := walkPath(v, []pathStep{{key: key}}); ok && got.Kind != Object {
				return scoreOf(got)
			}
		}
	}
	return 0, false
}

var usageNames = map[string]string{
	"input": "input_tokens", "in": "input_tokens", "prompt": "input_tokens",
	"output": "output_tokens", "out": "output_tokens", "completion": "output_tokens",
	"reasoning": "reasoning_tokens",
}

// settleUsage takes token counts and cost out of a usage object; an object that
// holds anything else stays in extra as well.
func (m *Mapper) settleUsage(t *store.Trial) string {
	raw := m.row.usage
	var err *scanError
	m.list, _, err = scanObject(raw.Text, 0, m.list[:0])
	if err != nil {
		return err.Error()
	}
	rest := false
	for _, f := range m.list {
		norm := normalName(m.name(f))
		name := usageNames[norm]
		if ref, ok := namesOf[norm]; ok && name == "" {
			name = columns[ref.col].name
		}
		switch {
		case f.val.Kind == Null:
		case norm == "totaltokens" || norm == "total":
		case f.val.Kind == Object && strings.HasSuffix(norm, "details"):
			if got, ok := walkPath(f.val, []pathStep{{key: "reasoning_tokens"}}); ok && !t.ReasoningTokens.OK {
				if n, ok := got.integer(); ok {
					t.ReasoningTokens = store.Some(n)
				}
			}
			rest = true
		case !m.usageField(t, name, f.val):
			rest = true
		}
	}
	if rest {
		return m.addExtra(&target{json: []byte(`"usage"`)}, "usage", raw)
	}
	return ""
}

func (m *Mapper) usageField(t *store.Trial, name string, v Value) bool {
	var into *store.Opt[int64]
	switch name {
	case "input_tokens":
		into = &t.InputTokens
	case "output_tokens":
		into = &t.OutputTokens
	case "reasoning_tokens":
		into = &t.ReasoningTokens
	case "cost_usd":
		if f, ok := v.float(); ok && f-f == 0 {
			if !t.CostUSD.OK {
				t.CostUSD = store.Some(f)
			}
			return true
		}
		return false
	default:
		return false
	}
	n, ok := v.integer()
	if ok && !into.OK {
		*into = store.Some(n)
	}
	return ok
}

// settleOutput hashes the final output, so that cached answers can be seen, and
// keeps the text itself while it is short.
func (m *Mapper) settleOutput(t *store.Trial) {
	text := m.row.output.Text
	if m.row.output.Escaped {
		m.buf = unescape(m.buf[:0], text)
		text = m.buf
	}
	if t.OutputHash == "" {
		t.OutputHash = m.arena.str(hex16(text))
	}
	m.addExtra(&target{json: []byte(`"output"`)}, "output", Value{Kind: String, Text: text})
}

func hex16(b []byte) []byte {
	var sum [8]byte
	h := xxh3.Hash(b)
	for i := range sum {
		sum[i] = byte(h >> (56 - 8*i))
	}
	return hex.AppendEncode(nil, sum[:])
}

// configEntry is one configuration as logs repeat it on every line.
type configEntry struct {
	text, hash    string
	model, effort string
	temp, topP    store.Opt[float64]
	seed          store.Opt[int64]
}

// settleConfig keeps the settings a row declares, without secrets, under sorted
// keys, and fills the columns of sampling from them.
func (m *Mapper) settleConfig(t *store.Trial) {
	m.buf = append(m.buf[:0], m.row.config.Text...)
	for _, s := range m.row.sampling {
		m.buf = append(append(m.buf, 0), s.Text...)
	}
	e := m.config[string(m.buf)]
	if e == nil {
		e = m.rememberConfig(string(m.buf))
	}
	if t.Config == "" {
		t.Config = e.text
		if t.ConfigHash == "" {
			t.ConfigHash = e.hash
		}
	}
	fill(&t.Model, e.model)
	fill(&t.Effort, e.effort)
	fillOpt(&t.Temperature, e.temp)
	fillOpt(&t.TopP, e.topP)
	fillOpt(&t.Seed, e.seed)
}

// maxConfigBytes is how much of settings is remembered.
const maxConfigBytes = 4 << 20

// rememberConfig reads a configuration and remembers it by its text, unless that is long.
func (m *Mapper) rememberConfig(text string) *configEntry {
	e := m.readConfig()
	size := len(text) + len(e.text)
	if size > maxConfigBytes/16 {
		return e
	}
	if m.kept += size; m.kept > maxConfigBytes || len(m.config) >= maxShapes {
		clear(m.config)
		m.kept = size
	}
	m.config[text] = e
	return e
}

func fill(dst *string, s string) {
	if *dst == "" {
		*dst = s
	}
}

func fillOpt[T any](dst *store.Opt[T], o store.Opt[T]) {
	if !dst.OK {
		*dst = o
	}
}

func (m *Mapper) readConfig() *configEntry {
	e := &configEntry{}
	var members []string
	seen := map[string]bool{}
	sampling := m.row.sampling
	add := func(v Value, only bool) {
		fields, _, err := scanObject(v.Text, 0, nil)
		if err != nil {
			return
		}
		for _, f := range fields {
			name := m.name(f)
			norm := normalName(name)
			switch {
			case isSecret(norm), only && !samplingFields[norm], seen[name]:
				continue
			case samplingOnly[norm]:
				// What the settings themselves say comes before what they hand on.
				sampling = append(sampling[:len(sampling):len(sampling)], f.val)
				continue
			}
			e.take(m, norm, f.val)
			out, err := m.clean.value(append(appendQuoted(nil, []byte(name)), ':'), f.val)
			if err != nil || len(out) > maxExtra {
				m.stats.omit(name)
				continue
			}
			seen[name] = true
			members = append(members, string(out))
		}
	}
	if m.row.config.Kind == Object {
		add(m.row.config, false)
	}
	for _, s := range sampling {
		add(s, true)
	}
	if len(members) == 0 {
		return e
	}
	slices.Sort(members)
	e.text = "{" + strings.Join(members, ",") + "}"
	e.hash = string(hex16([]byte(e.text)))
	return e
}

// take fills the columns of sampling from a setting.
func (e *configEntry) take(m *Mapper, norm string, v Value) {
	switch norm {
	case "model", "modelname", "modelid":
		if v.Kind == String {
			e.model = strings.Clone(m.str(v))
		}
	case "effort", "reasoningeffort":
		if v.Kind == String {
			e.effort = strings.Clone(m.str(v))
		}
	case "temperature":
		if f, ok := v.float(); ok && f-f == 0 {
			e.temp = store.Some(f)
		}
	case "topp":
		if f, ok := v.float(); ok && f-f == 0 {
			e.topP = store.Some(f)
		}
	case "seed":
		if n, ok := v.integer(); ok {
			e.seed = store.Some(n)
		}
	}
}
