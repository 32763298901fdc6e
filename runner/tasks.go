package runner

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxTaskLine = 16 << 20
	maxTasks    = 1_000_000
	maxVariants = 10_000
)

// A Task is one line of a file of tasks.
type Task struct {
	ID       string
	Shape    string
	Risk     string
	Variants []Variant // at least one
	JSON     string    // the line itself
}

// hash tells whether a task is as it was in an earlier call.
func (t *Task) hash() string {
	sum := sha256.Sum256([]byte(t.JSON))
	return hex.EncodeToString(sum[:8])
}

// A Variant is one phrasing of a task in one start state.
type Variant struct {
	Name   string // "" where the task has one only
	Prompt string
	State  string // text, or JSON of what is no text; "" for none
	// Seed is from 0 to 2^63 - 1 and follows from task and variant alone.
	Seed int64
}

// A UsageError is a wrong request: a file of tasks that is none, a run that
// would mix two.
type UsageError struct{ message string }

func (e *UsageError) Error() string { return e.message }

func usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

// Seed is a number that follows from text: the first 8 bytes of its SHA-256,
// big-endian, without the topmost bit.
func Seed(text string) int64 {
	sum := sha256.Sum256([]byte(text))
	return int64(binary.BigEndian.Uint64(sum[:8]) &^ (1 << 63))
}

// LoadTasks reads a file of tasks, one JSON object a line:
//
//	{"task_id": "refund-1", "prompt": "Refund order 17.", "risk": "high_risk_write", "shape": "writes_state",
//	 "rephrasings": ["Please give the money for order 17 back."], "states": ["paid", {"name": "shipped", "order": 17}]}
//
// Only task_id is needed. The second result is a hash of all tasks. Errors are
// of kind *UsageError and name the line.
func LoadTasks(path string) ([]Task, string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", usagef("read the tasks %s: %v", path, plain(err))
	}
	defer f.Close()
	return readTasks(f, path)
}

func readTasks(r io.Reader, path string) ([]Task, string, error) {
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 64<<10), maxTaskLine)
	sum := sha256.New()
	var tasks []Task
	seen := map[string]int{}
	number := 0
	for scan.Scan() {
		number++
		line := bytes.TrimSpace(bytes.TrimPrefix(scan.Bytes(), []byte("\uFEFF")))
		if len(line) == 0 {
			continue
		}
		t, err := parseTask(line)
		if err != nil {
			return nil, "", usagef("%s: line %d: %v", path, number, err)
		}
		if first, ok := seen[t.ID]; ok {
			return nil, "", usagef("%s: line %d: task %q was on line %d already", path, number, t.ID, first)
		}
		if len(tasks) == maxTasks {
			return nil, "", usagef("%s: more than %d tasks", path, maxTasks)
		}
		seen[t.ID] = number
		tasks = append(tasks, t)
		sum.Write(append(line, '\n'))
	}
	if err := scan.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, "", usagef("%s: line %d is longer than %d bytes", path, number+1, maxTaskLine)
		}
		return nil, "", usagef("read the tasks %s: %v", path, plain(err))
	}
	if len(tasks) == 0 {
		return nil, "", usagef("%s: it has no task; want one JSON object a line, such as {\"task_id\": \"a\", \"prompt\": \"…\"}", path)
	}
	return tasks, hex.EncodeToString(sum.Sum(nil)), nil
}

// taskLine is a task as it is written.
type taskLine struct {
	TaskID      json.RawMessage   `json:"task_id"`
	ID          json.RawMessage   `json:"id"`
	Prompt      *string           `json:"prompt"`
	Rephrasings []json.RawMessage `json:"rephrasings"`
	States      []json.RawMessage `json:"states"`
	Shape       string            `json:"shape"`
	Risk        string            `json:"risk"`
}

