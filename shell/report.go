package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"passhat/reports"
	"passhat/sql"
)

// request is what every report of this shell is asked with.
func (s *Shell) request() reports.Request {
	return reports.Request{Version: s.cfg.Version, Named: s.cfg.Named, Sources: s.cfg.Sources}
}

// report is .report NAME with flags.
func (s *Shell) report(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return s.print(s.cfg.ReportList())
	}
	rep, err := reports.Find(s.cfg.Reports, args[0])
	if err != nil {
		return err
	}
	f := s.reportFlags(rep)
	if err := f.set.Parse(args[1:]); err != nil {
		return f.wrong(rep, err)
	}
	if f.describe {
		return s.describe(ctx, rep)
	}
	if rest := f.set.Args(); len(rest) > 0 {
		return usagef(".report %s: unexpected %q; write -p NAME=VALUE or --flag VALUE", rep.Name, rest[0])
	}
	req := s.request()
	if err := f.fill(&req); err != nil {
		return err
	}
	return s.runReport(ctx, rep, req, f.section)
}

// runReport runs a report and prints it.
func (s *Shell) runReport(ctx context.Context, rep *reports.Report, req reports.Request, section string) error {
	return s.timed(func() error {
		done := s.cfg.Busy("report " + rep.Name)
		locked := s.cfg.Session.Locked()
		res, err := reports.Run(ctx, s.cfg.Session, rep, req)
		done()
		if !locked && s.cfg.Session.Locked() {
			s.say("report %s is not built in: from here on the session is locked", rep.Name)
		}
		s.cat.forget() // the relations that it made are there now
		if err != nil {
			return s.stopped(ctx, err)
		}
		if err := res.CheckSection(section); err != nil {
			return err
		}
		for _, text := range res.SQL {
			fmt.Fprintf(s.cfg.Stderr, "%s;\n\n", strings.TrimRight(strings.TrimSpace(text), ";"))
		}
		return s.stopped(ctx, s.printSection(res, section))
	})
}

// describe prints what a report is; its columns are those that it has in an
// empty session.
func (s *Shell) describe(ctx context.Context, rep *reports.Report) error {
	empty, err := sql.Open(ctx, nil, sql.Config{})
	if err != nil {
		return err
	}
	defer empty.Close()
	text, err := reports.Describe(ctx, empty, rep)
	if err != nil {
		return err
	}
	return s.printText(text)
}

// flags are those of .report.
type flags struct {
	set      *pflag.FlagSet
	params   []string
	section  string
	describe bool
	own      map[string]string // flag to parameter
}

// reportFlags are the flags of every report and the report's own parameters.
func (s *Shell) reportFlags(rep *reports.Report) *flags {
	f := &flags{set: pflag.NewFlagSet(rep.Name, pflag.ContinueOnError), own: map[string]string{}}
	f.set.SetOutput(io.Discard)
	f.set.Usage = func() {}
	f.set.StringArrayVarP(&f.params, "param", "p", nil, "NAME=VALUE of a parameter (repeatable)")
	f.set.StringVar(&f.section, "section", "", "only the section of this name")
	f.set.BoolVar(&f.describe, "describe", false, "show the report's parameters, columns and SQL")
	f.set.Bool("show-sql", false, "print the SQL that was run")
	f.own["show-sql"] = "show-sql"
	for _, c := range s.cfg.Flags {
		f.set.StringP(c.Name, c.Short, "", c.Usage)
		f.own[c.Name] = c.Name
	}
	for _, r := range s.cfg.Reports {
		if r != rep && !slices.Contains(rep.Uses, r.Name) {
			continue
		}
		for _, p := range r.Params {
			name := strings.ReplaceAll(p.Name, "_", "-")
			if p.Type != "" && f.set.Lookup(name) == nil {
				f.set.String(name, "", p.Meaning)
				f.own[name] = p.Name
			}
		}
	}
	if rep.Name == "contract" && f.set.Lookup("contract") == nil {
		f.set.String("contract", "", "YAML FILE with the declared trial contract")
		f.own["contract"] = "contract"
	}
	return f
}

// names are the flags with their dashes.
func (f *flags) names() []string {
	var out []string
	f.set.VisitAll(func(flag *pflag.Flag) { out = append(out, "--"+flag.Name) })
	return out
}

func (f *flags) wrong(rep *reports.Report, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usagef(".report %s: %s", rep.Name, strings.TrimSpace(err.Error()))
	}
	flag := "-" + unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() == "" {
		flag = "-" + flag
	}
	return usagef("report %s has no flag %s%s; .report %s --describe lists its parameters", rep.Name, flag, reports.Suggest(flag, f.names()), rep.Name)
}

// fill sets the request from the flags that were given.
func (f *flags) fill(req *reports.Request) error {
	var failed error
	f.set.Visit(func(flag *pflag.Flag) {
		if name, ok := f.own[flag.Name]; ok && failed == nil {
			failed = req.Set(name, flag.Value.String())
		}
	})
	for _, p := range f.params {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return usagef("-p %q: want NAME=VALUE", p)
		}
		if err := req.Set(name, value); err != nil {
			return err
		}
	}
	return failed
}

// oneFile is a folder of one report file.
type oneFile struct{ path, text string }

func (f oneFile) Open(string) (fs.File, error) { return nil, fs.ErrNotExist }

func (f oneFile) Glob(string) ([]string, error) {
	return []string{reportName(f.path) + ".sql"}, nil
}

func (f oneFile) ReadFile(string) ([]byte, error) { return []byte(f.text), nil }

// reportName is the name of the report that a file holds.
func reportName(path string) string {
	return strings.TrimSuffix(filepath.Base(filepath.ToSlash(path)), ".sql")
}
