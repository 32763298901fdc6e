package reports

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// QuarantineEntry leaves a task out of a gate until a day.
type QuarantineEntry struct {
	Suite   string    `json:"suite,omitempty"` // "": the task of any suite
	Task    string    `json:"task"`
	Reason  string    `json:"reason"`
	Expires time.Time `json:"-"` // the last day on which it holds, UTC
	Place   string    `json:"-"` // file and line
}

// Day is the last day on which the entry holds, as YYYY-MM-DD.
func (q QuarantineEntry) Day() string { return q.Expires.Format(time.DateOnly) }

// expired says whether the last day is over.
func (q QuarantineEntry) expired(now time.Time) bool { return !now.Before(q.Expires.AddDate(0, 0, 1)) }

func (q QuarantineEntry) holds(suite, task string) bool {
	return q.Task == task && (q.Suite == "" || q.Suite == suite)
}

// ReadQuarantine reads a quarantine file: a YAML list of entries with task,
// reason and expires, and suite where the same task is in several; the list may
// stand under the key quarantine. Faults are *GateError.
func ReadQuarantine(path string) ([]QuarantineEntry, error) {
	data, err := readGateBytes(path)
	if err != nil {
		return nil, err
	}
	return ParseQuarantine(path, data)
}

// ParseQuarantine is ReadQuarantine of content that is read already.
func ParseQuarantine(path string, data []byte) ([]QuarantineEntry, error) {
	root, err := yamlRoot(path, data)
	if err != nil {
		return nil, err
	}
	if root.Kind == yaml.MappingNode {
		switch {
		case len(root.Content) == 0:
			return nil, nil // a file of comments only
		case len(root.Content) == 2 && root.Content[0].Value == RuleQuarantine:
			root = root.Content[1]
		}
	}
	return quarantineList(path, root)
}

var quarantineKeys = []string{"task", "reason", "expires", "suite"}

func quarantineList(path string, n *yaml.Node) ([]QuarantineEntry, error) {
	fail := func(n *yaml.Node, format string, args ...any) error {
		return &GateError{File: path, Line: n.Line, Message: "quarantine: " + fmt.Sprintf(format, args...)}
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, fail(n, "a list is wanted, each entry with task, reason and expires")
	}
	var out []QuarantineEntry
	seen := map[[2]string]int{}
	for _, e := range n.Content {
		if e.Kind != yaml.MappingNode {
			return nil, fail(e, "an entry with task, reason and expires is wanted")
		}
		q := QuarantineEntry{Place: fmt.Sprintf("%s:%d", path, e.Line)}
		for i := 0; i+1 < len(e.Content); i += 2 {
			key, value := e.Content[i], e.Content[i+1]
			if value.Kind != yaml.ScalarNode {
				return nil, fail(value, "%s: one value is wanted", key.Value)
			}
			text := strings.TrimSpace(value.Value)
			switch key.Value {
			case "task":
				q.Task = value.Value
			case "suite":
				q.Suite = value.Value
			case "reason":
				q.Reason = text
			case "expires":
				day, err := time.Parse(time.DateOnly, text)
				if err != nil {
					return nil, fail(value, "expires %q: a day such as 2026-12-31 is wanted", value.Value)
				}
				q.Expires = day
			default:
				return nil, fail(key, "unknown key %q%s; there are %s", key.Value, suggest(key.Value, quarantineKeys), strings.Join(quarantineKeys, ", "))
			}
		}
		if q.Task == "" || q.Reason == "" || q.Expires.IsZero() {
			return nil, fail(e, "task, reason and expires are wanted, each")
		}
		key := [2]string{q.Suite, q.Task}
		if before, twice := seen[key]; twice {
			return nil, fail(e, "task %s stands twice, first on line %d", q.Task, before)
		}
		seen[key] = e.Line
		out = append(out, q)
	}
	return out, nil
}
