package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/reports"
	"passhat/sql"
)

// docExamples are the commands whose outputs on the demo's history stand on the
// reports' pages.
var docExamples = map[string][]string{
	"passk":        {"report", "passk", "-k", "1,3,5", "--by", "effort"},
	"curve":        {"report", "curve", "-k", "6", "--by", "effort"},
	"tasks":        {"report", "tasks", "--by", "effort", "--top", "8"},
	"flaky":        {"report", "flaky", "--top", "8"},
	"shapes":       {"report", "shapes", "--where", "effort = 'medium'"},
	"effort":       {"report", "effort"},
	"compare":      {"compare", "last~1", "last", "--top", "4"},
	"weekly":       {"report", "weekly", "--week", "2026-W48", "--where", "effort = 'high'"},
	"diagnose":     {"report", "diagnose", "--top", "6"},
	"attribute":    {"report", "attribute", "--by", "effort", "--where", "effort <> 'low'", "--top", "6"},
	"noise":        {"report", "noise", "--p", "0.9", "--task-count", "50", "--drop", "0.01", "--where", "effort = 'high'"},
	"plan":         {"report", "plan", "--task-count", "50", "--price", "0.30", "--top", "6"},
	"cost":         {"report", "cost", "--top", "5"},
	"independence": {"report", "independence", "--where", "effort = 'low'", "--section", "independence"},
	"contract":     {"report", "contract", "--where", "effort = 'low'", "--section", "checklist"},
	"errors":       {"report", "errors"},
}

// The pages of docs/reports are made of the reports' headers and of what they
// print on the demo's history. -update writes them anew.
func TestReportPages(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SOURCE_DATE_EPOCH", "1796000000")
	t.Setenv("COLUMNS", "150")
	t.Setenv("GITHUB_SHA", "")
	var words bytes.Buffer
	if code := run([]string{"demo", filepath.Join(dir, "demo"), "--quiet"}, nil, &words, &words); code != 0 {
		t.Fatalf("demo: exit %d\n%s", code, words.String())
	}
	t.Setenv("PASSHAT_STORE", filepath.Join(dir, "demo", "store"))
	s, err := sql.Open(t.Context(), nil, sql.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all, err := reports.Load()
	if err != nil {
		t.Fatal(err)
	}
	index := "# Reports\n\nEach is one SQL file with a header; `passhat report NAME` runs it, with the flags that all reports share\n(`passhat report --help`). The examples are of `passhat demo`.\n\n| report | answers |\n|---|---|\n"
	for _, rep := range all {
		args, ok := docExamples[rep.Name]
		if !ok {
			t.Errorf("report %s has no example for its page", rep.Name)
			continue
		}
		page, err := reports.Page(t.Context(), s, rep, example(t, args))
		if err != nil {
			t.Fatalf("%s: %v", rep.Name, err)
		}
		matchDoc(t, rep.Name+".md", page)
		index += fmt.Sprintf("| [%s](%s.md) | %s |\n", rep.Name, rep.Name, rep.Title)
	}
	matchDoc(t, "README.md", index)
}

// example is a command and what it prints, as Markdown.
func example(t *testing.T, args []string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(args, nil, &stdout, &stderr); code != 0 {
		t.Fatalf("passhat %s: exit %d\n%s", strings.Join(args, " "), code, stderr.String())
	}
	line := "$ passhat"
	for _, arg := range args {
		if strings.ContainsAny(arg, " '<>~") && !strings.HasPrefix(arg, "last") {
			arg = `"` + arg + `"`
		}
		line += " " + arg
	}
	text := line + "\n" + strings.TrimRight(stdout.String(), "\n") + "\n"
	if words := strings.TrimSpace(stderr.String()); words != "" {
		text += words + "\n"
	}
	return "```\n" + text + "```\n"
}

func matchDoc(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", "reports", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != text {
		t.Errorf("%s is not what the report says of itself and prints (-update writes it):\n%s", path, text)
	}
}

// docs/terms.md is the table of terms. -update writes it.
func TestTermsPage(t *testing.T) { matchDoc(t, filepath.Join("..", "terms.md"), termsPage()) }
