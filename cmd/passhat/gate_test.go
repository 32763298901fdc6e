package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// gateLog writes a log for the transcripts of the gate:
//
//	gatelog FILE run_id=r1 run_at=2026-11-01 model=m : fetch=10/12 sort=3/4+2
//
// Before the colon stand fields of every trial, after it tasks with passes of
// trials and, behind +, further trials without a verdict.
func gateLog(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 || neg {
		ts.Fatalf("usage: gatelog FILE FIELD=VALUE... : TASK=PASSES/TRIALS[+UNGRADED]...")
	}
	fields, tasks := map[string]any{"suite": "desk", "run_id": "r1", "run_at": "2026-11-01T00:00:00Z", "model": "m"}, false
	var out strings.Builder
	for _, arg := range args[1:] {
		if arg == ":" {
			tasks = true
			continue
		}
		at := strings.LastIndexByte(arg, '=')
		if at < 0 {
			ts.Fatalf("gatelog: %q: NAME=VALUE is wanted", arg)
		}
		name, value := arg[:at], arg[at+1:]
		if tasks {
			ts.Check(gateTask(&out, fields, name, value))
			continue
		}
		var v any = value
		if json.Valid([]byte(value)) {
			v = json.RawMessage(value)
		}
		fields[name] = v
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(out.String()), 0o666))
}

func gateTask(out *strings.Builder, fields map[string]any, name, counts string) error {
	counts, ungraded, _ := strings.Cut(counts, "+")
	passes, trials, ok := strings.Cut(counts, "/")
	c, err := strconv.Atoi(passes)
	n, err2 := strconv.Atoi(trials)
	u, err3 := strconv.Atoi("0" + ungraded)
	if !ok || err != nil || err2 != nil || err3 != nil {
		return fmt.Errorf("gatelog: %s=%s: PASSES/TRIALS[+UNGRADED] is wanted", name, counts)
	}
	for i := range n + u {
		line := map[string]any{"task_id": name, "trial": i, "passed": i < c}
		if i >= n {
			line["passed"] = nil
		}
		for k, v := range fields {
			line[k] = v
		}
		data, err := json.Marshal(line)
		if err != nil {
			return err
		}
		out.Write(append(data, '\n'))
	}
	return nil
}
