package sql

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"passhat/udf"
)

// hinter knows what names a statement that failed could have meant. Everything
// is looked up when it is asked for.
type hinter struct {
	ctx       context.Context
	s         *Session
	text      string
	e         *Error
	relations []Relation
}

// hintTime bounds what is spent on the hint of one error.
const hintTime = 2 * time.Second

// hinted adds to an error of a statement what it may have meant: near names of
// tables, columns, functions, types and keywords. DuckDB's own suggestions are
// kept only where they are near.
func (s *Session) hinted(ctx context.Context, err error, text string) error {
	var e *Error
	if !errors.As(err, &e) || e.Denied || e.Params || e.cause != nil {
		return err
	}
	e.text = text
	ctx, stop := context.WithTimeout(ctx, hintTime)
	defer stop()
	h := &hinter{ctx: ctx, s: s, text: text, e: e}
	for _, rule := range hintRules {
		if m := rule.pattern.FindStringSubmatch(e.Message); m != nil {
			if better := rule.better(h, m); better != "" {
				e.Message = better
			}
			break
		}
	}
	return err
}

// hintRules are the messages of DuckDB that can be bettered; the first that
// fits is taken.
var hintRules = []struct {
	pattern *regexp.Regexp
	better  func(*hinter, []string) string
}{
	{regexp.MustCompile(`^referenced column "(.+?)" not found in FROM clause(?:; candidate bindings: (.*))?$`), (*hinter).column},
	{regexp.MustCompile(`^referenced column "(.+?)" was not found because the FROM clause is missing$`), (*hinter).withoutFrom},
	{regexp.MustCompile(`^(?:values list|table) "(.+?)" does not have a column named "(.+?)"(?:; candidate bindings: .*)?$`), (*hinter).columnOf},
	{regexp.MustCompile(`^column "(.+?)" in (EXCLUDE|REPLACE|RENAME) list not found in FROM clause$`), (*hinter).listedColumn},
	{regexp.MustCompile(`^column "(.+?)" does not exist on (left|right) side of join$`), (*hinter).joinedColumn},
	{regexp.MustCompile(`^table with name (.+?) does not exist(?:; did you mean "(.+?)"\?)?$`), (*hinter).table},
	{regexp.MustCompile(`^referenced table "(.+?)" not found(?:; candidate tables: (.*))?$`), (*hinter).alias},
	{regexp.MustCompile(`^(?:scalar|aggregate|table|macro|table macro|window) [Ff]unction with name (\S+) does not exist(?:; did you mean .*)?$`), (*hinter).function},
	{regexp.MustCompile(`^no function matches the given name and argument types '(\w+)\((.*?)\)'`), (*hinter).arguments},
	{regexp.MustCompile(`^could not find key "(.+?)" in struct(?:; candidate Entries: (.*))?$`), (*hinter).field},
	{regexp.MustCompile(`^type with name (.+?) does not exist(?:; did you mean "(.+?)"\?)?$`), (*hinter).typeName},
	{regexp.MustCompile(`^syntax error at (?:or near "(?s:(.*))"|end of input)$`), (*hinter).syntax},
	{regexp.MustCompile(`^cannot access (?:file|directory) "(.+?)" - file system operations are disabled by configuration$`), (*hinter).file},
}

// known are the relations of the session; none where they can't be listed, since
// a hint is no reason for a second error.
func (h *hinter) known() []Relation {
	if h.relations == nil {
		h.relations, _ = h.s.Relations(h.ctx)
	}
	return h.relations
}

// columnsOf are the columns of the relations that the statement reads, or only
// of the one of this name or alias.
func (h *hinter) columnsOf(name string) []string {
	var out []string
	for _, ref := range References(h.text, h.known()) {
		if name != "" && !strings.EqualFold(name, ref.Alias) && !strings.EqualFold(name, ref.Relation) {
			continue
		}
		for _, r := range h.known() {
			if r.Name == ref.Relation {
				out = append(out, r.ColumnNames()...)
			}
		}
	}
	return out
}

