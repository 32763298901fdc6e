package ingest

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"passhat/ingest/store"
)

// inspectPick is which of a log's scores becomes the column score.
type inspectPick struct {
	asked string // --score
	// scorer names a score, key one of the values that it is a set of.
	scorer, key string
	// settled: the choice holds whatever the samples have.
	settled bool
	why     string
	listed  []string // names in the header, in its order
	single  string   // name of the one score of old logs
	hits    int64
	seen    []string // names that samples have
}

// newInspectPick follows what Inspect itself shows first: the declared headline
// metric, else the first of its results.
func newInspectPick(h, eval Value, opt *Options) inspectPick {
	p := inspectPick{asked: opt.Score, single: "score"}
	results := h.get("results")
	results.get("scores").eachElement(func(_ int, s Value) bool {
		name, scorer := s.get("name").words(), s.get("scorer").words()
		if scorer == "" {
			scorer = name
		}
		if name == "" {
			return true
		}
		if p.scorer == "" {
			p.choose(scorer, name, "the first in the log's results")
			p.settled = true
		}
		if full := joinScore(scorer, name); !slices.Contains(p.listed, full) && len(p.listed) < 100 {
			p.listed = append(p.listed, full)
		}
		return true
	})
	if name := results.get("scorer", "name").words(); name != "" {
		p.single = name
	} else if len(p.listed) > 0 {
		p.single = p.listed[0]
	}
	headline := results.get("headline")
	if headline.Kind != Object {
		headline = eval.get("headline_metric")
	}
	scorer, name := headline.get("scorer").words(), headline.get("score").words()
	fill(&scorer, name)
	fill(&name, scorer)
	if slices.Contains(p.listed, joinScore(scorer, name)) && scorer != "" {
		p.choose(scorer, name, "the log's headline metric")
	}
	if p.scorer == "" {
		eval.get("scorers").eachElement(func(_ int, s Value) bool {
			name := s.get("name").words()
			p.choose(name[strings.LastIndexByte(name, '/')+1:], "", "the first of the log's scorers")
			return false
		})
	}
	return p
}

func (p *inspectPick) choose(scorer, name, why string) {
	p.scorer, p.key, p.why = scorer, "", why
	if name != "" && name != scorer {
		p.key = name
	}
}

// joinScore names a value within a score: SCORER.KEY.
func joinScore(scorer, name string) string {
	if name == "" || name == scorer {
		return scorer
	}
	return scorer + "." + name
}

// inspectScore is one score of a sample.
type inspectScore struct {
	name  string
	value Value
	whole Value // with answer and explanation
}

// inspectScores lists a sample's scores; single names the one of old logs.
func inspectScores(row *inspectRow, single string) []inspectScore {
	var out []inspectScore
	add := func(name string, v Value) bool {
		s := inspectScore{name: name, value: v, whole: v}
		if v.Kind == Object {
			s.value = v.get("value")
		}
		if v.Kind != Null {
			out = append(out, s)
		}
		return len(out) < 200
	}
	row.get("scores").eachMember(add)
	if v := row.get("score"); len(out) == 0 && v.Kind != Null {
		add(single, v)
	}
	return out
}

// score judges a sample by the score that was chosen. It returns what is wrong
// with the scores, or "".
func (l *inspectLog) score(t *store.Trial, row *inspectRow, extra *jsonObject) (reason string) {
	var clean cleaner
	for _, key := range []string{"scores", "score"} {
		if _, err := clean.value(nil, row.get(key)); err != nil {
			return err.Error()
		}
	}
	all := inspectScores(row, l.pick.single)
	if len(all) == 0 {
		return ""
	}
	t.Scores = l.scoresJSON(all)
	s, key, ok := l.pick.find(all)
	if !ok {
		return ""
	}
	v, name := s.value, joinScore(s.name, key)
	if v.Kind == Object {
		if key == "" {
			if key = l.onlyKey(s); key == "" {
				return ""
			}
			name = joinScore(s.name, key)
		}
		v = v.get(key)
	}
	// What stands under a name like cookie is no grade to be read but a secret; that it
	// passed, if it is one of the values that say so, is none.
	secret := neverStored(normalName(s.name)) || neverStored(normalName(key))
	if !secret {
		extra.keep("answer", s.whole.get("answer"))
		if v.Kind == String {
			extra.text("grade", v.words())
		}
	}
	x, kind := valueToFloat(v)
	switch kind {
	case valueRead:
		t.Score, t.Passed = store.Some(x), store.Some(x >= 1)
		t.ScoreName, t.PassRule = name, inspectPassRule
	case valueInfinite:
		l.tally.infinite++
	case valueUnread:
		shown := quoteShort(v.Text)
		if secret {
			shown = leftOut
		}
		count(&l.tally.noValue, name+" = "+shown)
	}
	return ""
}

