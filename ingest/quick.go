package ingest

import (
	"passhat/ingest/store"
)

// quickField is a column whose usual values need no more than to be put in place.
type quickField uint8

const (
	notQuick quickField = iota
	quickSuite
	quickRunID
	quickTaskID
	quickVariant
	quickModel
	quickAgent
	quickEffort
	quickShape
	quickTrace
	quickTrial
	quickDuration
	quickCost
	quickInputTokens
	quickOutputTokens
	quickTurns
	quickToolCalls
)

// quickFields are those by column.
var quickFields = func() (of [256]quickField) {
	for name, q := range map[string]quickField{
		"suite": quickSuite, "run_id": quickRunID, "task_id": quickTaskID, "variant": quickVariant, "model": quickModel, "agent": quickAgent,
		"effort": quickEffort, "shape": quickShape, "trace": quickTrace, "trial": quickTrial,
		"duration_s": quickDuration, "cost_usd": quickCost, "input_tokens": quickInputTokens, "output_tokens": quickOutputTokens,
		"turns": quickTurns, "tool_calls": quickToolCalls,
	} {
		of[mustColumn(name)] = q
	}
	return of
}()

// quick does what the column's setter does with a value as logs usually have it, and
// reports false, having done nothing, for any other: then the setter is to be asked.
func (m *Mapper) quick(t *store.Trial, col columnID, v Value) bool {
	q := quickFields[col]
	switch v.Kind {
	case Number:
		return q >= quickTrial && quickNumber(t, q, v.Text)
	case String, Untyped:
		if q == notQuick || v.Escaped || !m.checked || !m.stable {
			return false
		}
		if q >= quickTrial {
			return v.Kind == Untyped && quickNumber(t, q, v.Text)
		}
		*quickText(t, q) = view(v.Text)
		return true
	}
	return false
}

func quickText(t *store.Trial, q quickField) *string {
	switch q {
	case quickSuite:
		return &t.Suite
	case quickRunID:
		return &t.RunID
	case quickTaskID:
		return &t.TaskID
	case quickVariant:
		return &t.Variant
	case quickModel:
		return &t.Model
	case quickAgent:
		return &t.Agent
	case quickEffort:
		return &t.Effort
	case quickShape:
		return &t.Shape
	}
	return &t.Trace
}

// quickNumber takes numbers of few digits, which are finite and fit everywhere.
func quickNumber(t *store.Trial, q quickField, text []byte) bool {
	if q == quickDuration || q == quickCost {
		f, ok := shortFloat(text)
		switch {
		case !ok:
			return false
		case q == quickDuration:
			t.DurationS = store.Some(f)
		default:
			t.CostUSD = store.Some(f)
		}
		return true
	}
	n, ok := shortInt(text)
	if !ok {
		return false
	}
	switch q {
	case quickTrial:
		t.Trial = store.Some(int32(n))
		if t.TrialFrom == "" {
			t.TrialFrom = store.TrialExplicit
		}
	case quickInputTokens:
		t.InputTokens = store.Some(n)
	case quickOutputTokens:
		t.OutputTokens = store.Some(n)
	case quickTurns:
		t.Turns = store.Some(int32(n))
	case quickToolCalls:
		t.ToolCalls = store.Some(int32(n))
	default:
		return false
	}
	return true
}

// shortInt reads up to nine digits.
func shortInt(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 9 {
		return 0, false
	}
	for _, c := range b {
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	return n, true
}

// shortFloat reads up to fifteen digits with a point among them.
func shortFloat(b []byte) (f float64, ok bool) {
	if len(b) == 0 || len(b) > 15 {
		return 0, false
	}
	n, point := int64(0), len(b)-1
	for i, c := range b {
		if digit := c - '0'; digit <= 9 {
			n = n*10 + int64(digit)
		} else if c == '.' && point == len(b)-1 && i > 0 && i < len(b)-1 {
			point = i
		} else {
			return 0, false
		}
	}
	return float64(n) / pow10[len(b)-1-point], true
}
