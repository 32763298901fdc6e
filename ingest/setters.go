package ingest

import (
	"bytes"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"passhat/ingest/store"
)

// notColumn is the reason of a setter whose value says nothing about the
// column: the field goes to extra and nothing is said.
const notColumn = "is no such thing"

// notText is the reason of a setter for a name that is not text: replacing what
// is wrong in it could make two names one, so the row is a reject.
const notText = "it holds bytes or escapes that are no text (invalid UTF-8, or half of a surrogate pair), so that two names could become one"

// losesText reports whether the characters of a scalar cannot be kept as they are.
func losesText(v Value) bool {
	if !utf8.Valid(v.Text) {
		return true
	}
	if !v.Escaped {
		return false
	}
	for b := v.Text; len(b) > 0; {
		i := bytes.IndexByte(b, '\\')
		if i < 0 || i+1 >= len(b) {
			return i >= 0
		}
		switch c := b[i+1]; c {
		case '"', '\\', '/', 'n', 't', 'r', 'b', 'f':
			b = b[i+2:]
		case 'u':
			r, n := unicodeEscape(b[i+2:])
			if r == utf8.RuneError && !bytes.EqualFold(b[i+2:min(len(b), i+6)], []byte("fffd")) {
				return true
			}
			b = b[i+2+n:]
		default:
			return true
		}
	}
	return false
}

// keep leaves a field to extra.
func keep(*Mapper, *store.Trial, Value) string { return notColumn }

// setCount reads a number of trials: beside a list of trials it is what the run
// meant to do.
func setCount(m *Mapper, t *store.Trial, v Value) string {
	n, ok := v.integer()
	if m.row.mode == runCounts {
		return "" // n has been taken
	}
	if !ok || n < 0 || n > math.MaxInt32 || t.PlannedTrials.OK || m.row.mode == oneTrial {
		return notColumn
	}
	t.PlannedTrials = store.Some(int32(n))
	return ""
}

func setTrial(m *Mapper, t *store.Trial, v Value) string {
	n, ok := v.integer()
	if !ok {
		return notA(v, "a trial number")
	}
	if n < 0 || n > math.MaxInt32 {
		return fmt.Sprintf("is %d, wanted a trial number from 0 to %d", n, math.MaxInt32)
	}
	t.Trial = store.Some(int32(n))
	if t.TrialFrom == "" {
		t.TrialFrom = store.TrialExplicit
	}
	return ""
}

// setPassed serves --set; the verdicts of a log go through addVerdict.
func setPassed(m *Mapper, t *store.Trial, v Value) string {
	b, ok := v.boolean()
	if !ok {
		return notA(v, "true or false")
	}
	t.Passed = store.Some(b)
	return ""
}

func setCached(m *Mapper, t *store.Trial, v Value) string {
	b, ok := v.boolean()
	if !ok {
		return notA(v, "true or false")
	}
	t.Cached = store.Some(b)
	return ""
}

// setScore takes a number; a boolean score is 1 or 0 and a verdict as well.
func setScore(m *Mapper, t *store.Trial, v Value) string {
	if v.Kind == Bool || v.Kind == Untyped && (string(v.Text) == "true" || string(v.Text) == "false") {
		m.row.boolScore = true
		t.Score = store.Some(0.0)
		if v.Text[0] == 't' {
			t.Score.V = 1
		}
		return ""
	}
	return scoreNumber(m, t, v)
}

var scoreNumber = float(func(t *store.Trial) *store.Opt[float64] { return &t.Score }, 1)

// later keeps a value of the wanted kind for settle.
func later(part func(*rowParts) *Value, want Kind) setter {
	return func(m *Mapper, t *store.Trial, v Value) string {
		if v.Kind == Untyped {
			if want != Object {
				v.Kind = String
			} else if o, ok := JSONValue(v.Text); ok {
				v = o
			}
		}
		if v.Kind == String && want == Object {
			// An object that was written as a string.
			text, _ := v.text(nil)
			if o, ok := JSONValue(text); ok {
				v = o
			}
		}
		if v.Kind != want {
			return "is " + v.Kind.String() + ", not " + want.String()
		}
		*part(&m.row) = v
		return ""
	}
}

