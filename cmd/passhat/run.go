package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"passhat/ingest/store"
	"passhat/runner"
)

// runFlags are the flags of passhat run.
type runFlags struct {
	spec     runner.Spec
	tasks    string
	perRisk  string
	set      []string
	noIngest bool
}

func (a *app) runCommand() *cobra.Command {
	var r runFlags
	cmd := &cobra.Command{
		Use:   "run --tasks FILE -k N [-o LOG] -- CMD ARG...",
		Short: "record repeated trials of any command: once per task, variant and trial, then ingest the log",
		Long: `run tries every task of a file N times with a command of yours and records the verdicts.

Each trial runs in an empty folder of its own. The prompt stands on stdin, in $PASSHAT_PROMPT and for {prompt} in the
arguments (but not within the text of sh -c, which would run it); $PASSHAT_TASK_ID, _VARIANT, _STATE, _TRIAL, _SEED, _TRIAL_SEED, _SUITE, _RUN_ID, _TASK (the task's line) and
_DIR (where passhat was called; {dir} in arguments) tell the rest. Exit code 0 is a pass; any other, a crash, or no end
within --timeout, a failure. A JSON object on the last line of stdout may give passed, score, cost_usd, input_tokens,
output_tokens, turns, tool_calls, error and other columns. A line that begins like one and can't be read, or is longer than
1 MiB, leaves its trial ungraded (without a verdict), and an error without passed is a failure.

The same command again goes on where the last one stopped: what is in LOG is done, failures too. Tasks may be added to the
FILE and -k raised, and only what is new is run. A task that a stopped run never came to is not in LOG: it is named at the end,
and no report counts it until the same command has run it.

Kept out of LOG and of --logs: values of variables whose names say that they are secret (…KEY, …TOKEN, …SECRET, …PASSWORD,
…AUTH, …DSN and the like, from 8 letters on; [$NAME] stands for them), texts in the form of known keys and tokens, passwords in
addresses ([secret]), and fields of the report and of --set whose names say that they are secret. The command line is kept as a hash only.

Exit codes: 0 all trials are done, passed or not; 2 wrong command line, also a LOG that can't be opened; 4 stopped at --max-cost-usd, or the
log or store can't be written; 130 interrupted. What was done is in LOG in every case.`,
		Example: `  passhat run --tasks tasks.jsonl -k 8 -o trials.jsonl --set model=small-1 -- ./agent {prompt}
  passhat run --tasks tasks.jsonl -k 3 --n high_risk_write=10 --jobs 4 --max-cost-usd 20 -o trials.jsonl -- python3 {dir}/agent.py`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); at > 0 || at < 0 && len(args) > 0 {
				return usagef("run: unexpected argument %q before --; the command stands behind --", args[0])
			}
			return a.runTrials(cmd, &r, args)
		},
	}
	f, s := cmd.Flags(), &r.spec
	f.StringVar(&r.tasks, "tasks", "", "`FILE` of tasks, one JSON object a line: task_id, prompt, rephrasings, states, risk, shape")
	f.IntVarP(&s.K, "trials", "k", 0, "trials of each task, and of each of its variants")
	f.StringVar(&r.perRisk, "n", "", "trials by risk tag in place of -k, such as high_risk_write=10,read_only=1")
	f.IntVar(&s.Jobs, "jobs", 1, "trials at once")
	f.DurationVar(&s.Timeout, "timeout", 10*time.Minute, "longest `TIME` of a trial, such as 90s; 0 is no limit")
	f.Float64Var(&s.MaxCost, "max-cost-usd", 0, "stop before the trials have cost more than this, as far as they tell their cost")
	f.StringVarP(&s.Out, "out", "o", "", "the `LOG`, a JSON Lines file that is appended to (default the name of the tasks' file with .trials.jsonl)")
	f.StringVar(&s.Suite, "suite", "", "name of the suite (default the name of the tasks' file)")
	f.StringVar(&s.RunID, "run", "", "name of the run (default suite and time, or that of the log)")
	f.StringArrayVar(&r.set, "set", nil, "`COLUMN=VALUE` of every trial, such as model=small-1 or extra.team=x (repeatable)")
	f.StringVar(&s.Logs, "logs", "", "keep what each trial prints in this `DIR`, as its trace")
	f.BoolVar(&r.noIngest, "no-ingest", false, "leave the log out of the store")
	return cmd
}

