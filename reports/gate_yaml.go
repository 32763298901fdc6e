package reports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxGateBytes bounds gate.yaml and a quarantine file; both are written by hand.
const maxGateBytes = 1 << 20

// GateError is a fault in a gate.yaml or quarantine file, with its line. It is
// a wrong command line as far as exit codes go: nothing was judged.
type GateError struct {
	File    string
	Line    int // 1-based; 0 when the file as a whole is at fault
	Message string
}

func (e *GateError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// Unwrap makes it a *UsageError for those who only ask for that.
func (e *GateError) Unwrap() error { return &UsageError{Message: e.Error()} }

// ReadGateFile reads a gate.yaml. profile, where given, goes before the file's
// own; the settings under profiles: of that name go before the others. Faults
// are *GateError.
func ReadGateFile(path, profile string) (GateConfig, error) {
	data, err := readGateBytes(path)
	if err != nil {
		return GateConfig{}, err
	}
	return ParseGate(path, data, profile)
}

func readGateBytes(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &GateError{File: path, Message: rootCause(err).Error()}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxGateBytes+1))
	if err != nil {
		return nil, &GateError{File: path, Message: rootCause(err).Error()}
	}
	if len(data) > maxGateBytes {
		return nil, &GateError{File: path, Message: fmt.Sprintf("a YAML file of at most %d bytes is wanted", maxGateBytes)}
	}
	return data, nil
}

// ParseGate is ReadGateFile of content that is read already; a quarantine file
// that it names lies beside path.
func ParseGate(path string, data []byte, profile string) (GateConfig, error) {
	w := &gateWalk{file: path, profile: profile, cfg: GateConfig{File: path}, seen: map[string]int{}, at: map[string]int{}}
	root, err := yamlRoot(path, data)
	if err != nil {
		return w.cfg, err
	}
	if root.Kind != yaml.MappingNode {
		return w.cfg, w.fail(root, "a mapping is wanted, with keys such as baseline, min_pass_hat_k, max_flakiness")
	}
	if err := w.top(root); err != nil {
		return w.cfg, err
	}
	return w.cfg, w.together()
}

var reYAMLLine = regexp.MustCompile(`^yaml: (?:unmarshal errors:\s*)?line ([0-9]+): `)

// yamlRoot parses one document; an empty one is a mapping without keys.
func yamlRoot(path string, data []byte) (*yaml.Node, error) {
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return &yaml.Node{Kind: yaml.MappingNode, Line: 1}, nil
	}
	if err == nil && dec.Decode(&more) == nil {
		return nil, &GateError{File: path, Line: more.Line, Message: "a second document begins here; one is wanted"}
	}
	if err != nil {
		return nil, yamlFault(path, data, err)
	}
	if len(doc.Content) != 1 {
		return &yaml.Node{Kind: yaml.MappingNode, Line: 1}, nil
	}
	return doc.Content[0], nil
}

var reYAMLAnchor = regexp.MustCompile(`^unknown anchor '(.+)' referenced`)

// yamlFault puts the line to a parser's error, which names none for the first
// line and one too few where it missed something.
func yamlFault(path string, data []byte, err error) *GateError {
	fault := &GateError{File: path, Line: 1, Message: strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := reYAMLLine.FindStringSubmatch(err.Error()); m != nil {
		fmt.Sscan(m[1], &fault.Line)
		fault.Message = strings.TrimPrefix(err.Error(), m[0])
		if strings.HasPrefix(fault.Message, "did not find expected") {
			fault.Line++
		}
	}
	fault.Line = min(fault.Line, 1+bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n")))
	if m := reYAMLAnchor.FindStringSubmatch(fault.Message); m != nil {
		if at := bytes.Index(data, []byte("*"+m[1])); at >= 0 {
			fault.Line = 1 + bytes.Count(data[:at], []byte("\n"))
		}
	}
	fault.Message = visible(fault.Message)
	return fault
}

// gateWalk reads the nodes of a gate.yaml into a GateConfig.
type gateWalk struct {
	file    string
	profile string
	cfg     GateConfig
	seen    map[string]int // paths, with the lines where they stand
	at      map[string]int // the same of what counts, a profile's going before
	prefix  string         // "profiles.pr." inside a profile
}

func (w *gateWalk) fail(n *yaml.Node, format string, args ...any) error {
	return &GateError{File: w.file, Line: n.Line, Message: fmt.Sprintf(format, args...)}
}

// top reads the profile first, since it decides what profiles: adds.
func (w *gateWalk) top(root *yaml.Node) error {
	var profiles *yaml.Node
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "profiles" {
			profiles = root.Content[i+1]
		}
	}
	if err := w.mapping("", root); err != nil {
		return err
	}
	if w.profile != "" {
		w.cfg.Profile = w.profile
	}
	if profiles == nil {
		return nil
	}
	return w.profiles(profiles)
}

// together checks what must be together in the file, whatever flags add to it.
func (w *gateWalk) together() error {
	m := w.cfg.MinPass
	if m == nil || m.M <= m.N || m.N == 0 {
		return nil
	}
	line := max(w.at[RuleMinPass+".m"], w.at[RuleMinPass+".n"], w.at[RuleMinPass])
	return &GateError{File: w.file, Line: line, Message: m.conflict()}
}

// profiles checks all of them and applies the one that is asked for.
func (w *gateWalk) profiles(n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return w.fail(n, "profiles: a mapping is wanted, with the keys %s", strings.Join(gateProfiles, ", "))
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !slices.Contains(gateProfiles, key.Value) {
			return w.fail(key, "profiles: unknown profile %q%s; there are %s", key.Value, suggest(key.Value, gateProfiles), strings.Join(gateProfiles, ", "))
		}
		if value.Kind != yaml.MappingNode {
			return w.fail(value, "profiles.%s: a mapping of settings is wanted", key.Value)
		}
		into := w
		if key.Value != w.cfg.Profile {
			into = &gateWalk{file: w.file} // only to find its faults
		}
		into.seen, into.prefix = map[string]int{}, "profiles."+key.Value+"."
		if err := into.mapping("", value); err != nil {
			return err
		}
	}
	return nil
}

