package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const (
	errTimeout = "timeout"
	errInfra   = "infra"
	errAgent   = "agent"
	errScorer  = "scorer"

	// grace is how long a process may take to end once it is asked to.
	grace = 3 * time.Second
	// maxEnv is the longest text that goes into an environment variable or an
	// argument; systems allow little more.
	maxEnv = 100_000
)

// errCut says that a trial did not end because the run was interrupted.
var errCut = errors.New("interrupted")

// outcome is what became of a trial.
type outcome struct {
	passed       *bool
	errorType    string
	errorMessage string
	started      time.Time
	took         time.Duration
	exit         int
	hash         string
	log          string // file with what it printed
	report       report
	reported     bool
}

// trial runs the command once. The error is errCut, or a fault of the machine
// that ends the whole run; whatever the command does is an outcome.
func (r *Run) trial(ctx context.Context, j job) (o outcome, err error) {
	dir, err := os.MkdirTemp(r.spec.Scratch, "passhat-trial-")
	if err != nil {
		return o, fmt.Errorf("make a folder for a trial: %w", plain(err))
	}
	defer removeAll(dir)
	log, file, err := r.openLog(j)
	if err != nil {
		return o, err
	}
	h := newHeard(log)
	limited, stop := context.WithCancel(ctx)
	if r.spec.Timeout > 0 {
		limited, stop = context.WithTimeout(ctx, r.spec.Timeout)
	}
	defer stop()
	var ended atomic.Bool // by us
	cmd := r.command(limited, j, dir, &ended)
	cmd.Stdout, cmd.Stderr = &h.out, &h.err
	o.started = r.spec.Now()
	begin := time.Now()
	err = cmd.Start()
	if err == nil {
		err = cmd.Wait()
		// Whatever it left running would disturb the next trial.
		endGroup(cmd, true)
	}
	o.took = time.Since(begin)
	held := errors.Is(err, exec.ErrWaitDelay) && !ended.Load()
	if held {
		o.took -= cmd.WaitDelay
	}
	h.end()
	if log != nil {
		o.log = file.Name()
		if cerr := errors.Join(log.failed, file.Close()); cerr != nil {
			return o, fmt.Errorf("write %s: %w", file.Name(), plain(cerr))
		}
	}
	late := ended.Load() && errors.Is(limited.Err(), context.DeadlineExceeded)
	if cmd.ProcessState == nil && ctx.Err() != nil || ended.Load() && !late {
		return o, errCut
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) && !late {
		return o, fmt.Errorf("start %s: %w", r.spec.Command[0], plainExec(err))
	}
	o.judge(r, cmd, h, late)
	if held {
		o.report.faults = append(o.report.faults, "a process that it left behind held its output open: ended")
	}
	return o, nil
}

func plainExec(err error) error {
	var ee *exec.Error
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("no folder of PATH has it")
	}
	if errors.As(err, &ee) {
		err = ee.Err
	}
	return plain(err)
}

// removeAll removes a trial's folder, also one that the trial made unwritable.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir) // what still stays is in the system's temporary folder
}

