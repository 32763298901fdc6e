package ingest

import (
	"slices"
	"strings"
)

// sqliteColumns takes the names of the columns, in the order of a row's values,
// out of a CREATE TABLE; rowid is false for a table WITHOUT ROWID.
func sqliteColumns(sql string) (columns []string, rowid bool) {
	var part []string // the words of the column or constraint being read
	depth := 0
	end := func() {
		if len(part) > 0 && !slices.Contains([]string{"constraint", "primary", "unique", "check", "foreign"}, part[0]) {
			columns = append(columns, strings.TrimPrefix(part[0], "\x00"))
		}
		part = part[:0]
	}
	rest := ""
	for {
		var word string
		word, sql = sqliteWord(sql)
		switch {
		case word == "":
			return columns, !strings.Contains(rest, "without rowid")
		case word == "(":
			depth++
		case word == ")":
			if depth--; depth == 0 {
				end()
			}
		case word == "," && depth == 1:
			end()
		case depth == 1 && len(part) == 0:
			if word[0] != '\x00' {
				// A bare word may begin a constraint; only such are in lower case.
				if low := strings.ToLower(word); slices.Contains([]string{"constraint", "primary", "unique", "check", "foreign"}, low) {
					word = low
				} else {
					word = "\x00" + word
				}
			}
			part = append(part, word)
		case depth == 0:
			rest += " " + strings.ToLower(word)
		}
	}
}

// sqliteWord takes the next word of a statement: a bracket, a comma, a bare
// word, or a quoted name or text, marked by a zero byte before it; "" at the
// end.
func sqliteWord(sql string) (word, rest string) {
	sql = strings.TrimLeft(sql, " \t\r\n\f")
	switch {
	case sql == "":
		return "", ""
	case strings.HasPrefix(sql, "--"):
		_, rest, _ = strings.Cut(sql, "\n")
		return sqliteWord(rest)
	case strings.HasPrefix(sql, "/*"):
		_, rest, _ = strings.Cut(sql[2:], "*/")
		return sqliteWord(rest)
	}
	switch c := sql[0]; c {
	case '(', ')', ',':
		return sql[:1], sql[1:]
	case '"', '`', '\'', '[':
		shut := c
		if c == '[' {
			shut = ']'
		}
		var b strings.Builder
		b.WriteByte(0)
		for i := 1; i < len(sql); i++ {
			if sql[i] == shut {
				if c != '[' && i+1 < len(sql) && sql[i+1] == shut {
					i++
				} else {
					return b.String(), sql[i+1:]
				}
			}
			b.WriteByte(sql[i])
		}
		return b.String(), ""
	}
	n := strings.IndexAny(sql, " \t\r\n\f(),\"`'[")
	if n < 0 {
		n = len(sql)
	}
	return sql[:n], sql[n:]
}
