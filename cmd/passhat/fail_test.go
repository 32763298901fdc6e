package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"passhat/ingest"
	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

func TestFinish(t *testing.T) {
	for _, tt := range []struct {
		name    string
		err     error
		code    int
		message string // "" is silence
		json    string
	}{
		{"nothing", nil, 0, "", ""},
		{"closed pipe", fmt.Errorf("write: %w", syscall.EPIPE), 0, "", ""},
		{"usage", usagef("unknown flag --x"), 2, "unknown flag --x", `{"kind":"usage","message":"unknown flag --x","source":null,"line":null}`},
		{"option of ingest", &ingest.UsageError{Option: "--set", Reason: "no column x"}, 2, "--set: no column x", ""},
		{"option of a report", fmt.Errorf("report: %w", &reports.UsageError{Message: "no k"}), 2, "report: no k", ""},
		{"a row", &ingest.SyntaxError{Source: "a.jsonl", Line: 3, Path: "runs[2]", Reason: "not a number"}, 4, "a.jsonl: line 3: runs[2]: not a number",
			`{"kind":"data","message":"a.jsonl: line 3: runs[2]: not a number","source":"a.jsonl","line":3}`},
		{"a report file", &reports.HeaderError{File: "my.sql", Line: 2, Message: "no title"}, 4, "my.sql:2: no title",
			`{"kind":"data","message":"my.sql:2: no title","source":"my.sql","line":2}`},
		{"a query", &sql.Error{Message: "no table x", Line: 4, Column: 2}, 4, "no table x", ""},
		{"a file", fmt.Errorf("reading SQL: %w", &fs.PathError{Op: "open", Path: "q.sql", Err: syscall.ENOENT}), 4, "q.sql", ""},
		{"an interrupt", errInterrupted, 130, "interrupted", ""},
		{"a parameter of a query", &sql.Error{Message: "no value for the parameter $x", Params: true}, 2, "no value for the parameter $x", ""},
		{"a fault over a log", &ingest.Fault{Source: "a.jsonl", Cause: "index out of range"}, 5, "a.jsonl: a fault of passhat itself, please report it: index out of range",
			`{"kind":"internal","message":"a.jsonl: a fault of passhat itself, please report it: index out of range","source":null,"line":null}`},
		{"a fault of the store", fmt.Errorf("compact s: %w", &store.Fault{Cause: "index out of range"}), 5, "compact s: a fault of passhat itself", ""},
		{"two lines with an escape", errors.New("a\nb\x1b[31m"), 4, "a b␛[31m", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var plain, asJSON bytes.Buffer
			if got := (&app{stderr: &plain}).finish(tt.err); got != tt.code {
				t.Errorf("exit code %d, want %d", got, tt.code)
			}
			(&app{stderr: &asJSON, jsonErrors: true}).finish(tt.err)
			if tt.message == "" {
				if plain.Len()+asJSON.Len() > 0 {
					t.Errorf("said %q and %q, want silence", plain.String(), asJSON.String())
				}
				return
			}
			if !strings.HasPrefix(plain.String(), "passhat: ") || !strings.Contains(plain.String(), tt.message) || strings.Count(plain.String(), "\n") != 1 {
				t.Errorf("said %q, want one line with %q", plain.String(), tt.message)
			}
			var got struct{ Error json.RawMessage }
			if err := json.Unmarshal(asJSON.Bytes(), &got); err != nil {
				t.Fatalf("%q: %v", asJSON.String(), err)
			}
			if tt.json != "" && string(got.Error) != tt.json {
				t.Errorf("JSON %s, want %s", got.Error, tt.json)
			}
		})
	}
}

// A panic anywhere becomes one line and exit code 5.
func TestPanic(t *testing.T) {
	var stderr bytes.Buffer
	err := protect(func() error { panic("index out of range\ngoroutine 1 [running]") })
	if got := (&app{stderr: &stderr}).finish(err); got != exitInternal {
		t.Errorf("exit code %d, want %d", got, exitInternal)
	}
	if strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("said %q, want one line", stderr.String())
	}
}
