package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite what the scripts expect")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"passhat": main})
}

// The transcripts in testdata/script run the program as a user does, each in
// an empty folder of its own.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			// The user's own settings must not leak into the transcripts.
			env.Setenv("PASSHAT_STORE", "")
			env.Setenv("SOURCE_DATE_EPOCH", "1796000000")
			env.Setenv("GITHUB_SHA", "")
			shared, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", "data"))
			env.Setenv("SHARED", shared)
			return err
		},
		Condition: func(cond string) (bool, error) {
			if cond == "shared" {
				_, err := os.Stat(filepath.Join("..", "..", "..", "shared", "data"))
				return err == nil, nil
			}
			return false, errors.New("no condition " + cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "appendfile": appendFile, "gatelog": gateLog},
	})
}

// exits runs a command that is to end with an exit code: exits 2 passhat nosuch.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: exits CODE COMMAND ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// appendFile adds a file's content to another: appendfile LOG MORE.
func appendFile(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: appendfile FILE MORE")
	}
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteString(ts.ReadFile(args[1]))
	ts.Check(err)
	ts.Check(f.Close())
}
