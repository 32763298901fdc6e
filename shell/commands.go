package shell

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"passhat/reports"
)

// command is one dot command.
type command struct {
	name, args, doc string
	// more is said by .help NAME.
	more string
	most int // arguments at most, -1 any number
	run  func(*Shell, context.Context, []string) error
}

// commands are all dot commands, in the order of .help.
var commands []command

func init() { // their run functions look the table up
	commands = []command{
		{".tables", "[PATTERN]", "the tables and views, with their columns' number", "PATTERN is part of a name, or one with * and ?.", 1, (*Shell).tables},
		{".schema", "[TABLE]", "the columns of a table, or of all", "", 1, (*Shell).schema},
		{".report", "NAME [--flag VALUE …]", "run a report; without a name: the list",
			"The flags are those of passhat report, and the report's own parameters: .report passk -k 1,3 --by model\n" +
				"--describe shows them, with the columns and the SQL; --section NAME prints one section.\n" +
				"Afterwards the tables selected (trials) and selected_task_runs (counts) are there for queries.", -1, (*Shell).report},
		{".reports", "", "the reports", "", 0, func(s *Shell, _ context.Context, _ []string) error { return s.print(s.cfg.ReportList()) }},
		{".functions", "[NAME]", "passhat's SQL functions, or one with formula and example", "", 1, (*Shell).functions},
		{".runs", "", "the runs", "", 0, list("runs")},
		{".sources", "", "what was ingested: file, format, hash, rows, rejects, when", "", 0, list("sources")},
		{".rejects", "", "the rows that could not be read", "", 0, list("rejects")},
		{".mode", "[FORM]", "how results are printed: " + strings.Join(modes(), ", "), "line prints one value a line, for wide rows.", 1, (*Shell).modeCommand},
		{".output", "[FILE]", "write results to FILE from now on; without it: to the screen again",
			"The form follows from the suffix, else it is that of .mode. A form that makes a file of one result\n" +
				"(xlsx, parquet, arrow, html, json, a chart) takes the next result only.", 1, (*Shell).output},
		{".once", "FILE", "write the next result to FILE", "The file appears whole or not at all.", 1, (*Shell).onceCommand},
		{".read", "FILE", "run the statements of a file, or a report file",
			"A file with report directives (-- title:, -- section:) runs as a report; its $names are those of .param.\n" +
				"In a file .output and .once are refused.", 1, func(s *Shell, ctx context.Context, args []string) error {
				if len(args) == 0 {
					return usagef(".read: want a file")
				}
				return s.read(ctx, args[0])
			}},
		{".param", "[set NAME VALUE | clear [NAME]]", "the values of $names in statements; alone: list them",
			"A value that looks like a number or a truth value is one; 'in quotes' it is text.", -1, (*Shell).paramCommand},
		{".timer", "[on|off]", "say how long each statement takes", "", 1, (*Shell).timerCommand},
		{".pager", "[on|off]", "show long results with $PAGER (default less -RFX)", "", 1, (*Shell).pagerCommand},
		{".help", "[COMMAND]", "this list, or more on one command", "", 1, (*Shell).help},
		{".quit", "", "end the shell; so does Ctrl-D", "", 0, func(s *Shell, _ context.Context, _ []string) error { s.ended = true; return nil }},
	}
}

// also are further names of commands.
var also = map[string]string{".exit": ".quit", ".q": ".quit", ".h": ".help", ".params": ".param", ".function": ".functions", ".parameter": ".param"}

// command runs a dot command.
func (s *Shell) command(ctx context.Context, text string) error {
	text = strings.TrimSpace(text)
	if word := wordCommand(text); word != "" {
		text = word
	}
	args, err := fields(strings.TrimRight(strings.TrimSuffix(text, ";"), " "))
	if err != nil {
		return err
	}
	if len(args) == 0 {
		return nil
	}
	c, err := lookCommand(args[0])
	if err != nil {
		return err
	}
	if args = args[1:]; c.most >= 0 && len(args) > c.most {
		return usagef("%s: unexpected %q; it is called as %s", c.name, args[c.most], strings.TrimSpace(c.name+" "+c.args))
	}
	err = c.run(s, ctx, args)
	if err != nil && c.name == ".report" && strings.ContainsRune(text, '\'') && strings.Contains(err.Error(), "there is no column") {
		return fmt.Errorf("%w; commands take quotes off, so a condition stands in double ones: --where \"effort = 'low'\"", err)
	}
	return err
}

