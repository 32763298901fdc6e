package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"passhat/reports"
	"passhat/sql"
)

func (a *app) gatePlan(_ context.Context, g *gateFlags, cfg reports.GateConfig) error {
	res, err := reports.PlanGate(cfg, g.planTasks, g.planTrials, g.planRuns)
	if err != nil {
		return err
	}
	return g.printPlain(a, res, nil)
}

func (a *app) gateAA(ctx context.Context, g *gateFlags, req reports.GateRequest) error {
	d, err := a.open(ctx, nil, nil, sql.Config{})
	if err != nil {
		return err
	}
	defer d.close()
	if d.empty {
		return a.errEmpty("gate")
	}
	bar := a.newProgress()
	bar.spin("gate --aa")
	res, err := reports.GateAA(ctx, d.session, req)
	bar.done()
	if err != nil {
		return a.gateError(err, req.Config)
	}
	return g.printPlain(a, res, d)
}

// printPlain prints what is no verdict: it has the forms of every result only.
func (g *gateFlags) printPlain(a *app, res *reports.Result, d *data) error {
	if g.out.form == reports.GateJUnit {
		return usagef("--output junit: a verdict has this form, a plan or --aa has not")
	}
	outs, err := g.out.outputs(a)
	if err != nil {
		return err
	}
	if d != nil {
		if err := keepInputs(outs, d, nil, nil); err != nil {
			return err
		}
	}
	return g.out.print(a, res, outs)
}

func (a *app) gateInitCommand() *cobra.Command {
	var path, where string
	var force bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "write a gate.yaml from history, each number with its derivation",
		Args:  maxArgs(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.gateInit(cmd.Context(), path, where, force)
		},
	}
	cmd.Flags().StringVarP(&path, "out", "o", gateFile, "the `FILE` to write; - is stdout")
	cmd.Flags().StringVar(&where, "where", "", "only trials that meet this SQL `CONDITION`, such as \"suite = 'checkout'\"")
	cmd.Flags().BoolVar(&force, "force", false, "overwrite it")
	return cmd
}

func (a *app) gateInit(ctx context.Context, path, where string, force bool) error {
	if _, err := os.Stat(path); err == nil && !force && path != "-" {
		return usagef("gate init: %s is there already; --force overwrites it, -o names another file", path)
	}
	d, err := a.open(ctx, nil, nil, sql.Config{})
	if err != nil {
		return err
	}
	defer d.close()
	if d.empty {
		return a.errEmpty("take a gate's numbers from")
	}
	req := reports.GateRequest{Request: reports.Request{Version: version()}}
	if where != "" {
		if err := req.Set("where", where); err != nil {
			return err
		}
	}
	text, err := reports.InitGate(ctx, d.session, req)
	if err != nil {
		return err
	}
	if path == "-" {
		_, err = fmt.Fprint(a.stdout, text)
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return fmt.Errorf("writing %s: %w", path, err)
	}
	a.say("wrote %s; read it before you trust it, then: passhat gate", path)
	return nil
}
