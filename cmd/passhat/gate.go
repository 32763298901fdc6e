package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// gateFile is read where no --config is given and it is there.
const gateFile = "gate.yaml"

// verdictError ends the program with a gate's exit code; all has been said.
type verdictError struct{ code int }

func (e *verdictError) Error() string { return fmt.Sprintf("the gate ends with exit code %d", e.code) }

// gateSettings are the flags that say what a key of gate.yaml says.
var gateSettings = []struct {
	flag, path, usage string
	list              bool
}{
	{"profile", "profile", "pr (k = 3; inconclusive passes with a warning) or nightly (k up to 8)", false},
	{"inconclusive", "inconclusive", "what an inconclusive verdict ends as: pass, fail or exit3", false},
	{"policy", "policy", "ungraded trials: fail, exclude or bounds (default fail)", false},
	{"k", "k", "attempts asked about: a number or max (default 3, nightly 8, or what every task supports)", false},
	{"conf", "conf", "`LEVEL` of the intervals (default 0.95)", false},
	{"of", "baseline.of", "what must not drop: both, mean or pass_hat_k (default both)", false},
	{"alpha", "baseline.alpha", "chance that an unchanged run is called a regression (default 0.05)", false},
	{"margin", "baseline.margin", "the drop that matters (default 0.10)", false},
	{"runs", "baseline.runs", "at most `N` runs of the baseline (default 7)", false},
	{"min-pass-hat-k", "min_pass_hat_k", "least pass^k of the suite", false},
	{"max-flakiness", "max_flakiness", "no task flakier than this `LIMIT`", false},
	{"flakiness-rule", "max_flakiness.rule", "point (the plain comparison) or exact (a test; default point)", false},
	{"min-pass", "min_pass", "`M/N` trials of each task, or M/N@SHARE of the tasks", false},
	{"hard", "hard", "red at once: crash, or `NAMES` of checks", true},
	{"min-coverage", "min_coverage", "least share of planned trials that were graded", false},
	{"max-cost-usd", "max_cost_usd", "most `USD` for the run", false},
	{"max-turns", "max_turns", "most turns of any trial", false},
	{"max-tool-calls", "max_tool_calls", "most tool calls of any trial", false},
	{"track", "track", "show with drift: turns, tool_calls, tokens, cost, latency", true},
}

// gateFlags are the flags of the gate.
type gateFlags struct {
	baseline, config, quarantine string
	strict, record, plan, aa     bool
	planTasks, planTrials        int64
	planRuns                     int64
	read                         readFlags
	out                          outputFlags
}

func (a *app) gateCommand() *cobra.Command {
	var g gateFlags
	cmd := &cobra.Command{
		Use:   "gate [NEW]",
		Short: "pass/fail verdict for CI, by exit code: 0 passed, 1 failed, 3 not enough evidence",
		Long: `gate holds a run (NEW, else the newest in the store) against rules: against a baseline (an earlier run, each task compared with
itself), and against bounds on pass^k (all of k tries pass), flakiness (passes sometimes), cost and others. The verdict is the
exit code: 0 passed, 1 failed, 3 inconclusive (too few trials or tasks to say; --inconclusive pass or fail decides then). gate
init writes a gate.yaml from history, --plan says what a gate could see, --aa how often it would fail without any change.
docs/gate.md has the rules, passhat help terms the words.`,
		Example: `  passhat gate trials.jsonl --baseline last:git_branch=main --profile pr
  passhat gate --min-pass-hat-k 0.7 --max-flakiness 0.2 -k 5
  passhat gate --config gate.yaml --record -o gate.md -o gate.xml`,
		Args: maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.gate(cmd, &g, args) },
	}
	f := cmd.Flags()
	f.StringVar(&g.baseline, "baseline", "", "a `FILE`, a run, last (the newest but the new one), last~1 (the one before that), last:COLUMN=VALUE or last-passing")
	f.StringVar(&g.config, "config", "", "the rules (default gate.yaml, where it is there)")
	for _, s := range gateSettings {
		short := ""
		if s.flag == "k" {
			short = "k"
		}
		if s.list {
			f.StringSlice(s.flag, nil, s.usage)
		} else {
			f.StringP(s.flag, short, "", s.usage)
		}
	}
	f.StringVar(&g.quarantine, "quarantine", "", "YAML `FILE` of tasks left out: task, reason, expires")
	f.BoolVar(&g.strict, "strict-contract", false, "settings declared fixed that differ from the baseline's end with exit code 4")
	f.BoolVar(&g.record, "record", false, "keep the verdict in the store, for the baseline last-passing")
	f.BoolVar(&g.plan, "plan", false, "what the rules can see with so many tasks, trials and runs; needs no data")
	f.Int64Var(&g.planTasks, "plan-tasks", 50, "tasks of --plan")
	f.Int64Var(&g.planTrials, "plan-trials", 0, "trials per task of --plan (default k)")
	f.Int64Var(&g.planRuns, "plan-runs", 0, "baseline runs of --plan (default baseline.runs)")
	f.BoolVar(&g.aa, "aa", false, "the gate's own false-alarm rate on this history")
	for _, c := range commonFlags {
		switch c.name {
		case "by", "since", "until", "where", "weights", "labels", "seed":
			f.StringP(c.name, c.short, "", c.usage)
		}
	}
	g.read.add(cmd)
	g.out.add(cmd)
	form := f.Lookup("output")
	form.Usage = strings.Replace(form.Usage, "parquet", "junit, parquet", 1)
	cmd.AddCommand(a.gateInitCommand())
	return cmd
}

