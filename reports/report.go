package reports

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
)

//go:embed *.sql
var builtin embed.FS

// StatementKind says what the rows of a statement of a report become.
type StatementKind string

// The kinds of statements, named by the directive that opens them.
const (
	SectionStatement  StatementKind = "section"  // a table
	TableStatement    StatementKind = "table"    // a table that only later statements see
	HeadStatement     StatementKind = "head"     // lines above the first table, before all others
	RefuseStatement   StatementKind = "refuse"   // why no report is made: its first row is the error
	NotesStatement    StatementKind = "notes"    // sentences under the section before it
	WarningsStatement StatementKind = "warnings" // warnings of the result
	FootStatement     StatementKind = "foot"     // lines after the last table: what to look at next
)

// Report is one report file, parsed.
type Report struct {
	Name        string // file name without .sql
	File        string // as shown in errors
	Title       string
	Description string
	Params      []Param
	Uses        []string    // reports whose first section is offered as a table
	Flags       [][2]string // values of common flags where the user gives none
	Handles     []string    // what the report deals with itself: runs, mixed
	Pair        string      // grouping column whose values are set against each other
	Sets        string      // a table of the report, with run_no and set_no: once it is made, the tasks over the runs of each set are told, see sets.go
	Failures    string      // a table of the report, with run_no and task_no: once it is made, the failures of those tasks are told, see failures.go
	Trials      string      // a table of the report, with run_no: once it is made, selected holds the trials of its runs only
	Cover       []string    // sections whose chart, or else table, stands at the top of a page
	Statements  []Statement
	Text        string // the whole file
	Builtin     bool
	// Err is what is wrong with a file of the user's; such a report is listed
	// and cannot run.
	Err error

	used []*Report // Uses, found: those used by the used ones first
}

// Param is one declared parameter.
type Param struct {
	Name    string
	Type    string // DuckDB's name of the type; "" for a common flag such as k
	Default string // as written; "" with HasDefault false when it must be given
	Meaning string
	Line    int

	HasDefault bool
}

// Statement is one SELECT of a report with the directives that stand over it.
type Statement struct {
	Kind    StatementKind
	Name    string // section name
	Heading string
	SQL     string
	Line    int // of the first line of SQL
	Params  []string
	Chart   *Chart
	// Wide names columns that the terminal table leaves out; Quiet those it
	// leaves out when no row has anything but NULL or zero in them; the quiet
	// column "*" is the whole section, left out when it has no row.
	Wide, Quiet []string
	// Hide names columns that only the statements after a section see.
	Hide []string
	// Percent names columns that hold a share of 1.
	Percent []string
	// When maps a condition to the columns that stand only under it; the
	// column "*" is the whole statement.
	When map[string][]string

	tables map[string]bool // names behind FROM or JOIN, lower case
}

// Sections returns the statements that become tables.
func (r *Report) Sections() []Statement {
	var out []Statement
	for _, s := range r.Statements {
		if s.Kind == SectionStatement {
			out = append(out, s)
		}
	}
	return out
}

// Load returns the built-in reports and those found in the top folder of each
// extra file system (a --reports folder, reports/ of a store), sorted by name.
// A later report replaces an earlier one of the same name. A file that cannot
// be parsed becomes a report with the *HeaderError as its Err: one slip of a
// colleague stops nobody else's report.
func Load(extra ...fs.FS) ([]*Report, error) {
	own, err := loadBuiltin()
	if err != nil {
		return nil, err
	}
	byName := make(map[string]*Report, len(own))
	for name, r := range own {
		c := *r // uses are found anew among the reports of this call
		byName[name] = &c
	}
	for _, fsys := range extra {
		if fsys == nil {
			continue
		}
		if err := loadFrom(fsys, false, byName); err != nil {
			return nil, err
		}
	}
	out := make([]*Report, 0, len(byName))
	for _, r := range byName {
		out = append(out, r)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	for _, r := range out {
		if err := r.resolveUses(r, out, []string{r.Name}); err != nil {
			if r.Builtin {
				return nil, err
			}
			r.Err = cmp.Or(r.Err, err)
		}
	}
	return out, nil
}

// loadBuiltin parses the built-in reports, once.
var loadBuiltin = sync.OnceValues(func() (map[string]*Report, error) {
	byName := map[string]*Report{}
	return byName, loadFrom(builtin, true, byName)
})

func loadFrom(fsys fs.FS, own bool, into map[string]*Report) error {
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return fmt.Errorf("list report files: %w", err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return fmt.Errorf("read report file %s: %w", name, err)
		}
		file := inFolder(fsys, name)
		r, err := Parse(file, string(text))
		if err != nil && own {
			return err
		}
		if err != nil {
			r = &Report{Name: reportName(name), File: file, Title: "cannot be read: " + err.Error(), Text: string(text), Err: err}
		}
		r.Builtin = own
		into[r.Name] = r
	}
	return nil
}

// inFolder is the path of a file of a folder on disk, else its name.
func inFolder(fsys fs.FS, name string) string {
	if v := reflect.ValueOf(fsys); v.Kind() == reflect.String { // os.DirFS
		return filepath.Join(v.String(), name)
	}
	return name
}

// Find returns the report called name, or a *UsageError that lists or suggests
// the names there are.
func Find(all []*Report, name string) (*Report, error) {
	var names []string
	for _, r := range all {
		if r.Name == name {
			if r.Err != nil {
				return nil, r.Err
			}
			return r, nil
		}
		names = append(names, r.Name)
	}
	hint := suggest(name, names)
	if hint == "" {
		hint = "; there are " + strings.Join(names, ", ")
	}
	return nil, usagef("no report %q%s", name, hint)
}

func reportName(file string) string {
	return strings.TrimSuffix(path.Base(file), ".sql")
}

// resolveUses finds the reports that of uses, and those that they use, in the
// order in which their tables must be made.
func (r *Report) resolveUses(of *Report, all []*Report, path []string) error {
	for _, name := range of.Uses {
		if slices.Contains(path, name) {
			return &HeaderError{File: of.File, Message: fmt.Sprintf("uses: %s leads back to itself by way of %s", name, strings.Join(path, ", "))}
		}
		if slices.ContainsFunc(r.used, func(o *Report) bool { return o.Name == name }) {
			continue
		}
		u, err := Find(all, name)
		var broken *HeaderError
		if errors.As(err, &broken) {
			return err
		}
		if err != nil {
			return &HeaderError{File: of.File, Message: "uses: " + err.Error()}
		}
		if err := r.resolveUses(u, all, append(path, name)); err != nil {
			return err
		}
		r.used = append(r.used, u)
	}
	return nil
}
