package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// terms are the words that passhat uses, for a reader who knows tests and SQL
// but no statistics. Names between bars are columns or flags.
var terms = []struct {
	about string
	words [][2]string
}{
	{"What is measured", [][2]string{
		{"task", "one thing that the agent is asked to do, as a test case is in pytest; task_id names it from run to run"},
		{"trial", "one try of one task: an agent is tried several times, because it does not do the same each time"},
		{"run", "one execution of all tasks under one configuration, such as last night's; run_id names it"},
		{"suite", "a set of tasks that belong together; a benchmark"},
		{"configuration", "what was tried: model, agent, effort, sampling, versions. Reports make one group of each; --by chooses other groups"},
		{"variant", "another phrasing or start of the same task"},
		{"harness", "the program that ran the trials and wrote the log"},
		{"effort", "how long the model was told to think: low, medium, high"},
		{"verdict, passed", "whether a trial passed: true, false, or NULL for ungraded"},
		{"ungraded", "a trial without a verdict, as when its grader broke"},
		{"policy", "what an ungraded trial counts as: fail (a failure, the default), exclude (left out), bounds (both, as the two ends)"},
		{"missing", "trials that were planned (planned_trials) and are not in the log; they are counted, never failed"},
		{"infra", "an error of the surroundings (network, sandbox, a program that could not start) and not of the agent; in error_type"},
		{"cached, dependent", "answers from a cache, retries, re-runs of failures: no new tries, so they are left out of n and counted"},
		{"pass rule", "how a score became passed, such as score >= 0.5"},
		{"shape, risk, labels", "the kind of a task (lookup, writes_state), what it can break, and the file that says so of each task"},
		{"weights", "how much each task counts in a mean; equal if nothing is said"},
	}},
	{"Figures", [][2]string{
		{"n, c", "trials of a task that count, and how many of them passed; n_min and n_max are the smallest and largest n"},
		{"k", "how many tries in a row a figure speaks of; chosen by -k, at most n"},
		{"mean, rate, pass^1", "the share of trials that pass, first for each task and then averaged over tasks"},
		{"pass@k, pass_at_k", "the chance that at least one of k tries passes, 1 − C(n−c,k)/C(n,k): what the agent can do"},
		{"pass^k, pass_hat_k", "the chance that all k tries pass, C(c,k)/C(n,k): what one can rely on"},
		{"C(n,k)", "the number of ways to choose k of n; in SQL the functions pass_at_k and pass_hat_k do it"},
		{"gap", "pass@k minus pass^k: how much is luck"},
		{"flaky, flakiness", "a task that passes sometimes; flakiness is 4·r·(1−r) of its rate r, from 0 (always the same) to 1 (half and half)"},
		{"flakiness_unbiased", "the same without the error that few trials bring"},
		{"stable pass, stable fail", "passed, or failed, in every trial"},
		{"not estimable", "fewer than k trials: no figure for that k"},
		{"p95", "a value that 95 % of the trials stay below"},
	}},
	{"How sure", [][2]string{
		{"interval, lower, upper", "a range that holds the true value in 95 of 100 such studies; --conf changes the 95 %"},
		{"estimand", "what exactly a number speaks of. Two are shown: tasks like these (lower, upper: other tasks of the kind) and these tasks (fixed_lower, fixed_upper: new trials of the same tasks)"},
		{"se, standard error", "about how far a figure is off by chance; two of them make an interval"},
		{"df", "degrees of freedom: how much data a standard error rests on. Below 4 it is rough"},
		{"informative tasks", "tasks that can tell anything here; one that always passes on both sides can't"},
		{"cluster", "tasks that belong together and fail together, such as all of one website; they count as less than as many separate ones"},
		{"CR1, CR2", "standard errors that allow for clusters; CR2 also for few of them. G is the number of clusters"},
		{"Wilson, Clopper–Pearson", "two ways to an interval of a share; the second never too narrow"},
		{"Wilson-t", "Wilson's interval with the quantile for small samples; used for means over tasks"},
		{"bootstrap", "an interval by drawing the data again and again (--interval bootstrap)"},
		{"pool", "what is the unit when a group holds several runs: each run (default) or each trial"},
		{"stamp", "the lines over a result that say what it was computed from"},
		{"logit", "a rate on the scale log(r/(1−r)), on which nights are compared, since a rate near 1 has no room to rise"},
		{"sd, night sd", "standard deviation: how far single values lie from their mean, here those of runs"},
		{"Fisher", "the exact test of two counts against each other"},
		{"degenerate", "data without any spread, from which no error can be told: no interval is given, or an exact one"},
		{"seed", "the number from which everything random is made, so that it comes out the same again"},
	}},
	{"Comparing", [][2]string{
		{"paired", "both sides have the same tasks, so each task is compared with itself; much sharper than two means"},
		{"d_mean, d_pass_hat_k", "the difference, new minus old, or second minus first"},
		{"p, p-value", "how often chance alone would make a difference this large; small means: no chance"},
		{"alpha", "how small p must be to be taken for real, 0.05 if nothing is said: one false alarm in 20"},
		{"one-sided α", "alpha of a question about one direction only: a gate asks for drops, a rise is no alarm"},
		{"discordant", "tasks or trials that passed on one side and failed on the other; only they can tell the sides apart"},
		{"Holm, BH", "corrections for asking many questions at once, so that one false alarm in 20 stays one for all of them together (Holm), or among the alarms (BH)"},
		{"margin", "how large a drop would matter; a gate passes only if a larger one is ruled out"},
		{"mde", "minimal detectable effect: the smallest difference that these data would find"},
		{"power", "how often a difference of that size would be found, usually 0.8"},
		{"noise", "how far a figure moves from night to night without any change"},
		{"m of n", "a rule such as 2 of 3 trials must pass; its false reds are how often a good task breaks it by chance"},
		{"baseline", "what a new run is held against: a run, a file, last, last:git_branch=main"},
		{"inconclusive", "too few trials or tasks to say either way; exit code 3 of the gate"},
		{"regression, capability", "kinds of task: one that used to pass and is gated, one that is only watched"},
		{"quarantine", "tasks that a gate leaves out for a while, with a reason and a day on which that ends"},
	}},
	{"Data", [][2]string{
		{"store", "the folder that ingest fills; Parquet files and records of them"},
		{"source, batch", "a log that was ingested, and what became of it: one is all in the store or not at all"},
		{"reject", "a row that could not be read; passhat rejects lists them"},
		{"trials, task_runs", "the tables: one row a trial, and counts of each task in each run"},
		{"extra", "fields of the log that have no column of their own, as JSON"},
	}},
}