// runTrials checks the request, runs the trials and takes them into the store.
func (a *app) runTrials(cmd *cobra.Command, r *runFlags, command []string) error {
	if err := r.fill(command); err != nil {
		return err
	}
	bar := a.newRunBar()
	r.spec.Progress = bar.update
	// One that is killed leaves its trials' folders where the next one sweeps.
	scratch, err := store.NewScratch()
	if err != nil {
		return err
	}
	defer scratch.Close()
	r.spec.Scratch = scratch.Dir
	run, err := runner.Open(r.spec)
	if err != nil {
		return err
	}
	defer run.Close()
	ctx := cmd.Context()
	if !r.noIngest {
		if err := a.checkStored(ctx, r, run); err != nil {
			return err
		}
	}
	a.hintFiles(command)
	a.say("%s of suite %s: %s to do", run.RunID(), run.Suite(), count(int64(run.Pending()), "trial"))
	sum, err := run.Do(ctx)
	bar.done()
	a.printRun(sum, r.spec)
	err = errors.Join(err, run.Close())
	if err != nil {
		if ctx.Err() != nil {
			a.say("interrupted; the same command again runs what is missing")
		}
		return err
	}
	if !r.noIngest {
		if err := a.ingestRun(ctx, r.spec.Out); err != nil {
			return err
		}
		a.sayNext(run)
	}
	if sum.OverCost && sum.Missing > 0 {
		return fmt.Errorf("run: stopped at the ceiling of $%g: %s missing of %d; raise --max-cost-usd and call it again to go on",
			r.spec.MaxCost, count(int64(sum.Missing), "trial"), sum.Planned)
	}
	return nil
}

// fill turns the flags into a spec.
func (r *runFlags) fill(command []string) error {
	s := &r.spec
	s.Command, s.Version = command, version()
	switch {
	case r.tasks == "":
		return usagef("run: want --tasks FILE")
	case s.K < 1:
		return usagef("run: want -k N, how often each task is to be tried")
	case s.Out == "-":
		return usagef("run: -o -: want a file, which the same command can go on with")
	case s.Jobs < 1:
		return usagef("--jobs %d: want a number of at least 1", s.Jobs)
	case s.Timeout < 0:
		return usagef("--timeout %v: want a time such as 90s, or 0 for no limit", s.Timeout)
	case !(s.MaxCost >= 0) || math.IsInf(s.MaxCost, 0):
		return usagef("--max-cost-usd %g: want an amount of at least 0", s.MaxCost)
	case len(command) == 0:
		return usagef("run: want a command behind --, such as: passhat run --tasks %s -k %d -- ./agent {prompt}", r.tasks, s.K)
	}
	base := strings.TrimSuffix(filepath.Base(r.tasks), filepath.Ext(r.tasks))
	if s.Out == "" {
		s.Out = base + ".trials.jsonl"
	}
	if s.Suite == "" {
		s.Suite = base
	}
	var err error
	if s.N, err = perRisk(r.perRisk); err != nil {
		return err
	}
	if s.Set, err = setColumns(r.set); err != nil {
		return err
	}
	s.Tasks, s.TasksHash, err = runner.LoadTasks(r.tasks)
	return err
}

