package main

import (
	"bytes"
	gosql "database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// page is a page of docs that is run.
func page(name string) string { return filepath.Join("..", "..", "docs", name) }

// matchPage compares a page with what it should be, or writes it.
func matchPage(t *testing.T, path, text string) {
	t.Helper()
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(old) == text {
		return
	}
	if !*update {
		t.Fatalf("%s shows other output than its commands print (-update writes it); printed:\n%s", path, text)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// demoStore makes the demo's history and returns the folder.
func demoStore(t *testing.T) string {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "1796000000")
	t.Setenv("GITHUB_SHA", "")
	dir := filepath.Join(t.TempDir(), "demo")
	var words bytes.Buffer
	if code := run([]string{"demo", dir, "--quiet"}, nil, &words, &words); code != 0 {
		t.Fatalf("demo: exit %d\n%s", code, words.String())
	}
	return dir
}

// The console blocks of the tutorial are run, line by line, in one folder that
// holds nothing at first; what they print must stand there. -update writes it.
func TestTutorial(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1796000000")
	t.Setenv("GITHUB_SHA", "")
	old, err := os.ReadFile(page("tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var out strings.Builder
	commands, inside := 0, false
	for line := range strings.Lines(string(old)) {
		switch {
		case strings.HasPrefix(line, "```console"):
			inside = true
		case strings.HasPrefix(line, "```"):
			inside = false
		case inside && strings.HasPrefix(line, "$ "):
			commands++
			out.WriteString(line + shell(t, dir, strings.TrimSpace(line[2:])))
			continue
		case inside:
			continue
		}
		out.WriteString(line)
	}
	if commands < 15 {
		t.Fatalf("the tutorial shows %d commands", commands)
	}
	matchPage(t, page("tutorial.md"), out.String())
}

// Every question of the cookbook has one statement, which is run on the demo's
// history, and its answer. -update writes the answers.
func TestCookbook(t *testing.T) {
	st, err := store.Open(filepath.Join(demoStore(t), "store"))
	if err != nil {
		t.Fatal(err)
	}
	snap, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	s, err := sql.Open(t.Context(), snap, sql.Config{Locked: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	old, err := os.ReadFile(page("cookbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```sql\n(.*?)```\n\n```text\n.*?```\n")
	answered := 0
	text := block.ReplaceAllStringFunc(string(old), func(match string) string {
		statement := block.FindStringSubmatch(match)[1]
		res, err := reports.Query(t.Context(), s, "query", statement, nil)
		if err != nil {
			t.Fatalf("%s\n%v", statement, err)
		}
		var answer bytes.Buffer
		if err := reports.Write(&answer, "table", res, reports.WriteOptions{Width: 100, Decimals: 6, Trim: true}); err != nil {
			t.Fatalf("%s\n%v", statement, err)
		}
		if bytes.Count(answer.Bytes(), []byte("\n")) < 3 {
			t.Errorf("%s\nhas no answer:\n%s", statement, answer.String())
		}
		answered++
		lines := strings.Split(strings.TrimRight(answer.String(), " \n"), "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		return "```sql\n" + statement + "```\n\n```text\n" + strings.Join(lines, "\n") + "\n```\n"
	})
	if questions := strings.Count(string(old), "\n## "); questions != answered || answered < 25 {
		t.Errorf("%d questions, %d answers", questions, answered)
	}
	matchPage(t, page("cookbook.md"), text)
}

// The SQL of the page on reading the data elsewhere runs on both exports in a
// DuckDB in which nothing of passhat is registered.
func TestReading(t *testing.T) {
	dir := demoStore(t)
	file, lake := filepath.Join(dir, "trials.duckdb"), filepath.Join(dir, "lake")
	for _, args := range [][]string{{"export", "duckdb", file}, {"export", "parquet", lake}} {
		var words bytes.Buffer
		if code := run(append(args, "--store", filepath.Join(dir, "store")), nil, &words, &words); code != 0 {
			t.Fatalf("%v: exit %d\n%s", args, code, words.String())
		}
	}
	text, err := os.ReadFile(page("reading.md"))
	if err != nil {
		t.Fatal(err)
	}
	macros, err := os.ReadFile(filepath.Join(lake, "macros.sql"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of SQL on the page, want one for each export", len(blocks))
	}
	for i, c := range []struct{ source, before string }{{file + "?access_mode=read_only", ""}, {"", string(macros)}} {
		db, err := gosql.Open("duckdb", c.source)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(c.before); c.before != "" && err != nil {
			t.Fatal(err)
		}
		block := strings.ReplaceAll(blocks[i][1], "'trials/", "'"+lake+"/trials/")
		for statement := range strings.SplitSeq(strings.TrimSpace(block), ";") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			rows, err := db.Query(statement)
			if err != nil {
				t.Fatalf("%s\n%v", statement, err)
			}
			n := 0
			for rows.Next() {
				n++
			}
			if err := rows.Err(); err != nil || n < 3 {
				t.Errorf("%s\n%d rows, %v", statement, n, err)
			}
			rows.Close()
		}
	}
}
