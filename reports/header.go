package reports

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Conditions under which a column or statement stands ("-- when bounds: …").
var conditions = []string{"bounds", "bootstrap", "several_runs", "weighted"}

var (
	reName   = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	reColumn = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)
	reParam  = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)(?:\s+([A-Za-z]+(?:\([0-9, ]*\))?(?:\[\])?))?(?:\s*=\s*('(?:[^']|'')*'|\S+))?(?:\s+(.*))?$`)
	// A directive is a word, for "when" a second one, and a colon.
	reDirective = regexp.MustCompile(`^--\s?(title|param|flags|handles|pair|trials|sets|failures|cover|section|table|notes|head|refuse|warnings|foot|chart|uses|wide|quiet|hide|percent|when [a-z_]+):(.*)$`)
	// A misspelt directive would else become description in silence.
	reLikely = regexp.MustCompile(`^--\s?([a-z]+):`)
)

// directives are those without "when".
var directives = []string{
	"title", "param", "flags", "handles", "pair", "trials", "sets", "failures", "cover", "section", "table", "notes", "head", "refuse", "warnings", "foot", "chart", "uses",
	"wide", "quiet", "hide", "percent",
}

// maxReportBytes bounds a report file; nobody writes a longer one by hand.
const maxReportBytes = 1 << 20

// parser reads a report file line by line.
type parser struct {
	r       *Report
	cur     *Statement // statement whose SQL or directives are being read
	sql     []string
	desc    []string
	started bool // a directive was seen: the description is over
	sawSQL  bool // cur has a line that is not blank
}

// Parse reads a report file: a comment header (title, description, parameters),
// then for each section its directives and one SELECT. A file without any
// section directive is one section named after the file. Faults are
// *HeaderError with the line.
func Parse(file, text string) (*Report, error) {
	r := &Report{Name: reportName(file), File: file, Text: text}
	if len(text) > maxReportBytes {
		return nil, &HeaderError{File: file, Message: fmt.Sprintf("report is %d bytes long, at most %d are read", len(text), maxReportBytes)}
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, &HeaderError{File: file, Message: "report is not UTF-8 text"}
	}
	p := &parser{r: r}
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if err := p.line(i+1, line); err != nil {
			return nil, err
		}
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	r.Description = strings.TrimSpace(strings.Join(p.desc, "\n"))
	if len(r.Sections()) == 0 {
		return nil, &HeaderError{File: file, Message: "report has no SELECT"}
	}
	return r, p.checkParams()
}

func (p *parser) fail(line int, format string, args ...any) error {
	return &HeaderError{File: p.r.File, Line: line, Message: fmt.Sprintf(format, args...)}
}

func (p *parser) line(n int, line string) error {
	trimmed := strings.TrimRight(line, " \t")
	comment := strings.HasPrefix(trimmed, "--")
	colon := comment && strings.Contains(trimmed, ":")
	if colon {
		if m := reDirective.FindStringSubmatch(trimmed); m != nil {
			return p.directive(n, m[1], strings.TrimSpace(m[2]))
		}
	}
	if comment && !p.sawSQL {
		if m := reLikely.FindStringSubmatch(trimmed); m != nil && p.started {
			// Prose has colons too: a slip keeps the first letter.
			known := slices.DeleteFunc(slices.Clone(directives), func(d string) bool { return d[0] != m[1][0] })
			if hint := suggest(m[1], known); hint != "" {
				return p.fail(n, "unknown directive %q%s", m[1], hint)
			}
		}
		if p.cur == nil && (!p.started || p.r.Title != "" && len(p.r.Params) == 0 && len(p.r.Uses) == 0) {
			p.desc = append(p.desc, strings.TrimPrefix(strings.TrimPrefix(trimmed, "--"), " "))
			return nil
		}
	}
	if p.cur == nil && (trimmed == "" || comment) {
		return nil
	}
	if p.cur == nil {
		p.open(SectionStatement, p.r.Name, p.r.Title)
	}
	if !p.sawSQL {
		if trimmed == "" {
			return nil
		}
		p.cur.Line = n
	}
	p.sawSQL = p.sawSQL || !comment
	p.sql = append(p.sql, trimmed)
	return nil
}

