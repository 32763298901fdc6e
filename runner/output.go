package runner

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"time"
)

// output is the log that is written to, and beside it, while trials are
// missing, the list of those that were begun.
type output struct {
	path    string
	file    *os.File
	begun   *os.File
	done    map[key]bool
	starts  map[key]int // how often a trial was begun
	sum     Summary     // what the lines so far add up to
	suite   string
	runID   string
	runAt   string
	config  string            // contract of the lines so far
	tasks   map[string]string // hash of each task that has a line, "" where it was not recorded
	lines   int
	end     int64 // where the last whole line ends
	unended bool  // the last line lacks its line end only
}

// lineStart is how every line begins.
const lineStart = `{"suite":`

// logLine is what is read of a line of an earlier call.
type logLine struct {
	Suite     string          `json:"suite"`
	RunID     string          `json:"run_id"`
	RunAt     string          `json:"run_at"`
	TaskID    string          `json:"task_id"`
	Variant   string          `json:"variant"`
	Trial     *int            `json:"trial"`
	Passed    *bool           `json:"passed"`
	ErrorType string          `json:"error_type"`
	Cost      *float64        `json:"cost_usd"`
	Config    json.RawMessage `json:"config"`
	Extra     struct {
		Task string `json:"task_sha256"`
	} `json:"extra"`
}

func newOutput(path string) *output {
	return &output{path: path, done: map[key]bool{}, starts: map[key]int{}, tasks: map[string]string{}}
}

// openOutput reads what the log has, if it is there, and locks it against
// another call. Nothing is written before ready.
func openOutput(path string) (*output, error) {
	o := newOutput(path)
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return o, nil
	}
	if err != nil {
		return nil, usagef("open the log %s: %v", path, plain(err))
	}
	o.file = f
	if err := o.open(); err != nil {
		f.Close()
		return nil, err
	}
	return o, nil
}

func (o *output) open() error {
	if info, err := o.file.Stat(); err != nil || !info.Mode().IsRegular() {
		return usagef("the log %s is no ordinary file; a run is appended to one", o.path)
	}
	if !waitLock(o.file) {
		return usagef("the log %s is being written by another passhat run", o.path)
	}
	tail, err := o.read()
	if err != nil {
		return err
	}
	tail = bytes.TrimSpace(tail)
	switch {
	case len(tail) == 0:
	case o.take(tail) == nil:
		o.unended = true
	case o.lines == 0 && !bytes.HasPrefix(tail, []byte(lineStart)):
		return usagef("%s is no log of passhat run; name a new file", o.path)
	}
	return nil
}

// waitLock tries for a while: a call that was killed just now may have left a
// process behind that has the lock until it has become the trial's command.
func waitLock(f *os.File) bool {
	for range 40 {
		if lockFile(f) {
			return true
		}
		time.Sleep(25 * time.Millisecond)
	}
	return false
}

// ready makes the log fit to be written to.
func (o *output) ready() error {
	if o.file == nil {
		f, err := os.OpenFile(o.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			return usagef("the log %s is being written by another passhat run", o.path)
		}
		if err != nil {
			return usagef("make the log %s: %v", o.path, plain(err))
		}
		o.file = f
		if !waitLock(f) {
			return usagef("the log %s is being written by another passhat run", o.path)
		}
	}
	// What stands after the last whole line was being written when the process
	// died; it belongs to a trial that is run again.
	if !o.unended {
		if err := o.file.Truncate(o.end); err != nil {
			return fmt.Errorf("cut the torn line at the end of %s: %w", o.path, plain(err))
		}
	}
	if _, err := o.file.Seek(0, io.SeekEnd); err != nil {
		return fmt.Errorf("go to the end of %s: %w", o.path, plain(err))
	}
	if o.unended {
		if _, err := o.file.WriteString("\n"); err != nil {
			return fmt.Errorf("end the last line of %s: %w", o.path, plain(err))
		}
	}
	return o.readBegun()
}

// read takes in the whole lines and returns what stands after the last one.
func (o *output) read() (tail []byte, err error) {
	r := bufio.NewReaderSize(o.file, 1<<20)
	for number := 1; ; number++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return line, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the log %s: %w", o.path, plain(err))
		}
		o.end += int64(len(line))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if err := o.take(line); err != nil {
			return nil, usagef("%s: line %d: %v; want the log of an earlier passhat run, or a new file", o.path, number, err)
		}
	}
}

