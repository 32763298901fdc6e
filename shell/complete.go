package shell

import (
	"slices"
	"strings"

	"passhat/sql"
	"passhat/udf"
)

// Candidate is one way to go on from the cursor.
type Candidate struct {
	Text string // in place of the word before the cursor
	Kind string // tables, columns, functions, keywords, …
	Doc  string
}

// Complete returns the word before the cursor, which stands at a byte of text,
// and what it may become.
func (s *Shell) Complete(text string, cursor int) (word string, list []Candidate) {
	head := text[:cursor]
	if isCommand(head) && strings.HasPrefix(strings.TrimSpace(head), ".") {
		return s.completeCommand(strings.TrimLeft(head, " \t"))
	}
	// Only the statement at the cursor counts.
	stmts := sql.Split(head)
	if n := len(stmts); n > 0 && !stmts[n-1].Ended {
		head = head[stmts[n-1].Offset:]
	} else {
		head = ""
	}
	tail := text[cursor:]
	if rest := sql.Split(tail); len(rest) > 0 && rest[0].Ended {
		tail = tail[:rest[0].Offset+len(rest[0].Text)]
	}
	c := &completion{s: s, whole: head + tail, toks: sql.Tokens(head)}
	c.find(head)
	if c.none {
		return "", nil
	}
	for _, cand := range c.candidates() {
		if len(cand.Text) >= len(c.word) && strings.EqualFold(cand.Text[:len(c.word)], c.word) {
			list = append(list, cand)
		}
	}
	return c.word, list
}

// completion is one request within a statement.
type completion struct {
	s      *Shell
	whole  string      // the statement
	toks   []sql.Token // before the word, comments left out
	word   string
	text   bool // within a string
	param  bool // behind $
	none   bool // nothing can be said: a comment, a number
	quoted bool // within a quoted name
}

// find takes the word off the end of the tokens.
func (c *completion) find(head string) {
	comment := false
	c.toks = slices.DeleteFunc(c.toks, func(t sql.Token) bool {
		comment = t.Kind == sql.TokenComment && t.End == len(head) && !strings.HasSuffix(head, "*/")
		return t.Kind == sql.TokenComment
	})
	if c.none = comment; c.none || len(c.toks) == 0 {
		return
	}
	last := c.toks[len(c.toks)-1]
	if last.End < len(head) {
		return // a blank stands before the cursor
	}
	raw := head[last.Start:last.End]
	switch last.Kind {
	case sql.TokenWord:
		c.word = raw
	case sql.TokenParam:
		c.word, c.param = strings.TrimPrefix(raw, "$"), true
	case sql.TokenString:
		if len(raw) > 1 && strings.HasSuffix(raw, "'") || raw[0] != '\'' {
			c.none = true
			return
		}
		c.word, c.text = raw[1:], true
	case sql.TokenName:
		if len(raw) > 1 && strings.HasSuffix(raw, `"`) {
			c.none = true
			return
		}
		c.word, c.quoted = raw[1:], true
	case sql.TokenNumber:
		c.none = true
		return
	default:
		return
	}
	c.toks = c.toks[:len(c.toks)-1]
}

// before is the text of the i-th token before the word, 0 the nearest.
func (c *completion) before(i int) string {
	if i >= len(c.toks) {
		return ""
	}
	return c.toks[len(c.toks)-1-i].Text
}

func (c *completion) candidates() []Candidate {
	switch {
	case c.param:
		var out []Candidate
		for _, name := range sortedKeys(c.s.params) {
			out = append(out, Candidate{name, "parameters", c.s.params[name]})
		}
		return out
	case c.text:
		return c.values()
	case c.before(0) == ".":
		return c.members()
	case c.wantsTable():
		return c.tables()
	}
	out := c.columns("")
	for _, ref := range sql.References(c.whole, c.s.cat.rels()) {
		if ref.Alias != "" {
			out = append(out, Candidate{ref.Alias, "tables", ref.Relation})
		}
	}
	switch {
	case c.word == "" && len(c.toks) == 0:
		return []Candidate{{"SELECT", "keywords", ""}, {"FROM", "keywords", ""}, {"WITH", "keywords", ""}, {"DESCRIBE", "keywords", ""}, {"SUMMARIZE", "keywords", ""}}
	case c.quoted || c.word == "":
		return out
	}
	return append(append(out, c.functions()...), c.keywords()...)
}

// clauses are the words that say in which part of a statement one is.
var clauses = []string{"select", "from", "where", "group", "order", "having", "limit", "join", "on", "using", "qualify", "window", "with", "set", "values", "by"}

// wantsTable says whether a table is to be named.
func (c *completion) wantsTable() bool {
	switch c.before(0) {
	case "from", "join", "describe", "desc", "summarize", "table":
		return true
	case ",":
		depth := 0
		for i := range c.toks {
			switch t := c.before(i); {
			case t == ")":
				depth++
			case t == "(" && depth == 0:
				return false
			case t == "(":
				depth--
			case depth == 0 && slices.Contains(clauses, t):
				return t == "from"
			}
		}
	}
	return false
}

