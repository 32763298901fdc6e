package reports

import (
	"math"
	"sort"
	"strconv"
	"strings"
	"time"
)

// paramTypes are the types that a report's own parameter may have.
var paramTypes = map[string]bool{
	"INTEGER": true, "BIGINT": true, "DOUBLE": true, "VARCHAR": true, "BOOLEAN": true,
	"DATE": true, "TIMESTAMP": true, "TIMESTAMPTZ": true,
	"INTEGER[]": true, "DOUBLE[]": true, "VARCHAR[]": true, "WEEK": true,
}

func paramTypeNames() []string {
	var names []string
	for n := range paramTypes {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

// parseValue turns the text of a parameter into the value that is bound. NULL
// is NULL for any type; quotes around a text are taken off.
func parseValue(p Param, text string) (any, error) {
	if strings.EqualFold(text, "NULL") {
		return nil, nil
	}
	if n := len(text); n >= 2 && text[0] == '\'' && text[n-1] == '\'' {
		text = strings.ReplaceAll(text[1:n-1], "''", "'")
	}
	wrong := func(want string) error {
		return usagef("value %q: %s is wanted", text, want)
	}
	switch p.Type {
	case "INTEGER", "BIGINT":
		bits := 64
		if p.Type == "INTEGER" {
			bits = 32
		}
		v, err := strconv.ParseInt(text, 10, bits)
		if err != nil {
			return nil, wrong("a whole number")
		}
		if bits == 32 {
			return int32(v), nil
		}
		return v, nil
	case "DOUBLE":
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, wrong("a number")
		}
		return v, nil
	case "BOOLEAN":
		v, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return nil, wrong("true or false")
		}
		return v, nil
	case "DATE", "TIMESTAMP", "TIMESTAMPTZ":
		from, _, err := parseSpan("value", text, time.Time{})
		if err != nil {
			return nil, wrong("a date such as 2026-11-30")
		}
		return from, nil
	case "WEEK":
		// Bound as text, in one spelling: last, current or 2026-W48.
		word := strings.ToLower(strings.TrimSpace(text))
		if word == "last" || word == "current" {
			return word, nil
		}
		m := reWeek.FindStringSubmatch(strings.ToUpper(word))
		if m == nil {
			return nil, wrong("last, current or an ISO week such as 2026-W48")
		}
		if _, _, err := parseSpan("value", m[0], time.Time{}); err != nil {
			return nil, err
		}
		return m[1] + "-W" + m[2], nil
	case "INTEGER[]", "DOUBLE[]", "VARCHAR[]":
		return parseList(strings.TrimSuffix(p.Type, "[]"), text)
	}
	return text, nil
}

func parseList(elem, text string) (any, error) {
	var parts []string
	if t := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(text), "["), "]")); t != "" {
		parts = strings.Split(t, ",")
	}
	ints, floats, words := []int32{}, []float64{}, []string{}
	for _, part := range parts {
		part = strings.TrimSpace(part)
		v, err := parseValue(Param{Type: elem}, part)
		if err != nil {
			return nil, err
		}
		switch v := v.(type) {
		case int32:
			ints = append(ints, v)
		case float64:
			floats = append(floats, v)
		case string:
			words = append(words, v)
		default:
			return nil, usagef("value %q: a list without NULL is wanted", text)
		}
	}
	switch elem {
	case "INTEGER":
		return ints, nil
	case "DOUBLE":
		return floats, nil
	}
	return words, nil
}
