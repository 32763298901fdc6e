package ingest

import (
	"io"
	"os"
	"strings"
	"time"
)

// Pair is a NAME=VALUE of the command line.
type Pair struct{ Name, Value string }

// Options are the choices of one ingest. The zero Options are the defaults.
type Options struct {
	// As names the format; "" recognises it from content.
	As string
	// Suite and Run, if not "", override what the log says.
	Suite, Run string
	// Renames gives runs that the log names another name.
	Renames map[string]string
	// Set gives columns fixed values: any column of trials that a log can
	// have, or extra.KEY.
	Set []Pair
	// Map gives columns a place in the log: COLUMN and a JSON path such as
	// $.a.b[0], or a CSV heading.
	Map []Pair
	// PassWhen is how a score becomes a verdict, e.g. `score >= 0.5`.
	PassWhen string
	// Score names which of several scores becomes the column score.
	Score string
	// Filter chooses one of several filters of an lm-eval log.
	Filter string
	// Attempts is which attempt of a test that was retried is its trial:
	// "first" (the default) or "final".
	Attempts string
	// AllowDependent counts what is not an independent trial as one: every
	// attempt, answers from a cache, re-runs of failures.
	AllowDependent bool
	// FolderAs says what several run folders in one are: "trial", the trials of
	// one run, or "run", runs; "" leaves it to the format.
	FolderAs string
	// Tasks is a file that lists the tasks of the suite, one a line, for
	// harnesses that log only some of them; "" for none.
	Tasks string
	// Preset is a file with a preset of the user's own; "" for none.
	Preset string
	// TZ is the zone of times that carry none; "" is UTC.
	TZ string
	// Strict fails a source at its first reject.
	Strict bool
	// MaxRejects is a count ("20") or a share ("0.5%"); "" is 0.1 %, at least 1.
	MaxRejects string
	// Replace makes changed content of a known path replace the earlier batch.
	Replace bool
	// DryRun reads and reports but writes nothing.
	DryRun bool
	// Jobs is the number of parsing goroutines; 0 is one per CPU.
	Jobs int
	// MaxRow is the longest line or array element in bytes; 0 is 64 MiB.
	MaxRow int
	// Limits bound what a compressed source may unfold into.
	Limits Limits
	// Version is the version of passhat, kept with each batch.
	Version string
	// Env looks up environment variables (git commit in CI); nil is os.Getenv.
	Env func(string) string
	// Progress, if not nil, is told of progress a few times a second, from
	// one goroutine at a time.
	Progress func(Progress)
	// Stdin is read for the source '-'; nil is os.Stdin.
	Stdin io.Reader

	// preset reads a table's rows, where its heading is known.
	preset *preset

	// rank, from 1, makes the source one trial of a run of several files.
	rank int32
	// beside remembers the names in folders during one Ingest; nil is no memory.
	beside *folderNames
}

// Progress is how far an ingest has come.
type Progress struct {
	Source      string // the source being read
	Done, Total int64  // bytes of all sources as they lie on disk; Total 0 when unknown
	Rows        int64  // rows read so far
}

func (o *Options) maxRow() int {
	if o.MaxRow > 0 {
		return o.MaxRow
	}
	return 64 << 20
}

// location is the zone of times that carry none.
func (o *Options) location() (*time.Location, error) {
	if o.TZ == "" {
		return time.UTC, nil
	}
	loc, err := time.LoadLocation(o.TZ)
	if err != nil {
		return nil, usagef("--tz", "there is no time zone %q: wanted a name such as Europe/Berlin or UTC", o.TZ)
	}
	return loc, nil
}

// maxTaskList is the longest file of tasks, in bytes.
const maxTaskList = 64 << 20

// TaskList returns the tasks of --tasks-file: one a line, blank lines and those
// that begin with # left out, each once, in their order; nil without --tasks-file. Errors
// are of kind *UsageError.
func (o *Options) TaskList() ([]string, error) {
	if o.Tasks == "" {
		return nil, nil
	}
	f, err := os.Open(o.Tasks)
	if err != nil {
		return nil, usagef("--tasks-file", "%s: open: %v", o.Tasks, plainPathError(err))
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxTaskList+1))
	if err != nil {
		return nil, usagef("--tasks-file", "%s: read: %v", o.Tasks, plainPathError(err))
	}
	if len(b) > maxTaskList {
		return nil, usagef("--tasks-file", "%s: it is longer than %d bytes", o.Tasks, maxTaskList)
	}
	var out []string
	seen := map[string]bool{}
	for line := range strings.Lines(strings.ToValidUTF8(strings.TrimPrefix(string(b), utf8BOM), "\uFFFD")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || seen[line] {
			continue
		}
		seen[line] = true
		out = append(out, line)
	}
	if len(out) == 0 {
		return nil, usagef("--tasks-file", "%s: it lists no task: wanted one a line", o.Tasks)
	}
	return out, nil
}
