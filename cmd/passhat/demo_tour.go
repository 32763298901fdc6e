package main

import (
	"context"
	"fmt"
	"strings"
)

// demoStep is one thing that the demo's history hides, and the command that
// uncovers it.
type demoStep struct {
	title string
	text  string
	args  []string
	then  string // what to read in the output
}

var demoSteps = []demoStep{
	{
		title: "One mean hides it",
		text:  "A try passes about three times in four. But who asks five times and needs five good answers?",
		args:  []string{"report", "passk", "-k", "1,5", "--where", "effort = 'high'"},
		then:  "pass_hat_k at k = 5 is what such a user feels; pass_at_k is what a demo on stage shows.",
	},
	{
		title: "A flaky task that nobody saw",
		text:  "10 of 12 looks like a good task, and a mean over 20 tasks hardly moves when it is mended.",
		args: []string{"report", "tasks", "--runs", "all", "--by", "run_id", "-k", "5", "--where",
			"task_id = '" + demoFlaky + "' AND effort = 'high'"},
		then: "Five of five would have succeeded one time in three, until the retrieval was mended before the last run.",
	},
	{
		title: "More effort, a better mean, a worse product",
		text:  "High effort rescues the longest tasks now and then, and makes sure ones waver.",
		args:  []string{"report", "effort", "--section", "pairs"},
		then:  "medium to high: the mean rises and pass^k does not; effort pays in capability, not in reliability.",
	},
	{
		title: "A regression behind a repair",
		text:  "The change that mended retrieval broke what writes state. Run against run, task by task:",
		args:  []string{"compare", "last~1", "last", "--where", "effort = 'medium'", "--section", "tasks"},
		then:  "In CI `passhat gate last --baseline last` says so by its exit code, 1.",
	},
	{
		title: "A grader that is wrong",
		text:  "Some failures are not the agent's. The report diagnose has a pile of suspects; plain SQL finds them too:",
		args:  []string{"query", "SELECT task_id, shape, sum(n) AS n, sum(c) AS c FROM task_runs GROUP BY ALL HAVING sum(c) = 0 ORDER BY ALL"},
		then:  "It never passed, at any effort in any run: read a transcript and check the grader before the agent.",
	},
}

// tour runs the steps in process, each just as it would be typed.
func (a *app) tour(ctx context.Context) error {
	for i, s := range demoSteps {
		if _, err := fmt.Fprintf(a.stdout, "\n%d. %s\n%s\n\n$ passhat %s\n", i+1, s.title, s.text, typed(s.args)); err != nil {
			return err
		}
		sub := *a
		root := sub.command() // which resets the global flags
		sub.memory, sub.threads = a.memory, a.threads
		args := append([]string{"--store", a.storeDir}, s.args...)
		for flag, on := range map[string]bool{"--no-color": a.noColor, "--quiet": a.quiet} {
			if on {
				args = append(args, flag)
			}
		}
		root.SetArgs(args)
		if err := root.ExecuteContext(ctx); err != nil {
			return fmt.Errorf("demo: passhat %s: %w", typed(s.args), err)
		}
		if _, err := fmt.Fprintf(a.stdout, "\n→ %s\n", s.then); err != nil {
			return err
		}
	}
	return nil
}

// typed is a command line as a shell would take it.
func typed(args []string) string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = arg
		if strings.ContainsAny(arg, " '") {
			out[i] = `"` + arg + `"`
		}
	}
	return strings.Join(out, " ")
}
