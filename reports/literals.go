package reports

import (
	"maps"
	"math"
	"strconv"
	"strings"
)

// written puts values in place of the parameters of a built-in report's statement,
// where they can be written so that DuckDB reads the very same value. It prepares a
// statement with parameters twice, without and with their values, which for a
// statement of many parts takes longer than running it on a small store. What is
// left to be bound comes back.
func written(text string, params map[string]any) (string, map[string]any) {
	literals, left := map[string]string{}, maps.Clone(params)
	for name, v := range params {
		if lit, ok := literal(v); ok {
			literals[name] = lit
			delete(left, name)
		}
	}
	if len(literals) == 0 {
		return text, params
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if end := skipQuoted(text, i); end > i {
			b.WriteString(text[i:end])
			i = end
			continue
		}
		if text[i] == '$' {
			end := wordEnd(text, i+1)
			if lit, ok := literals[text[i+1:end]]; ok {
				b.WriteString(lit)
				i = end
				continue
			}
		}
		b.WriteByte(text[i])
		i++
	}
	return b.String(), left
}

// literal writes a value on one line, so that errors keep their lines, with the type
// in which it would have been bound.
func literal(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return "CAST(" + quoteText(v) + " AS VARCHAR)", !strings.ContainsAny(v, "\x00\n\r")
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return "CAST(" + quoteText(strconv.FormatInt(v, 10)) + " AS BIGINT)", true
	case float64:
		return "CAST(" + quoteText(strconv.FormatFloat(v, 'g', -1, 64)) + " AS DOUBLE)", !math.IsNaN(v) && !math.IsInf(v, 0)
	case []int32:
		list := make([]string, len(v))
		for i, x := range v {
			list[i] = strconv.Itoa(int(x))
		}
		return "CAST([" + strings.Join(list, ", ") + "] AS INTEGER[])", true
	}
	return "", false
}
