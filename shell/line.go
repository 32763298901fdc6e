package shell

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"passhat/reports"
)

// lineText bounds one value of mode line, in bytes: a log's text can be long.
const lineText = 100_000

// writeLines writes every row as lines of column and value, a blank line
// between rows. Columns that a table leaves out are there too.
func writeLines(w io.Writer, res *reports.Result, opts reports.WriteOptions) error {
	out := bufio.NewWriter(w)
	wide := runewidth.NewCondition()
	wide.EastAsianWidth = false
	begun := false
	for i := range res.Sections {
		sec := &res.Sections[i]
		if opts.Section != "" && sec.Name != opts.Section {
			continue
		}
		if sec.Heading != "" {
			fmt.Fprintf(out, "%s\n\n", reports.Visible(sec.Heading))
		}
		width := 0
		for _, c := range sec.Columns {
			width = max(width, wide.StringWidth(reports.Visible(c.Name)))
		}
		for row, err := range sec.Rows {
			if err != nil {
				out.Flush()
				return err
			}
			if begun {
				out.WriteByte('\n')
			}
			begun = true
			for j, c := range sec.Columns {
				name := reports.Visible(c.Name)
				fmt.Fprintf(out, "%s%s = %s\n", strings.Repeat(" ", width-wide.StringWidth(name)), name, lineValue(&c, row[j]))
			}
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, text := range res.Warnings {
		if opts.Messages != nil {
			fmt.Fprintln(opts.Messages, reports.Visible("warning: "+text))
		}
	}
	return nil
}

// lineValue is a value with nothing lost but what is too long.
func lineValue(c *reports.Column, v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		if len(v) > lineText {
			v = strings.ToValidUTF8(v[:lineText], "") + "…"
		}
		return reports.Visible(v)
	case float64:
		if v >= 1e21 || v <= -1e21 || v != 0 && v < 1e-6 && v > -1e-6 {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Time:
		if c.Kind == reports.Date {
			return v.UTC().Format(time.DateOnly)
		}
		return v.UTC().Format("2006-01-02 15:04:05.999999")
	}
	return reports.Visible(fmt.Sprint(v))
}

// counted adds the rows that pass to n.
func counted(rows iter.Seq2[[]any, error], n *int) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for row, err := range rows {
			if err == nil {
				*n++
			}
			if !yield(row, err) {
				return
			}
		}
	}
}
