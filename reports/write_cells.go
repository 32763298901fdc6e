package reports

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	dateLayout = "2006-01-02"
	timeLayout = "2006-01-02T15:04:05.999999Z"
)

// formatFloat gives the shortest decimal number that reads back as the same
// float64; an exponent only where plain digits would be unreadably long.
func formatFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// plain gives a cell as text with nothing lost; ok is false for NULL.
func plain(col *Column, v any) (s string, ok bool) {
	switch v := v.(type) {
	case nil:
		return "", false
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float64:
		return formatFloat(v), true
	case bool:
		return strconv.FormatBool(v), true
	case time.Time:
		if col.Kind == Date {
			return v.UTC().Format(dateLayout), true
		}
		return v.UTC().Format(timeLayout), true
	case json.RawMessage:
		return string(v), true
	}
	return fmt.Sprint(v), true
}

// numeric says whether a column's cells are numbers (right-aligned, never cut).
func (c *Column) numeric() bool {
	return c.Kind == Int || c.Kind == Float || c.Kind == Number
}

// elastic says whether cells of the kind may be cut on the terminal.
func (k Kind) elastic() bool { return k == Text || k == JSON }

// isJSONNumber says whether s may stand unquoted in JSON.
func isJSONNumber(s string) bool {
	t := strings.TrimPrefix(s, "-")
	if t == "" || t[0] < '0' || t[0] > '9' {
		return false
	}
	return json.Valid([]byte(s))
}

// uniqueNames gives each column a name of its own: a query may name two alike,
// and a JSON object or an Excel table may not.
func uniqueNames(cols []Column, fold bool) []string {
	seen := map[string]bool{}
	key := func(s string) string {
		if fold {
			return strings.ToLower(s)
		}
		return s
	}
	for _, c := range cols {
		seen[key(c.Name)] = false
	}
	names := make([]string, len(cols))
	for i, c := range cols {
		name := c.Name
		for n := 1; seen[key(name)]; n++ {
			name = fmt.Sprintf("%s_%d", c.Name, n)
		}
		seen[key(name)] = true
		names[i] = name
	}
	return names
}

// visible makes text harmless on a terminal and keeps it on one line: control
// characters become their pictures (ESC is ␛), characters that turn the
// direction of text or have no place on a line their number.
func visible(s string) string {
	i := strings.IndexFunc(s, func(r rune) bool { return hidden(r) || r == utf8.RuneError })
	if i < 0 {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:i])
	for _, r := range s[i:] {
		switch {
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune('\u2421')
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r) // a bad byte has become U+FFFD
		}
	}
	return b.String()
}

// hidden says whether a rune must not reach a terminal as it is. Joiners
// (U+200C, U+200D) stay: scripts and emoji need them.
func hidden(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r == 0x200b, r == 0x200e, r == 0x200f, r == 0xfeff, r == 0x061c:
		return true
	case r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return unicode.Is(unicode.Co, r)
}

// cutBytes shortens s to at most n bytes at a rune's border.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Visible makes text one harmless line: control characters and those that turn
// the direction of text show as pictures or numbers.
func Visible(s string) string { return visible(s) }

// Suggest returns " (did you mean …?)" with the candidate nearest to word, or
// "" when none is near.
func Suggest(word string, candidates []string) string { return suggest(word, candidates) }
