package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The console blocks of the README are run, line by line, in one empty folder;
// what they print must stand there. -update writes it there.
func TestReadme(t *testing.T) {
	path := filepath.Join("..", "..", "README.md")
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(old, []byte("\n")); n > 200 {
		t.Errorf("the README has %d lines, want at most 200", n)
	}
	dir := t.TempDir()
	var out strings.Builder
	commands, inside := 0, false
	for _, line := range strings.SplitAfter(string(old), "\n") {
		switch {
		case strings.HasPrefix(line, "```console"):
			inside = true
		case strings.HasPrefix(line, "```"):
			inside = false
		case inside && strings.HasPrefix(line, "$ "):
			commands++
			out.WriteString(line)
			out.WriteString(shell(t, dir, strings.TrimSpace(line[2:])))
			continue
		case inside:
			continue // output, written anew
		}
		out.WriteString(line)
	}
	if commands == 0 {
		t.Fatal("the README shows no command")
	}
	if out.String() == string(old) {
		return
	}
	if !*update {
		t.Fatalf("the README shows other output than its commands print (-update writes it); printed:\n%s", out.String())
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// shell runs one command of the README and returns what a reader would see.
func shell(t *testing.T, dir, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "COLUMNS=100", "NO_COLOR=1", "PASSHAT_STORE=")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, text)
	}
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}
