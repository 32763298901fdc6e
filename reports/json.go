package reports

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
)

// jsonColumn describes a column in the form json.
type jsonColumn struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// writeJSON writes the whole result as one JSON object, a row a line:
//
//	{"report", "title", "stamp", "head": [], "sections": [{"name", "heading",
//	 "columns": [{"name", "type"}], "rows": [{…}], "notes": []}], "foot": [], "warnings": []}
//
// NULL, NaN and infinities are null; times are RFC 3339 in UTC; integers and
// decimals have every digit; lists and structs are JSON values.
func writeJSON(w *bufio.Writer, res *Result, opts WriteOptions) error {
	w.WriteString(`{"report":`)
	putJSON(w, res.Name)
	w.WriteString(`,"title":`)
	putJSON(w, res.Title)
	w.WriteString(`,"stamp":`)
	putJSON(w, res.Stamp)
	w.WriteString(`,"head":`)
	putJSON(w, orEmpty(res.Head))
	w.WriteString(",\"sections\":[")
	for i, sec := range wanted(res, opts, false) {
		if i > 0 {
			w.WriteByte(',')
		}
		if err := writeJSONSection(w, sec); err != nil {
			return err
		}
	}
	w.WriteString("],\n\"foot\":")
	putJSON(w, orEmpty(res.Foot))
	w.WriteString(`,"warnings":`)
	putJSON(w, orEmpty(res.Warnings))
	_, err := w.WriteString("}\n")
	return err
}

func writeJSONSection(w *bufio.Writer, sec *Section) error {
	w.WriteString("\n{\"name\":")
	putJSON(w, sec.Name)
	w.WriteString(`,"heading":`)
	putJSON(w, sec.Heading)
	names := uniqueNames(sec.Columns, false)
	cols := make([]jsonColumn, len(names))
	for i, c := range sec.Columns {
		cols[i] = jsonColumn{names[i], c.Type}
	}
	w.WriteString(`,"columns":`)
	putJSON(w, cols)
	w.WriteString(`,"rows":[`)
	keys := jsonKeys(names)
	n := 0
	for row, err := range sec.Rows {
		if err != nil {
			return err
		}
		if n++; n > 1 {
			w.WriteByte(',')
		}
		w.WriteByte('\n')
		if err := writeJSONRow(w, sec.Columns, keys, row); err != nil {
			return err
		}
	}
	w.WriteString("],\"notes\":")
	putJSON(w, orEmpty(sec.Notes))
	return w.WriteByte('}')
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// jsonKeys gives each name as a quoted JSON key with its colon.
func jsonKeys(names []string) [][]byte {
	keys := make([][]byte, len(names))
	for i, n := range names {
		keys[i] = append(marshal(n), ':')
	}
	return keys
}

func writeJSONRow(w *bufio.Writer, cols []Column, keys [][]byte, row []any) error {
	w.WriteByte('{')
	for i, v := range row {
		if i > 0 {
			w.WriteByte(',')
		}
		w.Write(keys[i])
		writeJSONCell(w, &cols[i], v)
	}
	return w.WriteByte('}')
}

func writeJSONCell(w *bufio.Writer, col *Column, v any) {
	switch v := v.(type) {
	case nil:
		w.WriteString("null")
		return
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			w.WriteString("null")
			return
		}
	case bool, int64:
	default:
		s, _ := plain(col, v)
		if col.Kind == JSON && json.Valid([]byte(s)) {
			var b bytes.Buffer
			if json.Compact(&b, []byte(s)) == nil {
				w.Write(b.Bytes())
				return
			}
		}
		if col.Kind != Number || !isJSONNumber(s) {
			putJSON(w, s)
			return
		}
	}
	s, _ := plain(col, v)
	w.WriteString(s)
}

// marshal encodes without HTML escapes, which only make text harder to read.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func putJSON(w *bufio.Writer, v any) { w.Write(marshal(v)) }
