package reports

import (
	"bufio"
	"slices"
	"strings"
)

// ruleMax is the longest rule under the heading of a last text column.
const ruleMax = 60

// fitTable narrows text columns to the width and, where that is not enough,
// breaks the columns into blocks that repeat the leading key columns.
func fitTable(cols []*tableColumn, width int) [][]*tableColumn {
	if width <= 0 || blockWidth(cols) <= width {
		return [][]*tableColumn{cols}
	}
	natural := make([]int, len(cols))
	for i, c := range cols {
		natural[i] = c.width
	}
	narrow(cols, width)
	if blockWidth(cols) <= width {
		return [][]*tableColumn{cols}
	}
	// Several blocks it is: then names may as well be legible.
	for i, c := range cols {
		if c.Kind.elastic() {
			c.width = min(natural[i], max(c.width, width/3))
		}
	}
	keys := keyColumns(cols, width)
	room := width - blockWidth(keys)
	var blocks [][]*tableColumn
	block, used, rest := keys, 0, []*tableColumn{}
	if first := leading(cols, keys, width); first != nil {
		blocks, rest = append(blocks, first), cols[len(first):]
	} else {
		for _, c := range cols {
			if !slices.Contains(keys, c) {
				rest = append(rest, c)
			}
		}
	}
	for _, c := range rest {
		need := c.width + len(columnGap)
		if used+need > room && len(block) > len(keys) {
			blocks = append(blocks, block)
			block, used = keys, 0
		}
		block = append(block[:len(block):len(block)], c)
		used += need
	}
	return append(blocks, block)
}

func blockWidth(cols []*tableColumn) int {
	n := 0
	for i, c := range cols {
		if i > 0 {
			n += len(columnGap)
		}
		n += c.width
	}
	return n
}

// narrow takes width from the widest text column, one cell at a time, until
// the table fits or every text column is at its least. What a run is called is cut
// last: it is what one types next.
func narrow(cols []*tableColumn, width int) {
	over := blockWidth(cols) - width
	for ; over > 0; over-- {
		var widest *tableColumn
		for _, c := range cols {
			if !c.Kind.elastic() || c.width <= tableTextMin {
				continue
			}
			run := c.Name == "run_id"
			if widest == nil || run == (widest.Name == "run_id") && c.width > widest.width || !run && widest.Name == "run_id" {
				widest = c
			}
		}
		if widest == nil {
			return
		}
		widest.width--
	}
}

// leading are the first columns, as many as fit, nil where not all keys are among them.
func leading(cols, keys []*tableColumn, width int) []*tableColumn {
	n := 1
	for n < len(cols)-1 && blockWidth(cols[:n+1]) <= width {
		n++
	}
	for _, c := range keys {
		if !slices.Contains(cols[:n], c) {
			return nil
		}
	}
	return cols[:n]
}

// keyColumns are the leading columns up to the first measured number (a
// Float): they say what a row is, so each block repeats them. Where all of them would
// take more than half of the width, those that tell rows apart are repeated, their
// texts narrowed where they must be.
func keyColumns(cols []*tableColumn, width int) []*tableColumn {
	n := 0
	for n < len(cols)-1 && cols[n].Kind != Float && (cols[n].Kind != Int || n == 0 || cols[n].Name == "k") {
		n++
	}
	if n == 0 || blockWidth(cols[:n]) <= width/2 {
		return cols[:n]
	}
	var keys []*tableColumn
	for _, c := range cols[:n] {
		if c.varies {
			keys = append(keys, c)
		}
	}
	if len(keys) == 0 {
		keys = cols[:1:1]
	}
	narrow(keys, width/2)
	for len(keys) > 1 && blockWidth(keys) > width*2/3 {
		keys = keys[:len(keys)-1]
	}
	if blockWidth(keys) > width*2/3 {
		return nil
	}
	return keys
}

func (l *tableLayout) write(w *bufio.Writer, rows [][]any) error {
	for i, block := range l.blocks {
		if i > 0 {
			w.WriteByte('\n')
		}
		// One block streams under one header; several repeat it each time.
		if !l.header || len(l.blocks) > 1 {
			l.writeHeader(w, block)
		}
		for _, row := range rows {
			if err := l.writeRow(w, block, row); err != nil {
				return err
			}
		}
	}
	l.header = true
	return nil
}

func (l *tableLayout) writeHeader(w *bufio.Writer, block []*tableColumn) {
	height := 0
	for _, c := range block {
		height = max(height, len(c.heading))
	}
	for line := range height {
		var b strings.Builder
		for i, c := range block {
			text := ""
			if at := line - (height - len(c.heading)); at >= 0 {
				text = cut(c.heading[at], c.width)
			}
			pad(&b, text, c, i, i == len(block)-1)
		}
		w.WriteString(bold(l.opts, strings.TrimRight(b.String(), " ")) + "\n")
	}
	var b strings.Builder
	for i, c := range block {
		if i > 0 {
			b.WriteString(columnGap)
		}
		n := c.width
		if i == len(block)-1 && c.Kind.elastic() {
			n = min(n, ruleMax) // nothing stands beside it
		}
		b.WriteString(strings.Repeat("─", n))
	}
	w.WriteString(dim(l.opts, b.String()) + "\n")
}

func (l *tableLayout) writeRow(w *bufio.Writer, block []*tableColumn, row []any) error {
	texts := make([][]string, len(block))
	height := 1
	for i, c := range block {
		for _, text := range c.lines(row) {
			switch {
			case c.Wrap:
				texts[i] = append(texts[i], wrap(text, c.width)...)
			case c.Kind.elastic():
				texts[i] = append(texts[i], cut(text, c.width))
			default:
				texts[i] = append(texts[i], text)
			}
		}
		height = max(height, len(texts[i]))
	}
	for line := range height {
		var b strings.Builder
		for i, c := range block {
			text := ""
			if line < len(texts[i]) {
				text = texts[i][line]
			}
			pad(&b, text, c, i, i == len(block)-1)
		}
		text := b.String()
		if line > 0 {
			text = strings.TrimRight(text, " ")
		}
		if _, err := w.WriteString(text + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// cut shortens text to a width: a sentence at its end, a name or path in its
// middle, since long names mostly differ at their ends.
func cut(s string, width int) string {
	if cells.StringWidth(s) <= width {
		return s
	}
	if strings.ContainsRune(s, ' ') || width < 5 {
		return cells.Truncate(s, width, "…")
	}
	front := cells.Truncate(s, width/3, "")
	room := width - 1 - cells.StringWidth(front)
	tail := cells.TruncateLeft(s, max(0, cells.StringWidth(s)-room), "")
	return front + "…" + tail
}

// pad writes a cell with its gap: numbers to the right, the last text column
// without trailing spaces.
func pad(b *strings.Builder, s string, c *tableColumn, i int, last bool) {
	if i > 0 {
		b.WriteString(columnGap)
	}
	fill := strings.Repeat(" ", max(0, c.width-cells.StringWidth(s)))
	switch {
	case c.numeric():
		b.WriteString(fill + s)
	case last:
		b.WriteString(s)
	default:
		b.WriteString(s + fill)
	}
}
