package runner

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// report is what a trial says of itself on the last line of stdout, checked.
type report struct {
	passed    *bool
	ungraded  bool // passed is null, or can't be read
	errorText string
	columns   map[string]any // columns of trials by name
	extra     map[string]any
	faults    []string // values that are none
}

// reportColumns are the columns that a trial may fill in, by kind.
var reportColumns = map[string]func(json.RawMessage) (any, bool){
	"score": number(math.Inf(-1)), "cost_usd": number(0), "ttft_s": number(0), "temperature": number(0), "top_p": number(0),
	"input_tokens": whole, "output_tokens": whole, "reasoning_tokens": whole, "turns": whole, "tool_calls": whole, "retries": whole, "seed": whole,
	"model": text, "agent": text, "effort": text, "error_type": text, "environment_id": text, "output_hash": text, "trace": text, "score_name": text,
	"scores": object, "cached": truth,
}

// reportAlso are other names of those columns.
var reportAlso = map[string]string{
	"cost": "cost_usd", "tokens_in": "input_tokens", "tokens_out": "output_tokens", "prompt_tokens": "input_tokens", "completion_tokens": "output_tokens",
	"reward": "score", "steps": "turns",
}

func number(least float64) func(json.RawMessage) (any, bool) {
	return func(raw json.RawMessage) (any, bool) {
		var v float64
		if json.Unmarshal(raw, &v) != nil || v < least || math.IsInf(v, 0) || math.IsNaN(v) {
			return nil, false
		}
		return v, true
	}
}

func whole(raw json.RawMessage) (any, bool) {
	var v float64
	if json.Unmarshal(raw, &v) != nil || v != math.Trunc(v) || v < 0 || v > 1<<53 {
		return nil, false
	}
	return int64(v), true
}

func text(raw json.RawMessage) (any, bool) {
	var v string
	if json.Unmarshal(raw, &v) != nil {
		return nil, false
	}
	return cutText(v, 4096), v != ""
}

func truth(raw json.RawMessage) (any, bool) {
	var v bool
	err := json.Unmarshal(raw, &v)
	return v, err == nil
}

func object(raw json.RawMessage) (any, bool) {
	var v map[string]any
	if json.Unmarshal(raw, &v) != nil || v == nil {
		return nil, false
	}
	return withoutSecrets(v), true
}

// looksLikeReport matches how a JSON object begins, also as the only or first
// member of an array.
var looksLikeReport = regexp.MustCompile(`^\[?\s*\{\s*"[A-Za-z_]`)

// parseReport reads the last line; ok is false where it is no report but a line
// like any other. A line that begins like one and can't be read is a report
// that says nothing certain: the trial is ungraded, not passed.
func parseReport(line []byte) (r report, ok bool) {
	line = bytes.TrimSpace(bytes.TrimPrefix(colour.ReplaceAll(line, nil), []byte("\ufeff")))
	r.columns, r.extra = map[string]any{}, map[string]any{}
	if !looksLikeReport.Match(line) {
		if s := string(line); s == "}" || s == "}]" {
			r.fault("the last line", line, "a report on one line; the exit code decides")
			return r, true
		}
		if string(line) != "{}" {
			return r, false
		}
	}
	fields, twice, err := objectOf(pythonNumbers(line))
	if err != nil {
		r.ungraded = true
		r.fault("the last line", line, "JSON, as it begins like a report")
		return r, true
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		ok = r.field(name, fields[name]) || ok
	}
	if twice["passed"] {
		r.passed, r.ungraded = nil, true
		r.fault("passed", []byte("there twice"), "once")
	}
	if r.passed == nil && !r.ungraded && r.errorText != "" {
		failed := false // it says so itself, whatever its exit code
		r.passed = &failed
	}
	return r, ok
}

