package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"passhat/ingest/store"
	sqlshell "passhat/shell"
)

// maxCompletions bounds the names that a shell is offered.
const maxCompletions = 200

// completions gives the commands' flags and arguments the values that there
// are: columns, runs and suites of the store, words. What a command registers
// itself goes before.
func (a *app) completions(root *cobra.Command) {
	a.completeArgs(root)
	for _, cmd := range root.Commands() {
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if complete := a.flagValues(cmd.Name(), f.Name); complete != nil {
				// An error says that the command has registered its own.
				_ = cmd.RegisterFlagCompletionFunc(f.Name, complete)
			}
		})
	}
}

// flagValues completes a flag of a command, nil where nothing is known of it.
func (a *app) flagValues(command, flag string) cobra.CompletionFunc {
	fixed := func(words ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	}
	switch flag {
	case "by":
		return listOf(trialColumns())
	case "set", "map":
		var out []string
		for _, c := range trialColumns() {
			out = append(out, c+"=")
		}
		return cobra.FixedCompletions(append(out, "extra."), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace)
	case "runs":
		return a.runValues("latest", "all")
	case "run":
		if command == "run" || command == "ingest" {
			return nil // a new name
		}
		return a.runValues()
	case "baseline":
		return a.runValues("last", "last~1", "last-passing", "last:git_branch=main")
	case "suite":
		return a.suiteValues
	case "profile":
		return fixed("pr", "nightly")
	case "inconclusive":
		return fixed("pass", "fail", "exit3")
	case "attempts":
		return fixed("first", "final")
	case "folder-as":
		return fixed("trial", "run")
	case "tasks":
		if command == "ingest" || command == "run" {
			return nil // a file
		}
	}
	if words := sqlshell.FlagWords[flag]; words != nil {
		return fixed(words...)
	}
	return nil
}

// completeArgs completes the arguments of the commands that take names beside
// files.
func (a *app) completeArgs(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "compare":
			cmd.ValidArgsFunction = a.sideValues(2)
		case "gate":
			cmd.ValidArgsFunction = a.sideValues(1)
		case "drop":
			cmd.ValidArgsFunction = a.sourceValues
		}
	}
}

// trialColumns are the columns of trials.
func trialColumns() []string {
	var out []string
	for _, c := range store.Columns() {
		out = append(out, c.Name)
	}
	return out
}

// listOf completes the last of several names with commas between.
func listOf(names []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		done := word[:strings.LastIndexByte(word, ',')+1]
		had := strings.Split(done, ",")
		var out []string
		for _, n := range names {
			if !slices.Contains(had, n) {
				out = append(out, done+n)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// records are the live batches of the store, newest first. A store that can't
// be read offers nothing.
func (a *app) records(ctx context.Context) []store.Record {
	if a.checkGlobals() != nil {
		return nil
	}
	st, err := store.Open(a.storeDir)
	if err != nil {
		return nil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	snap, err := st.Snapshot(ctx)
	if err != nil {
		return nil
	}
	defer snap.Close()
	out := slices.Clone(snap.Batches())
	slices.Reverse(out)
	return out
}

// names collects what pick finds in the records, each once.
func (a *app) names(cmd *cobra.Command, pick func(store.Record) []string) []string {
	seen := map[string]bool{"": true}
	var out []string
	for _, rec := range a.records(cmd.Context()) {
		for _, name := range pick(rec) {
			if !seen[name] && len(out) < maxCompletions && oneLine(name) == name && !strings.Contains(name, "\t") {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

func runIDs(rec store.Record) []string {
	var out []string
	for _, r := range rec.Runs {
		out = append(out, r.RunID)
	}
	return out
}

func suiteNames(rec store.Record) []string {
	var out []string
	for _, r := range rec.Runs {
		out = append(out, r.Suite)
	}
	return out
}

func (a *app) runValues(words ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return append(slices.Clone(words), a.names(cmd, runIDs)...), cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) suiteValues(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.names(cmd, suiteNames), cobra.ShellCompDirectiveNoFileComp
}

func (a *app) sourceValues(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.names(cmd, func(rec store.Record) []string { return []string{rec.Source} }), cobra.ShellCompDirectiveDefault
}

// sideValues completes the sides of a comparison, which may be files too.
func (a *app) sideValues(most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return append([]string{"last", "last~1"}, a.names(cmd, runIDs)...), cobra.ShellCompDirectiveDefault
	}
}
