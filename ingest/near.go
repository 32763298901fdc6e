package ingest

import (
	"fmt"
	"strings"
	"unicode"
)

// nativeKeys are the fields by which the formats with readers of their own are
// recognised, for what is near to one of them; wants is what such a log has
// farther in, said where every field is there.
var nativeKeys = []struct {
	name  string
	keys  []string
	wants string
}{
	{"tau-bench", []string{"task_id", "reward", "info", "traj"}, "a number as reward"},
	{"tau2", []string{"simulations", "tasks", "info"}, "simulations with termination_reason and reward_info"},
	{"inspect", []string{"status", "eval", "plan", "samples"}, "a task in eval, and samples with scores"},
	{"promptfoo", []string{"evalId", "results", "config"}, "results with version, timestamp, results and stats"},
	{"promptfoo", []string{"promptIdx", "testIdx", "gradingResult", "success"}, ""},
	{"swe-bench", []string{"instance_id", "resolved", "patch_successfully_applied", "tests_status"}, ""},
	{"humaneval", []string{"task_id", "completion", "passed", "result"}, ""},
	{"evalplus", []string{"eval", "date", "hash"}, "samples with base_status in eval"},
	{"livecodebench", []string{"question_id", "code_list", "graded_list"}, ""},
	{"terminal-bench", []string{"task_id", "trial_name", "is_resolved"}, ""},
	{"harbor", []string{"task_name", "trial_name", "agent_info", "verifier_result"}, ""},
	{"hal", []string{"config", "raw_eval_results", "raw_logging_results"}, ""},
	{"gotest", []string{"Time", "Action", "Package", "Test"}, ""},
	{"playwright", []string{"config", "suites", "stats"}, ""},
}

// nearestNative names the format of which most fields are there, if that is more
// than one and at least half of them, and what it also has.
func nearestNative(row []field) string {
	best, text := 1, ""
	for _, f := range nativeKeys {
		var lacks []string
		for _, k := range f.keys {
			if !hasKey(row, k) {
				lacks = append(lacks, k)
			}
		}
		has := len(f.keys) - len(lacks)
		if has <= best || has < len(lacks) {
			continue
		}
		more := strings.Join(lacks, ", ")
		if more == "" {
			more = f.wants
		}
		if more != "" {
			best, text = has, fmt.Sprintf("near %s, which also has %s", f.name, more)
		}
	}
	return text
}

// beginsWith shows the first bytes of what no format recognised.
func beginsWith(head []byte) string {
	const most = 40
	cut := head[:min(len(head), most)]
	for _, c := range cut {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' {
			return fmt.Sprintf("its first bytes are % x", cut[:min(len(cut), 8)])
		}
	}
	text := strings.ToValidUTF8(string(cut), "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if len(head) > most {
		text += "…"
	}
	return fmt.Sprintf("it begins with %q", text)
}
