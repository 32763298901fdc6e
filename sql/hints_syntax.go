package sql

import (
	"fmt"
	"slices"
	"strings"
)

// statementWords are the keywords that misspelt words are compared with; all of
// DuckDB's would find a near one for too many names.
var statementWords = strings.Fields(`select from where group order having limit join left inner distinct union with as by on using
	qualify window over partition case when then else end between like ilike values explain describe summarize show pivot unpivot
	exclude replace filter offset interval cross natural full outer right null nulls first last asc desc not and or in is exists
	create temp table set variable count analyze except intersect all any cast rows range preceding following unbounded`)

// syntax looks for a misspelt keyword at the place of a syntax error and before
// it: DuckDB takes a misspelt word for a name and stumbles over the next.
func (h *hinter) syntax(m []string) string {
	toks := words(h.text)
	if m[1] == "" {
		return "the statement ends too soon" + h.unclosed(toks)
	}
	at := h.offset()
	i := slices.IndexFunc(toks, func(t token) bool { return t.start <= at && at < t.end })
	if i < 0 {
		return ""
	}
	message := fmt.Sprintf("syntax error at or near %q", m[1])
	for j := i; j >= max(0, i-2); j-- {
		if word, ok := misspelt(toks, j); ok {
			if j == i {
				return message + " (did you mean " + word + "?)"
			}
			return message + " (did you mean " + word + " for " + h.text[toks[j].start:toks[j].end] + "?)"
		}
	}
	if i > 0 && toks[i-1].text == "," && toks[i].kind == tokWord {
		return message + "; is there a comma too many before it?"
	}
	if reservedName(toks, i) {
		return message + `; a name that is a keyword stands in double quotes`
	}
	return message + h.unclosed(toks[:i])
}

// misspelt gives the keyword that token i may be a misspelling of.
func misspelt(toks []token, i int) (string, bool) {
	t := toks[i]
	if t.kind != tokWord || len(t.text) < 3 || slices.Contains(statementWords, t.text) {
		return "", false
	}
	// A name behind a dot, or one that is called, is no keyword.
	if i > 0 && toks[i-1].text == "." || i+1 < len(toks) && toks[i+1].text == "(" && i > 0 {
		return "", false
	}
	near := Nearest(t.text, statementWords)
	if len(near) == 0 || len(near[0]) < 3 || len(near[0]) > len(t.text)+2 {
		return "", false
	}
	return strings.ToUpper(near[0]), true
}

// reservedName says whether token i is a keyword where a name was wanted.
func reservedName(toks []token, i int) bool {
	if toks[i].kind != tokWord || i == 0 {
		return false
	}
	before := toks[i-1].text
	return (before == "as" || before == "by" || before == "select") && slices.Contains(statementWords, toks[i].text) && toks[i].text != "from"
}

// unclosed says which bracket has no partner.
func (h *hinter) unclosed(toks []token) string {
	var open []token
	for _, t := range toks {
		if t.kind != tokPunct {
			continue
		}
		switch t.text {
		case "(", "[", "{":
			open = append(open, t)
		case ")", "]", "}":
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
	}
	if len(open) == 0 {
		return ""
	}
	t := open[len(open)-1]
	line := 1 + strings.Count(h.text[:t.start], "\n")
	column := len([]rune(h.text[strings.LastIndexByte(h.text[:t.start], '\n')+1:t.start])) + 1
	return fmt.Sprintf("; the %s at line %d, column %d is not closed", t.text, line, column)
}