// cutReport is the report of a last line that is too long to be read, by how it
// begins: one that begins like a report says nothing certain.
func cutReport(head []byte) (r report, ok bool) {
	r.columns, r.extra = map[string]any{}, map[string]any{}
	head = bytes.TrimSpace(bytes.TrimPrefix(colour.ReplaceAll(head, nil), []byte("\ufeff")))
	if !looksLikeReport.Match(head) {
		return r, false
	}
	r.ungraded = true
	r.fault("the last line", []byte("longer than "+strconv.Itoa(maxLine)+" bytes"), "a report below that")
	return r, true
}

// colour is what terminals take for colours and the like.
var colour = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]")

// objectOf splits an object into its fields and says which keys it had twice.
func objectOf(text []byte) (fields map[string]json.RawMessage, twice map[string]bool, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	fields, twice = map[string]json.RawMessage{}, map[string]bool{}
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, nil, errors.New("no object")
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, nil, err
		}
		name, _ := key.(string)
		_, twice[name] = fields[name]
		fields[name] = value
	}
	if _, err := dec.Token(); err != nil {
		return nil, nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("more after the object")
	}
	return fields, twice, nil
}

// pythonNumbers replaces NaN and Infinity, which Python writes, by null.
func pythonNumbers(text []byte) []byte {
	return outside.ReplaceAllFunc(text, func(m []byte) []byte {
		if m[0] == '"' {
			return m
		}
		return []byte("null")
	})
}

// outside matches strings, so that what is in them is left alone, and the words.
var outside = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?Infinity\b|\bNaN\b`)

// field takes one field and says whether it is one of a report.
func (r *report) field(name string, raw json.RawMessage) bool {
	null := string(raw) == "null"
	switch name {
	case "passed":
		v, ok := truth(raw)
		if r.ungraded = null; !null && ok {
			b := v.(bool)
			r.passed = &b
		} else if !null {
			r.ungraded = true
			r.fault(name, raw, "true, false or null")
		}
		return true
	case "success", "ok", "resolved":
		if v, isBool := truth(raw); isBool && r.passed == nil && !r.ungraded {
			b := v.(bool)
			r.passed = &b // passed, which comes before these, wins
			return true
		}
	case "error", "error_message":
		if v, ok := text(raw); ok {
			r.errorText = v.(string)
		} else if !null && string(raw) != `""` {
			r.fault(name, raw, "a text")
		}
		return true
	}
	column := name
	if c, ok := reportAlso[name]; ok {
		column = c
	}
	parse, known := reportColumns[column]
	if !known {
		var v any
		if json.Unmarshal(raw, &v) == nil && !null && !isSecret(name) {
			r.extra[name] = withoutSecrets(v)
		}
		return false
	}
	if null {
		return true
	}
	if v, ok := parse(raw); ok {
		if _, twice := r.columns[column]; !twice || column == name {
			r.columns[column] = v
		}
	} else if string(raw) != `""` {
		r.fault(name, raw, "")
	}
	return true
}

// secretEnds are ends of keys whose values may be secrets, in lower case and
// without what stands between words.
var secretEnds = []string{"apikey", "accesskey", "privatekey", "secretkey", "secret", "secrets", "token", "password", "passwd", "passphrase",
	"authorization", "auth", "credential", "credentials", "cookie", "cookies", "headers", "llmargs", "environ", "dsn"}

func isSecret(name string) bool {
	norm := strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(strings.ToLower(name))
	return slices.ContainsFunc(secretEnds, func(end string) bool { return strings.HasSuffix(norm, end) })
}

// withoutSecrets takes them out at every depth.
func withoutSecrets(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if isSecret(name) {
				delete(v, name)
			} else {
				v[name] = withoutSecrets(inner)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutSecrets(v[i])
		}
	}
	return v
}

func (r *report) fault(name string, raw json.RawMessage, want string) {
	f := fmt.Sprintf("%s is %s", name, cutText(string(raw), 60))
	if want != "" {
		f += ", want " + want
	}
	if !slices.Contains(r.faults, f) {
		r.faults = append(r.faults, f)
	}
}
