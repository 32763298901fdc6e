package ingest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxPresetFile is the longest file of a preset, in bytes.
const maxPresetFile = 1 << 20

// loadPreset reads --preset. Errors are of kind *UsageError and name the line.
func loadPreset(path string) (*preset, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("--preset", "%s: open: %v", path, plainPathError(err))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPresetFile+1))
	if err != nil {
		return nil, usagef("--preset", "%s: read: %v", path, plainPathError(err))
	}
	if len(b) > maxPresetFile {
		return nil, usagef("--preset", "%s: it is longer than %d bytes", path, maxPresetFile)
	}
	p, err := parsePreset(b)
	if err != nil {
		return nil, usagef("--preset", "%s: %v", path, err)
	}
	p.user = path
	// A wrong path or rule is found before any log is.
	if _, err := bindPreset(p, &Input{}, &Options{}); err != nil {
		var usage *UsageError
		if errors.As(err, &usage) {
			return nil, usagef("--preset", "%s: %s: %s", path, usage.Option, usage.Reason)
		}
		return nil, usagef("--preset", "%s: %v", path, err)
	}
	return p, nil
}

// userPreset is the format of --preset for a source that it fits.
func userPreset(in *Input, opt *Options) (Format, error) {
	p, err := loadPreset(opt.Preset)
	if err != nil {
		return Format{}, err
	}
	head, err := in.head()
	if err != nil {
		return Format{}, err
	}
	v := viewHead(head, len(head) < probeBytes)
	if p.fits(v, head) == 0 {
		return Format{}, &UnknownFormatError{Source: in.Name, Reason: fmt.Sprintf("the preset %s (%s) does not fit: wanted %s; found %s",
			p.name, opt.Preset, p.recognition(), v.describe())}
	}
	return p.format(), nil
}

// yamlLine is how the parser's own errors give their place.
var yamlLine = regexp.MustCompile(`^yaml: (?:unmarshal errors:\s*)?`)

// parsePreset reads a preset in YAML, of which JSON is a part.
func parsePreset(b []byte) (*preset, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		text, _, _ := strings.Cut(yamlLine.ReplaceAllString(err.Error(), ""), "\n")
		return nil, errors.New(text)
	}
	if len(doc.Content) != 1 {
		return nil, errors.New("it is empty: wanted name, fields and map")
	}
	p := &preset{version: 1, over: inLines | inList | inTable | inColumns}
	y := presetYAML{p: p}
	err := y.members(doc.Content[0], map[string]func(*yaml.Node) error{
		"name": y.text(&p.name), "doc": y.text(&p.doc), "form": y.form, "fields": y.fields, "rows": y.rows, "map": y.columns,
		"scores": y.scores, "score": y.texts(&p.prefer), "pass_when": y.text(&p.pass), "set": y.fixed, "drop": y.texts(&p.drop), "notes": y.texts(&p.notes),
	})
	switch {
	case err != nil:
		return nil, err
	case p.name == "":
		return nil, errors.New("name is missing")
	case !slices.ContainsFunc(p.columns, func(c presetColumn) bool { return c.col == "task_id" }) &&
		!slices.ContainsFunc(p.fixed, func(f Pair) bool { return f.Name == "task_id" }):
		return nil, errors.New("map has no task_id: without it no trial has a task")
	case p.pass != "" && len(p.scores) == 0 && !slices.ContainsFunc(p.columns, func(c presetColumn) bool { return c.col == "score" || c.col == "scores" }):
		return nil, errors.New("pass_when judges a score, but neither map nor scores says where one is")
	}
	return p, nil
}

type presetYAML struct{ p *preset }

func at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", n.Line, fmt.Sprintf(format, args...))
}

// members calls the function of each key of a mapping.
func (y *presetYAML) members(n *yaml.Node, known map[string]func(*yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return at(n, "wanted KEY: VALUE lines")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		f, ok := known[key.Value]
		if !ok {
			var names []string
			for k := range known {
				names = append(names, k)
			}
			slices.Sort(names)
			return at(key, "%s is not known: choose one of %s", quoteShort([]byte(key.Value)), strings.Join(names, ", "))
		}
		if seen[key.Value] {
			return at(key, "%s is there twice", key.Value)
		}
		seen[key.Value] = true
		if err := f(val); err != nil {
			return err
		}
	}
	return nil
}

func scalar(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" {
		return "", at(n, "wanted a text")
	}
	return n.Value, nil
}

func (y *presetYAML) text(into *string) func(*yaml.Node) error {
	return func(n *yaml.Node) (err error) {
		*into, err = scalar(n)
		return err
	}
}

// texts reads a text or a list of them.
func (y *presetYAML) texts(into *[]string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		list := []*yaml.Node{n}
		if n.Kind == yaml.SequenceNode {
			list = n.Content
		}
		for _, e := range list {
			s, err := scalar(e)
			if err != nil {
				return err
			}
			*into = append(*into, s)
		}
		return nil
	}
}

