package ingest

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	// maxYAML is the longest YAML document in bytes: it is read whole, at many
	// times its size in memory.
	maxYAML = 32 << 20
	// yamlGrowth is how much longer a document may become when its aliases are
	// written out.
	yamlGrowth = 20
)

// yaml reads the document that -o FILE.yaml writes. It refers from row to row
// by anchors, so that it cannot be taken apart.
func (r *promptfooReader) yaml() error {
	text, err := r.in.readAll(maxYAML)
	if err != nil {
		return fmt.Errorf("%w: a YAML document is read whole; ingest the eval's JSON instead", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return fmt.Errorf("%s: %s", r.in.Name, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return fmt.Errorf("%s: a YAML document with evalId and results is wanted", r.in.Name)
	}
	j := &yamlJSON{left: yamlGrowth*len(text) + 1<<20}
	var rows *yaml.Node
	version := false
	err = j.members(doc.Content[0], func(key string, n *yaml.Node) error {
		if key != "results" {
			v, err := j.value(n)
			r.takeTop(key, v)
			return err
		}
		return j.members(n, func(key string, n *yaml.Node) error {
			if key == "results" {
				rows = n
				return nil
			}
			v, err := j.value(n)
			if err == nil && key == "version" {
				version = true
				err = r.run.takeVersion(r.in, v)
			}
			r.takeResults(key, v)
			return err
		})
	})
	switch {
	case errors.Is(err, errYAMLGrows):
		return fmt.Errorf("%s: %w", r.in.Name, err)
	case err != nil:
		return err
	case rows == nil || rows.Kind != yaml.SequenceNode || !version:
		return fmt.Errorf("%s: results with version and a list results are wanted: it is no eval that promptfoo wrote", r.in.Name)
	}
	left := j.left
	return r.twice(func() error { j.left = left; return r.yamlRows(j, rows) })
}

func (r *promptfooReader) yamlRows(j *yamlJSON, rows *yaml.Node) error {
	for i, n := range rows.Content {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		at := fmt.Sprintf("results.results[%d]", i)
		v, err := j.value(n)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", r.in.Name, at, err)
		}
		row, below, reason := newPFRow(at, v.Text)
		ok := true
		if reason != "" {
			ok = r.reject(0, at+below, reason, v.Text)
		} else {
			ok = r.row(row)
		}
		if !ok {
			return errStopped
		}
	}
	return nil
}

// yamlJSON writes YAML as JSON, aliases written out.
type yamlJSON struct{ left int } // bytes that may yet be written

var errYAMLGrows = errors.New("its aliases unfold into far more than the document, or it is nested too deeply")

func (j *yamlJSON) value(n *yaml.Node) (Value, error) {
	b, err := j.append(nil, n, 0)
	if err != nil {
		return Value{}, err
	}
	v, _ := JSONValue(b)
	return v, nil
}

func (j *yamlJSON) members(n *yaml.Node, each func(key string, n *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if err := each(n.Content[i].Value, n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (j *yamlJSON) append(dst []byte, n *yaml.Node, depth int) ([]byte, error) {
	before := len(dst)
	if depth > 200 || j.left < 0 {
		return dst, errYAMLGrows
	}
	switch n.Kind {
	case yaml.AliasNode:
		return j.append(dst, n.Alias, depth+1)
	case yaml.MappingNode, yaml.SequenceNode:
		open, shut, step := byte('['), byte(']'), 1
		if n.Kind == yaml.MappingNode {
			open, shut, step = '{', '}', 2
		}
		dst = append(dst, open)
		for i := 0; i+step <= len(n.Content); i += step {
			if i > 0 {
				dst = append(dst, ',')
			}
			if step == 2 {
				dst = append(appendJSONText(dst, n.Content[i].Value), ':')
				j.left -= len(n.Content[i].Value) + 4
			}
			var err error
			if dst, err = j.append(dst, n.Content[i+step-1], depth+1); err != nil {
				return dst, err
			}
		}
		j.left -= 2
		return append(dst, shut), nil
	}
	dst = appendYAMLScalar(dst, n)
	j.left -= len(dst) - before
	return dst, nil
}

// appendYAMLScalar writes a scalar as the kind that YAML's core schema gives it.
func appendYAMLScalar(dst []byte, n *yaml.Node) []byte {
	switch n.ShortTag() {
	case "!!null":
		return append(dst, "null"...)
	case "!!bool":
		var b bool
		if n.Decode(&b) == nil {
			return fmt.Append(dst, b)
		}
	case "!!int", "!!float":
		if v, ok := JSONValue([]byte(n.Value)); ok && v.Kind == Number {
			return appendNumber(dst, v.Text)
		}
		var f float64
		if n.Decode(&f) == nil {
			return appendJSONFloat(dst, f, 64)
		}
	}
	return appendJSONText(dst, n.Value)
}
