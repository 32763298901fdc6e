package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// A Spec is a run: which command tries which tasks how often.
type Spec struct {
	Tasks     []Task
	TasksHash string
	// Command is the program and its arguments; {prompt}, {task_id}, {variant},
	// {state}, {trial}, {seed} and {dir} in arguments stand for those.
	Command []string
	K       int            // trials of each variant of a task, at least 1
	N       map[string]int // the same by risk, before K
	Jobs    int            // trials at once, at least 1
	Timeout time.Duration  // of one trial; 0 is none
	// MaxCost is what the whole run may cost in dollars, as far as the command
	// tells; 0 is no limit.
	MaxCost float64
	Suite   string
	RunID   string // "" goes on with the run in Out, or makes a name
	// Set are further columns of every trial, by name.
	Set map[string]any
	// Out is the log, a JSON Lines file that is appended to.
	Out string
	// Logs is a folder for what each trial printed; "" for none.
	Logs    string
	Version string
	// Scratch is the folder in which each trial gets one of its own, {dir}; "" for
	// the system's temporary folder.
	Scratch string
	Now     func() time.Time
	// Progress, if not nil, is told of every trial that begins or ends, by one
	// goroutine at a time.
	Progress func(Progress)
}

// Progress is how far a run has come.
type Progress struct {
	Planned, Done, Failed, Running int
	Cost                           float64 // dollars that the trials told
	CostKnown                      int     // trials that told
}

// A Summary is what became of a run.
type Summary struct {
	Suite, RunID string
	Planned      int // trials that the run means to do
	Before       int // done by an earlier call
	Ran          int // done by this call
	Passed       int // of all that are done
	Failed       int
	Ungraded     int
	Timeouts     int // of the failed
	Missing      int
	MissingTasks int // tasks without the trials that are planned
	// Untried are the planned tasks of which no trial ended. They are not in the log.
	Untried   []string
	Cost      float64
	CostKnown int
	// Cut are the trials that an earlier interruption cut and that were to be
	// run again.
	Cut []string
	// OverCost says that the ceiling of cost ended the run.
	OverCost bool
	// Notes are what else the user should know.
	Notes []string
}

// count is how many trials a variant of a task has.
func (s *Spec) count(t *Task) int {
	if n, ok := s.N[t.Risk]; ok && t.Risk != "" {
		return n
	}
	return s.K
}

// key names a trial within a run.
type key struct {
	task, variant string
	trial         int
}

// job is a trial to be run.
type job struct {
	key
	t       *Task
	v       *Variant
	planned int // trials of the task, over its variants
	cut     int // how often it was begun before and not ended
}

// plan lists the trials of the run: the first of every task, then the second,
// so that a run that ends early has something of every task.
func (s *Spec) plan() []job {
	var jobs []job
	most := 0
	for i := range s.Tasks {
		most = max(most, s.count(&s.Tasks[i]))
	}
	for trial := range most {
		for i := range s.Tasks {
			t := &s.Tasks[i]
			n := s.count(t)
			if trial >= n {
				continue
			}
			for j := range t.Variants {
				v := &t.Variants[j]
				jobs = append(jobs, job{key: key{t.ID, v.Name, trial}, t: t, v: v, planned: n * len(t.Variants)})
			}
		}
	}
	return jobs
}

// contract is what all trials of a run have in common, and the column config of
// each. The command may hold secrets and is kept as a hash.
type contract struct {
	Command string         `json:"command_sha256"`
	Tasks   string         `json:"tasks_sha256"`
	Timeout float64        `json:"timeout_s"`
	Set     map[string]any `json:"set,omitempty"`
}

func (s *Spec) contract() contract {
	sum := sha256.Sum256([]byte(strings.Join(s.Command, "\x00")))
	return contract{Command: hex.EncodeToString(sum[:]), Tasks: s.TasksHash, Timeout: s.Timeout.Seconds(), Set: s.Set}
}