// quotedNames takes the names out of DuckDB's lists: "a", "b".
func quotedNames(list string) []string {
	var out []string
	for _, part := range strings.Split(list, ", ") {
		if name := strings.Trim(part, `"`); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// orThere suggests the names near to word, or else says which there are.
func orThere(word string, names []string, more string) string {
	if near := Nearest(word, names); len(near) > 0 {
		return DidYouMean(near)
	}
	if len(names) == 0 {
		return ""
	}
	return "; " + more + strings.Join(names[:min(len(names), 8)], ", ")
}

func (h *hinter) column(m []string) string {
	bindings := quotedNames(m[2])
	for i, b := range bindings {
		bindings[i] = b[strings.LastIndexByte(b, '.')+1:]
	}
	if near := Nearest(m[1], append(bindings, h.columnsOf("")...)); len(near) > 0 {
		return `there is no column "` + m[1] + `"` + DidYouMean(near)
	}
	if h.quoted() {
		return `there is no column "` + m[1] + `"; text stands in single quotes: ` + Literal(m[1])
	}
	return `there is no column "` + m[1] + `"` + orThere(m[1], bindings, "among those there are ")
}

// quoted says whether a name in double quotes stands where the error is.
func (h *hinter) quoted() bool {
	at := h.offset()
	return at >= 0 && at < len(h.text) && h.text[at] == '"'
}

// offset is the place of the error in bytes, -1 if it is not known.
func (h *hinter) offset() int {
	if h.e.Line < 1 || h.e.Column < 1 {
		return -1
	}
	at := 0
	for range h.e.Line - 1 {
		i := strings.IndexByte(h.text[at:], '\n')
		if i < 0 {
			return -1
		}
		at += i + 1
	}
	for range h.e.Column - 1 {
		if at >= len(h.text) {
			return -1
		}
		for at++; at < len(h.text) && h.text[at]&0xc0 == 0x80; at++ {
		}
	}
	return at
}

func (h *hinter) withoutFrom(m []string) string {
	var from []string
	for _, r := range h.known() {
		if slices.Contains(r.ColumnNames(), strings.ToLower(m[1])) && slices.Contains(Views, r.Name) {
			from = append(from, r.Name)
		}
	}
	if len(from) > 0 {
		return `the column "` + m[1] + `" needs a FROM clause, such as FROM ` + from[0]
	}
	return `there is no column "` + m[1] + `", as the statement has no FROM clause; text stands in single quotes`
}

func (h *hinter) columnOf(m []string) string {
	return m[1] + ` has no column "` + m[2] + `"` + orThere(m[2], h.columnsOf(m[1]), "there are ")
}

func (h *hinter) listedColumn(m []string) string {
	return `there is no column "` + m[1] + `" to ` + m[2] + DidYouMean(Nearest(m[1], h.columnsOf("")))
}

func (h *hinter) joinedColumn(m []string) string {
	return `the ` + m[2] + ` side of the join has no column "` + m[1] + `"` + DidYouMean(Nearest(m[1], h.columnsOf("")))
}

// reportRelations are there only after a report has run.
var reportRelations = []string{"selected", "selected_task_runs", "selected_runs", "selected_groups", "selected_pairs"}

func (h *hinter) table(m []string) string {
	if slices.Contains(reportRelations, strings.ToLower(m[1])) {
		return "there is no table " + m[1] + " yet: a report makes it (in passhat shell: .report NAME); single trials are in trials, counts in task_runs"
	}
	var names []string
	for _, r := range h.known() {
		names = append(names, r.Name)
	}
	// A common table expression of the statement itself counts too.
	for i, t := range words(h.text) {
		if toks := words(h.text); t.kind == tokWord && i+2 < len(toks) && toks[i+1].text == "as" && toks[i+2].text == "(" {
			names = append(names, t.text)
		}
	}
	return "there is no table " + m[1] + orThere(m[1], names, "there are ")
}

func (h *hinter) alias(m []string) string {
	var names []string
	for _, ref := range References(h.text, h.known()) {
		if ref.Alias != "" {
			names = append(names, ref.Alias)
		} else {
			names = append(names, ref.Relation)
		}
	}
	if len(names) == 0 {
		names = quotedNames(m[2])
	}
	return "the FROM clause has no table " + m[1] + orThere(m[1], names, "it has ")
}

func (h *hinter) function(m []string) string {
	names, _ := h.s.FunctionNames(h.ctx)
	near := Nearest(m[1], names)
	// passhat's own functions are the likelier ones.
	own := slices.DeleteFunc(slices.Clone(near), func(n string) bool { _, ok := udf.Lookup(n); return !ok })
	if len(own) > 0 {
		near = own
	}
	if len(near) == 0 {
		return "there is no function " + m[1] + "; passhat functions lists passhat's own"
	}
	return "there is no function " + m[1] + DidYouMean(near)
}

func (h *hinter) arguments(m []string) string {
	f, ok := udf.Lookup(m[1])
	if !ok {
		return ""
	}
	given := strings.ReplaceAll(strings.ReplaceAll(m[2], "_LITERAL", ""), "STRING", "VARCHAR")
	return f.Name + " does not take (" + given + "); it is called as " + f.Signature()
}

func (h *hinter) field(m []string) string {
	return `the struct has no field "` + m[1] + `"` + orThere(m[1], quotedNames(m[2]), "there are ")
}

// typeNames are the types that people write.
var typeNames = []string{"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "INT", "BIGINT", "HUGEINT", "UBIGINT", "FLOAT", "REAL", "DOUBLE",
	"DECIMAL", "NUMERIC", "VARCHAR", "TEXT", "STRING", "BLOB", "DATE", "TIME", "TIMESTAMP", "TIMESTAMPTZ", "INTERVAL", "JSON", "UUID"}

func (h *hinter) typeName(m []string) string {
	near := Nearest(m[1], typeNames)
	if len(near) == 0 && m[2] != "" {
		near = Nearest(m[1], []string{strings.TrimPrefix(m[2], "main.")})
	}
	return "there is no type " + m[1] + DidYouMean(near)
}

func (h *hinter) file(m []string) string {
	if slices.ContainsFunc(h.s.files, func(path string) bool { return path == m[1] || literalGlob(path) == m[1] }) {
		return `the file "` + m[1] + `" can't be read; a file of the store is missing or damaged: passhat verify names it`
	}
	return `the file "` + m[1] + `" can't be read from SQL here; name it as a table by --table NAME=FILE`
}
