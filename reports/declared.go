package reports

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxContractBytes bounds a contract file; it is written by hand.
const maxContractBytes = 1 << 20

// declaration is one value of a contract file under its path of keys.
type declaration struct{ path, key, value string }

// makeDeclared makes the table declared for a report that reads it: what the
// file of --contract says, nothing without one.
func (r *runner) makeDeclared(ctx context.Context) error {
	if !slices.ContainsFunc(r.rep.Statements, func(st Statement) bool { return st.tables["declared"] }) {
		if r.sel.req.Contract != "" {
			return usagef("report %s reads no contract; passhat report contract does", r.rep.Name)
		}
		return nil
	}
	var found []declaration
	if path := r.sel.req.Contract; path != "" {
		var err error
		if found, err = readContract(path); err != nil {
			return err
		}
	}
	if err := r.d.exec(ctx, "CREATE OR REPLACE TEMP TABLE declared (place INTEGER, part VARCHAR, path VARCHAR, key VARCHAR, value VARCHAR)"); err != nil {
		return err
	}
	for i, d := range found {
		part, _, _ := strings.Cut(d.path, ".")
		text := fmt.Sprintf("INSERT INTO declared VALUES (%d, %s, %s, %s, %s)", i+1, quoteText(part), quoteText(d.path), quoteText(d.key), quoteText(d.value))
		if err := r.d.exec(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// readContract reads a contract file: a mapping of start, policy, success,
// faults and aggregation, each a value, a list or a mapping. Faults name the line.
func readContract(path string) ([]declaration, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("contract %s: %v", path, rootCause(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxContractBytes+1))
	if err != nil {
		return nil, usagef("contract %s: %v", path, rootCause(err))
	}
	if len(data) > maxContractBytes {
		return nil, usagef("contract %s: a YAML file of at most %d bytes is wanted", path, maxContractBytes)
	}
	return parseContract(path, data)
}

func parseContract(path string, data []byte) ([]declaration, error) {
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, usagef("contract %s: the file declares nothing", path)
		}
		return nil, usagef("contract %s: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, usagef("contract %s:%d: a mapping is wanted, with the keys start, policy, success, faults, aggregation", path, doc.Line)
	}
	w := &contractWalk{path: path}
	err := w.mapping("", doc.Content[0], 0)
	return w.found, err
}

type contractWalk struct {
	path  string
	found []declaration
}

// contractParts are the parts of a trial contract; model and the like may stand
// beside them.
var contractParts = []string{"start", "policy", "success", "faults", "aggregation", "settings"}

func (w *contractWalk) mapping(prefix string, n *yaml.Node, depth int) error {
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			return usagef("contract %s:%d: a key is to be a word", w.path, key.Line)
		}
		if prefix == "" && !slices.Contains(contractParts, key.Value) {
			return usagef("contract %s:%d: unknown part %q%s; there are %s", w.path, key.Line, key.Value, suggest(key.Value, contractParts), strings.Join(contractParts, ", "))
		}
		at := key.Value
		if prefix != "" {
			at = prefix + "." + key.Value
		}
		if err := w.value(at, key.Value, value, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *contractWalk) value(at, key string, n *yaml.Node, depth int) error {
	switch {
	case depth > 8:
		return usagef("contract %s:%d: %s is nested too deeply", w.path, n.Line, at)
	case n.Kind == yaml.MappingNode:
		return w.mapping(at, n, depth+1)
	case n.Kind == yaml.SequenceNode:
		var parts []string
		for _, e := range n.Content {
			if e.Kind != yaml.ScalarNode {
				return usagef("contract %s:%d: %s: a list of words or numbers is wanted", w.path, e.Line, at)
			}
			parts = append(parts, e.Value)
		}
		w.found = append(w.found, declaration{at, key, strings.Join(parts, ", ")})
	case n.Kind == yaml.ScalarNode:
		if n.Tag == "!!null" {
			return nil
		}
		w.found = append(w.found, declaration{at, key, n.Value})
	default:
		return usagef("contract %s:%d: %s: references to other parts of the file are not read", w.path, n.Line, at)
	}
	return nil
}