func (y *presetYAML) form(n *yaml.Node) error {
	var names []string
	if err := y.texts(&names)(n); err != nil {
		return err
	}
	y.p.over = 0
	for _, name := range names {
		switch name {
		case "jsonl":
			y.p.over |= inLines
		case "json":
			y.p.over |= inList | inDocument
		case "csv":
			y.p.over |= inTable
		case "parquet", "arrow":
			y.p.over |= inColumns
		default:
			return at(n, "form %s: wanted jsonl, json, csv or parquet", quoteShort([]byte(name)))
		}
	}
	return nil
}

func (y *presetYAML) fields(n *yaml.Node) error {
	var set []string
	if err := y.texts(&set)(n); err != nil {
		return err
	}
	y.p.keys = [][]string{set}
	return nil
}

// rows reads where a document holds its rows: LIST or LIST.INNER.
func (y *presetYAML) rows(n *yaml.Node) error {
	s, err := scalar(n)
	if err != nil {
		return err
	}
	outer, inner, _ := strings.Cut(strings.TrimPrefix(s, "$."), ".")
	y.p.rows = rowPlace{lists: []string{strings.TrimSuffix(outer, "[]")}, inner: strings.TrimSuffix(inner, "[]")}
	if strings.Contains(inner, ".") || y.p.rows.lists[0] == "" {
		return at(n, "rows: %s: wanted the field that holds the list of rows, or LIST.FIELD where each element holds one", quoteShort([]byte(s)))
	}
	y.p.over |= inDocument
	return nil
}

func (y *presetYAML) columns(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return at(n, "map: wanted COLUMN: FIELD lines")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		c := presetColumn{col: key.Value}
		if _, err := bindColumn(c); err != nil {
			return at(key, "%s", strings.TrimPrefix(err.Error(), "map: "))
		}
		if slices.ContainsFunc(y.p.columns, func(o presetColumn) bool { return o.col == c.col }) {
			return at(key, "%s is mapped twice", c.col)
		}
		if err := y.column(&c, val); err != nil {
			return err
		}
		if _, err := bindColumn(c); err != nil {
			return at(val, "%s", strings.TrimPrefix(err.Error(), "map: "))
		}
		y.p.columns = append(y.p.columns, c)
	}
	return nil
}

func (y *presetYAML) column(c *presetColumn, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return y.texts(&c.from)(n)
	}
	number := func(into *float64) func(*yaml.Node) error {
		return func(n *yaml.Node) (err error) {
			if *into, err = strconv.ParseFloat(n.Value, 64); err != nil || n.Kind != yaml.ScalarNode || *into-*into != 0 {
				return at(n, "%s is no number", quoteShort([]byte(n.Value)))
			}
			return nil
		}
	}
	var base float64
	err := y.members(n, map[string]func(*yaml.Node) error{
		"from": y.texts(&c.from),
		"join": func(n *yaml.Node) error { c.join = true; return y.texts(&c.from)(n) },
		"base": number(&base), "per": number(&c.per),
		"words": func(n *yaml.Node) error {
			if n.Kind != yaml.MappingNode {
				return at(n, "words: wanted WORD: VALUE lines")
			}
			c.words = map[string]string{}
			for i := 0; i+1 < len(n.Content); i += 2 {
				c.words[strings.ToLower(n.Content[i].Value)] = n.Content[i+1].Value
			}
			return nil
		},
	})
	switch {
	case err != nil:
		return err
	case len(c.from) == 0:
		return at(n, "%s: from is missing", c.col)
	case base != 0 && c.col != "trial" || base != float64(int64(base)) || base < 0:
		return at(n, "%s: base is the number of the first trial, a whole number", c.col)
	case c.per < 0:
		return at(n, "%s: per is what the number is divided by, above 0", c.col)
	}
	c.base = int64(base)
	return nil
}

func (y *presetYAML) scores(n *yaml.Node) error {
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = n.Content
	}
	for _, e := range list {
		var s scoreSource
		if e.Kind == yaml.MappingNode {
			err := y.members(e, map[string]func(*yaml.Node) error{"at": y.text(&s.at), "name": y.text(&s.name), "value": y.texts(&s.values)})
			if err == nil && (s.at == "" || (s.name == "") != (len(s.values) == 0)) {
				err = at(e, "scores: wanted at, or at with name and value")
			}
			if err != nil {
				return err
			}
		} else {
			text, err := scalar(e)
			if err != nil {
				return err
			}
			s.at = text
		}
		if s.at == "*" || strings.Count(s.at, "*") > 1 {
			return at(e, "scores: %s: wanted one * with something beside it", quoteShort([]byte(s.at)))
		}
		y.p.scores = append(y.p.scores, s)
	}
	return nil
}

func (y *presetYAML) fixed(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return at(n, "set: wanted COLUMN: VALUE lines")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		s, err := scalar(val)
		if err != nil {
			return err
		}
		if _, ok := columnNamed(key.Value); !ok {
			return at(key, "%s", strings.TrimPrefix(unknownColumn("set", key.Value).Error(), "set: "))
		}
		y.p.fixed = append(y.p.fixed, Pair{key.Value, s})
	}
	return nil
}