// setExtra merges an object into extra; another value stays a field of it.
func setExtra(m *Mapper, t *store.Trial, v Value) string {
	if v.Kind == Untyped || v.Kind == String {
		text, _ := v.text(nil)
		if o, ok := JSONValue(text); ok {
			v = o
		}
	}
	if v.Kind != Object {
		return "is " + v.Kind.String() + ", not an object"
	}
	if len(v.Text) > maxExtra {
		m.stats.omit("extra")
		return ""
	}
	mark := len(m.extra)
	before := m.clean.dropped
	out, err := m.clean.value(append(m.extra, ','), v)
	m.stats.Secrets += int64(m.clean.dropped - before)
	if err != nil {
		m.extra = out[:mark]
		return err.Error()
	}
	// ,{"a":1} becomes ,"a":1
	body := out[mark+1:]
	body = body[1 : len(body)-1]
	if len(body) == 0 {
		m.extra = out[:mark]
		return ""
	}
	copy(out[mark+1:], body)
	m.extra = out[:mark+1+len(body)]
	return ""
}

func setEnded(m *Mapper, t *store.Trial, v Value) string {
	at, naive, ok := m.time(v)
	if !ok {
		return notA(v, "a time such as 2026-11-30T12:00:00Z")
	}
	if naive {
		m.stats.NaiveTimes++
	}
	m.row.ended = at
	return ""
}

// setError takes a text, an object with a type and a message, or a flag.
func setError(m *Mapper, t *store.Trial, v Value) string {
	switch v.Kind {
	case Bool:
		if v.Text[0] == 't' && t.ErrorType == "" {
			t.ErrorType = "other"
		}
		return ""
	case Number:
		if n, ok := v.integer(); ok && n == 0 {
			return ""
		}
	case Untyped:
		if o, ok := JSONValue(v.Text); ok && o.Kind != String && o.Kind != Number {
			if o.Kind == Null {
				return ""
			}
			return setError(m, t, o)
		}
	case Object:
		return m.errorObject(t, v)
	case Array:
		if len(v.Text) <= 2 {
			return ""
		}
		v = Value{String, true, v.Text[1 : len(v.Text)-1]}
	}
	t.ErrorMessage = m.message(v)
	return ""
}

// maxMessage is how much of an error message is kept, in bytes.
const maxMessage = 4 << 10

func (m *Mapper) message(v Value) string {
	s := m.str(v)
	if len(s) > maxMessage {
		s = string(appendValid(nil, []byte(s[:maxMessage]))) + "…"
	}
	return s
}

// errorObject reads {"type": …, "message": …} under their usual names; without
// a message the object itself is it.
func (m *Mapper) errorObject(t *store.Trial, v Value) string {
	fields, _, err := scanObject(v.Text, 0, nil)
	if err != nil {
		return err.Error()
	}
	if len(fields) == 0 {
		return ""
	}
	found := false
	for _, f := range fields {
		if f.val.Kind == Null || f.val.Kind >= Object {
			continue
		}
		switch normalName(m.name(f)) {
		case "type", "kind", "name", "class", "errortype", "exceptiontype", "code":
			if t.ErrorType == "" {
				t.ErrorType = m.str(f.val)
			}
		case "message", "msg", "detail", "text", "error", "errormessage", "exceptionmessage", "description":
			if !found {
				t.ErrorMessage, found = m.message(f.val), true
			}
		}
	}
	if !found {
		out, err := m.clean.value(nil, v)
		if err != nil {
			return err.Error()
		}
		t.ErrorMessage = m.message(Value{Kind: String, Text: out})
	}
	return ""
}

// name is the text of a field's key.
func (m *Mapper) name(f field) string {
	if !f.keyEscaped && isASCII(f.key) {
		return string(f.key)
	}
	if f.keyEscaped {
		return string(appendValid(nil, unescape(nil, f.key)))
	}
	return string(appendValid(nil, f.key))
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// time reads a time of day or an epoch number; naive says that it had no zone.
func (m *Mapper) time(v Value) (at time.Time, naive, ok bool) {
	switch v.Kind {
	case Number:
		at, ok = epochTime(v)
		return at, false, ok
	case String, Untyped:
		if v.Escaped {
			return time.Time{}, false, false
		}
		t := trimSpace(v.Text)
		if at, naive, ok = parseTime(t, m.loc); ok {
			return at, naive, true
		}
		at, ok = epochTime(Value{Kind: Number, Text: t})
		return at, false, ok
	}
	return time.Time{}, false, false
}
