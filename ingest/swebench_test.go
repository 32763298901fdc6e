package ingest_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"passhat/ingest"
)

func init() {
	acr := func(file string) []realCase {
		return []realCase{{
			sources: []string{"swe-bench/auto-code-rover_3runs/acr-run-*/" + file},
			opt:     ingest.Options{Tasks: realData + "/swe-bench/auto-code-rover_3runs/acr-run-1/tasks.txt"},
		}}
	}
	realCases["swe-bench/auto-code-rover_3runs/acr-run-{1,2,3}/old_eval_results/final_report.json"] = acr("old_eval_results/final_report.json")
	realCases["swe-bench/auto-code-rover_3runs/acr-run-{1,2,3}/new_eval_results/report.json"] = acr("new_eval_results/report.json")
}

const sweSamples = formatsDir + "/swe-bench/"

// TestSWEBenchTasks reads reports with a list of the suite's tasks.
func TestSWEBenchTasks(t *testing.T) {
	tasks := t.TempDir() + "/tasks.txt"
	writeText(t, tasks, "# the suite\nacme__lib-1\nacme__lib-2\nacme__lib-3\n\nacme__lib-10\nacme__lib-11\n")
	tests := []struct {
		sample, counts string // "task: verdicts"
		notes          []string
	}{
		{"bad-final-report.json", "acme__lib-1 true, acme__lib-10 false, acme__lib-11 false, acme__lib-2 true, acme__lib-3 false",
			[]string{"it lists only what was resolved of 5 generated: 3 other tasks of --tasks-file taken as not resolved"}},
		{"sample-v1.json", "acme__lib-1 false, acme__lib-10 ungraded, acme__lib-11 ungraded, acme__lib-2 true, acme__lib-3 false",
			[]string{"2 tasks of --tasks-file that the report does not mention: ungraded"}},
		{"sample-vela__vela-2.night-1.json", "",
			[]string{"8 instances that --tasks-file does not list, counted all the same: lark__lark-1, ", "1 instance in infra_failure_ids"}},
		{"sample-instances", "", []string{"2 instances without a report: ungraded: lark__lark-5, lark__lark-6", "5 tasks of --tasks-file without a folder: ungraded"}},
	}
	for _, tt := range tests {
		t.Run(tt.sample, func(t *testing.T) {
			file, opt := copySample(t, sweSamples+tt.sample), ingest.Options{Tasks: tasks, Env: noEnv}
			_, trials, rejects, err := ingest.ReadTrials(t.Context(), file, opt)
			if err != nil || len(rejects) > 0 {
				t.Fatal(rejects, err)
			}
			var got []string
			for _, tr := range trials {
				verdict := "ungraded"
				if tr.Passed.OK {
					verdict = map[bool]string{true: "true", false: "false"}[tr.Passed.V]
				}
				got = append(got, tr.TaskID+" "+verdict)
			}
			slices.Sort(got)
			if text := strings.Join(got, ", "); tt.counts != "" && text != tt.counts {
				t.Errorf("got %s\nwant %s", text, tt.counts)
			}
			text := ingestNotes(t, file, opt)
			for _, want := range tt.notes {
				if !strings.Contains(text, want) {
					t.Errorf("the summary does not say %q:\n%s", want, text)
				}
			}
		})
	}
}

// TestSWEBenchTotals: a header that contradicts its lists is said with both numbers.
func TestSWEBenchTotals(t *testing.T) {
	path := t.TempDir() + "/vela.night.json"
	writeText(t, path, `{"total_instances":9,"resolved_instances":2,"resolved_ids":["acme__lib-1"],"unresolved_ids":["acme__lib-2"],"error_instances":0,"error_ids":[]}`)
	text := ingestNotes(t, path, ingest.Options{})
	for _, want := range []string{"total_instances is 9, but its lists name 2 instances", "resolved_instances is 2, but resolved_ids holds 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary does not say %q:\n%s", want, text)
		}
	}
}

// TestSWEBenchCountsOnce: a run's report and its per-instance reports hold the
// same trials.
func TestSWEBenchCountsOnce(t *testing.T) {
	dir := copySample(t, sweSamples+"sample-instances")
	writeText(t, dir+"/vela__vela-2.night-2.json", `{"total_instances":3,"resolved_ids":["lark__lark-1"],"unresolved_ids":["lark__lark-2"],"error_ids":["lark__lark-5"],"incomplete_ids":["lark__lark-9"]}`)
	text := ingestNotes(t, dir, ingest.Options{})
	for _, want := range []string{"6 rows read = 6 stored + 0 duplicates", "4 rows read = 1 stored + 3 duplicates"} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary does not say %q:\n%s", want, text)
		}
	}
}

// TestSWEBenchNames: where run and model come from.
func TestSWEBenchNames(t *testing.T) {
	const lists = `{"resolved_ids":["acme__lib-1"],"unresolved_ids":[]}`
	const report = `{"acme__lib-1":{"patch_exists":true,"resolved":true}}`
	tests := []struct{ path, text, run, model string }{
		{"openai__gpt-4.1.nightly.json", lists, "nightly", "openai/gpt-4.1"},
		{"20240825_agent_results.json", lists, "20240825_agent_results", ""},
		{"x/20240825_agent/results/results.json", lists, "20240825_agent", ""},
		{"acr-run-1/old_eval_results/report.json", lists, "acr-run-1/old_eval_results", ""},
		{"traj/vela-1013/eval_results.json", `{"instance_acme__lib-1":true}`, "vela-1013", ""},
		{"logs/run_evaluation/r1/a__m/acme__lib-1/report.json", report, "r1", "a/m"},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tt.path)
			writeText(t, path, tt.text)
			name, trials, _, err := ingest.ReadTrials(t.Context(), path, ingest.Options{Env: noEnv})
			if err != nil || len(trials) != 1 || name != "swe-bench" {
				t.Fatal(name, trials, err)
			}
			if trials[0].RunID != tt.run || trials[0].Model != tt.model {
				t.Errorf("run %q, model %q; want %q, %q", trials[0].RunID, trials[0].Model, tt.run, tt.model)
			}
		})
	}
}

// TestSWEBenchFolderAsTrial: the run folders of one folder are its trials.
func TestSWEBenchFolderAsTrial(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "night")
	for run, resolved := range map[string]string{"r1": "true", "r2": "false"} {
		writeText(t, dir+"/"+run+"/vela/acme__lib-1/report.json", `{"acme__lib-1":{"patch_exists":true,"resolved":`+resolved+`}}`)
	}
	_, trials, _, err := ingest.ReadTrials(t.Context(), dir, ingest.Options{Env: noEnv, FolderAs: "trial"})
	if err != nil || len(trials) != 2 {
		t.Fatal(trials, err)
	}
	for i, tr := range trials {
		if tr.RunID != "night" || tr.Model != "vela" || tr.Trial.V != int32(i) || tr.TrialFrom != "folder" || tr.Passed.V != (i == 0) {
			t.Errorf("trial %d: %+v", i, tr)
		}
	}
}
