package shell

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"passhat/reports"
	"passhat/udf"
)

// completeCommand completes a dot command.
func (s *Shell) completeCommand(head string) (word string, list []Candidate) {
	args := strings.Fields(head)
	if last := len(head) - 1; head[last] != ' ' && head[last] != '\t' {
		word = args[len(args)-1]
		args = args[:len(args)-1]
	}
	for _, c := range s.commandCandidates(args, word) {
		if strings.HasPrefix(c.Text, word) {
			list = append(list, c)
		}
	}
	return word, list
}

func (s *Shell) commandCandidates(args []string, word string) []Candidate {
	if len(args) == 0 {
		var out []Candidate
		for _, c := range commands {
			out = append(out, Candidate{c.name, "commands", c.doc})
		}
		return out
	}
	c, err := lookCommand(args[0])
	if err != nil {
		return nil
	}
	args = args[1:]
	switch c.name {
	case ".report":
		return s.reportCandidates(args, word)
	case ".read", ".output", ".once":
		return files(word)
	case ".param":
		return s.paramCandidates(args)
	}
	if len(args) > 0 {
		return nil
	}
	switch c.name {
	case ".schema", ".tables":
		var out []Candidate
		for _, r := range s.cat.rels() {
			doc, _ := tableDocs[r.Name].(string)
			out = append(out, Candidate{r.Name, "tables", doc})
		}
		return out
	case ".functions":
		var out []Candidate
		for _, f := range udf.Functions {
			out = append(out, Candidate{f.Name, "functions", f.Signature()})
		}
		return out
	case ".mode":
		return plain(modes(), "modes")
	case ".timer", ".pager":
		return plain([]string{"on", "off"}, "")
	case ".help":
		var out []Candidate
		for _, c := range commands {
			out = append(out, Candidate{c.name, "commands", c.doc})
		}
		return out
	}
	return nil
}

func plain(words []string, kind string) []Candidate {
	var out []Candidate
	for _, w := range words {
		out = append(out, Candidate{w, kind, ""})
	}
	return out
}

func (s *Shell) paramCandidates(args []string) []Candidate {
	switch {
	case len(args) == 0:
		return plain([]string{"set", "clear", "list"}, "")
	case len(args) == 1 && (args[0] == "set" || args[0] == "clear"):
		return plain(sortedKeys(s.params), "parameters")
	}
	return nil
}

// reportCandidates completes a report's name, its flags, and their values.
func (s *Shell) reportCandidates(args []string, word string) []Candidate {
	if len(args) == 0 {
		var out []Candidate
		for _, r := range s.cfg.Reports {
			out = append(out, Candidate{r.Name, "reports", r.Title})
		}
		return out
	}
	rep, err := reports.Find(s.cfg.Reports, args[0])
	if err != nil {
		return nil
	}
	f := s.reportFlags(rep)
	last := args[len(args)-1]
	if name, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "--") {
		return prefixed(name+"=", s.flagValues(rep, strings.TrimPrefix(name, "--"), value))
	}
	if last == "-p" || last == "--param" {
		name, value, ok := strings.Cut(word, "=")
		if ok {
			return prefixed(name+"=", s.flagValues(rep, strings.ReplaceAll(name, "_", "-"), value))
		}
		var out []Candidate
		f.set.VisitAll(func(flag *pflag.Flag) {
			if name, ok := f.own[flag.Name]; ok {
				out = append(out, Candidate{name + "=", "parameters", flag.Usage})
			}
		})
		return out
	}
	if flag := f.flag(last); flag != nil && flag.Value.Type() != "bool" {
		return s.flagValues(rep, flag.Name, word)
	}
	var out []Candidate
	f.set.VisitAll(func(flag *pflag.Flag) { out = append(out, Candidate{"--" + flag.Name, "flags", flag.Usage}) })
	return out
}

// flag is the flag that a word names, nil for none.
func (f *flags) flag(word string) *pflag.Flag {
	switch {
	case strings.HasPrefix(word, "--"):
		return f.set.Lookup(word[2:])
	case len(word) == 2 && word[0] == '-':
		return f.set.ShorthandLookup(word[1:])
	}
	return nil
}

func prefixed(prefix string, list []Candidate) []Candidate {
	for i := range list {
		list[i].Text = prefix + list[i].Text
	}
	return list
}

// FlagWords are the words that flags of reports take.
var FlagWords = map[string][]string{
	"policy": {reports.PolicyFail, reports.PolicyExclude, reports.PolicyBounds}, "pool": {"run", "trial"}, "tasks": {"all", "common"},
	"interval": {"auto", "bootstrap"}, "k": {"max", "all", "1,3"}, "week": {"last", "current"},
	"since": {"7d", "4w"}, "until": {"7d", "4w"},
}

// flagValues are values of a flag of a report.
func (s *Shell) flagValues(rep *reports.Report, name, word string) []Candidate {
	switch name {
	case "by":
		done := ""
		if i := strings.LastIndexByte(word, ','); i >= 0 {
			done = word[:i+1]
		}
		var out []Candidate
		for _, r := range s.cat.rels() {
			if r.Name != "trials" {
				continue
			}
			for _, c := range r.Columns {
				out = append(out, Candidate{done + c.Name, "columns", columnDocs[c.Name]})
			}
		}
		return out
	case "runs":
		return append(plain([]string{"latest", "all"}, ""), plain(s.cat.valuesOf("run_id"), "runs")...)
	case "section":
		var out []Candidate
		for _, st := range rep.Sections() {
			out = append(out, Candidate{st.Name, "sections", st.Heading})
		}
		return out
	case "weights", "labels", "contract":
		return files(word)
	}
	return plain(FlagWords[name], "")
}

// files are the files that a word may become.
func files(word string) []Candidate {
	dir, _ := filepath.Split(word)
	look := dir
	if look == "" {
		look = "."
	}
	entries, err := os.ReadDir(look)
	if err != nil {
		return nil
	}
	var out []Candidate
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || strings.ContainsAny(e.Name(), " '\"\\\t\n") || !printable(e.Name()) {
			continue
		}
		name := dir + e.Name()
		if e.IsDir() {
			name += "/"
		}
		out = append(out, Candidate{name, "files", ""})
	}
	return out
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) && reports.Visible(s) == s
}
