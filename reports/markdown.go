package reports

import (
	"bufio"
	"strings"
	"unicode"
	"unicode/utf8"
)

// writeMarkdown writes every section as a heading and a GitHub-flavoured table
// with all columns, numbers rounded as on the terminal. Text is escaped: no pipe, newline, HTML or
// Markdown of a log takes effect. The stamp stands at the end as a list.
func writeMarkdown(w *bufio.Writer, res *Result, opts WriteOptions) error {
	if res.Title != "" {
		w.WriteString("# " + mdText(res.Title) + "\n\n")
	}
	mdLines(w, res.Head)
	for _, sec := range wanted(res, opts, false) {
		if sec.Heading != "" {
			w.WriteString("## " + mdText(sec.Heading) + "\n\n")
		}
		if err := writeMarkdownTable(w, sec, opts); err != nil {
			return err
		}
		w.WriteByte('\n')
		mdLines(w, sec.Notes)
	}
	if len(res.Warnings) > 0 {
		for _, s := range res.Warnings {
			w.WriteString("> **warning:** " + mdText(s) + "\n>\n")
		}
		w.WriteByte('\n')
	}
	mdLines(w, res.Foot)
	if res.Stamp != nil {
		w.WriteString("<details><summary>stamp</summary>\n\n")
		for _, kv := range stampLines(res.Stamp) {
			w.WriteString("- " + mdText(kv[0]) + ": " + mdText(kv[1]) + "\n")
		}
		w.WriteString("\n</details>\n")
	}
	return nil
}

func mdLines(w *bufio.Writer, lines []string) {
	for _, s := range lines {
		if strings.HasPrefix(s, " ") { // a command to copy
			w.WriteString("    " + visible(strings.TrimSpace(s)) + "\n\n")
			continue
		}
		w.WriteString(mdText(s) + "\n\n")
	}
}

// writeMarkdownTable writes the rows as they come, once the first of them have
// told how many decimals each column needs.
func writeMarkdownTable(w *bufio.Writer, sec *Section, opts WriteOptions) error {
	var cols []*tableColumn
	rule := "|"
	w.WriteByte('|')
	for i := range sec.Columns {
		cols = append(cols, &tableColumn{Column: &sec.Columns[i], index: i})
		w.WriteString(" " + mdText(sec.Columns[i].Name) + " |")
		if sec.Columns[i].numeric() {
			rule += " ---: |"
		} else {
			rule += " --- |"
		}
	}
	w.WriteString("\n" + rule + "\n")
	var sample [][]any
	measured := false
	flush := func() error {
		for _, c := range cols {
			c.setDecimals(sample, opts)
		}
		measured = true
		for _, row := range sample {
			if err := writeMarkdownRow(w, cols, row); err != nil {
				return err
			}
		}
		return nil
	}
	for row, err := range sec.Rows {
		if err != nil {
			return err
		}
		if measured {
			if err := writeMarkdownRow(w, cols, row); err != nil {
				return err
			}
			continue
		}
		sample = append(sample, append([]any(nil), row...))
		if len(sample) == tableSample {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if !measured {
		return flush()
	}
	return nil
}

func writeMarkdownRow(w *bufio.Writer, cols []*tableColumn, row []any) error {
	w.WriteByte('|')
	for i, v := range row {
		f, isFloat := v.(float64)
		switch s, _ := plain(cols[i].Column, v); {
		case isFloat:
			w.WriteString(" " + roundFloat(f, cols[i].decimals) + " |")
		case cols[i].numeric():
			w.WriteString(" " + visible(s) + " |")
		default:
			w.WriteString(" " + mdText(s) + " |")
		}
	}
	return w.WriteByte('\n')
}

// mdText escapes text so that Markdown shows it as it is, on one line.
func mdText(s string) string {
	var b strings.Builder
	s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	prev := ' '
	for i, r := range s {
		switch {
		case r == '\n':
			b.WriteString("<br>")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '_':
			// Inside a word GFM leaves it alone, and task_id reads better so.
			next, _ := utf8.DecodeRuneInString(s[i+1:])
			if !wordRune(prev) || !wordRune(next) {
				b.WriteByte('\\')
			}
			b.WriteByte('_')
		case strings.ContainsRune("|\\`*[]~$", r), i == 0 && strings.ContainsRune("#+-=", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case hidden(r):
			b.WriteString(visible(string(r)))
		default:
			b.WriteRune(r)
		}
		prev = r
	}
	return b.String()
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
