package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"passhat/ingest"
	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// demoReports are what the demo shows, with their flags.
var demoReports = []struct {
	name  string
	flags [][2]string
}{
	{"passk", [][2]string{{"k", "1,3,5"}}},
	{"shapes", [][2]string{{"by", "effort"}, {"where", "effort = 'medium'"}}},
	{"tasks", [][2]string{{"by", "effort"}, {"where", "effort = 'medium'"}, {"top", "5"}}},
}

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo [DIR]",
		Short: "make a small example history, ingest it, print the main reports, say what to try next",
		Args:  maxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "passhat-demo"
			if len(args) > 0 {
				dir = args[0]
			}
			return a.demo(cmd.Context(), dir)
		},
	}
}

func (a *app) demo(ctx context.Context, dir string) error {
	logs, err := writeDemo(dir)
	if err != nil {
		return err
	}
	a.storeDir = filepath.Join(dir, "store")
	fmt.Fprintf(a.stdout, "%s: the made-up history of a support desk's agent: three runs, five shapes of task, three effort levels, 12 trials of each task.\n"+
		"Between the second run and the third somebody fixed the retrieval of documents.\n\n", oneLine(filepath.Join(dir, "logs")))
	st, err := store.Open(a.storeDir)
	if err != nil {
		return err
	}
	sum, err := ingest.Ingest(ctx, st, logs, ingest.Options{Version: version()})
	a.printIngest(sum, false)
	if err != nil {
		return err
	}
	d, err := a.open(ctx, nil, nil, sql.Config{})
	if err != nil {
		return err
	}
	defer d.close()
	if err := a.demoPrint(ctx, d); err != nil {
		return err
	}
	name := oneLine(a.storeDir)
	_, err = fmt.Fprintf(a.stdout, `
Try next:
  export PASSHAT_STORE=%s
  passhat report tasks --runs all --by run_id,effort --where "task_id = '%s'"    10 of 12, then 12 of 12 after the fix
  passhat report curve --by effort
  passhat report passk -k 5 -o passk.xlsx
  passhat query 'SELECT task_id, pass_hat(passed, 5) AS pass_hat_5 FROM trials GROUP BY task_id ORDER BY pass_hat_5, task_id LIMIT 5'
  passhat report passk YOUR-LOG.jsonl
`, name, demoFlaky)
	return err
}

func (a *app) demoPrint(ctx context.Context, d *data) error {
	all, err := reports.Load()
	if err != nil {
		return err
	}
	width, color := a.look()
	for _, r := range demoReports {
		rep, err := reports.Find(all, r.name)
		if err != nil {
			return err
		}
		req := reports.Request{Version: version()}
		line := "passhat report " + r.name
		for _, f := range r.flags {
			if err := req.Set(f[0], f[1]); err != nil {
				return err
			}
			line += demoFlag(f[0], f[1])
		}
		fmt.Fprintf(a.stdout, "\n$ %s\n", line)
		res, err := reports.Run(ctx, d.session, rep, req)
		if err != nil {
			return err
		}
		opts := reports.WriteOptions{Width: width, Color: color}
		if w := a.words(); w != nil {
			opts.Messages = w
		}
		if err := reports.Write(a.stdout, "table", res, opts); err != nil {
			return err
		}
	}
	return nil
}

func demoFlag(name, value string) string {
	switch name {
	case "k":
		return " -k " + value
	case "where":
		return fmt.Sprintf(` --where "%s"`, value)
	}
	return " --" + name + " " + value
}

// writeDemo writes the demo's logs into dir/logs and returns their paths. A
// folder that holds something else is left alone; the demo's own logs are the
// same every time.
func writeDemo(dir string) ([]string, error) {
	logs := filepath.Join(dir, "logs")
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 && !isDir(logs) {
		return nil, usagef("demo %s: the folder holds something else; name another", dir)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("making the demo: %w", err)
	}
	if err := os.MkdirAll(logs, 0o777); err != nil {
		return nil, fmt.Errorf("making the demo: %w", err)
	}
	var paths []string
	for _, run := range demoRuns {
		path := filepath.Join(logs, run.name+".jsonl")
		text := run.log()
		if old, err := os.ReadFile(path); err == nil && !bytes.Equal(old, text) {
			return nil, usagef("demo %s: %s is not the demo's own log; name another folder", dir, path)
		} else if err != nil {
			if err := os.WriteFile(path, text, 0o666); err != nil {
				return nil, fmt.Errorf("making the demo: %w", err)
			}
		}
		paths = append(paths, path)
	}
	return paths, nil
}