// count counts a name, as long as there are not too many.
func count(m *map[string]int64, name string) {
	if *m == nil {
		*m = map[string]int64{}
	}
	if _, ok := (*m)[name]; ok || len(*m) < 100 {
		(*m)[name]++
	}
}

// onlyKey is the key of a score that is a set of one value; a set of several is
// remembered, since one of them must be chosen.
func (l *inspectLog) onlyKey(s inspectScore) string {
	var keys []string
	s.value.eachMember(func(key string, _ Value) bool { keys = append(keys, key); return len(keys) < 20 })
	if len(keys) == 1 {
		return keys[0]
	}
	if l.tally.setValues == nil {
		l.tally.setValues = map[string]bool{}
	}
	for _, k := range keys {
		if len(l.tally.setValues) < 100 {
			l.tally.setValues[joinScore(s.name, k)] = true
		}
	}
	return ""
}

// find picks the chosen score out of a sample's.
func (p *inspectPick) find(all []inspectScore) (s inspectScore, key string, ok bool) {
	for _, s := range all {
		if !slices.Contains(p.seen, s.name) && len(p.seen) < 100 {
			p.seen = append(p.seen, s.name)
		}
	}
	if p.asked != "" {
		s, key, ok = findAsked(all, p.asked)
	} else {
		at := p.named(all)
		if at < 0 && !p.settled {
			// The log is unfinished: its first sample's first score.
			p.choose(all[0].name, "", "the first of the samples' scores")
			at = 0
		}
		p.settled = true
		if ok = at >= 0; ok {
			s, key = all[at], p.key
			if s.name == p.key {
				key = ""
			}
		}
	}
	if ok {
		p.hits++
	}
	return s, key, ok
}

func (p *inspectPick) named(all []inspectScore) int {
	at := slices.IndexFunc(all, func(s inspectScore) bool { return s.name == p.scorer })
	if at < 0 && p.key != "" {
		at = slices.IndexFunc(all, func(s inspectScore) bool { return s.name == p.key })
	}
	return at
}

// findAsked finds NAME, or SCORER.KEY where SCORER is a set of values.
func findAsked(all []inspectScore, asked string) (inspectScore, string, bool) {
	for _, s := range all {
		if s.name == asked {
			return s, "", true
		}
	}
	for _, s := range all {
		key, ok := strings.CutPrefix(asked, s.name+".")
		if ok && s.value.Kind == Object {
			if _, has := memberOf(s.value, key); has {
				return s, key, true
			}
		}
	}
	return inspectScore{}, "", false
}

// How valueToFloat took a value.
const (
	valueRead     = iota
	valueUnscored // null, NaN: Inspect's own mark of a sample without a score
	valueInfinite
	valueUnread // Inspect takes such for 0, with a warning
)

// valueToFloat maps a score to a number as Inspect's value_to_float does, with
// its default letters, but tells what that does not understand.
func valueToFloat(v Value) (x float64, kind int) {
	switch v.Kind {
	case Null:
		return 0, valueUnscored
	case Bool:
		if v.Text[0] == 't' {
			return 1, valueRead
		}
		return 0, valueRead
	case Number:
		f, ok := v.float()
		switch {
		case !ok:
			return 0, valueUnread
		case math.IsNaN(f):
			return 0, valueUnscored
		case math.IsInf(f, 0):
			return 0, valueInfinite
		}
		return f, valueRead
	case String:
		return textToFloat(v)
	}
	return 0, valueUnread
}

func textToFloat(v Value) (float64, int) {
	text, _ := v.text(nil)
	switch string(text) {
	case "C":
		return 1, valueRead
	case "P":
		return 0.5, valueRead
	case "I", "N":
		return 0, valueRead
	}
	text = bytes.TrimSpace(text)
	switch strings.ToLower(string(text)) {
	case "yes", "true":
		return 1, valueRead
	case "no", "false":
		return 0, valueRead
	}
	if f, ok := parseFloat(text); ok && !math.IsNaN(f) && !math.IsInf(f, 0) {
		return f, valueRead
	}
	return 0, valueUnread
}

// scoresJSON keeps every score as a number, a set of values one by one; what is
// no number stays as it is.
func (l *inspectLog) scoresJSON(all []inspectScore) string {
	var o jsonObject
	add := func(name string, v Value, secret bool) {
		if x, kind := valueToFloat(v); kind == valueRead {
			o.num(name, store.Some(x))
		} else if kind == valueUnread && len(v.Text) <= 1<<10 && !secret {
			o.keep(name, v)
		}
	}
	for _, s := range all {
		secret := neverStored(normalName(s.name))
		if s.value.Kind != Object {
			add(s.name, s.value, secret)
			continue
		}
		s.value.eachMember(func(key string, v Value) bool {
			add(joinScore(s.name, key), v, secret || neverStored(normalName(key)))
			return len(o.keys) < 500
		})
	}
	return o.String()
}
