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
)

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo [DIR]",
		Short: "make a small example history, ingest it, show what it hides and which command uncovers it",
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
		"It hides a flaky task, an effort that pays less than it seems, a regression and a wrong grader.\n\n", oneLine(filepath.Join(dir, "logs")))
	st, err := store.Open(a.storeDir)
	if err != nil {
		return err
	}
	sum, err := ingest.Ingest(ctx, st, logs, ingest.Options{Version: version()})
	a.printIngest(sum, false)
	if err != nil {
		return err
	}
	if err := a.tour(ctx); err != nil {
		return err
	}
	name := oneLine(a.storeDir)
	_, err = fmt.Fprintf(a.stdout, `
Try next:
  export PASSHAT_STORE=%s
  passhat report weekly -o week.html
  passhat report curve --by effort
  passhat gate last --baseline last
  passhat shell
  passhat query 'SELECT task_id, pass_hat(passed, 5) AS pass_hat_5 FROM trials GROUP BY task_id ORDER BY pass_hat_5, task_id LIMIT 5'
  passhat report passk YOUR-LOG.jsonl
`, name)
	return err
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
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = fmt.Errorf("the folder %s can't be made: %w", pe.Path, pe.Err)
		}
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