// gateConfig puts the file and the flags together; flags go before.
func (g *gateFlags) gateConfig(cmd *cobra.Command, a *app) (reports.GateConfig, error) {
	var cfg reports.GateConfig
	path := g.config
	if path == "" {
		if _, err := os.Stat(gateFile); err == nil {
			path = gateFile
			a.say("rules of %s", gateFile)
		}
	}
	profile := cmd.Flags().Lookup("profile").Value.String()
	if path != "" {
		var err error
		if cfg, err = reports.ReadGateFile(path, profile); err != nil {
			return cfg, err
		}
	}
	var failed error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		for _, s := range gateSettings {
			if s.flag != f.Name || failed != nil {
				continue
			}
			if list, ok := f.Value.(pflag.SliceValue); ok {
				failed = cfg.Set(s.path, list.GetSlice()...)
			} else if s.path == reports.RuleMinPass {
				failed = cfg.SetMinPass(f.Value.String())
			} else {
				failed = cfg.Set(s.path, f.Value.String())
			}
			if failed != nil {
				failed = usagef("--%s: %s", s.flag, strings.TrimPrefix(failed.Error(), s.path+": "))
			}
		}
	})
	if failed != nil {
		return cfg, failed
	}
	cfg.Strict = cfg.Strict || g.strict
	if g.quarantine != "" {
		list, err := reports.ReadQuarantine(g.quarantine)
		if err != nil {
			return cfg, err
		}
		cfg.Quarantine = append(cfg.Quarantine, list...)
	}
	return cfg, nil
}

// gateRequest takes the flags that the gate shares with reports.
func (g *gateFlags) gateRequest(cmd *cobra.Command, cfg reports.GateConfig) (reports.GateRequest, error) {
	req := reports.GateRequest{Config: cfg, Request: reports.Request{Version: version()}}
	var failed error
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "by", "since", "until", "where", "weights", "labels", "seed":
			if err := req.Set(f.Name, f.Value.String()); err != nil && failed == nil {
				failed = err
			}
		}
	})
	return req, failed
}

func (a *app) gate(cmd *cobra.Command, g *gateFlags, args []string) error {
	cfg, err := g.gateConfig(cmd, a)
	if err != nil {
		return err
	}
	outs, own, err := g.outputs(a)
	if err != nil {
		return err
	}
	if g.plan {
		return a.gatePlan(cmd.Context(), g, cfg)
	}
	req, err := g.gateRequest(cmd, cfg)
	if err != nil {
		return err
	}
	if g.aa {
		return a.gateAA(cmd.Context(), g, req)
	}
	if len(args) > 0 {
		req.Judged = args[0]
	}
	req.Against = g.baseline
	rep, err := a.judge(cmd.Context(), g, req, outputPaths(outs, own))
	if err != nil {
		return a.gateUnjudged(a.blameStore(err), g, req, outs, own)
	}
	if err := a.writeGate(g, rep, outs, own); err != nil {
		return err
	}
	if g.record {
		path, err := reports.RecordGate(a.storeDir, rep)
		switch {
		case err != nil && rep.Exit != 0: // the verdict's exit code is what CI goes by
			fmt.Fprintln(a.stderr, oneLine("warning: the verdict was not recorded: "+err.Error()))
			return &verdictError{rep.Exit}
		case err != nil:
			return err
		}
		a.say("recorded the verdict in %s", path)
	}
	if rep.Exit != 0 {
		return &verdictError{rep.Exit}
	}
	return nil
}

