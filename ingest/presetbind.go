package ingest

import (
	"fmt"
	"slices"
	"strings"
)

type boundColumn struct {
	presetColumn
	id    columnID
	exact bool // it names the trial or judges it: a wrong value rejects the row
	paths []boundPath
}

// boundPath is a path that was parsed.
type boundPath struct {
	text    string
	context string     // @doc, …; "" for the row
	steps   []pathStep // none: only a heading word for word
}

type boundScore struct {
	scoreSource
	path          boundPath
	before, after string // of a pattern
	name          []pathStep
	values        [][]pathStep
}

type namedScore struct {
	name string
	val  Value
}

func bindPath(text string) (boundPath, error) {
	p := boundPath{text: text}
	rest := text
	if strings.HasPrefix(rest, "@") {
		p.context, rest, _ = strings.Cut(rest, ".")
		if !slices.Contains([]string{"@doc", "@up", "@name", "@beside"}, p.context) || rest == "" {
			return p, fmt.Errorf("%s: wanted @doc.FIELD, @up.FIELD, @name.PART or @beside.FIELD", text)
		}
	}
	steps, err := parsePath(rest)
	if err == nil {
		p.steps = steps
	} else if p.context != "" || strings.HasPrefix(text, "$") {
		return p, fmt.Errorf("%s: %w", text, err)
	}
	return p, nil
}

// bindPreset checks a preset against the options. Errors are of kind *UsageError.
func bindPreset(p *preset, in *Input, opt *Options) (*presetReader, error) {
	m, err := NewMapper(in, opt)
	if err != nil {
		return nil, err
	}
	r := &presetReader{p: p, in: in, opt: opt, m: m, shape: Shape{element: true}, context: map[string][]field{}, left: map[string]int64{}, numbers: map[string]int64{}}
	columns := slices.Clone(p.columns)
	for _, given := range opt.Map {
		columns = slices.DeleteFunc(columns, func(c presetColumn) bool { return c.col == given.Name })
		columns = append(columns, presetColumn{col: given.Name, from: []string{given.Value}})
	}
	for _, c := range columns {
		b, err := bindColumn(c)
		if err != nil {
			return nil, err
		}
		r.columns = append(r.columns, b)
	}
	for _, s := range p.scores {
		b, err := bindScore(s)
		if err != nil {
			return nil, err
		}
		r.scores = append(r.scores, b)
	}
	for _, f := range p.fixed {
		id, ok := columnNamed(f.Name)
		if !ok {
			return nil, unknownColumn("set", f.Name)
		}
		r.fixed = append(r.fixed, fixedValue{id, Value{Kind: Untyped, Text: []byte(f.Value)}})
	}
	if p.pass != "" {
		if r.rule, err = ParseRule(p.pass); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// exactColumns are those of which a wrong value rejects the row.
var exactColumns = []string{"suite", "run_id", "task_id", "trial", "variant", "trial_uid", "passed"}

func bindColumn(c presetColumn) (boundColumn, error) {
	b := boundColumn{presetColumn: c, exact: slices.Contains(exactColumns, c.col)}
	id, ok := columnNamed(c.col)
	if !ok {
		ref, known := namesOf[normalName(c.col)]
		if !known || !columns[ref.col].part {
			return b, unknownColumn("map", c.col)
		}
		id = ref.col
	}
	b.id = id
	for _, from := range c.from {
		p, err := bindPath(from)
		if err != nil {
			return b, usagef("map", "%s: %v", c.col, err)
		}
		b.paths = append(b.paths, p)
	}
	return b, nil
}

func bindScore(s scoreSource) (b boundScore, err error) {
	b.scoreSource = s
	if before, after, star := strings.Cut(s.at, "*"); star {
		b.before, b.after = before, after
		return b, nil
	}
	if b.path, err = bindPath(s.at); err == nil && s.name != "" {
		b.name, err = parsePath(s.name)
	}
	for _, v := range s.values {
		var steps []pathStep
		if err == nil {
			steps, err = parsePath(v)
		}
		b.values = append(b.values, steps)
	}
	if err != nil {
		return b, usagef("scores", "%s: %v", s.at, err)
	}
	return b, nil
}