func (p *parser) open(kind StatementKind, name, heading string) {
	p.cur = &Statement{Kind: kind, Name: name, Heading: heading, When: map[string][]string{}}
	p.sql, p.sawSQL = nil, false
}

func (p *parser) directive(n int, word, rest string) error {
	p.started = true
	switch word {
	case "title":
		if p.cur != nil || p.r.Title != "" {
			return p.fail(n, "title stands twice or after the first section; it belongs in the first lines, once")
		}
		if rest == "" {
			return p.fail(n, "title is empty")
		}
		p.r.Title = rest
	case "param":
		return p.param(n, rest)
	case "uses":
		for _, name := range strings.FieldsFunc(rest, isListSep) {
			if !reName.MatchString(name) {
				return p.fail(n, "uses: %q is no report name", name)
			}
			p.r.Uses = append(p.r.Uses, name)
		}
	case "flags", "handles", "pair", "trials", "sets", "failures", "cover":
		return p.ofRunner(n, word, rest)
	case "section", "table", "notes", "head", "refuse", "warnings", "foot":
		return p.begin(n, StatementKind(word), rest)
	default:
		return p.ofStatement(n, word, rest)
	}
	return nil
}

func isListSep(r rune) bool { return r == ' ' || r == ',' || r == '\t' }

func (p *parser) begin(n int, kind StatementKind, rest string) error {
	if err := p.finish(); err != nil {
		return err
	}
	name, heading, _ := strings.Cut(rest, " ")
	if kind == TableStatement {
		return p.beginTable(n, name)
	}
	if kind != SectionStatement {
		if kind == NotesStatement && len(p.r.Sections()) == 0 {
			return p.fail(n, "notes stand before the first section; they belong under one")
		}
		p.open(kind, "", "")
		p.cur.Line = n
		return nil
	}
	if !reName.MatchString(name) {
		return p.fail(n, "section name %q: lower-case letters, digits and _ are wanted, as in \"-- section: tasks Tasks, worst first\"", name)
	}
	for _, s := range p.r.Sections() {
		if s.Name == name {
			return p.fail(n, "section %q stands twice", name)
		}
	}
	p.open(kind, name, strings.TrimSpace(heading))
	p.cur.Line = n
	return nil
}

// ofStatement reads the directives that describe one statement's columns.
func (p *parser) ofStatement(n int, word, rest string) error {
	if p.cur == nil {
		p.open(SectionStatement, p.r.Name, p.r.Title)
		p.cur.Line = n
	}
	cols := strings.FieldsFunc(rest, isListSep)
	if word == "chart" {
		if p.cur.Kind != SectionStatement {
			return p.fail(n, "a chart belongs to a section")
		}
		c, err := parseChart(rest)
		if err != nil {
			return p.fail(n, "chart: %v", err)
		}
		p.cur.Chart = c
		return nil
	}
	for _, c := range cols {
		if !reColumn.MatchString(c) && c != "*" {
			return p.fail(n, "%s: %q is no column name", word, c)
		}
	}
	if len(cols) == 0 {
		return p.fail(n, "%s: names no column", word)
	}
	switch cond, isWhen := strings.CutPrefix(word, "when "); {
	case isWhen:
		if !slices.Contains(conditions, cond) {
			return p.fail(n, "unknown condition %q; there are %s", cond, strings.Join(conditions, ", "))
		}
		p.cur.When[cond] = append(p.cur.When[cond], cols...)
	case word == "wide":
		p.cur.Wide = append(p.cur.Wide, cols...)
	case word == "hide":
		p.cur.Hide = append(p.cur.Hide, cols...)
	case word == "percent": // shares of 1, for spreadsheets and charts
		p.cur.Percent = append(p.cur.Percent, cols...)
	default:
		p.cur.Quiet = append(p.cur.Quiet, cols...)
	}
	return nil
}

