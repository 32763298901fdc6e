package ingest

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"passhat/ingest/store"
)

// expandRuns replaces the row's trial, the last one, by one trial for each
// element of its list. An element is an object of its own fields, or just a
// verdict; null is an ungraded trial.
func (m *Mapper) expandRuns(shape *Shape, line int64, path string, raw []byte) {
	last := len(m.Trials) - 1
	parent := m.Trials[last]
	m.Trials = m.Trials[:last]
	list := m.row.runs.Text
	name := shape.names[shape.runsAt]
	_, err := scanArray(list, 0, func(i int, v Value) error {
		if i == maxCount {
			return fmt.Errorf("one row may hold at most %d trials", maxCount)
		}
		at := name + "[" + strconv.Itoa(i) + "]"
		if path != "" {
			at = path + "." + at
		}
		t := m.next()
		*t = parent
		m.row = rowParts{conflict: -1, sampling: m.row.sampling[:0]}
		if reason := m.element(t, name, v); reason != "" {
			m.Trials = m.Trials[:len(m.Trials)-1]
			m.reject(line, at, reason, v.Text)
			return nil
		}
		if m.noTrial() {
			return nil
		}
		mixHash(t, i)
		if line > 0 {
			at = strconv.FormatInt(line, 10) + ": " + at
		}
		t.SourceRow = at
		return nil
	})
	if err != nil {
		m.Trials = m.Trials[:last]
		m.reject(line, path, name+": "+err.Error(), raw)
	}
}

// mixHash tells the trials of one row apart, and binds each to the whole row:
// two nights with the same verdict in one place are not the same trial.
func mixHash(t *store.Trial, i int) {
	n := uint64(i) * 0x9E3779B97F4A7C15
	binary.BigEndian.PutUint64(t.RowHash[8:], binary.BigEndian.Uint64(t.RowHash[8:])^n)
}

// element fills t, a copy of its task's fields, from one element.
func (m *Mapper) element(t *store.Trial, list string, v Value) string {
	switch v.Kind {
	case Null:
		return ""
	case Object:
	default:
		b, ok := v.boolean()
		if _, word := v.ending(); !ok && word {
			reason := m.addEnding(v)
			if m.row.errored {
				m.settleEnding(t)
			}
			return reason
		}
		if !ok {
			return notA(v, "a trial: an object {…} or "+verdictWords)
		}
		t.Passed = store.Some(b)
		t.PassRule = "log: " + list
		return ""
	}
	fields, _, err := scanObject(v.Text, 0, nil)
	if err != nil {
		return err.Error()
	}
	names := make([]string, len(fields))
	vals := make([]Value, len(fields))
	for i, f := range fields {
		names[i], vals[i] = m.name(f), f.val
	}
	shape := m.shapeOf(names, true)
	m.begin(shape)
	if inner := len(t.Extra) - 1; inner > 1 {
		m.extra = append(append(m.extra, ','), t.Extra[1:inner]...)
	}
	return m.fill(t, shape, vals)
}

// expandCounts replaces the row's trial by n trials of which the first c passed.
func (m *Mapper) expandCounts(shape *Shape, line int64, path string, raw []byte) {
	last := len(m.Trials) - 1
	n, c := m.row.n, m.row.c
	reason := ""
	switch {
	case m.row.badCount != "":
		reason = "c = " + cutText(m.row.badCount, 40) + " is no whole number of successes"
	case n == 0:
		reason = "n = 0: a row of counts stands for at least one trial"
	case n < 0 || c < 0:
		reason = fmt.Sprintf("counts below zero: n = %d, c = %d", n, c)
	case c > n:
		reason = fmt.Sprintf("c = %d exceeds n = %d", c, n)
	case n > maxCount:
		reason = fmt.Sprintf("n = %d: one row may stand for at most %d trials", n, maxCount)
	}
	if reason != "" {
		m.Trials = m.Trials[:last]
		m.reject(line, path, reason, raw)
		return
	}
	t := m.Trials[last]
	t.PassRule = "log: " + shape.names[m.row.cAt]
	m.Trials = m.Trials[:last]
	for i := range int(n) {
		one := m.next()
		*one = t
		one.Passed = store.Some(int64(i) < c)
		mixHash(one, i)
	}
}
