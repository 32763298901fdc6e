package reports

import (
	"iter"
	"time"
)

// Kind tells a writer how the values of a column are to be shown and typed.
type Kind int

// A cell is nil (NULL) or, by the Kind of its column:
const (
	Text      Kind = iota // string
	Int                   // int64
	Float                 // float64; NaN and infinities possible in ad-hoc SQL
	Bool                  // bool
	Timestamp             // time.Time, UTC
	Date                  // time.Time, midnight UTC
	Number                // string: a decimal or an integer beyond int64, every digit kept
	JSON                  // string: a list, struct, map or JSON value as JSON text
)

// Column is one column of a section.
type Column struct {
	Name string
	Type string // DuckDB's name of the type, e.g. DOUBLE
	Kind Kind
	// Wide marks a column that the terminal table leaves out (se, df,
	// method …); every other output form has it.
	Wide bool
	// Wrap marks text that the terminal table breaks over several lines where
	// it would cut other text.
	Wrap bool
	// Percent marks a share of 1 that a spreadsheet shows in percent and a
	// chart puts on an axis from 0 to 100 %.
	Percent bool
	// Group marks a column that says which group a row belongs to; a chart
	// without series= splits by those that vary.
	Group bool
}

// Chart is the picture a section's header asks for.
type Chart struct {
	Type               string // line, bar or points
	X, Y, Lower, Upper string // column names; Lower and Upper may be ""
	Series             string // column that splits the lines, may be ""
	Title              string
	MoreY              []string // further y columns drawn as lines of their own
	// Order says by what the rows are sorted, as in worst: where a picture has no
	// room for all names it says so of the first.
	Order string
	// Range is what the axis of y spans, lower end first; nil leaves it to the
	// data, or 0 to 1 where y is a share.
	Range *[2]float64
}

// Section is one table of a result.
type Section struct {
	Name    string // a file and sheet name: lower case, no spaces
	Heading string
	Columns []Column
	// Rows yields each row once, in order; it can be ranged over only once
	// unless Buffered says otherwise. After an error the stream ends.
	Rows iter.Seq2[[]any, error]
	// Buffered says that Rows may be ranged over again.
	Buffered bool
	// Cover puts the chart, or without one the table, at the top of a page.
	Cover bool
	// Notes are sentences that belong under the table.
	Notes []string
	Chart *Chart
}

// Result is what a report or a query yields: sections, in order, each of which
// is to be read before the next is asked for.
type Result struct {
	Name     string // report name, or "query"
	Title    string
	Head     []string // lines that stand above the first table, e.g. the configuration line
	Sections []Section
	Foot     []string // what to look at next
	Warnings []string
	SQL      []string // the statements that were run, when asked for
	Stamp    *Stamp   // nil for ad-hoc queries
}

// Stamp binds a number to what it was computed from.
type Stamp struct {
	Version    string            `json:"passhat"`
	Report     string            `json:"report"`
	Made       time.Time         `json:"made"`
	Sources    []StampSource     `json:"sources"`
	Filter     map[string]string `json:"filter"`
	Parameters map[string]string `json:"parameters"`
	Policy     string            `json:"policy"`
	K          string            `json:"k"`
	Seed       int64             `json:"seed"`
	Tasks      int64             `json:"tasks"`
	Trials     int64             `json:"trials"`
	Ungraded   int64             `json:"ungraded"`
	// UngradedTasks is how many tasks have an ungraded trial.
	UngradedTasks int64             `json:"ungraded_tasks"`
	Weights       string            `json:"weights"` // file, hash and date, or "equal"
	Configuration map[string]string `json:"configuration"`
}

// StampSource is one ingested source that a result rests on.
type StampSource struct {
	Source string `json:"source"`
	Format string `json:"format"`
	Hash   string `json:"hash"`
	Rows   int64  `json:"rows"`
}