func (o *output) take(line []byte) error {
	var l logLine
	if err := json.Unmarshal(line, &l); err != nil {
		return errors.New(jsonFault(err))
	}
	if l.TaskID == "" || l.Trial == nil || l.RunID == "" || l.Config == nil {
		return errors.New("it is no trial of passhat run (task_id, trial, run_id or config is missing)")
	}
	if o.lines > 0 && (l.RunID != o.runID || l.Suite != o.suite) {
		return fmt.Errorf("it is of the run %q, the lines before of %q", l.RunID, o.runID)
	}
	if o.lines == 0 {
		o.suite, o.runID, o.runAt, o.config = l.Suite, l.RunID, l.RunAt, string(l.Config)
	}
	k := key{l.TaskID, l.Variant, *l.Trial}
	if o.done[k] {
		return fmt.Errorf("trial %s is there twice", k)
	}
	o.done[k] = true
	o.tasks[l.TaskID] = l.Extra.Task
	o.lines++
	o.sum.add(l.Passed, l.ErrorType, l.Cost)
	return nil
}

func (k key) String() string {
	if k.variant == "" {
		return fmt.Sprintf("%s #%d", k.task, k.trial)
	}
	return fmt.Sprintf("%s (%s) #%d", k.task, k.variant, k.trial)
}

// add counts a trial that is done.
func (s *Summary) add(passed *bool, errorType string, cost *float64) {
	switch {
	case passed == nil:
		s.Ungraded++
	case *passed:
		s.Passed++
	default:
		s.Failed++
	}
	if errorType == errTimeout {
		s.Timeouts++
	}
	if cost != nil {
		s.Cost += *cost
		s.CostKnown++
	}
}

// begunLine is a line of the list of trials that were begun.
type begunLine struct {
	TaskID  string `json:"task_id"`
	Variant string `json:"variant,omitempty"`
	Trial   int    `json:"trial"`
	At      string `json:"at"`
}

func (o *output) begunPath() string { return o.path + ".begun" }

// readBegun opens the list of trials that were begun. A torn line at its end
// is of a trial that never ran.
func (o *output) readBegun() error {
	f, err := os.OpenFile(o.begunPath(), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return fmt.Errorf("open %s: %w", o.begunPath(), plain(err))
	}
	o.begun = f
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var l begunLine
		if json.Unmarshal(scan.Bytes(), &l) == nil && l.TaskID != "" {
			o.starts[key{l.TaskID, l.Variant, l.Trial}]++
		}
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("read %s: %w", o.begunPath(), plain(err))
	}
	return nil
}

// begin notes that a trial begins.
func (o *output) begin(k key, at time.Time) error {
	line := append(encode(begunLine{k.task, k.variant, k.trial, stamp(at)}), '\n')
	// After a torn line the next must not hang on to it.
	if _, err := o.begun.Write(append([]byte{'\n'}, line...)); err != nil {
		return fmt.Errorf("write %s: %w", o.begunPath(), plain(err))
	}
	if err := o.begun.Sync(); err != nil {
		return fmt.Errorf("write %s: %w", o.begunPath(), plain(err))
	}
	return nil
}

// append writes the line of a trial so that it lasts.
func (o *output) append(line []byte) error {
	if _, err := o.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write the log %s: %w", o.path, plain(err))
	}
	if err := o.file.Sync(); err != nil {
		return fmt.Errorf("write the log %s: %w", o.path, plain(err))
	}
	return nil
}

// close ends the writing; the list of trials that were begun has no more use
// once all are done.
func (o *output) close(complete bool) error {
	var err error
	for _, f := range []*os.File{o.begun, o.file} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	if complete && o.begun != nil {
		err = errors.Join(err, os.Remove(o.begunPath()))
	}
	if err != nil {
		return fmt.Errorf("close the log %s: %w", o.path, plain(err))
	}
	return nil
}

// differs compares a recorded contract with the one at hand.
func differs(want contract, config string) string {
	var have contract
	if json.Unmarshal([]byte(config), &have) != nil || have.Command == "" {
		return "kind: it was not recorded by passhat run"
	}
	// Through JSON, so that numbers are of one type.
	var mine contract
	if json.Unmarshal(encode(want), &mine) != nil {
		return "contract"
	}
	switch {
	case have.Command != mine.Command:
		return "command"
	case have.Tasks != mine.Tasks:
		return "file of tasks"
	case have.Timeout != mine.Timeout:
		return fmt.Sprintf("timeout (%gs then, %gs now)", have.Timeout, mine.Timeout)
	case len(have.Set)+len(mine.Set) > 0 && !reflect.DeepEqual(have.Set, mine.Set):
		return "settings (--set)"
	}
	return ""
}

// encode is JSON of what cannot fail, without HTML's escapes.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
