package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"passhat/reports"
	sqlshell "passhat/shell"
	"passhat/sql"
	"passhat/udf"
)

// shellFlags are the flags of passhat shell.
type shellFlags struct {
	params    []string
	tables    []string
	folders   []string
	mode      string
	limit     time.Duration
	noHistory bool
	noPager   bool
	keepGoing bool
	unsafe    bool
	read      readFlags
}

func (a *app) shellCommand() *cobra.Command {
	var s shellFlags
	cmd := &cobra.Command{
		Use:   "shell [SOURCE...]",
		Short: "interactive SQL on the store or on named logs: history, completion, reports; a script on stdin",
		Long: `shell is SQL on the store, or on named logs, with passhat's functions, tables and reports at hand. A statement ends with a
semicolon; Tab completes; .help lists the commands, .tables the tables, .functions the functions, .reports the reports. Ctrl-C
stops a query, Ctrl-D or .quit ends the shell.`,
		Example: `  passhat shell
  passhat shell trials.jsonl
  passhat shell < questions.sql`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.shell(cmd, &s, args) },
	}
	f := cmd.Flags()
	f.StringVar(&s.mode, "output", "", "form of the results, as .mode sets it (default table)")
	f.StringArrayVarP(&s.params, "param", "p", nil, "`NAME=VALUE` of a $NAME in statements (repeatable)")
	f.StringArrayVar(&s.tables, "table", nil, "`NAME=FILE`: a CSV or Parquet file as the table NAME (repeatable)")
	f.StringArrayVar(&s.folders, "reports", nil, "`DIR` with reports of one's own (repeatable; also reports/ in the store)")
	f.DurationVar(&s.limit, "timeout", 0, "give up a statement after this time, such as 30s (default no limit)")
	f.BoolVar(&s.noHistory, "no-history", false, "keep no history of this session")
	f.BoolVar(&s.noPager, "no-pager", false, "print long results without $PAGER")
	f.BoolVar(&s.keepGoing, "keep-going", false, "let a script go on behind an error (the exit code still tells)")
	f.BoolVar(&s.unsafe, "unsafe", false, unsafeUsage)
	s.read.add(cmd)
	return cmd
}

const unsafeUsage = "unlock the session: the SQL can read and write any file, and change settings"

// sayUnsafe warns of an unlocked session.
func (a *app) sayUnsafe() {
	fmt.Fprintln(a.stderr, "warning: --unsafe: the session is not locked: SQL can read, write and overwrite files, the store's too")
}

func (a *app) shell(cmd *cobra.Command, s *shellFlags, args []string) error {
	params, err := shellParams(s.params)
	if err != nil {
		return err
	}
	tables, err := tableFlags(s.tables)
	if err != nil {
		return err
	}
	all, err := a.loadReports(&reportFlags{folders: s.folders})
	if err != nil {
		return err
	}
	in, out := terminal(a.stdin), terminal(a.stdout)
	for _, source := range args {
		if source == "-" {
			return usagef("shell: stdin is where the statements come from; a log can't be read from it too")
		}
	}
	// The root's context ends at the first Ctrl-C; here that ends a statement.
	ctx := cmd.Context()
	if in != nil && out != nil {
		ctx = context.WithoutCancel(ctx)
	}
	d, err := a.open(cmd.Context(), args, &s.read, sql.Config{Tables: tables, TimeLimit: s.limit, Locked: !s.unsafe})
	if err != nil {
		return err
	}
	defer d.close()
	if s.unsafe {
		a.sayUnsafe()
	}
	cfg := a.shellConfig(s, d, all, args, tables)
	cfg.Params = params
	if in == nil || out == nil {
		if err := a.wantStore("read"); err != nil && !d.named {
			a.say("warning: %v; its tables are empty", err)
		}
		sh, err := sqlshell.New(cfg)
		if err != nil {
			return err
		}
		return errors.Join(sh.Script(ctx, "stdin", a.stdin), sh.Close())
	}
	cfg.Banner = a.banner(d)
	if !s.noHistory {
		cfg.History = historyFile()
	}
	sh, err := sqlshell.New(cfg)
	if err != nil {
		return err
	}
	defer leaveOn(d, in)()
	return sh.Interactive(ctx)
}