// lookCommand finds a command by its name, another name of it, or a beginning
// that only one command has.
func lookCommand(name string) (*command, error) {
	name = strings.ToLower(name)
	if full := also[name]; full != "" {
		name = full
	}
	var names []string
	var begins []*command
	for i := range commands {
		c := &commands[i]
		if c.name == name {
			return c, nil
		}
		if len(name) > 2 && strings.HasPrefix(c.name, name) {
			begins = append(begins, c)
		}
		names = append(names, c.name)
	}
	if len(begins) == 1 {
		return begins[0], nil
	}
	return nil, usagef("there is no command %s%s; .help lists them", name, reports.Suggest(name, names))
}

// fields cuts a dot command into words at blanks, like a shell: quotes keep
// blanks, a backslash outside of single quotes keeps what follows.
func fields(text string) ([]string, error) {
	var out []string
	var word strings.Builder
	started := false
	var quote rune
	escaped := false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, started = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, started = r, true
		case r == ' ' || r == '\t' || r == '\r' || r == '\n':
			if started {
				out = append(out, word.String())
				word.Reset()
				started = false
			}
		default:
			word.WriteRune(r)
			started = true
		}
	}
	if quote != 0 {
		return nil, usagef("the quote %c is not closed", quote)
	}
	if escaped {
		word.WriteByte('\\')
	}
	if started {
		out = append(out, word.String())
	}
	return out, nil
}

// help is .help.
func (s *Shell) help(_ context.Context, args []string) error {
	if len(args) == 1 {
		name := args[0]
		if !strings.HasPrefix(name, ".") {
			name = "." + name
		}
		c, err := lookCommand(name)
		if err != nil {
			return err
		}
		text := strings.TrimSpace(c.name+" "+c.args) + "\n  " + c.doc + "\n"
		if c.more != "" {
			text += "\n" + c.more + "\n"
		}
		return s.printText(text)
	}
	var b strings.Builder
	b.WriteString("Statements end with ; and may take several lines. Tab completes, Ctrl-R searches the history,\n" +
		"Ctrl-C stops a query or clears the line, Ctrl-D ends the shell.\n\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "  %-36s %s\n", strings.TrimSpace(c.name+" "+c.args), c.doc)
	}
	b.WriteString("\nTry: .report passk   or   SELECT task_id, pass_hat(passed, 3) FROM trials GROUP BY task_id ORDER BY task_id;\n")
	return s.printText(b.String())
}

// onOff reads the argument of a switch.
func onOff(name string, args []string, value *bool) error {
	if len(args) == 0 {
		*value = !*value
		return nil
	}
	switch strings.ToLower(args[0]) {
	case "on", "true", "1", "yes":
		*value = true
	case "off", "false", "0", "no":
		*value = false
	default:
		return usagef("%s %q: want on or off", name, args[0])
	}
	return nil
}

func (s *Shell) timerCommand(_ context.Context, args []string) error {
	if err := onOff(".timer", args, &s.timer); err != nil {
		return err
	}
	s.say("timer %s", onOffWord(s.timer))
	return nil
}

func onOffWord(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (s *Shell) pagerCommand(_ context.Context, args []string) error {
	on := s.pager != ""
	if err := onOff(".pager", args, &on); err != nil {
		return err
	}
	s.pager = ""
	if on {
		if s.pager = s.cfg.Pager; s.pager == "" {
			s.pager = DefaultPager
		}
	}
	s.say("pager %s", onOffWord(on))
	return nil
}

// paramCommand is .param.
func (s *Shell) paramCommand(_ context.Context, args []string) error {
	switch {
	case len(args) == 0 || args[0] == "list" && len(args) == 1:
		var rows [][]any
		for _, name := range sortedKeys(s.params) {
			rows = append(rows, []any{"$" + name, s.params[name]})
		}
		return s.print(textResult("params", rows, "param", "value"))
	case args[0] == "clear" && len(args) == 1:
		s.params = map[string]string{}
		return nil
	case args[0] == "clear" && len(args) == 2:
		name, _, ok := s.param(strings.TrimPrefix(args[1], "$"))
		if !ok {
			return usagef(".param clear: there is no parameter %s%s", args[1], reports.Suggest(args[1], sortedKeys(s.params)))
		}
		delete(s.params, name)
		return nil
	case args[0] == "set" && len(args) > 1:
		args = args[1:]
	}
	name, value, ok := strings.Cut(strings.Join(args, " "), "=")
	if len(args) == 2 && !strings.Contains(args[0], "=") {
		name, value, ok = args[0], args[1], true
	}
	name = strings.TrimPrefix(strings.TrimSpace(name), "$")
	if !ok || !isName(name) {
		return usagef(".param: want .param set NAME VALUE, .param clear [NAME], or nothing for the list")
	}
	if old, _, had := s.param(name); had {
		delete(s.params, old)
	}
	s.params[name] = strings.TrimSpace(value)
	return nil
}

// isName says whether a text can stand behind $.
func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