// perRisk reads high_risk_write=10,read_only=1.
func perRisk(text string) (map[string]int, error) {
	if text == "" {
		return nil, nil
	}
	n := map[string]int{}
	for _, part := range strings.Split(text, ",") {
		name, value, err := pair("--n", strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		v, err := strconv.Atoi(value)
		if err != nil || v < 0 || v > 1_000_000 {
			return nil, usagef("--n %s: want a number of trials behind %s=", part, name)
		}
		n[name] = v
	}
	return n, nil
}

// runOwn are the columns that passhat run itself fills in.
var runOwn = []string{"suite", "run_id", "run_at", "run_at_from", "task_id", "trial", "trial_from", "planned_trials", "variant", "passed", "pass_rule",
	"config", "config_hash", "extra", "source", "source_row", "batch", "ingested_at", "started_at", "duration_s", "shape", "risk", "scores",
	"error_type", "error_message", "trial_uid", "cached", "trace", "output_hash"}

// setColumns checks --set against the columns of trials and gives the values
// their types.
func setColumns(pairs []string) (map[string]any, error) {
	types := map[string]string{}
	var names []string
	for _, c := range store.Columns() {
		types[c.Name] = c.Type
		names = append(names, c.Name)
	}
	for _, own := range runOwn {
		delete(types, own)
	}
	out := map[string]any{}
	for _, p := range pairs {
		name, value, err := pair("--set", p)
		if err != nil {
			return nil, err
		}
		if rest, ok := strings.CutPrefix(name, "extra."); ok && rest != "" {
			out[name] = value
			continue
		}
		switch types[name] {
		case "VARCHAR":
			out[name] = value
		case "DOUBLE", "BIGINT", "INTEGER":
			v, err := strconv.ParseFloat(value, 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || types[name] != "DOUBLE" && v != math.Trunc(v) {
				return nil, usagef("--set %s: %q is no value of this column; want a number", name, value)
			}
			out[name] = v
		default:
			return nil, usagef("--set %s: no column that may be set%s; want one such as model, agent, effort, temperature or extra.NAME", name, suggest(name, names))
		}
	}
	return out, nil
}

// hintFiles warns of arguments that name files which a trial will not find.
func (a *app) hintFiles(command []string) {
	for _, arg := range command[1:] {
		if arg == "" || strings.HasPrefix(arg, "-") || filepath.IsAbs(arg) || !isRegular(arg) {
			continue
		}
		a.say("note: %s is a file here, but trials run in folders of their own: write {dir}/%s if it is meant", arg, filepath.ToSlash(arg))
	}
}

func isRegular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// printRun says what became of the run.
func (a *app) printRun(sum runner.Summary, spec runner.Spec) {
	for _, c := range firstOf(sum.Cut, 5) {
		a.say("trial %s was cut by an interruption and was to be run again", c)
	}
	if more := len(sum.Cut) - 5; more > 0 {
		a.say("and %s more were cut", count(int64(more), "trial"))
	}
	for _, n := range sum.Notes {
		a.say("%s", n)
	}
	if n := len(sum.Untried); n > 0 {
		a.say("%s had no trial at all (%s): no report counts them until they are run, by the same command again", count(int64(n), "task"), firstNames(sum.Untried))
	}
	done := sum.Before + sum.Ran
	text := fmt.Sprintf("%s: %d of %d trials done", spec.Out, done, sum.Planned)
	if sum.Before > 0 {
		text += fmt.Sprintf(" (%d before)", sum.Before)
	}
	text += fmt.Sprintf(": %d passed, %d failed", sum.Passed, sum.Failed)
	if sum.Timeouts > 0 {
		text += fmt.Sprintf(" (%d by timeout)", sum.Timeouts)
	}
	if sum.Ungraded > 0 {
		text += fmt.Sprintf(", %d ungraded", sum.Ungraded)
	}
	if sum.Missing > 0 {
		text += fmt.Sprintf(", %d missing in %s", sum.Missing, count(int64(sum.MissingTasks), "task"))
	}
	if sum.CostKnown > 0 {
		text += fmt.Sprintf("; $%.2f", sum.Cost)
		if sum.CostKnown < done {
			text += fmt.Sprintf(" (%d told)", sum.CostKnown)
		}
	}
	fmt.Fprintln(a.stdout, oneLine(text))
}

func firstOf(list []string, n int) []string { return list[:min(n, len(list))] }

// runBar shows how far a run is; its methods are safe on nil.
type runBar struct {
	mu  sync.Mutex
	bar *progressbar.ProgressBar
	app *app
}

// newRunBar makes one if stderr is a terminal and words are wanted.
func (a *app) newRunBar() *runBar {
	if a.quiet || terminal(a.stderr) == nil {
		return nil
	}
	return &runBar{app: a}
}

func (b *runBar) update(p runner.Progress) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar == nil {
		b.bar = progressbar.NewOptions(p.Planned, progressbar.OptionSetWriter(b.app.stderr), progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true), progressbar.OptionFullWidth(), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetItsString("trial"), progressbar.OptionShowIts())
	}
	text := fmt.Sprintf("%d running, %d failed", p.Running, p.Failed)
	if p.CostKnown > 0 {
		text += fmt.Sprintf(", $%.2f", p.Cost)
	}
	b.bar.Describe(text)
	b.bar.Set(p.Done)
}

func (b *runBar) done() {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bar != nil {
		b.bar.Clear()
	}
}
