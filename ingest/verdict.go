package ingest

import (
	"fmt"
	"math"

	"passhat/ingest/store"
)

// addVerdict takes one of the row's verdicts; several must agree.
func (m *Mapper) addVerdict(i int, v Value) string {
	r := &m.row
	b, ok := v.boolean()
	if !ok {
		if f, isNum := v.float(); isNum && math.IsNaN(f) {
			m.stats.NaN++
			return "" // how pandas writes a missing value
		}
		return m.addEnding(v)
	}
	if r.verdicts == 0 {
		r.verdict, r.verdictAt = b, i
	} else if b != r.verdict {
		r.conflict = i
	}
	r.verdicts++
	return ""
}

// addEnding takes a word such as error, timeout or skipped in place of a verdict.
func (m *Mapper) addEnding(v Value) string {
	kind, ok := v.ending()
	switch {
	case !ok:
		return notA(v, verdictWords)
	case kind == "":
		m.row.skipped = true
	default:
		m.row.errored, m.row.errorKind, m.row.errorWord = true, kind, v
	}
	return ""
}

// noTrial drops the last trial where the row says that there was none.
func (m *Mapper) noTrial() bool {
	if !m.row.skipped || m.row.verdicts > 0 || m.row.errored {
		return false
	}
	m.Trials = m.Trials[:len(m.Trials)-1]
	m.stats.Skipped++
	return true
}

// settleEnding says what the word for an error tells of a trial.
func (m *Mapper) settleEnding(t *store.Trial) {
	if t.ErrorType == "" && t.ErrorMessage == "" {
		t.ErrorType, t.ErrorMessage = m.row.errorKind, m.str(m.row.errorWord)
	}
	m.stats.Errored++
}

// settleVerdict decides passed from what addVerdict has gathered.
func (m *Mapper) settleVerdict(t *store.Trial, shape *Shape) string {
	r := &m.row
	switch {
	case r.conflict >= 0:
		a, b := shape.names[r.verdictAt], shape.names[r.conflict]
		return fmt.Sprintf("%s is %t but %s is %t: say which is the verdict by --map passed=%s", a, r.verdict, b, !r.verdict, pathTo(b))
	case r.verdicts > 0:
		t.Passed = store.Some(r.verdict)
		if t.PassRule == "" {
			t.PassRule = shape.rules[r.verdictAt]
		}
	case r.boolScore:
		t.Passed = store.Some(t.Score.V == 1)
		if t.PassRule == "" {
			t.PassRule = "log: " + t.ScoreName
		}
	case r.errored && r.mode == oneTrial:
		m.settleEnding(t)
	}
	return ""
}
