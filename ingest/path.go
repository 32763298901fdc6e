package ingest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// pathStep is one step of a JSON path: a key, or an index if key is "".
type pathStep struct {
	key   string
	index int
}

// parsePath reads $.a.b[0]["c d"]; the `$.` may be left out. The first step is
// always a key: a field of the row, or a heading of a table.
func parsePath(s string) ([]pathStep, error) {
	rest := strings.TrimPrefix(s, "$")
	if rest == s && rest != "" && rest[0] != '[' && rest[0] != '.' {
		rest = "." + rest
	}
	var steps []pathStep
	for rest != "" {
		var step pathStep
		var err error
		switch {
		case strings.HasPrefix(rest, `["`) || strings.HasPrefix(rest, `['`):
			step.key, rest, err = quotedStep(rest)
		case rest[0] == '[':
			step.index, rest, err = indexStep(rest)
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			step.key, rest = rest[1:end+1], rest[end+1:]
			if step.key == "" {
				err = errors.New("a key is missing after the dot")
			}
		default:
			err = fmt.Errorf("%q does not continue a path", rest)
		}
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
	if len(steps) == 0 || steps[0].key == "" {
		return nil, errors.New("wanted a path such as $.field.part[0]")
	}
	return steps, nil
}

func quotedStep(s string) (key, rest string, err error) {
	end := strings.Index(s[2:], s[1:2]+"]")
	if end <= 0 {
		return "", "", errors.New(`["key"] is not closed, or empty`)
	}
	return s[2 : end+2], s[end+4:], nil
}

func indexStep(s string) (index int, rest string, err error) {
	end := strings.IndexByte(s, ']')
	if end < 0 {
		return 0, "", errors.New("[ has no ]")
	}
	index, err = strconv.Atoi(s[1:end])
	if err != nil || index < 0 {
		return 0, "", fmt.Errorf("%s is not an index", s[:end+1])
	}
	return index, s[end+1:], nil
}

// pathTo writes the path to a field of a row.
func pathTo(name string) string {
	if strings.ContainsAny(name, `.[]"' `) {
		return `'$["` + name + `"]'`
	}
	return "$." + name
}

// walkPath finds a value inside another. JSON text inside a string is walked
// into as well, because some logs encode twice and a CSV cell is a text.
func walkPath(v Value, steps []pathStep) (Value, bool) {
	for _, step := range steps {
		if v.Kind == String || v.Kind == Untyped {
			text, _ := v.text(nil)
			inner, ok := JSONValue(text)
			if !ok {
				return Value{}, false
			}
			v = inner
		}
		found := false
		switch {
		case step.key != "" && v.Kind == Object:
			fields, _, err := scanObject(v.Text, 0, nil)
			if err != nil {
				return Value{}, false
			}
			for _, f := range fields { // of equal keys the last one counts
				if f.is(step.key) {
					v, found = f.val, true
				}
			}
		case step.key == "" && v.Kind == Array:
			list := v.Text
			_, err := scanArray(list, 0, func(i int, e Value) error {
				if i == step.index {
					v, found = e, true
				}
				return nil
			})
			if err != nil {
				return Value{}, false
			}
		}
		if !found {
			return Value{}, false
		}
	}
	return v, true
}

// is reports whether a field has this key.
func (f field) is(key string) bool {
	if !f.keyEscaped {
		return string(f.key) == key
	}
	return string(unescape(nil, f.key)) == key
}
