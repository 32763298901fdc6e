package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Run is a run that was opened: its log is read and locked.
type Run struct {
	spec         Spec
	out          *output
	suite, runID string
	runAt        string
	config       []byte
	dir          string // the working directory
	program      string
	tasksHash    string // of the tasks that the run began with, where others came since
	grown        int    // how many came
	secrets      *secrets
	jobs         []job // to be done
	sum          Summary

	mu      sync.Mutex
	running int
	err     error // what ends the run
}

// Open checks the request against what the log holds. It writes nothing. Faults
// of the request are *UsageError. The caller closes the run.
func Open(spec Spec) (*Run, error) {
	if spec.Now == nil {
		spec.Now = time.Now
	}
	r := &Run{spec: spec}
	if err := r.check(); err != nil {
		return nil, err
	}
	out, err := openOutput(spec.Out)
	if err != nil {
		return nil, err
	}
	r.out = out
	if err := r.resume(); err != nil {
		out.close(false)
		return nil, err
	}
	return r, nil
}

// check looks at the command and the tasks.
func (r *Run) check() error {
	s := &r.spec
	if len(s.Command) == 0 || s.Command[0] == "" {
		return usagef("run: want a command behind --, such as: passhat run --tasks tasks.jsonl -k 8 -o trials.jsonl -- ./agent {prompt}")
	}
	if s.K < 1 || s.Jobs < 1 || s.Timeout < 0 || s.MaxCost < 0 {
		return usagef("run: want at least one trial and one job, and no negative limits")
	}
	var err error
	if r.dir, err = os.Getwd(); err != nil {
		return fmt.Errorf("find the working directory: %w", plain(err))
	}
	if place, in := codeInjection(s.Command); place != "" {
		return usagef("run: %s within the text of %s would be run as code: write \"$PASSHAT_%s\" there, or give %s as an argument behind the text",
			place, in, strings.ToUpper(strings.Trim(place, "{}")), place)
	}
	path, err := exec.LookPath(s.Command[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		if strings.Contains(s.Command[0], "{dir}") {
			return usagef("run: there is no program %s: {dir} is filled in in arguments only; write the program's path as seen from here", s.Command[0])
		}
		return usagef("run: there is no program %s: %v", s.Command[0], plainExec(err))
	}
	if r.program, err = filepath.Abs(path); err != nil {
		return fmt.Errorf("find %s: %w", s.Command[0], err)
	}
	for risk := range s.N {
		if !slices.ContainsFunc(s.Tasks, func(t Task) bool { return t.Risk == risk }) {
			return usagef("run: no task has the risk %q", risk)
		}
	}
	argument := slices.ContainsFunc(s.Command[1:], func(a string) bool { return strings.Contains(a, "{prompt}") })
	for i := range s.Tasks {
		for _, v := range s.Tasks[i].Variants {
			if argument && len(v.Prompt) > maxEnv {
				return usagef("run: the prompt of task %s has %d bytes, too many for an argument; let the command read it from stdin", s.Tasks[i].ID, len(v.Prompt))
			}
		}
	}
	r.secrets = secretsOf(os.Environ())
	s.Set = r.secrets.hideSet(s.Set)
	return nil
}

// resume settles the run's name and what remains to be done.
func (r *Run) resume() error {
	o, s := r.out, &r.spec
	r.suite, r.runID, r.runAt = s.Suite, s.RunID, o.runAt
	if o.lines > 0 {
		switch {
		case s.RunID != "" && s.RunID != o.runID:
			return usagef("%s holds the run %q, not %q; a log holds one run, so name another -o", s.Out, o.runID, s.RunID)
		case s.Suite != o.suite:
			return usagef("%s holds the suite %q, not %q; a log holds one run, so name another -o", s.Out, o.suite, s.Suite)
		}
		if err := r.sameTasks(); err != nil {
			return err
		}
		if what := r.ContractDiffers(o.config); what != "" {
			return usagef("%s holds the run %q with another %s; trials of both would be mixed, so name another --run and -o", s.Out, o.runID, what)
		}
		r.runID = o.runID
	}
	now := s.Now()
	if r.runID == "" {
		r.runID = s.Suite + "-" + now.UTC().Format("20060102T150405Z")
	}
	if r.runAt == "" {
		r.runAt = stamp(now)
	}
	r.config = encode(r.contract())
	r.sum = o.sum
	r.sum.Suite, r.sum.RunID, r.sum.Before = r.suite, r.runID, len(o.done)
	all := s.plan()
	r.sum.Planned = len(all)
	known := 0
	for _, j := range all {
		if o.done[j.key] {
			known++
			continue
		}
		r.jobs = append(r.jobs, j)
	}
	if r.grown > 0 {
		r.sum.Notes = append(r.sum.Notes, fmt.Sprintf("the tasks have grown by %d since the run began; those are run, the others stay as they are", r.grown))
	}
	if more := len(o.done) - known; more > 0 {
		r.sum.Planned += more
		r.sum.Notes = append(r.sum.Notes, fmt.Sprintf("%d trials of the log are beyond what is planned now; they stay", more))
	}
	return nil
}

// Suite and RunID name the run.
func (r *Run) Suite() string { return r.suite }

// RunID is the run's name.
func (r *Run) RunID() string { return r.runID }

// Pending is how many trials are still to be done.
func (r *Run) Pending() int { return len(r.jobs) }

// Close lets go of the log.
func (r *Run) Close() error { return r.out.close(r.sum.Missing == 0 && r.sum.Ran > 0) }

// Do runs what is to be done and returns when it is, when ctx ends, when the
// ceiling of cost is reached, or when the log cannot be written. Trials under
// way are then ended (by ctx) or waited for (by the ceiling). The summary holds in
// every case.
func (r *Run) Do(ctx context.Context) (Summary, error) {
	if len(r.jobs) == 0 {
		// A process that died after the last trial may have left it.
		if err := os.Remove(r.out.begunPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return r.sum, fmt.Errorf("remove %s: %w", r.out.begunPath(), plain(err))
		}
		return r.sum, nil
	}
	if err := r.prepare(); err != nil {
		return r.sum, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	jobs := make(chan job)
	var workers sync.WaitGroup
	for range min(r.spec.Jobs, len(r.jobs)) {
		workers.Go(func() {
			// See groupAttr.
			runtime.LockOSThread()
			for j := range jobs {
				if err := r.do(ctx, j); err != nil {
					r.fail(err)
					stop(err)
				}
			}
		})
	}
	r.feed(ctx, jobs)
	close(jobs)
	workers.Wait()
	r.finish()
	r.sum.Untried = r.untried()
	if r.err != nil {
		return r.sum, r.err
	}
	return r.sum, ctx.Err()
}

// prepare opens the log for writing and says which trials had been cut.
func (r *Run) prepare() error {
	if r.spec.Logs != "" {
		if err := os.MkdirAll(r.spec.Logs, 0o777); err != nil {
			return usagef("make the folder %s: %v", r.spec.Logs, plain(err))
		}
		if abs, err := filepath.Abs(r.spec.Logs); err == nil {
			r.spec.Logs = abs
		}
	}
	if err := r.out.ready(); err != nil {
		return err
	}
	for i := range r.jobs {
		j := &r.jobs[i]
		if j.cut = r.out.starts[j.key]; j.cut > 0 {
			r.sum.Cut = append(r.sum.Cut, j.key.String())
		}
	}
	return nil
}

// feed hands out the trials until there are none, ctx ends or the money does.
func (r *Run) feed(ctx context.Context, jobs chan<- job) {
	for _, j := range r.jobs {
		for r.mustWait() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
		if r.overCost() {
			return
		}
		r.count(1)
		select {
		case jobs <- j:
		case <-ctx.Done():
			r.count(-1)
			return
		}
	}
}

// count notes that a trial was handed out.
func (r *Run) count(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running += n
}

// mustWait says that one more trial might go over the ceiling, which those that
// run now will tell. The first trial of all runs alone, for its cost.
func (r *Run) mustWait() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.sum.Before+r.sum.Ran == 0
	return r.spec.MaxCost > 0 && r.running > 0 && (first || r.expected(r.running+1) > r.spec.MaxCost)
}

// expected is what the run will have cost with some more trials, each as dear as
// those before on average.
func (r *Run) expected(more int) float64 {
	if r.sum.CostKnown == 0 {
		return r.sum.Cost
	}
	return r.sum.Cost + float64(more)*r.sum.Cost/float64(r.sum.CostKnown)
}

// overCost says that the next trial is likely to go over the ceiling.
func (r *Run) overCost() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spec.MaxCost > 0 && (r.sum.Cost >= r.spec.MaxCost || r.expected(r.running+1) > r.spec.MaxCost) {
		r.sum.OverCost = true
	}
	return r.sum.OverCost
}

