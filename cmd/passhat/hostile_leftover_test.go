//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"archive/zip"
)

// TestLeftoversAreSwept kills the program while it holds temporary files of each
// sort; the next run removes them.
func TestLeftoversAreSwept(t *testing.T) {
	row := `{"task_id":"a","trial":%d,"run_id":"r","passed":true}` + "\n"
	var rows bytes.Buffer
	for i := range 1000 {
		fmt.Fprintf(&rows, row, i)
	}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	w, err := z.Create("a.jsonl")
	if err == nil {
		_, err = w.Write(rows.Bytes())
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	temp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(temp, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"log.jsonl": rows.Bytes(), "logs.zip": archive.Bytes(), "tasks.jsonl": []byte(`{"task_id":"a"}` + "\n"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	start := func(args ...string) (*exec.Cmd, io.WriteCloser) {
		cmd := exec.Command("passhat", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TMPDIR="+temp, "PASSHAT_STORE=")
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		return cmd, in
	}
	left := func() (names []string) {
		entries, err := os.ReadDir(temp)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	for name, args := range map[string][]string{
		"standard input":    {"ingest", "-"},
		"an archive":        {"ingest", "logs.zip", "-"},
		"a temporary store": {"shell", "log.jsonl"},
		"a trial":           {"run", "--tasks", "tasks.jsonl", "-k", "1", "--no-ingest", "--", "sleep", "5"},
	} {
		// It waits for its input, the temporary files in place.
		cmd, in := start(args...)
		if name == "a temporary store" {
			_, _ = io.WriteString(in, "SELECT count(*) FROM trials;\n")
		}
		for begin := time.Now(); len(left()) == 0 && time.Since(begin) < time.Minute; {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if len(left()) == 0 {
			t.Errorf("%s: nothing was left by the killed process; this tests nothing", name)
		}
		cmd, in = start("query", "SELECT 1", "log.jsonl")
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: the next run: %v", name, err)
		}
		if names := left(); len(names) > 0 {
			t.Errorf("%s: the next run left %s", name, strings.Join(names, ", "))
		}
	}
}