// shellParams reads NAME=VALUE, the values as written.
func shellParams(pairs []string) (map[string]string, error) {
	params := map[string]string{}
	for _, p := range pairs {
		name, value, err := pair("-p", p)
		if err != nil {
			return nil, err
		}
		params[name] = value
	}
	return params, nil
}

func (a *app) shellConfig(s *shellFlags, d *data, all []*reports.Report, sources []string, tables map[string]string) sqlshell.Config {
	cfg := sqlshell.Config{
		Session: d.session, Reports: all, Named: d.named, Sources: sources, Version: version(),
		Stdin: a.stdin, Stdout: a.stdout, Stderr: a.stderr, Quiet: a.quiet,
		Look: a.look, Height: a.height, Mode: s.mode, KeepGoing: s.keepGoing,
		Report:     func(err error) { a.finish(err) },
		Busy:       a.busy,
		Keep:       func(path string) error { return keepInputs([]reports.Output{{Path: path}}, d, sources, tables) },
		Functions:  func() *reports.Result { return functionTable(udf.Functions) },
		Function:   functionText,
		ReportList: func() *reports.Result { return reportList(all) },
	}
	for _, c := range commonFlags {
		cfg.Flags = append(cfg.Flags, sqlshell.Flag{Name: c.name, Short: c.short, Usage: c.usage})
	}
	if !s.noPager {
		cfg.Pager = pagerCommand()
	}
	return cfg
}

// busy shows a spinner while the shell waits for the database.
func (a *app) busy(what string) func() {
	bar := a.newProgress()
	bar.spin(what)
	return bar.done
}

// height is how many lines the terminal shows.
func (a *app) height() int {
	f := terminal(a.stdout)
	if f == nil {
		return 0
	}
	_, h, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return h
}

// pagerCommand is $PAGER, or less where it is there; "" is none.
func pagerCommand() string {
	if p, ok := os.LookupEnv("PAGER"); ok {
		if p = strings.TrimSpace(p); p == "cat" {
			return ""
		}
		return p
	}
	if _, err := exec.LookPath("less"); err != nil {
		return ""
	}
	return sqlshell.DefaultPager
}

// historyFile is where the user's system keeps such files; "" where that can't
// be told.
func historyFile() string {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "passhat", "history")
	}
	if runtime.GOOS == "windows" {
		if dir := os.Getenv("LocalAppData"); dir != "" {
			return filepath.Join(dir, "passhat", "history")
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".local", "state", "passhat", "history")
}

// banner says what the shell is on, and how to go on.
func (a *app) banner(d *data) []string {
	what := "the named logs"
	if !d.named {
		what = a.storeDir
	}
	how := "statements end with ;  Tab completes  .help lists the commands"
	if d.empty {
		return []string{what + ": no trials yet", how, "(passhat ingest FILE takes a log in, passhat demo makes an example)"}
	}
	var rows int64
	for _, f := range d.snap.Trials() {
		rows += f.Rows
	}
	return []string{fmt.Sprintf("%s: %s", what, count(rows, "trial")), how}
}

// leaveOn ends the program tidily when the terminal goes away or somebody ends
// it while the shell waits for a line: the terminal as it was, no temporary
// files left.
func leaveOn(d *data, tty *os.File) (stop func()) {
	sigs := make(chan os.Signal, 1)
	over := make(chan struct{})
	state, stateErr := term.GetState(int(tty.Fd()))
	signal.Notify(sigs, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case <-over:
		case sig := <-sigs:
			if stateErr == nil {
				term.Restore(int(tty.Fd()), state)
			}
			d.close()
			code := 1
			if n, ok := sig.(syscall.Signal); ok {
				code = 128 + int(n)
			}
			os.Exit(code)
		}
	}()
	return func() {
		signal.Stop(sigs)
		close(over)
	}
}

// showPlace shows, where somebody sits before it, the place of an error in the
// SQL. Elsewhere an error stays one line.
func (a *app) showPlace(err error) {
	tty := terminal(a.stderr)
	if tty == nil {
		return
	}
	width, _, sizeErr := term.GetSize(int(tty.Fd()))
	if sizeErr != nil {
		width = 80
	}
	if text := sqlshell.Excerpt(err, width-2); text != "" {
		fmt.Fprintln(a.stderr, "  "+strings.ReplaceAll(text, "\n", "\n  "))
	}
}
