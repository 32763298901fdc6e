package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// pfCSVColumn is one provider and prompt of the CSV table: the answers in one
// column, verdict and scores in those that follow it.
type pfCSVColumn struct {
	provider, prompt       string
	output, end            int // columns of the answer, and behind the last
	status, score          int
	reason, comment, named int // 0: none
	metrics                map[int]string
}

// pfCSVHeader is the header of the CSV table.
type pfCSVHeader struct {
	width, description int // description: -1 where there is none
	vars               map[int]string
	columns            []pfCSVColumn
}

func isPromptfooCSV(text []byte) bool {
	s := newCSVScanner(bytes.NewReader(text), ',', 0, 1)
	s.final = true
	fields, err := s.next()
	if err != nil {
		return false
	}
	_, ok := parsePFHeader(fields)
	return ok
}

// parsePFHeader reads the header: description and vars, then for each provider
// and prompt "[PROVIDER] PROMPT", Status, Score and more.
func parsePFHeader(fields [][]byte) (h pfCSVHeader, ok bool) {
	h = pfCSVHeader{width: len(fields), description: -1, vars: map[int]string{}}
	for i, f := range fields {
		name := cutText(string(f), maxMessage)
		isColumn := strings.HasPrefix(name, "[") && i+2 < len(fields) && string(fields[i+1]) == "Status" && string(fields[i+2]) == "Score"
		if isColumn {
			provider, prompt, cut := strings.Cut(name[1:], "] ")
			if !cut {
				return h, false
			}
			h.columns = append(h.columns, pfCSVColumn{provider: provider, prompt: prompt, output: i, status: i + 1, score: i + 2, metrics: map[int]string{}})
		}
		n := len(h.columns)
		if n == 0 {
			if name == "Description" && i == 0 {
				h.description = 0
			} else {
				h.vars[i] = name
			}
			continue
		}
		c := &h.columns[n-1]
		c.end = i + 1
		switch name {
		case "Grader Reason":
			c.reason = i
		case "Comment":
			c.comment = i
		case "Named Scores":
			c.named = i
		default:
			if metric, ok := strings.CutPrefix(name, "Metric: "); ok {
				c.metrics[i] = metric
			}
		}
	}
	return h, len(h.columns) > 0 && len(fields) <= maxCSVColumns
}

// csv reads the CSV table: one line for each test and repeat, one row for each
// of its columns.
func (r *promptfooReader) csv() error {
	rc, err := r.in.Open()
	if err != nil {
		return err
	}
	defer rc.Close()
	s := newCSVScanner(rc, ',', 0, 1)
	s.final = true
	fields, err := s.next()
	if err != nil {
		return fmt.Errorf("%s: %w", r.in.Name, err)
	}
	names := make([]string, len(fields))
	for i, cell := range fields {
		names[i] = string(cell)
	}
	s.keepSecrets(names)
	h, ok := parsePFHeader(fields)
	if !ok {
		return fmt.Errorf("%s: line 1: wanted promptfoo's header: vars, then [PROVIDER] PROMPT, Status, Score for each column", r.in.Name)
	}
	s.columns = h.width
	r.in.Note("promptfoo's CSV has no eval id, repeats, cache, time, cost or tokens: export the eval as JSON where you can")
	for test := int64(0); ; test++ {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		fields, err := s.next()
		var bad *csvError
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &bad):
			if !r.reject(int64(bad.line), "", bad.reason, s.kept(bad.raw)) {
				return errStopped
			}
			continue
		case err != nil:
			return fmt.Errorf("%s: line %d: %w", r.in.Name, s.line, err)
		case len(fields) != h.width:
			if !r.reject(int64(s.recLine), "", fmt.Sprintf("%d cells, the header has %d", len(fields), h.width), s.kept(s.raw)) {
				return errStopped
			}
			continue
		}
		for i := range h.columns {
			if !r.cell(&h, i, fields, int64(s.recLine), test) {
				return errStopped
			}
		}
	}
}

