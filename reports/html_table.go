package reports

import (
	"bufio"
	"fmt"
	"html"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// htmlSample is how many rows are read before a section's head is written:
	// more than a chart holds.
	htmlSample = 5000
	// htmlWhole is the longest text, in bytes, that is never broken over lines.
	htmlWhole = 28
	// htmlText is the longest text, in bytes, that a cell shows unfolded.
	htmlText = 240
	// htmlFold is how much of a longer one its fold shows.
	htmlFold = 120
)

// htmlTable writes a section: its head once the first rows are known, then row
// after row.
type htmlTable struct {
	w     *bufio.Writer
	sec   *Section
	opts  WriteOptions
	head  htmlSection
	stamp *Stamp
	cols  []*tableColumn
	key   int // the column that names a row
	// covered: its chart stands at the top of the page.
	covered bool
}

func (t *htmlTable) write() error {
	var sample [][]any
	started, rows := false, 0
	for row, err := range t.sec.Rows {
		if err != nil {
			return err
		}
		rows++
		if started {
			if err := t.row(row); err != nil {
				return err
			}
			continue
		}
		sample = append(sample, append([]any(nil), row...))
		if len(sample) == htmlSample {
			started = true
			if err := t.start(sample); err != nil {
				return err
			}
		}
	}
	if !started {
		if err := t.start(sample); err != nil {
			return err
		}
	}
	if len(t.head.Columns) > 0 {
		t.w.WriteString("</tbody>\n</table>\n</div>\n")
	} else if rows == 0 {
		t.w.WriteString("<p class=\"empty\">no rows</p>\n")
	}
	_, err := t.w.WriteString("</section>\n")
	return err
}

// start writes the section's head and the rows read so far.
func (t *htmlTable) start(rows [][]any) error {
	h := &t.head
	h.Notes = visibleAll(t.sec.Notes)
	if t.covered {
		h.ChartNotes = []string{"the chart stands at the top of the page"}
	} else if err := t.chart(rows); err != nil {
		return err
	}
	t.key = -1
	wide := 0
	for i := range t.sec.Columns {
		col := t.sec.Columns[i] // a copy: other writers read the section too
		c := &tableColumn{Column: &col, index: i}
		c.setDecimals(rows, t.opts)
		t.cols = append(t.cols, c)
		if c.Wide && !t.opts.AllColumns {
			wide++
		} else if t.key < 0 {
			t.key = i
		}
	}
	if wide == len(t.cols) {
		wide = 0
	}
	for _, c := range t.cols {
		c.Wide = c.Wide && wide > 0 && !t.opts.AllColumns
		h.Columns = append(h.Columns, htmlColumn{Parts: strings.SplitAfter(visible(c.Name), "_"), Class: c.class(), Number: c.numeric() || c.Kind == Date || c.Kind == Timestamp})
	}
	if len(rows) == 0 {
		h.Columns, wide = nil, 0
	}
	if wide > 0 {
		h.More = "show " + plural(int64(wide), "more column")
	}
	if err := pageTemplate().ExecuteTemplate(t.w, "section", h); err != nil {
		return fmt.Errorf("writing the head of section %s: %w", t.sec.Name, err)
	}
	for _, row := range rows {
		if err := t.row(row); err != nil {
			return err
		}
	}
	return nil
}

// chart draws the section's chart of the rows read so far.
func (t *htmlTable) chart(rows [][]any) error {
	d, lacks := newChart(t.sec, t.stamp)
	if d == nil {
		if lacks != "" {
			t.head.ChartNotes = []string{visible(lacks)}
		}
		return nil
	}
	if t.sec.Buffered {
		if err := readChart(t.sec, d); err != nil {
			return err
		}
	} else {
		for _, row := range rows {
			d.add(row)
		}
		d.more = len(rows) == htmlSample
		d.finish()
	}
	if d.title == t.sec.Heading && !t.sec.Cover {
		d.title, d.name = "", d.title // it stands above
	}
	if !d.empty() {
		t.head.Chart = template.HTML(d.drawSVG()) // escaped by the canvas
	}
	return nil
}

// class tells the style sheet how a column's cells stand.
func (c *tableColumn) class() string {
	class := "t"
	switch {
	case c.numeric():
		class = "n"
	case c.Kind.elastic():
		class = "s"
	}
	if c.Wide {
		class += " w"
	}
	return class
}

func (t *htmlTable) row(row []any) error {
	t.w.WriteString("<tr>")
	for i, c := range t.cols {
		tag, open := "td", "<td"
		if i == t.key {
			tag, open = "th", `<th scope="row"`
		}
		t.w.WriteString(open + ` class="` + c.class())
		if row[i] == nil {
			t.w.WriteString(` k" data-null>` + nullCell + "</" + tag + ">")
			continue
		}
		if text, ok := row[i].(string); ok && c.Kind.elastic() && (len(text) > htmlWhole || strings.Contains(text, "\n")) {
			t.w.WriteString(" b")
		}
		t.w.WriteByte('"')
		t.cell(c, row)
		t.w.WriteString("</" + tag + ">")
	}
	_, err := t.w.WriteString("</tr>\n")
	return err
}

// cell writes the end of a cell's tag and its content.
func (t *htmlTable) cell(c *tableColumn, row []any) {
	v := row[c.index]
	shown := c.cell(row)
	switch x := v.(type) {
	case float64, int64:
		full, _ := plain(c.Column, v)
		t.number(full, shown)
		return
	case time.Time:
		fmt.Fprintf(t.w, ` data-v="%s"><time datetime="%s">%s</time>`, strconv.FormatInt(x.UnixMicro(), 10), x.UTC().Format(time.RFC3339Nano), html.EscapeString(shown))
		return
	case bool:
		t.w.WriteString(">" + shown)
		return
	case string:
		if c.numeric() {
			t.number(x, shown)
			return
		}
		t.text(c, x)
		return
	}
	t.text(c, shown)
}

// number keeps every digit for sorting, and for reading where some are hidden.
func (t *htmlTable) number(full, shown string) {
	full = html.EscapeString(visible(full))
	t.w.WriteString(` data-v="` + full + `"`)
	if full != shown {
		t.w.WriteString(` title="` + full + `"`)
	}
	t.w.WriteString(">" + html.EscapeString(shown))
}

// text writes text that keeps its own direction; a long one is folded, and
// nothing of it is lost.
func (t *htmlTable) text(c *tableColumn, s string) {
	t.w.WriteByte('>')
	tone := c.tone(s)
	if tone != "" {
		t.w.WriteString(`<span class="tag ` + tone + `">`)
		defer t.w.WriteString("</span>")
	}
	if len(s) <= htmlText && strings.Count(s, "\n") <= 4 {
		t.w.WriteString("<bdi>" + htmlEscape(s) + "</bdi>")
		return
	}
	first, _, _ := strings.Cut(cutBytes(s, htmlFold), "\n")
	t.w.WriteString(`<details class="long"><summary><bdi>` + htmlEscape(first) + "…</bdi> (" + strconv.Itoa(utf8.RuneCountInString(s)) +
		" characters)</summary><bdi>" + htmlEscape(s) + "</bdi></details>")
}

// htmlEscape escapes text line by line, so that line ends stay and every other
// control character shows as its picture.
func htmlEscape(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = html.EscapeString(visible(lines[i]))
	}
	return strings.Join(lines, "\n")
}
