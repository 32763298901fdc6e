package reports

import "strings"

// sqlScan walks SQL text and tells code from strings, quoted names and
// comments. It knows as much of SQL as is needed to find $name parameters and
// statement ends, and nothing more.
type sqlScan struct {
	params []string        // $names in order of first appearance
	words  []string        // the first bare word outside parentheses, upper case
	tables map[string]bool // names behind FROM or JOIN, lower case
	semis  []int           // offsets of ; outside strings and comments
	last   int             // end of the last byte of code
}

func scanSQL(text string) sqlScan {
	s := sqlScan{tables: map[string]bool{}}
	seen := map[string]bool{}
	depth := 0
	named := false // the word before was FROM or JOIN
	for i := 0; i < len(text); {
		if c := text[i]; c == ' ' || c == '\n' || c == '\t' {
			i++
			continue
		}
		if end := skipQuoted(text, i); end > i {
			if text[i] != '-' && text[i] != '/' {
				s.last = end
			}
			if text[i] == '"' && named {
				s.tables[strings.ToLower(strings.Trim(text[i:end], `"`))] = true
			}
			i = end
			continue
		}
		c := text[i]
		switch {
		case c == '$':
			name := text[i+1 : wordEnd(text, i+1)]
			if name != "" && !seen[name] {
				seen[name] = true
				s.params = append(s.params, name)
			}
			i += 1 + len(name)
			s.last = i
			continue
		case c == ';':
			s.semis = append(s.semis, i)
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case isWord(c):
			end := wordEnd(text, i)
			word := text[i:end]
			if named {
				s.tables[strings.ToLower(word)] = true
			}
			named = len(word) == 4 && (strings.EqualFold(word, "FROM") || strings.EqualFold(word, "JOIN"))
			if depth == 0 && len(s.words) == 0 {
				s.words = append(s.words, strings.ToUpper(word))
			}
			i, s.last = end, end
			continue
		}
		if !strings.ContainsRune("; \n\t\r", rune(c)) {
			s.last = i + 1
		}
		i++
	}
	return s
}

// skipQuoted returns the end of the string, quoted name or comment that starts
// at i, or i when none does. An unclosed one ends with the text.
func skipQuoted(text string, i int) int {
	rest := text[i:]
	switch rest[0] {
	case '-', '/', '\'', '"', '$':
	default:
		return i
	}
	switch {
	case strings.HasPrefix(rest, "--"):
		return closing(text, i+2, "\n")
	case strings.HasPrefix(rest, "/*"):
		return closing(text, i+2, "*/")
	case rest[0] == '\'' || rest[0] == '"':
		q := rest[0]
		for j := i + 1; j < len(text); j++ {
			if text[j] != q {
				continue
			}
			if j+1 < len(text) && text[j+1] == q {
				j++
				continue
			}
			return j + 1
		}
		return len(text)
	case rest[0] == '$':
		tagEnd := wordEnd(text, i+1)
		if tagEnd < len(text) && text[tagEnd] == '$' {
			return closing(text, tagEnd+1, text[i:tagEnd+1])
		}
	}
	return i
}

func closing(text string, from int, mark string) int {
	if n := strings.Index(text[from:], mark); n >= 0 {
		return from + n + len(mark)
	}
	return len(text)
}

func isWord(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80
}

func wordEnd(text string, i int) int {
	for i < len(text) && isWord(text[i]) {
		i++
	}
	return i
}

// quoteName quotes an identifier for SQL.
func quoteName(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// quoteText quotes a string for SQL. DuckDB ends the text of a statement at a
// zero byte, which no value that passhat stores holds.
func quoteText(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "\x00", ""), "'", "''") + "'"
}
