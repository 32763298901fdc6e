package sql

import (
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// Excerpt shows the place of the error: its line of the statement and under it
// a caret. A long line is cut to about width cells around the place. It is ""
// where the place is not known. The text holds no control characters.
func (e *Error) Excerpt(width int) string {
	lines := strings.Split(e.text, "\n")
	if e.Line < 1 || e.Line > len(lines) || e.Column < 1 {
		return ""
	}
	line := []rune(strings.TrimRight(lines[e.Line-1], "\r"))
	at := min(e.Column-1, len(line))
	for i, r := range line {
		if r == '\t' {
			line[i] = ' '
		} else if !unicode.IsPrint(r) {
			line[i] = '\uFFFD'
		}
	}
	if width < 20 {
		width = 80
	}
	front, back := "", ""
	from, to := 0, len(line)
	if cellsOf(line) > width {
		from = at
		for from > 0 && cellsOf(line[from-1:at]) <= width/2 {
			from--
		}
		to = at
		for to < len(line) && cellsOf(line[from:to+1]) <= width-2 {
			to++
		}
		if from > 0 {
			front = "…"
		}
		if to < len(line) {
			back = "…"
		}
	}
	pad := cellsOf([]rune(front)) + cellsOf(line[from:at])
	return front + string(line[from:to]) + back + "\n" + strings.Repeat(" ", pad) + "^"
}

// narrow counts cells the same way whatever the locale says.
var narrow = func() *runewidth.Condition {
	c := runewidth.NewCondition()
	c.EastAsianWidth = false
	return c
}()

func cellsOf(r []rune) int { return narrow.StringWidth(string(r)) }