// judge opens what is judged and what it is held against.
func (a *app) judge(ctx context.Context, g *gateFlags, req reports.GateRequest, outs []reports.Output) (*reports.GateReport, error) {
	passed, err := reports.PassedGates(a.storeDir)
	if err != nil {
		return nil, err
	}
	req.Passed = passed
	before, after := req.Against, req.Judged
	if before == "" && req.Config.Baseline != nil {
		before = req.Config.Baseline.From
	}
	s := &sides{a: a, read: &g.read}
	defer s.close()
	if err := s.openSome(ctx, before, after); err != nil {
		return nil, err
	}
	if err := keepInputs(outs, &data{snap: s.main, dir: a.storeDir}, s.files, nil); err != nil {
		return nil, err
	}
	req.OldRuns, req.NewRuns = s.runs[0], s.runs[1]
	bar := a.newProgress()
	bar.spin("gate")
	defer bar.done()
	return reports.Gate(ctx, s.session, req)
}

// openSome is open for sides of which one may have no name: a store without
// trials will do for a file that is judged by itself.
func (s *sides) openSome(ctx context.Context, before, after string) error {
	st, err := store.Open(s.a.storeDir)
	if err != nil {
		return err
	}
	if s.main, err = st.Snapshot(ctx); err != nil {
		return err
	}
	for i, arg := range []string{before, after} {
		if arg == "" || !s.isFile(arg) {
			continue
		}
		s.files = append(s.files, arg)
		if s.runs[i], err = s.readFile(ctx, arg); err != nil {
			return err
		}
	}
	if len(s.files) == 0 && len(s.main.Trials()) == 0 {
		return s.a.errEmpty("gate")
	}
	s.session, err = sql.Open(ctx, s.main, sql.Config{Memory: s.a.memory, Threads: s.a.threads, Also: s.also, Unstoppable: s.a.unstoppable})
	return err
}

// ownOutput is an output in a form that only the gate has.
type ownOutput struct{ form, path string }

// outputs tells the gate's own forms from those of every result.
func (g *gateFlags) outputs(a *app) (outs []reports.Output, own []ownOutput, err error) {
	isOwn := func(form string) bool {
		return form == reports.GateJSON || form == reports.GateMarkdown || form == reports.GateJUnit
	}
	if len(g.out.files) == 0 {
		if isOwn(g.out.form) {
			return nil, []ownOutput{{g.out.form, "-"}}, nil
		}
		outs, err = g.out.outputs(a)
		return outs, nil, err
	}
	all := g.out
	all.files = nil
	for _, path := range g.out.files {
		form := g.out.form
		if form == "" {
			switch strings.ToLower(filepath.Ext(path)) {
			case ".xml":
				form = reports.GateJUnit
			case ".json":
				form = reports.GateJSON
			case ".md", ".markdown":
				form = reports.GateMarkdown
			}
		} else if path != "-" {
			if err := agree(form, path); err != nil {
				return nil, nil, err
			}
		}
		if isOwn(form) {
			own = append(own, ownOutput{form, path})
		} else {
			all.files = append(all.files, path)
		}
	}
	if len(all.files) > 0 {
		outs, err = all.outputs(a)
	}
	return outs, own, err
}

// outputPaths are the outputs of both kinds, to be held against what is read.
func outputPaths(outs []reports.Output, own []ownOutput) []reports.Output {
	all := slices.Clone(outs)
	for _, o := range own {
		if o.path != "-" {
			all = append(all, reports.Output{Path: o.path, Form: o.form})
		}
	}
	return all
}

func (a *app) writeGate(g *gateFlags, rep *reports.GateReport, outs []reports.Output, own []ownOutput) error {
	for _, o := range own {
		if o.path == "-" {
			if err := reports.WriteGate(a.stdout, o.form, rep); err != nil {
				return err
			}
			continue
		}
		if err := reports.WriteGateFile(o.path, o.form, rep); err != nil {
			return err
		}
		a.say("wrote %s", o.path)
	}
	if len(outs) == 0 {
		a.say("%s: %s", rep.Verdict, rep.Summary)
		return nil
	}
	return g.out.print(a, rep.Result(), outs)
}