func (p *parser) param(n int, rest string) error {
	if p.cur != nil {
		return p.fail(n, "param stands after the first section; parameters belong in the header")
	}
	m := reParam.FindStringSubmatch(rest)
	if m == nil {
		return p.fail(n, "param %q: name TYPE = default  meaning is wanted", rest)
	}
	pr := Param{Name: m[1], Type: strings.ToUpper(m[2]), Default: m[3], HasDefault: m[3] != "", Meaning: strings.TrimSpace(m[4]), Line: n}
	if commonParams[pr.Name] && !paramTypes[pr.Type] {
		// A common flag needs no type: the word after it begins the meaning.
		pr.Meaning = strings.TrimSpace(m[2] + " " + m[4])
		pr.Type = ""
	}
	if pr.Type == "" && !commonParams[pr.Name] {
		return p.fail(n, "param %s has no type: name TYPE = default  meaning is wanted", pr.Name)
	}
	if pr.Type != "" && !paramTypes[pr.Type] {
		return p.fail(n, "param %s: type %s is not known; there are %s", pr.Name, pr.Type, strings.Join(paramTypeNames(), ", "))
	}
	if pr.Type != "" && !commonParams[pr.Name] && slices.Contains(append(flagNames, "weights", "labels", "contract"), pr.Name) {
		return p.fail(n, "param %s: a flag has that name; call it otherwise", pr.Name)
	}
	for _, other := range p.r.Params {
		if other.Name == pr.Name {
			return p.fail(n, "param %s is declared twice", pr.Name)
		}
	}
	if pr.HasDefault && pr.Type != "" {
		if _, err := parseValue(pr, pr.Default); err != nil {
			return p.fail(n, "param %s: %v", pr.Name, err)
		}
	}
	p.r.Params = append(p.r.Params, pr)
	return nil
}

// finish closes the statement being read.
func (p *parser) finish() error {
	if p.cur == nil {
		return nil
	}
	st := p.cur
	p.cur = nil
	text := strings.Join(p.sql, "\n")
	sc := scanSQL(text)
	if sc.last == 0 {
		return p.fail(st.Line, "%s %s has no SELECT", st.Kind, st.Name)
	}
	if len(sc.semis) > 0 && sc.last > sc.semis[0] {
		return p.fail(st.Line+strings.Count(text[:sc.semis[0]], "\n"),
			"%s %s holds several statements; one SELECT is wanted", st.Kind, st.Name)
	}
	if w := sc.words[0:min(1, len(sc.words))]; len(w) == 0 || !slices.Contains([]string{"SELECT", "WITH", "FROM", "VALUES", "PIVOT", "UNPIVOT"}, w[0]) {
		return p.fail(st.Line, "%s %s does not begin with SELECT or WITH", st.Kind, st.Name)
	}
	st.SQL = strings.TrimRight(text[:sc.last], " \t\n")
	st.Params, st.tables = sc.params, sc.tables
	p.r.Statements = append(p.r.Statements, *st)
	return nil
}

// checkParams holds the parameters used against those declared. The common
// ones may be used without being declared.
func (p *parser) checkParams() error {
	declared := map[string]bool{}
	used := map[string]bool{}
	var names []string
	for _, pr := range p.r.Params {
		declared[pr.Name] = true
		names = append(names, pr.Name)
	}
	for _, st := range p.r.Statements {
		for _, name := range st.Params {
			used[name] = true
			if !declared[name] && !commonParams[name] {
				return p.fail(st.Line, "$%s is not declared%s; add \"-- param: %s TYPE = default  meaning\"", name, suggest(name, names), name)
			}
		}
	}
	for _, pr := range p.r.Params {
		if !used[pr.Name] && (pr.Type != "" || len(p.r.Uses) == 0) { // a used report may use a flag
			return p.fail(pr.Line, "param %s is declared but $%s is used nowhere", pr.Name, pr.Name)
		}
	}
	return nil
}