func parseTask(line []byte) (Task, error) {
	if !utf8.Valid(line) {
		return Task{}, errors.New("it is no UTF-8")
	}
	var in taskLine
	if err := json.Unmarshal(line, &in); err != nil {
		return Task{}, errors.New(jsonFault(err))
	}
	if err := misspelt(line); err != nil {
		return Task{}, err
	}
	id := in.TaskID
	if id == nil {
		id = in.ID
	}
	t := Task{ID: scalar(id), Shape: in.Shape, Risk: in.Risk, JSON: string(line)}
	if strings.TrimSpace(t.ID) == "" {
		return t, errors.New("it has no task_id; want a text or a number")
	}
	if hasNUL(line) || strings.ContainsRune(t.ID, 0) {
		return t, errors.New("it holds a NUL character, which no environment can carry")
	}
	phrasings, err := phrasings(in)
	if err != nil {
		return t, err
	}
	states, err := states(in)
	if err != nil {
		return t, err
	}
	if len(phrasings)*len(states) > maxVariants {
		return t, fmt.Errorf("%d phrasings in %d states are more than %d variants", len(phrasings), len(states), maxVariants)
	}
	seen := map[string]bool{}
	for _, p := range phrasings {
		for _, s := range states {
			v := Variant{Name: joinNames(p.Name, s.Name), Prompt: p.Prompt, State: s.State}
			if seen[v.Name] {
				return t, fmt.Errorf("two variants are called %q", v.Name)
			}
			seen[v.Name] = true
			v.Seed = Seed(t.ID + ":" + v.Name)
			t.Variants = append(t.Variants, v)
		}
	}
	return t, nil
}

// taskKeys are the keys of a task that have a meaning here; others are the
// command's own.
var taskKeys = []string{"task_id", "prompt", "rephrasings", "states", "shape", "risk"}

// misspelt refuses a key that is one of ours but for its case, its plural or
// what stands between its words: its task would silently run without it.
func misspelt(line []byte) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(line, &keys); err != nil {
		return errors.New(jsonFault(err))
	}
	norm := func(s string) string {
		return strings.TrimSuffix(strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(s)), "s")
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		for _, known := range taskKeys {
			if _, there := keys[known]; key != known && !there && norm(key) == norm(known) {
				return fmt.Errorf("it has a key %q; want %q", key, known)
			}
		}
	}
	return nil
}

// hasNUL looks for an escaped NUL; a bare one is no JSON.
func hasNUL(line []byte) bool { return bytes.Contains(line, []byte(`\u0000`)) }

// phrasings are the prompt, called original, and its rephrasings.
func phrasings(in taskLine) ([]Variant, error) {
	prompt := ""
	if in.Prompt != nil {
		prompt = *in.Prompt
	}
	if len(in.Rephrasings) == 0 {
		return []Variant{{Prompt: prompt}}, nil
	}
	var out []Variant
	if in.Prompt != nil {
		out = append(out, Variant{Name: "original", Prompt: prompt})
	}
	for i, raw := range in.Rephrasings {
		v := Variant{Name: fmt.Sprintf("rephrasing-%d", i+1)}
		var named struct {
			Name   string  `json:"name"`
			Prompt *string `json:"prompt"`
		}
		switch {
		case json.Unmarshal(raw, &v.Prompt) == nil && string(raw) != "null":
		case json.Unmarshal(raw, &named) == nil && named.Prompt != nil:
			v.Prompt = *named.Prompt
			if named.Name != "" {
				v.Name = named.Name
			}
		default:
			return nil, fmt.Errorf("rephrasings[%d] is neither a text nor an object with name and prompt", i)
		}
		out = append(out, v)
	}
	return out, nil
}

// states are the start states, or one that is none.
func states(in taskLine) ([]Variant, error) {
	if len(in.States) == 0 {
		return []Variant{{}}, nil
	}
	var out []Variant
	for i, raw := range in.States {
		v := Variant{Name: fmt.Sprintf("state-%d", i+1)}
		var named struct {
			Name string `json:"name"`
		}
		switch {
		case json.Unmarshal(raw, &v.State) == nil && string(raw) != "null":
			if len(v.State) > 0 && len(v.State) <= 64 && !strings.ContainsAny(v.State, "\n\r") {
				v.Name = v.State
			}
		case string(raw) == "null":
			return nil, fmt.Errorf("states[%d] is null", i)
		default:
			v.State = string(raw)
			if json.Unmarshal(raw, &named) == nil && named.Name != "" {
				v.Name = named.Name
			}
		}
		out = append(out, v)
	}
	return out, nil
}

func joinNames(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "+" + b
}

// scalar is the text of a JSON text or number, else "".
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// jsonFault words a JSON error without names of Go.
func jsonFault(err error) string {
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) && typ.Field != "" {
		return fmt.Sprintf("%s is a %s, which it cannot be", typ.Field, typ.Value)
	}
	if errors.As(err, &typ) {
		return fmt.Sprintf("it is a %s; want a JSON object", typ.Value)
	}
	if strings.Contains(err.Error(), "unexpected end") {
		return "it is no JSON object: the line ends before the object does"
	}
	return "it is no JSON object: " + err.Error()
}

// plain takes the system call's name and the path out of an error.
func plain(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