// command builds the command of a trial.
func (r *Run) command(ctx context.Context, j job, dir string, ended *atomic.Bool) *exec.Cmd {
	fill := strings.NewReplacer("{prompt}", j.v.Prompt, "{task_id}", j.t.ID, "{variant}", j.v.Name, "{state}", j.v.State,
		"{trial}", strconv.Itoa(j.trial), "{seed}", strconv.FormatInt(j.v.Seed, 10), "{dir}", r.dir)
	args := make([]string, len(r.spec.Command)-1)
	for i, a := range r.spec.Command[1:] {
		args[i] = fill.Replace(a)
	}
	cmd := exec.CommandContext(ctx, r.program, args...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(j.v.Prompt)
	cmd.Env = append(os.Environ(), r.environment(j)...)
	group(cmd)
	cmd.Cancel = func() error {
		ended.Store(true)
		endGroup(cmd, false)
		time.AfterFunc(grace, func() { endGroup(cmd, true) })
		return nil
	}
	cmd.WaitDelay = grace + time.Second
	return cmd
}

// environment is what a trial is told by variables. What is too long for one is
// left out; the prompt always stands on stdin.
func (r *Run) environment(j job) []string {
	trial := strconv.Itoa(j.trial)
	var env []string
	for _, e := range [][2]string{
		{"TASK_ID", j.t.ID}, {"TRIAL", trial}, {"VARIANT", j.v.Name}, {"PROMPT", j.v.Prompt}, {"STATE", j.v.State}, {"TASK", j.t.JSON},
		{"SEED", strconv.FormatInt(j.v.Seed, 10)}, {"TRIAL_SEED", strconv.FormatInt(Seed(j.t.ID+":"+j.v.Name+":"+trial), 10)},
		{"SUITE", r.suite}, {"RUN_ID", r.runID}, {"DIR", r.dir},
	} {
		if len(e[1]) <= maxEnv {
			env = append(env, "PASSHAT_"+e[0]+"="+e[1])
		}
	}
	return env
}

// judge decides the verdict.
func (o *outcome) judge(r *Run, cmd *exec.Cmd, h *heard, late bool) {
	if h.piece {
		o.report, o.reported = cutReport(h.head)
	} else {
		o.report, o.reported = parseReport([]byte(r.secrets.hide(string(h.last))))
	}
	o.hash = h.hash(o.reported)
	o.exit = -1
	if cmd.ProcessState != nil {
		o.exit = cmd.ProcessState.ExitCode()
	}
	failed, passed := false, true
	o.passed = &failed
	said := o.report.errorText
	if said == "" && len(h.tail) > 0 {
		said = r.secrets.hide(strings.Join(h.tail, " "))
	}
	kind, _ := o.report.columns["error_type"].(string)
	switch signal := signalOf(cmd); {
	case late:
		o.errorType, o.errorMessage = errTimeout, fmt.Sprintf("no end within %v", r.spec.Timeout)
		said = o.report.errorText
	case signal != "":
		// Nobody here sent it: the command crashed, or took more than it may.
		o.errorType, o.errorMessage = errAgent, "ended by the signal "+signal
		if signal == "SIGKILL" {
			o.errorMessage += " from outside (too much memory?)"
		}
	case o.exit == 126 || o.exit == 127:
		o.errorType, o.errorMessage = errInfra, fmt.Sprintf("exit code %d (a program could not be started)", o.exit)
	case o.exit != 0:
		o.errorType, o.errorMessage = errAgent, fmt.Sprintf("exit code %d", o.exit)
	default:
		o.passed = &passed
		if o.report.passed != nil {
			o.passed = o.report.passed
		} else if o.report.ungraded {
			o.passed = nil
			if len(o.report.faults) > 0 {
				o.errorType, o.errorMessage = errScorer, cutText("its report can't be read: "+strings.Join(o.report.faults, "; "), 2000)
				return
			}
		}
		o.errorType, o.errorMessage = kind, o.report.errorText
		if kind == "" && o.errorMessage != "" {
			o.errorType = errAgent
		}
		return
	}
	if kind != "" && !late {
		o.errorType = kind
	}
	if said != "" {
		o.errorMessage += ": " + said
	}
	o.errorMessage = cutText(o.errorMessage, 2000)
}

func signalOf(cmd *exec.Cmd) string {
	if cmd.ProcessState == nil {
		return ""
	}
	return killedBy(cmd.ProcessState)
}

// openLog makes the file for what a trial prints.
func (r *Run) openLog(j job) (*trialLog, *os.File, error) {
	if r.spec.Logs == "" {
		return nil, nil, nil
	}
	name := fmt.Sprintf("%s-%016x.log", fileName(j.t.ID), Seed(j.t.ID+":"+j.v.Name+":"+strconv.Itoa(j.trial)))
	f, err := os.Create(filepath.Join(r.spec.Logs, name))
	if err != nil {
		return nil, nil, fmt.Errorf("make %s: %w", filepath.Join(r.spec.Logs, name), plain(err))
	}
	return &trialLog{w: f, hide: r.secrets.hide, left: maxTrialLog}, f, nil
}

// fileName keeps of a task's name what is harmless in the name of a file.
func fileName(s string) string {
	var b strings.Builder
	for _, c := range s {
		if b.Len() >= 60 {
			break
		}
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			b.WriteRune(c)
		} else {
			b.WriteByte('_')
		}
	}
	return b.String()
}
