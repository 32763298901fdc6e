package reports

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"passhat/sql"
)

// DuckDB plans a statement with parameters twice, when it is prepared and when the
// values are known, which for the house's long statements is most of what they take on
// a small store. So the built-in reports get their values as typed literals, written by
// nobody but literal. SQL of others is always bound.

// withLiterals puts literals in place of the parameters of one of the house's
// statements. It says false where a value has no literal here.
func withLiterals(text string, params map[string]any) (string, bool) {
	if len(params) == 0 {
		return text, true
	}
	var b strings.Builder
	at := 0
	for _, t := range sql.Tokens(text) {
		if t.Kind != sql.TokenParam {
			continue
		}
		value, given := params[t.Text]
		lit, ok := literal(value)
		if !given || !ok || text[t.Start] != '$' {
			return "", false
		}
		b.WriteString(text[at:t.Start])
		b.WriteString(lit)
		at = t.End
	}
	b.WriteString(text[at:])
	return b.String(), true
}

// literal writes a value in the type in which it would be bound.
func literal(value any) (string, bool) {
	switch v := value.(type) {
	case bool:
		return strconv.FormatBool(v), true
	case int32:
		return fmt.Sprintf("CAST(%d AS INTEGER)", v), true
	case int64:
		return fmt.Sprintf("CAST(%d AS BIGINT)", v), true
	case float64:
		return "CAST('" + strconv.FormatFloat(v, 'g', -1, 64) + "' AS DOUBLE)", true
	case string:
		return "CAST(" + quoteText(v) + " AS VARCHAR)", true
	case []int32:
		parts := make([]string, len(v))
		for i, n := range v {
			parts[i] = strconv.Itoa(int(n))
		}
		return "CAST([" + strings.Join(parts, ", ") + "] AS INTEGER[])", true
	case time.Time:
		return "CAST('" + v.UTC().Format("2006-01-02 15:04:05.999999") + "' AS TIMESTAMP)", true
	}
	return "", false
}
