package ingest

import (
	"fmt"
	"slices"
	"strings"

	"passhat/ingest/store"
)

// gather collects the row's scores by name.
func (r *presetReader) gather(fields []field) {
	r.list = r.list[:0]
	for i := range r.scores {
		s := &r.scores[i]
		if s.before != "" || s.after != "" {
			for j := range fields {
				if name, ok := starPart(r.names[j], s.before, s.after); ok {
					r.used[j] = true
					r.addScore(name, fields[j].val)
				}
			}
			continue
		}
		v, at, ok := r.find(fields, &s.path)
		if !ok {
			continue
		}
		if v.Kind == String || v.Kind == Untyped {
			text, _ := v.text(nil)
			if o, isJSON := JSONValue(text); isJSON {
				v = o
			}
		}
		if at >= 0 && v.Kind >= Object {
			r.used[at] = true
		}
		switch v.Kind {
		case Object:
			v.eachMember(func(name string, v Value) bool { r.addScore(name, v); return true })
		case Array:
			v.eachElement(func(_ int, e Value) bool { r.listedScore(s, e); return true })
		}
	}
}

func (r *presetReader) listedScore(s *boundScore, e Value) {
	name, _ := walkPath(e, s.name)
	for _, steps := range s.values {
		if v, ok := walkPath(e, steps); ok && !v.empty() {
			r.addScore(name.words(), v)
			return
		}
	}
}

// addScore keeps a score; of two of one name the first that is there counts.
func (r *presetReader) addScore(name string, v Value) {
	if name == "" || v.empty() || len(r.list) >= maxShapes || isSecret(normalName(name)) {
		return
	}
	if !slices.ContainsFunc(r.list, func(s namedScore) bool { return s.name == name }) {
		r.list = append(r.list, namedScore{name, v})
	}
}

// number reads a score: a number, a boolean, a word for one, a letter that the
// preset knows, or an object with a value.
func (r *presetReader) number(v Value) (float64, bool) {
	if n, ok := scoreOf(v); ok {
		return n, true
	}
	if v.Kind != String && v.Kind != Untyped {
		return 0, false
	}
	if n, ok := r.p.letters[v.words()]; ok {
		return n, true
	}
	if n, ok := v.float(); ok && n-n == 0 {
		return n, true
	}
	b, ok := v.boolean()
	return float64(boolInt(b)), ok
}

// setScores keeps all scores and makes one of them the column score: that of
// --score, one the preset prefers, or the only one.
func (r *presetReader) setScores(t *store.Trial) {
	var o jsonObject
	numbers, only := 0, -1
	for i, s := range r.list {
		n, ok := r.number(s.val)
		switch {
		case ok:
			o.raw(s.name, appendJSONFloat(nil, n, 64))
			r.count(s.name)
			numbers, only = numbers+1, i
		default:
			o.keep(s.name, s.val)
		}
	}
	if t.Score.OK && t.ScoreName != "" && len(r.list) > 0 {
		o.num(t.ScoreName, t.Score)
	}
	if text := o.String(); text != "" && len(text) <= maxExtra {
		t.Scores = text
	}
	choose := func(name string) bool {
		i := slices.IndexFunc(r.list, func(s namedScore) bool { return s.name == name })
		if i < 0 {
			return false
		}
		n, ok := r.number(r.list[i].val)
		if ok {
			t.Score, t.ScoreName = store.Some(n), name
		}
		return ok
	}
	switch {
	case r.opt.Score != "":
		if t.ScoreName != r.opt.Score {
			t.Score, t.ScoreName = store.Opt[float64]{}, ""
			choose(r.opt.Score)
		}
	case t.Score.OK:
	case slices.ContainsFunc(r.p.prefer, choose):
	case numbers == 1 && r.several() <= 1:
		choose(r.list[only].name)
	}
}

// count counts a score's name, of a bounded number of names.
func (r *presetReader) count(name string) {
	if _, ok := r.numbers[name]; ok || len(r.numbers) < maxShapes {
		r.numbers[strings.Clone(name)]++
	}
}

// several is how many scores of different names there have been.
func (r *presetReader) several() int { return len(r.numbers) }

// judge decides passed where the row has no verdict of its own.
func (r *presetReader) judge(t *store.Trial) error {
	if t.Passed.OK {
		return nil
	}
	if !t.Score.OK && r.several() > 1 && r.opt.Score == "" && r.opt.PassWhen == "" && len(r.list) > 0 {
		return fmt.Errorf("%s: its trials have several scores and no verdict: choose one by --score NAME (there %s), or judge by --pass-when 'scores[\"NAME\"] >= 1'",
			r.in.Name, r.scoreList())
	}
	if r.rule == nil {
		return nil
	}
	if passed, ok := r.rule.Judge(t); ok {
		t.Passed, t.PassRule = store.Some(passed), r.rule.text
	}
	return nil
}
