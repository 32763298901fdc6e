package ingest

import (
	"fmt"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

// empty reports whether a value says nothing; NaN is how pandas writes one that
// is missing.
func (v Value) empty() bool {
	switch v.Kind {
	case Null:
		return true
	case Untyped, Number:
		n, ok := v.float()
		return len(v.Text) == 0 || ok && n != n
	}
	return false
}

// fill puts the row's values into t; the text says why the row cannot be read.
func (r *presetReader) fill(t *store.Trial, row *presetRow) (string, error) {
	for _, f := range r.fixed {
		columns[f.col].set(r.m, t, f.val)
	}
	for i := range r.columns {
		if reason := r.column(t, row, &r.columns[i]); reason != "" {
			return r.columns[i].col + " (from " + strings.Join(r.columns[i].from, ", ") + "): " + reason, nil
		}
	}
	r.gather(row.fields)
	r.setScores(t)
	for i, f := range row.fields {
		if r.used[i] || f.val.Kind == Null {
			continue
		}
		norm := normalName(r.names[i])
		switch {
		case isSecret(norm):
			r.m.stats.Secrets++
		case samplingOnly[norm]:
			if f.val.Kind == Object {
				r.m.row.sampling = append(r.m.row.sampling, f.val)
			}
			r.m.stats.Secrets++
		default:
			if reason := r.m.addExtra(&target{json: appendQuoted(nil, []byte(r.names[i]))}, r.names[i], f.val); reason != "" {
				return reason, nil
			}
		}
	}
	passed, rule, score, name := t.Passed, t.PassRule, t.Score, t.ScoreName
	if reason := r.m.settle(t, &r.shape); reason != "" {
		return reason, nil
	}
	// settle chooses by rules of its own.
	t.Passed, t.PassRule, t.Score, t.ScoreName = passed, rule, score, name
	return "", nil
}

// column fills one column.
func (r *presetReader) column(t *store.Trial, row *presetRow, c *boundColumn) string {
	if c.join {
		return r.joined(t, row, c)
	}
	for i := range c.paths {
		v, at, ok := r.find(row.fields, &c.paths[i])
		if at >= 0 {
			r.used[at] = true
		}
		if !ok || v.empty() {
			continue
		}
		r.m.stats.used(Used{columns[c.id].name, c.paths[i].text})
		reason := r.assign(t, c, c.paths[i].text, v)
		if reason != "" && !c.exact {
			if reason != notColumn {
				r.m.stats.mismatch(c.paths[i].text, c.col)
			}
			return ""
		}
		return reason
	}
	return ""
}

// joined fills a column with several fields, joined by '/'.
func (r *presetReader) joined(t *store.Trial, row *presetRow, c *boundColumn) string {
	var parts []string
	for i := range c.paths {
		v, at, ok := r.find(row.fields, &c.paths[i])
		if at >= 0 {
			r.used[at] = true
		}
		if ok && !v.empty() {
			parts = append(parts, keyText(v))
			r.m.stats.used(Used{columns[c.id].name, c.paths[i].text})
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return columns[c.id].set(r.m, t, StringValue(strings.Join(parts, "/")))
}

func (s *Stats) used(u Used) {
	if s.Used == nil {
		s.Used = map[Used]int64{}
	}
	s.use(u, 1)
}

// assign converts a value and puts it into a column.
func (r *presetReader) assign(t *store.Trial, c *boundColumn, from string, v Value) string {
	if w, ok := c.words[strings.ToLower(v.words())]; ok {
		v = StringValue(w)
		if w == "" {
			return ""
		}
	}
	switch {
	case c.col == "passed":
		b, ok := v.boolean()
		if !ok {
			return notA(v, "a verdict such as true or false")
		}
		t.Passed, t.PassRule = store.Some(b), "log: "+from
		return ""
	case c.col == "score":
		n, ok := r.number(v)
		if !ok {
			return notA(v, "a score")
		}
		t.Score = store.Some(n)
		fill(&t.ScoreName, lastKey(from))
		r.numbers[t.ScoreName]++
		return ""
	case (c.col == "task_id" || c.col == "variant") && r.lossy(v):
		return notText
	case c.col == "task_id" || c.col == "variant":
		v = StringValue(keyText(v))
	case c.col == "trial" && c.base != 0:
		n, ok := v.integer()
		if !ok || n < c.base {
			return notA(v, fmt.Sprintf("a trial number from %d on", c.base))
		}
		v = Value{Kind: Number, Text: strconv.AppendInt(nil, n-c.base, 10)}
	case c.per != 0:
		n, ok := v.float()
		if !ok {
			return notA(v, "a number")
		}
		v = Value{Kind: Number, Text: strconv.AppendFloat(nil, n/c.per, 'g', -1, 64)}
	case c.utc && v.Kind == String:
		if s := v.words(); !strings.HasSuffix(s, "Z") {
			v = StringValue(s + "Z")
		}
	}
	return columns[c.id].set(r.m, t, v)
}

func (r *presetReader) lossy(v Value) bool { return v.Kind < Object && losesText(v) }

// lastKey is the last name of a path.
func lastKey(path string) string {
	steps, err := parsePath(path)
	if err != nil {
		return path
	}
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].key != "" {
			return steps[i].key
		}
	}
	return path
}
