package store

import "encoding/json"

// mendJSON returns s if DuckDB will read it as JSON, else s as one JSON
// string: a single bad value in a JSON column would make the whole file
// unreadable.
func mendJSON(s string) string {
	s = valid(s)
	if validJSON(s) {
		return s
	}
	quoted, err := json.Marshal(s)
	if err != nil {
		return "null" // can't be: s is UTF-8
	}
	return string(quoted)
}

// maxJSONDepth bounds nesting; deeper values are kept as text.
const maxJSONDepth = 500

// validJSON reports whether s is one JSON value as RFC 8259 has it, with
// surrogates in pairs, which encoding/json does not ask for and DuckDB does.
func validJSON(s string) bool {
	i := jsonValue(s, jsonSpace(s, 0), 0)
	return i > 0 && jsonSpace(s, i) == len(s)
}

func jsonSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i
}

// jsonValue and its kin return the place after the value at i, or -1.
func jsonValue(s string, i, depth int) int {
	if i >= len(s) || depth > maxJSONDepth {
		return -1
	}
	switch c := s[i]; {
	case c == '"':
		return jsonString(s, i)
	case c == '{':
		return jsonList(s, i, depth, '}')
	case c == '[':
		return jsonList(s, i, depth, ']')
	case c == '-' || c >= '0' && c <= '9':
		return jsonNumber(s, i)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if len(s)-i >= len(word) && s[i:i+len(word)] == word {
			return i + len(word)
		}
	}
	return -1
}

// jsonList reads an array or, up to a brace, an object.
func jsonList(s string, i, depth int, end byte) int {
	i = jsonSpace(s, i+1)
	if i < len(s) && s[i] == end {
		return i + 1
	}
	for {
		if end == '}' {
			if i >= len(s) || s[i] != '"' {
				return -1
			}
			if i = jsonString(s, i); i < 0 {
				return -1
			}
			if i = jsonSpace(s, i); i >= len(s) || s[i] != ':' {
				return -1
			}
			i = jsonSpace(s, i+1)
		}
		if i = jsonValue(s, i, depth+1); i < 0 {
			return -1
		}
		if i = jsonSpace(s, i); i >= len(s) {
			return -1
		}
		switch s[i] {
		case end:
			return i + 1
		case ',':
			i = jsonSpace(s, i+1)
		default:
			return -1
		}
	}
}

func jsonString(s string, i int) int {
	for i++; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c == '\\':
			if i = jsonEscape(s, i); i < 0 {
				return -1
			}
		}
	}
	return -1
}

// jsonEscape returns the place of the escape's last byte.
func jsonEscape(s string, i int) int {
	if i+1 >= len(s) {
		return -1
	}
	switch s[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
	default:
		return -1
	}
	u := hex4(s, i+2)
	switch {
	case u < 0 || u >= 0xDC00 && u < 0xE000:
		return -1
	case u < 0xD800 || u >= 0xE000:
		return i + 5
	}
	// The first of a pair: the second must follow.
	if i+7 < len(s) && s[i+6] == '\\' && s[i+7] == 'u' {
		if low := hex4(s, i+8); low >= 0xDC00 && low < 0xE000 {
			return i + 11
		}
	}
	return -1
}

// hex4 is the number of four hex digits, -1 if they are none.
func hex4(s string, i int) int {
	if i+4 > len(s) {
		return -1
	}
	n := 0
	for _, c := range []byte(s[i : i+4]) {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | int(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | int(c-'a'+10)
		case c >= 'A' && c <= 'F':
			n = n<<4 | int(c-'A'+10)
		default:
			return -1
		}
	}
	return n
}

func jsonNumber(s string, i int) int {
	if s[i] == '-' {
		i++
	}
	digits := func() bool {
		from := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i > from
	}
	zero := i < len(s) && s[i] == '0'
	from := i
	if !digits() || zero && i > from+1 {
		return -1
	}
	if i < len(s) && s[i] == '.' {
		i++
		if !digits() {
			return -1
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return -1
		}
	}
	return i
}
