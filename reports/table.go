package reports

import (
	"bufio"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"
)

const (
	// tableSample is how many rows fix the widths of a section's columns.
	// Later rows stream, their text cut to fit.
	tableSample = 2000
	// tableText is the widest that text gets where no terminal sets a limit.
	tableText = 240
	// tableTextMin is how narrow a text column gets before the table is
	// broken into blocks of columns instead.
	tableTextMin = 12
	// tableCellBytes bounds what is looked at of one hostile cell.
	tableCellBytes = 4096

	columnGap = "  "
	nullCell  = "—"
)

// cells counts terminal cells the same way whatever the locale says.
var cells = func() *runewidth.Condition {
	c := runewidth.NewCondition()
	c.EastAsianWidth = false
	return c
}()

// writeTable writes every section as aligned text. Floats are rounded to
// opts.Decimals; columns marked Wide are left out. Text is cut with … and
// headings break at underscores to fit opts.Width; numbers are never cut: what
// still does not fit goes into further blocks that repeat the leading columns.
// Control characters in text show as pictures (ESC as ␛).
func writeTable(w *bufio.Writer, res *Result, opts WriteOptions) error {
	if res.Title != "" {
		w.WriteString(bold(opts, visible(res.Title)) + "\n")
	}
	writeLines(w, res.Head, opts.Width)
	if res.Title != "" || len(res.Head) > 0 {
		w.WriteByte('\n')
	}
	for i, sec := range wanted(res, opts, false) {
		if i > 0 {
			w.WriteByte('\n')
		}
		if sec.Heading != "" {
			w.WriteString(bold(opts, visible(sec.Heading)) + "\n")
		}
		if err := writeTableSection(w, sec, opts); err != nil {
			return err
		}
		if len(sec.Notes) > 0 {
			w.WriteByte('\n')
			writeLines(w, sec.Notes, opts.Width)
		}
	}
	if len(res.Foot) > 0 {
		w.WriteByte('\n')
		writeLines(w, res.Foot, opts.Width)
	}
	return nil
}

func bold(opts WriteOptions, s string) string {
	if !opts.Color {
		return s
	}
	return "\x1b[1m" + s + "\x1b[0m"
}

// writeLines writes sentences, broken at spaces to the width. A command to copy
// (indented, or beginning with passhat) stays whole.
func writeLines(w *bufio.Writer, lines []string, width int) {
	for _, line := range lines {
		line = visible(line)
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "passhat ") {
			w.WriteString(line + "\n")
			continue
		}
		for _, part := range wrap(line, width) {
			w.WriteString(part + "\n")
		}
	}
}

// wrap breaks text at spaces into lines of at most width cells; a longer word
// has a line to itself. Width 0 is no limit.
func wrap(text string, width int) []string {
	if width <= 0 || cells.StringWidth(text) <= width {
		return []string{text}
	}
	var lines []string
	line, used := "", 0
	for _, word := range strings.Fields(text) {
		n := cells.StringWidth(word)
		if line != "" && used+1+n > width {
			lines = append(lines, line)
			line, used = "", 0
		}
		if line != "" {
			line += " "
			used++
		}
		line += word
		used += n
	}
	return append(lines, line)
}

// tableColumn is a column on its way to the terminal.
type tableColumn struct {
	*Column
	index    int      // in the row
	decimals int      // of a Float
	width    int      // in terminal cells
	heading  []string // one element a line
	varies   bool     // rows differ in it
}

