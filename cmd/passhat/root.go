package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// app is one invocation: its streams and the global flags.
type app struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer

	storeDir   string
	memory     string
	threads    int
	noColor    bool
	quiet      bool
	jsonErrors bool
	verbose    bool
}

// run does what the arguments say and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	paceGarbage()
	a := &app{args: args, stdin: stdin, stdout: stdout, stderr: stderr}
	// An error in the flags themselves must come in the form asked for.
	a.jsonErrors = slices.Contains(args, "--json-errors")
	// A closed pipe (passhat … | head) is to end the work as an error of the
	// write, so that temporary files are cleared, not by a signal.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second interrupt ends the process at once
	err := protect(func() error {
		root := a.command()
		root.SetArgs(args)
		return root.ExecuteContext(ctx)
	})
	var verdict *verdictError
	if err != nil && ctx.Err() != nil && !errors.As(err, &verdict) {
		err = errInterrupted // whatever step it was that the signal ended
	}
	return a.finish(err)
}

// paceGarbage lets the heap grow further between collections, which saves
// about a seventh of an ingest's CPU time, up to a size at which it collects as
// often as it must. GOGC and GOMEMLIMIT, where set, decide instead.
func paceGarbage() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(512 << 20)
	}
}

// command builds the tree of commands.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "passhat",
		Short: "reliability of LLM agents from the logs of repeated trials",
		Long: "passhat reads the trial logs of LLM agents into Parquet tables and answers, in SQL, how reliable the agents are.\n\n" +
			"First steps: passhat demo shows what there is; passhat ingest LOG and passhat report passk answer for a log of your own.\n" +
			"passhat help terms explains the words (trial, pass^k, interval, policy …).",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          func(cmd *cobra.Command, args []string) error { return unknownCommand(cmd, args) },
		RunE:          func(cmd *cobra.Command, _ []string) error { return a.runStatus(cmd.Context()) },
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(flagError)
	f := root.PersistentFlags()
	f.StringVar(&a.storeDir, "store", "", "folder of the store (default $PASSHAT_STORE, else passhat-store)")
	f.StringVar(&a.memory, "memory", "", "memory limit of the database, such as 4GB")
	f.IntVar(&a.threads, "threads", 0, "threads of the database (default one per core)")
	f.BoolVar(&a.noColor, "no-color", false, "no colours (also by NO_COLOR)")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no words on stderr but errors")
	f.BoolVar(&a.jsonErrors, "json-errors", false, "errors as one JSON object on stderr")
	root.AddCommand(
		a.ingestCommand(), a.runsCommand(), a.dropCommand(), a.reportCommand(), a.compareCommand(), a.gateCommand(), a.queryCommand(), a.shellCommand(),
		a.sourcesCommand(), a.rejectsCommand(), a.formatsCommand(), a.functionsCommand(),
		a.verifyCommand(), a.compactCommand(), a.runCommand(), a.exportCommand(), a.demoCommand(), a.versionCommand(), termsCommand(),
	)
	a.completions(root)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Short = "print the completion script of a shell: bash, zsh, fish or powershell"
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(_ *cobra.Command, args []string) error {
				return usagef("completion: want bash, zsh, fish or powershell%s", got(args))
			}
		}
	}
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.checkGlobals() }
	return root
}

// helpCommand is cobra's own, but for a topic that is none.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "help about a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err != nil || target == cmd.Root() && len(rest) > 0 {
				return unknownCommand(cmd.Root(), args)
			}
			target.InitDefaultHelpFlag()
			return target.Help()
		},
	}
}

func got(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return fmt.Sprintf(", not %q", args[0])
}

var memorySize = regexp.MustCompile(`(?i)^\d+(\.\d+)? *[kmgt]i?b$`)

func (a *app) checkGlobals() error {
	if a.memory != "" && !memorySize.MatchString(a.memory) {
		return usagef("--memory %q: want a size such as 4GB or 512MiB", a.memory)
	}
	if a.threads < 0 {
		return usagef("--threads %d: want a number of at least 1", a.threads)
	}
	if a.storeDir == "" {
		a.storeDir = os.Getenv("PASSHAT_STORE")
	}
	if a.storeDir == "" {
		a.storeDir = "passhat-store"
	}
	return nil
}

// say writes words about the work to stderr, unless --quiet.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintln(a.stderr, oneLine(fmt.Sprintf(format, args...)))
	}
}

// words is where what is not data goes.
func (a *app) words() io.Writer {
	if a.quiet {
		return nil
	}
	return a.stderr
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return usagef("unknown command %q%s; passhat help lists the commands", args[0], suggest(args[0], names))
}

// flagError turns what pflag says into one line with a suggestion.
func flagError(cmd *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		flag := "-" + unknown.GetSpecifiedName()
		hint := ""
		if unknown.GetSpecifiedShortnames() == "" {
			flag = "-" + flag
			var names []string
			cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
			hint = suggest(flag, names)
		}
		return usagef("unknown flag %s of %s%s; see %s --help", flag, cmd.CommandPath(), hint, cmd.CommandPath())
	}
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) {
		f := bad.GetFlag()
		if want, ok := wanted[f.Value.Type()]; ok {
			return usagef("%s: --%s %q; want %s", name(cmd), f.Name, bad.GetValue(), want)
		}
	}
	return usagef("%s: %s", name(cmd), strings.TrimSpace(err.Error()))
}

// wanted says what the values of a flag are, by its type.
var wanted = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint64": "a whole number from 0 on", "float64": "a number",
	"bool": "true or false", "duration": "a time such as 90s, 5m or 2h",
}

// name is a command without the program's name before it, which stands before
// every error anyway.
func name(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), "passhat ")
}

// maxArgs refuses surplus arguments.
func maxArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return usagef("%s: unexpected argument %q; see %s --help", name(cmd), args[n], cmd.CommandPath())
		}
		return nil
	}
}
