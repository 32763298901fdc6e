package reports

import (
	"bufio"
	"fmt"
	"strings"
)

// writeCSV writes one section as RFC 4180 CSV with a header and LF line ends.
// It reads back exactly: numbers have every digit and no grouping, NULL is an
// empty field and the empty string is "" in quotes (DuckDB: read_csv with
// allow_quoted_nulls = false). In a table of one column NULL too is "", since
// readers skip an empty line.
//
// Text is never changed unless CSVSafe is set: a spreadsheet may take text that
// begins with = + - @ for a formula, so a warning counts such cells and names
// the ways out (CSVSafe, or xlsx, in which text is always text).
func writeCSV(w *bufio.Writer, res *Result, opts WriteOptions) error {
	for _, sec := range wanted(res, opts, true) {
		risky := 0
		for i := range sec.Columns {
			writeCSVText(w, i, sec.Columns[i].Name, opts.CSVSafe, &risky)
		}
		w.WriteByte('\n')
		for row, err := range sec.Rows {
			if err != nil {
				return err
			}
			if err := writeCSVRow(w, sec.Columns, row, opts.CSVSafe, &risky); err != nil {
				return err
			}
		}
		if risky > 0 && !opts.CSVSafe {
			opts.warn(fmt.Sprintf("text cells that begin with = + - or @, which a spreadsheet may run as a formula: %d "+
				"(write .xlsx instead, or add --csv-safe)", risky))
		}
	}
	return nil
}

func writeCSVRow(w *bufio.Writer, cols []Column, row []any, safe bool, risky *int) error {
	for i, v := range row {
		s, ok := plain(&cols[i], v)
		switch {
		case !ok && len(cols) == 1:
			w.WriteString(`""`)
		case !ok:
			writeComma(w, i)
		case cols[i].Kind == Text || cols[i].Kind == JSON:
			writeCSVText(w, i, s, safe, risky)
		default:
			writeComma(w, i)
			w.WriteString(s)
		}
	}
	return w.WriteByte('\n')
}

func writeComma(w *bufio.Writer, i int) {
	if i > 0 {
		w.WriteByte(',')
	}
}

func writeCSVText(w *bufio.Writer, i int, s string, safe bool, risky *int) {
	writeComma(w, i)
	if formulaLike(s) {
		*risky++
		if safe {
			s = "'" + s
		}
	}
	if s != "" && !strings.ContainsAny(s, ",\"\r\n;'\t") && s[0] != ' ' && s[len(s)-1] != ' ' {
		w.WriteString(s)
		return
	}
	w.WriteByte('"')
	for {
		q := strings.IndexByte(s, '"')
		if q < 0 {
			break
		}
		w.WriteString(s[:q])
		w.WriteString(`""`)
		s = s[q+1:]
	}
	w.WriteString(s)
	w.WriteByte('"')
}

// formulaLike says whether a spreadsheet may take text for a formula. A sign
// alone, as in "-", or a plain negative number is none.
func formulaLike(s string) bool {
	if len(s) < 2 {
		return false
	}
	switch s[0] {
	case '=', '@', '\t', '\r':
		return true
	case '+', '-':
		return !isJSONNumber(strings.TrimPrefix(s, "+"))
	}
	return false
}