// tables are the relations, and the names that WITH gives.
func (c *completion) tables() []Candidate {
	var out []Candidate
	for _, r := range c.s.cat.rels() {
		doc, _ := tableDocs[r.Name].(string)
		out = append(out, Candidate{r.Name, "tables", doc})
	}
	toks := sql.Tokens(c.whole)
	for i, t := range toks {
		if t.Kind == sql.TokenWord && i+2 < len(toks) && toks[i+1].Text == "as" && toks[i+2].Text == "(" &&
			i > 0 && (toks[i-1].Text == "with" || toks[i-1].Text == "," || toks[i-1].Text == "recursive") {
			out = append(out, Candidate{t.Text, "tables", "of this statement"})
		}
	}
	for _, f := range []string{"unnest", "range", "generate_series", "json_each"} {
		out = append(out, Candidate{f + "(", "functions", ""})
	}
	return out
}

// columns are those of the relations that the statement mentions, or only of
// the one of a name or alias; of trials where it mentions none.
func (c *completion) columns(of string) []Candidate {
	rels := c.s.cat.rels()
	refs := sql.References(c.whole, rels)
	if len(refs) == 0 && of == "" {
		refs = []sql.Reference{{Relation: "trials"}}
	}
	var out []Candidate
	seen := map[string]bool{}
	for _, ref := range refs {
		if of != "" && !strings.EqualFold(of, ref.Alias) && !strings.EqualFold(of, ref.Relation) {
			continue
		}
		for _, r := range rels {
			if r.Name != ref.Relation {
				continue
			}
			for _, col := range r.Columns {
				if !seen[col.Name] {
					seen[col.Name] = true
					out = append(out, Candidate{columnText(col.Name), "columns", strings.TrimSpace(short(col.Type) + "  " + columnDocs[col.Name])})
				}
			}
		}
	}
	return out
}

// columnText quotes a name that needs it.
func columnText(name string) string {
	if isName(name) && strings.ToLower(name) == name {
		return name
	}
	return sql.Ident(name)
}

// short keeps a type's name from filling the line.
func short(typ string) string {
	if len(typ) > 24 {
		return typ[:strings.IndexAny(typ+"(", "([ ")]
	}
	return typ
}

// members are what can stand behind a dot: the columns of a table, the fields
// of a function's result.
func (c *completion) members() []Candidate {
	if c.before(1) != ")" {
		return c.columns(c.before(1))
	}
	depth := 0
	for i := 1; i < len(c.toks); i++ {
		switch c.before(i) {
		case ")":
			depth++
		case "(":
			if depth--; depth > 0 {
				continue
			}
			f, ok := udf.Lookup(c.before(i + 1))
			if !ok {
				return nil
			}
			var out []Candidate
			for _, field := range f.Fields {
				out = append(out, Candidate{field.Name, "fields", field.Type})
			}
			return out
		}
	}
	return nil
}

// functions are passhat's own, and DuckDB's once a letter is there.
func (c *completion) functions() []Candidate {
	var out []Candidate
	for _, name := range c.s.cat.funcs() {
		f, own := udf.Lookup(name)
		switch {
		case own:
			out = append(out, Candidate{name + "(", "passhat functions", f.Signature()})
		case len(c.word) >= 2:
			out = append(out, Candidate{name + "(", "functions", ""})
		}
	}
	return out
}

// keywords come in the case of the word.
func (c *completion) keywords() []Candidate {
	var out []Candidate
	lower := c.word == strings.ToLower(c.word)
	for _, k := range c.s.cat.words() {
		if !lower {
			k = strings.ToUpper(k)
		}
		out = append(out, Candidate{k, "keywords", ""})
	}
	return out
}

// values are those of the column that a string is compared with: behind = and
// its like, or in a list behind IN.
func (c *completion) values() []Candidate {
	at := 0
	switch c.before(0) {
	case "=", ">", "<", "like", "ilike":
		for at < len(c.toks) && strings.Contains("=<>!not like ilike", c.before(at)) {
			at++
		}
	case "(", ",":
		for at < len(c.toks) && c.before(at) != "in" {
			if b := c.before(at); b != "(" && b != "," && b != "" {
				return nil
			}
			at++
		}
		for c.before(at) == "in" || c.before(at) == "not" {
			at++
		}
	default:
		return nil
	}
	column := c.before(at)
	if !slices.Contains(listedColumns, column) {
		return nil
	}
	var out []Candidate
	for _, v := range c.s.cat.valuesOf(column) {
		out = append(out, Candidate{strings.ReplaceAll(v, "'", "''") + "'", column, ""})
	}
	return out
}