// cell makes a row of one column of a line, in the form that the JSON has.
func (r *promptfooReader) cell(h *pfCSVHeader, i int, fields [][]byte, line, test int64) bool {
	c := &h.columns[i]
	status := string(fields[c.status])
	failure := int64(0)
	switch status {
	case "PASS":
	case "FAIL":
		failure = 1
	case "ERROR":
		failure = pfFailedByError
	case "":
		return true // no such prompt for this test
	default:
		return r.reject(line, "Status", "found "+quoteShort(fields[c.status])+", PASS, FAIL or ERROR is wanted", fields[c.status])
	}
	var o, vars, grading jsonObject
	for at := range h.width {
		name, ok := h.vars[at]
		if ok && len(fields[at]) > 0 && at < h.columns[0].output {
			vars.raw(name, pfCSVValue(fields[at]))
		}
	}
	if h.description >= 0 {
		o.text("description", cutText(string(fields[h.description]), maxMessage))
	}
	o.raw("vars", []byte(orEmpty(vars.String())))
	o.raw("provider", fmt.Appendf(nil, `{"id":%s}`, appendJSONText(nil, c.provider)))
	o.raw("prompt", fmt.Appendf(nil, `{"label":%s}`, appendJSONText(nil, c.prompt)))
	o.int("promptIdx", int64(i))
	o.int("testIdx", test)
	o.raw("success", strconv.AppendBool(nil, failure == 0))
	o.int("failureReason", failure)
	if score, ok := finite(fields[c.score]); ok {
		o.raw("score", appendJSONFloat(nil, score, 64))
	}
	if named := c.scores(fields); named != "" {
		o.raw("namedScores", []byte(named))
	}
	if failure == pfFailedByError {
		o.text("error", cutText(string(bytes.TrimPrefix(fields[c.output], []byte("[ERROR] "))), maxMessage))
	} else {
		o.raw("response", fmt.Appendf(nil, `{"output":%s}`, appendJSONText(nil, string(fields[c.output]))))
	}
	if c.reason > 0 {
		grading.text("reason", cutText(string(fields[c.reason]), maxMessage))
	}
	if c.comment > 0 {
		grading.text("comment", cutText(string(fields[c.comment]), maxMessage))
	}
	o.raw("gradingResult", []byte(orEmpty(grading.String())))
	row, _, reason := newPFRow(fmt.Sprintf("%d: [%s] %s", line, cutText(c.provider, 100), shortName(c.prompt)), []byte(o.String()))
	if reason != "" {
		return r.reject(line, "", reason, fields[c.output])
	}
	return r.row(row)
}

func finite(cell []byte) (float64, bool) {
	x, ok := parseFloat(cell)
	return x, ok && x-x == 0
}

func orEmpty(object string) string {
	if object == "" {
		return "{}"
	}
	return object
}

// pfCSVValue is a cell as JSON: a number where it is one, else a text without the
// quote that keeps spreadsheets from taking it for a formula.
func pfCSVValue(cell []byte) []byte {
	if v, ok := JSONValue(cell); ok && v.Kind == Number {
		return appendNumber(nil, v.Text)
	}
	if len(cell) > 1 && cell[0] == '\'' && strings.IndexByte("=+-@\t\r", cell[1]) >= 0 {
		cell = cell[1:]
	}
	return appendJSONText(nil, string(cell))
}

// scores takes the named scores: one column each, or one object of all.
func (c *pfCSVColumn) scores(fields [][]byte) string {
	var o jsonObject
	if c.named > 0 {
		if v, ok := JSONValue(fields[c.named]); ok {
			v.eachMember(func(key string, v Value) bool {
				o.num(key, v.number())
				return true
			})
		}
	}
	for at := c.score + 1; at < c.end; at++ {
		if name, ok := c.metrics[at]; ok {
			if x, ok := finite(fields[at]); ok {
				o.raw(name, appendJSONFloat(nil, x, 64))
			}
		}
	}
	return o.String()
}