// keysUnder lists the keys that may stand in a mapping.
func (w *gateWalk) keysUnder(prefix string) []string {
	var out []string
	for _, k := range gateKeys {
		rest, ok := strings.CutPrefix(k.path, prefix)
		if !ok || w.prefix != "" && k.path == "profile" {
			continue
		}
		head, _, _ := strings.Cut(rest, ".")
		if !slices.Contains(out, head) {
			out = append(out, head)
		}
	}
	if prefix == "" {
		out = append(out, RuleQuarantine)
		if w.prefix == "" {
			out = append(out, "profiles")
		}
	}
	return out
}

func (w *gateWalk) mapping(prefix string, n *yaml.Node) error {
	keys := w.keysUnder(prefix)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			return w.fail(key, "a key is to be a word")
		}
		path := prefix + key.Value
		if !slices.Contains(keys, key.Value) {
			return w.fail(key, "unknown key %s%s%s; there are %s", w.prefix, path, suggest(key.Value, keys), strings.Join(keys, ", "))
		}
		if before, twice := w.seen[path]; twice {
			return w.fail(key, "%s%s stands twice, first on line %d", w.prefix, path, before)
		}
		w.seen[path] = key.Line
		if w.at != nil {
			w.at[path] = key.Line
		}
		if err := w.value(path, value); err != nil {
			return err
		}
	}
	return nil
}

func (w *gateWalk) value(path string, n *yaml.Node) error {
	switch {
	case path == "profiles":
		return nil // read once the profile is known
	case path == RuleQuarantine:
		return w.quarantine(n)
	case n.Kind == yaml.MappingNode:
		if len(w.keysUnder(path+".")) == 0 {
			return w.fail(n, "%s%s: a value is wanted, not a mapping", w.prefix, path)
		}
		if path == RuleBaseline {
			w.cfg.baseline()
		}
		return w.mapping(path+".", n)
	case n.Kind == yaml.SequenceNode:
		var words []string
		for _, e := range n.Content {
			if e.Kind != yaml.ScalarNode {
				return w.fail(e, "%s%s: a list of words is wanted", w.prefix, path)
			}
			words = append(words, e.Value)
		}
		return w.set(n, path, words)
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		if path == RuleBaseline {
			w.cfg.baseline()
			return nil
		}
		return w.fail(n, "%s%s: a value is missing", w.prefix, path)
	case n.Kind == yaml.ScalarNode:
		return w.set(n, path, []string{n.Value})
	}
	return w.fail(n, "%s%s: references to other parts of the file are not read", w.prefix, path)
}

func (w *gateWalk) set(n *yaml.Node, path string, words []string) error {
	var err error
	if path == RuleMinPass && len(words) == 1 {
		err = w.cfg.SetMinPass(words[0])
	} else if len(w.keysUnder(path+".")) > 0 && path != RuleBaseline && path != RuleMaxFlakiness {
		err = fmt.Errorf("%s: a mapping is wanted, with the keys %s", path, strings.Join(w.keysUnder(path+"."), ", "))
	} else {
		err = w.cfg.Set(path, words...)
	}
	if err != nil {
		return w.fail(n, "%s%s", w.prefix, err.Error())
	}
	return nil
}

// quarantine is a list of entries, or the name of a file with them.
func (w *gateWalk) quarantine(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		list, err := quarantineList(w.file, n)
		w.cfg.Quarantine = append(w.cfg.Quarantine, list...)
		return err
	}
	if n.Value == "" {
		return w.fail(n, "%s%s: a list, or the name of a file, is wanted", w.prefix, RuleQuarantine)
	}
	path := n.Value
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(w.file), path)
	}
	list, err := ReadQuarantine(path)
	var fault *GateError
	if errors.As(err, &fault) && fault.Line == 0 {
		return w.fail(n, "%s%s: %v", w.prefix, RuleQuarantine, err)
	}
	w.cfg.Quarantine = append(w.cfg.Quarantine, list...)
	return err
}