func writeTableSection(w *bufio.Writer, sec *Section, opts WriteOptions) error {
	if len(sec.Columns) == 0 {
		return nil
	}
	var rows [][]any
	var lay *tableLayout
	total := 0
	for row, err := range sec.Rows {
		if err != nil {
			return err
		}
		total++
		if opts.Limit > 0 && total > opts.Limit {
			continue
		}
		rows = append(rows, append([]any(nil), row...))
		if len(rows) == tableSample {
			if lay == nil {
				lay = layTable(sec, rows, opts)
			}
			if err := lay.write(w, rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	if lay == nil {
		lay = layTable(sec, rows, opts)
	}
	if len(rows) > 0 || total == 0 {
		if err := lay.write(w, rows); err != nil {
			return err
		}
	}
	if more := total - opts.Limit; opts.Limit > 0 && more > 0 {
		w.WriteString(dim(opts, fmt.Sprintf("… %s; --limit 0 shows all, -o FILE.csv writes them", plural(int64(more), "more row"))) + "\n")
	}
	if total == 0 {
		w.WriteString(dim(opts, "(no rows)") + "\n")
	}
	return nil
}

func dim(opts WriteOptions, s string) string {
	if !opts.Color {
		return s
	}
	return "\x1b[2m" + s + "\x1b[0m"
}

// tableLayout is how a section is set out: blocks of columns, each block as
// wide as the terminal at most.
type tableLayout struct {
	opts   WriteOptions
	blocks [][]*tableColumn
	header bool // already written
}

func layTable(sec *Section, rows [][]any, opts WriteOptions) *tableLayout {
	var cols []*tableColumn
	for i := range sec.Columns {
		if c := &sec.Columns[i]; !c.Wide || opts.AllColumns {
			cols = append(cols, &tableColumn{Column: c, index: i})
		}
	}
	for _, c := range cols {
		c.measure(rows, opts)
	}
	return &tableLayout{opts: opts, blocks: fitTable(cols, opts.Width)}
}

// measure finds decimals, heading and natural width of a column.
func (c *tableColumn) measure(rows [][]any, opts WriteOptions) {
	c.setDecimals(rows, opts)
	first := ""
	for i, row := range rows {
		if text := c.cell(row); i == 0 {
			first = text
		} else if text != first {
			c.varies = true
		}
		for _, line := range c.lines(row) {
			c.width = max(c.width, cells.StringWidth(line))
		}
	}
	if c.Kind.elastic() {
		c.width = min(c.width, tableText)
	}
	c.setHeading(rows, opts.Width)
}

// setDecimals finds how many decimals a column of Floats shows.
func (c *tableColumn) setDecimals(rows [][]any, opts WriteOptions) {
	c.decimals = opts.Decimals
	if c.decimals == 0 {
		c.decimals = 4
	}
	if opts.Trim && c.Kind == Float {
		need := 0
		for _, row := range rows {
			if f, ok := row[c.index].(float64); ok {
				need = max(need, decimalsNeeded(f, c.decimals))
			}
		}
		c.decimals = need
	}
}

// setHeading breaks the heading at underscores where the cells are narrower.
func (c *tableColumn) setHeading(rows [][]any, limit int) {
	name := visible(c.Name)
	full := cells.StringWidth(name)
	if limit <= 0 || full <= c.width {
		c.heading = []string{name}
		c.width = max(c.width, min(full, tableText))
		return
	}
	c.width = max(c.width, 3)
	line := ""
	for _, part := range strings.SplitAfter(name, "_") {
		if line != "" && cells.StringWidth(line+part) > max(c.width, 7) {
			c.heading = append(c.heading, line)
			line = ""
		}
		line += part
	}
	c.heading = append(c.heading, line)
	for _, line := range c.heading {
		c.width = max(c.width, min(cells.StringWidth(line), tableText))
	}
}

// decimalsNeeded is how many decimals, up to most, f has after rounding.
func decimalsNeeded(f float64, most int) int {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	s := strconv.FormatFloat(f, 'f', most, 64)
	dot := strings.IndexByte(s, '.')
	if dot < 0 {
		return 0
	}
	return len(strings.TrimRight(s, "0")) - dot - 1
}

// cell gives a value as it stands on the terminal, before it is cut.
func (c *tableColumn) cell(row []any) string {
	v := row[c.index]
	switch v := v.(type) {
	case float64:
		return roundFloat(v, c.decimals)
	case time.Time:
		if c.Kind == Timestamp {
			return v.UTC().Format("2006-01-02 15:04:05")
		}
	}
	s, ok := plain(c.Column, v)
	if !ok {
		return nullCell
	}
	if c.numeric() {
		return visible(s)
	}
	if cut := cutBytes(s, tableCellBytes); cut != s {
		s = cut + "…"
	}
	return cut(visible(s), tableText)
}

// lines gives a value as the lines that it takes, before they are fitted.
func (c *tableColumn) lines(row []any) []string {
	s, ok := row[c.index].(string)
	if !c.Wrap || !ok {
		return []string{c.cell(row)}
	}
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range lines {
		lines[i] = visible(lines[i])
	}
	return lines
}

// roundFloat rounds for reading. A number that rounding would turn into zero,
// or that is too long for plain digits, keeps three significant digits.
func roundFloat(f float64, decimals int) string {
	if a := math.Abs(f); math.IsNaN(f) || math.IsInf(f, 0) {
		return formatFloat(f)
	} else if a != 0 && a < 0.5*math.Pow10(-decimals) && a < 1e-3 || a >= 1e15 {
		return strconv.FormatFloat(f, 'g', 3, 64)
	}
	s := strconv.FormatFloat(f, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		s = strings.TrimPrefix(s, "-")
	}
	return s
}