// do runs one trial and records it. An error ends the run.
func (r *Run) do(ctx context.Context, j job) error {
	if ctx.Err() != nil {
		r.count(-1)
		return nil
	}
	r.mu.Lock()
	err := r.out.begin(j.key, r.spec.Now())
	r.tell()
	r.mu.Unlock()
	var o outcome
	if err == nil {
		o, err = r.trial(ctx, j)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
	if errors.Is(err, errCut) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := r.out.append(r.line(j, o)); err != nil {
		return err
	}
	r.out.done[j.key] = true
	var told *float64
	if cost, ok := o.report.columns["cost_usd"].(float64); ok {
		told = &cost
	}
	r.sum.add(o.passed, o.errorType, told)
	r.sum.Ran++
	r.noteFaults(j, o)
	r.tell()
	return nil
}

// noteFaults keeps the first report with values that are none.
func (r *Run) noteFaults(j job, o outcome) {
	const mark = "the report of trial "
	if len(o.report.faults) == 0 || slices.ContainsFunc(r.sum.Notes, func(n string) bool { return strings.HasPrefix(n, mark) }) {
		return
	}
	r.sum.Notes = append(r.sum.Notes, fmt.Sprintf("%s%s: %s; left out (later ones are not told, see extra.report_faults)", mark, j.key, strings.Join(o.report.faults, "; ")))
}

func (r *Run) tell() {
	if r.spec.Progress != nil {
		r.spec.Progress(Progress{Planned: r.sum.Planned, Done: r.sum.Before + r.sum.Ran, Failed: r.sum.Failed, Running: r.running,
			Cost: r.sum.Cost, CostKnown: r.sum.CostKnown})
	}
}

func (r *Run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
}

// finish counts what is missing.
func (r *Run) finish() {
	r.sum.Missing = r.sum.Planned - r.sum.Before - r.sum.Ran
	if r.spec.MaxCost > 0 && r.sum.CostKnown == 0 && r.sum.Ran > 0 {
		r.sum.Notes = append(r.sum.Notes, "no trial told its cost (cost_usd on the last line of stdout), so the ceiling could not hold")
	}
	tasks := map[string]bool{}
	for _, j := range r.jobs {
		if !r.out.done[j.key] {
			tasks[j.task] = true
		}
	}
	r.sum.MissingTasks = len(tasks)
}