// termsCommand is a topic of the help, no command.
func termsCommand() *cobra.Command {
	var b strings.Builder
	b.WriteString("The words of passhat, for who knows tests and SQL but no statistics.\n")
	for _, part := range terms {
		fmt.Fprintf(&b, "\n%s\n", part.about)
		for _, w := range part.words {
			b.WriteString(hanging("  "+w[0]+": ", w[1], 100))
		}
	}
	b.WriteString("\nFormulas and sources: docs/statistics.md, and passhat functions NAME for each SQL function.")
	return &cobra.Command{Use: "terms", Short: "the words of the reports, each explained in a line", Long: b.String()}
}

// hanging writes a text behind its lead, broken at blanks, the later lines
// indented by four.
func hanging(lead, text string, width int) string {
	line := strings.TrimRight(lead, " ")
	var b strings.Builder
	for _, word := range strings.Fields(text) {
		if len([]rune(line))+1+len([]rune(word)) > width {
			b.WriteString(line + "\n")
			line = "    " + word
			continue
		}
		line += " " + word
	}
	return b.String() + line + "\n"
}

// termsPage is docs/terms.md.
func termsPage() string {
	var b strings.Builder
	b.WriteString("# Terms\n\nThe words of passhat, for who knows tests and SQL but no statistics; `passhat help terms` prints them. Formulas and their sources\n" +
		"are in [statistics.md](statistics.md), the SQL functions in [functions.md](functions.md).\n")
	for _, part := range terms {
		fmt.Fprintf(&b, "\n## %s\n\n| term | is |\n|---|---|\n", part.about)
		for _, w := range part.words {
			fmt.Fprintf(&b, "| %s | %s |\n", markdownCell(w[0]), markdownCell(w[1]))
		}
	}
	return b.String()
}

func markdownCell(s string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "_", `\_`, "<", "&lt;").Replace(s)
}
