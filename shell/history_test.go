package shell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "passhat", "history")
	h, err := openHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"SELECT 1;", "SELECT\n  'é;\x1b'\nFROM x;", "SELECT 1;", "SELECT 1;", " secret;", "", strings.Repeat("x", historyLine+1)} {
		if _, err := h.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"SELECT 1;", "SELECT\n  'é;\x1b'\nFROM x;", "SELECT 1;"}
	again, err := openHistory(path)
	if err != nil || !slices.Equal(again.lines, want) {
		t.Errorf("history %q, error %v", again.lines, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	// Another program's mode and torn lines are mended and passed over.
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("{\"line\": \"torn\n{\"line\":\"whole\"}\n")
	f.Close()
	if again, err = openHistory(path); err != nil || again.lines[len(again.lines)-1] != "whole" || again.Len() != 4 {
		t.Errorf("history %q, error %v", again.lines, err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

// A long history is cut to its newest lines.
func TestHistoryCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	var b strings.Builder
	for i := range historyMost * 2 {
		b.WriteString(`{"line":"` + strings.Repeat("i", i%7+1) + `"}` + "\n")
	}
	if err := os.WriteFile(path, []byte(b.String()+`{"line":"last"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		h, err := openHistory(path)
		if err != nil || h.Len() != historyMost || h.lines[historyMost-1] != "last" {
			t.Fatalf("%d lines, error %v", h.Len(), err)
		}
	}
}

func TestHighlight(t *testing.T) {
	s := &Shell{}
	s.cat.keywords = []string{"select", "from", "source"}
	const text = "SELECT pass_hat(c, 3), 'a\nb', t.from, source FROM x -- c"
	got := s.highlight(text)
	for _, want := range []string{colorKeyword + "SELECT", colorFunction + "pass_hat", colorNumber + "3",
		colorString + "'a" + colorNone + "\n" + colorString + "b'", "t.from", ", source ", colorComment + "-- c"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	for _, color := range []string{colorKeyword, colorFunction, colorString, colorNumber, colorComment, colorNone} {
		got = strings.ReplaceAll(got, color, "")
	}
	if got != text {
		t.Errorf("without colours %q", got)
	}
}

func TestFields(t *testing.T) {
	for text, want := range map[string][]string{
		`.read a b`: {".read", "a", "b"}, `.read 'a b' "c'd" e\ f`: {".read", "a b", "c'd", "e f"}, ``: nil, `a''`: {"a"}, `''`: {""}, `a\`: {`a\`},
	} {
		if got, err := fields(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("fields(%q) is %q, %v", text, got, err)
		}
	}
}
