package ingest

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// terminalBench reads the results of Terminal-Bench's own harness (tb run): one
// document of trials, with metadata beside it.
var terminalBench = Format{
	Name:    "terminal-bench",
	Doc:     "results of tb run: results.json with run_metadata.json and tb.lock beside; run folders of one submission",
	Version: 1,
	Recognised: "an object whose list results begins with an object that has trial_name, task_id and is_resolved, or one such object alone; " +
		"a folder with results.json and run_metadata.json or tb.lock is one run, a folder of such runs of one attempt each is one submission",
	Match:  matchTerminalBench,
	Claim:  claimTerminalBench,
	Beside: besideTerminalBench,
	Read:   readTerminalBench,
	Fields: []FieldDoc{
		{"suite", "run_metadata.json: dataset_name@dataset_version", "else the name in dataset_path, else terminal-bench"},
		{"run_id", "run_metadata.json: run_id", "else the part of trial_name behind N-of-M, else the first folder in recording_path; the folder's name for a submission"},
		{"run_at", "run_metadata.json: start_time", "of a submission the earliest; else the first trial's start"},
		{"task_id", "results[].task_id", ""},
		{"trial", "results[].trial_name", "N - 1 of TASK.N-of-M, explicit; in a submission the place of the run's folder"},
		{"planned_trials", "run_metadata.json: n_attempts", "else M; in a submission the sum over its runs"},
		{"trial_uid", "results[].id, uuid in older logs", ""},
		{"passed", "results[].is_resolved", "null is ungraded; terminal-bench itself counts it as failed"},
		{"pass_rule", "", "is_resolved (every test passed)"},
		{"score, scores", "results[].parser_results", "share of the tests that passed; scores has tests, tests_passed and each test by name"},
		{"error_type, error_message", "results[].failure_mode", "unless unset or none; a trial can time out and pass"},
		{"model, agent", "run_metadata.json: model_name, agent_name", "model_name is null for custom agents: give it by --set model=…"},
		{"temperature, effort, seed", "run_metadata.json: agent_kwargs", "only these settings are taken out of it"},
		{"config", "run_metadata.json, tb.lock", "dataset, agent, model, the sampling settings of agent_kwargs, timeouts"},
		{"harness_version", "tb.lock: harness.version", ""},
		{"git_commit", "run_metadata.json: commit_hash", "of terminal-bench's own repository"},
		{"started_at", "results[].trial_started_at", "UTC; absent in older logs"},
		{"duration_s", "results[].agent_started_at, agent_ended_at", "the agent's time; the whole trial's where that is absent"},
		{"input_tokens, output_tokens", "results[].total_input_tokens, total_output_tokens", "0 for installed agents, which means unknown"},
		{"tool_calls", "results[].n_commands", "commands sent to the terminal, where the log has them"},
		{"trace", "results[].recording_path", "path of the recording, relative to the output folder"},
		{"extra", "", "trial_name, trial_s, test_s, run (in a submission), n_concurrent_trials, resumed_at"},
	},
	Notes: []string{
		"Several run folders of one attempt each, or several *_results.json, in one folder are a submission: if agent, model, data set and agent_kwargs agree they become the trials of one run, called after the folder, and that is said. --folder-as run keeps them apart, --folder-as trial makes them one run whatever differs. A folder called runs, where tb puts all runs, is never a submission by itself.",
		"accuracy, n_resolved and pass_at_k of the file are compared with what was read; a mismatch is said with both numbers.",
		"Trials that threw inside the harness are in results.json but have no results.json of their own. Where a run has no results.json, those of its trials are read instead, and that is said.",
		"A trial without any test result (empty parser_results) counts as resolved in terminal-bench: the verdict stands, their number is said.",
		"A resumed run (resumed_at) ran again what had not finished: said.",
		"It cannot know: cost, temperature and effort unless in agent_kwargs, model of custom agents, and without run_metadata.json not even the agent and the data set.",
	},
}

var tbTrialName = regexp.MustCompile(`\.(\d{1,9})-of-(\d{1,9})(?:\.(.+))?$`)

const (
	tbMeta    = "run_metadata.json"
	tbLock    = "tb.lock"
	tbResults = "results.json"
)

// matchTerminalBench looks at the first trial.
func matchTerminalBench(p *Probe) Match { return matchTB(p.Head) }

func matchTB(b []byte) Match {
	i := headStart(b)
	if isTBTrial(b, i) {
		return Specific
	}
	list := headValue(b, i, "results")
	if isTBTrial(b, firstElement(b, list)) {
		return Specific
	}
	if hasAll(headKeys(b, i), "results", "n_resolved", "n_unresolved", "resolved_ids") {
		return Specific // a run without trials
	}
	return NoMatch
}

func isTBTrial(b []byte, i int) bool {
	return i >= 0 && hasAll(headKeys(b, i), "trial_name", "task_id", "is_resolved")
}

// besideTerminalBench names the metadata of a run whose results.json is read
// alone.
func besideTerminalBench(in *Input) []string {
	var names []string
	for _, name := range []string{tbMeta, tbLock} {
		if slices.Contains(in.Siblings, name) {
			names = append(names, name)
		}
	}
	return names
}

// tbRun is one run in a claimed folder.
type tbRun struct {
	name    string   // folder or stem of the file, for messages
	results string   // file with all trials, "" if there is none
	trials  []string // files of single trials
	meta    string   // run_metadata.json, "" if absent
	lock    string
}

// tbRunIn finds a run whose files lie directly in dir ("" is the folder itself);
// not ok if there is none by names.
func tbRunIn(d *Folder, dir string) (r tbRun, ok bool) {
	prefix, name := "", d.Base()
	if dir != "" {
		prefix, name = dir+"/", path.Base(dir)
	}
	r.name = name
	if d.Has(prefix + tbResults) {
		r.results = prefix + tbResults
	}
	if d.Has(prefix + tbMeta) {
		r.meta = prefix + tbMeta
	}
	if d.Has(prefix + tbLock) {
		r.lock = prefix + tbLock
	}
	from, _ := slices.BinarySearch(d.Files, prefix)
	for _, f := range d.Files[from:] {
		rest, below := strings.CutPrefix(f, prefix)
		if !below {
			break
		}
		if path.Base(f) == tbResults && strings.Count(rest, "/") == 2 {
			r.trials = append(r.trials, f)
		}
	}
	return r, r.results != "" || r.meta != "" && len(r.trials) > 0
}

// isRun looks into the file that names promised.
func (r *tbRun) isRun(d *Folder) bool {
	file := r.results
	if file == "" {
		file = r.trials[0]
	}
	head, err := d.Head(file)
	return err == nil && matchTB(head) != NoMatch
}

// files are those of the run that are read.
func (r *tbRun) files() []string {
	files := []string{r.results}
	if r.results == "" {
		files = slices.Clone(r.trials)
	}
	for _, f := range []string{r.meta, r.lock} {
		if f != "" {
			files = append(files, f)
		}
	}
	return files
}

// claimTerminalBench takes a run's folder, and a folder of runs that are the
// trials of one submission.
func claimTerminalBench(d *Folder, opt *Options) []string {
	if r, ok := tbRunIn(d, ""); ok {
		if (r.meta != "" || r.lock != "" || len(r.trials) > 0) && r.isRun(d) {
			return r.files()
		}
		return nil
	}
	if opt.FolderAs == "run" {
		return nil
	}
	runs := tbSubmission(d, opt.FolderAs == "trial")
	if len(runs) < 2 {
		return nil
	}
	var files []string
	for _, r := range runs {
		files = append(files, r.files()...)
	}
	return files
}

// tbSubmission finds the runs that a folder consists of; none if it holds
// anything else of terminal-bench, or, unless forced, runs of several attempts.
func tbSubmission(d *Folder, forced bool) []tbRun {
	if !forced && d.Base() == "runs" {
		return nil
	}
	runs, ok := tbRunsOf(d.Files, d)
	if !ok {
		return nil
	}
	for _, r := range runs {
		if !r.isRun(d) || !forced && r.attempts(d) != 1 {
			return nil
		}
	}
	return runs
}

// tbRunsOf sorts the files of a folder into runs, by names alone.
func tbRunsOf(files []string, d *Folder) (runs []tbRun, ok bool) {
	stems, dirs, deeper := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, f := range files {
		dir, _, below := strings.Cut(f, "/")
		switch {
		case below:
			dirs[dir] = true
			deeper[dir] = deeper[dir] || strings.HasSuffix(f, tbResults)
		case strings.HasSuffix(f, "_"+tbResults):
			stem := strings.TrimSuffix(f, "_"+tbResults)
			stems[stem] = true
			r := tbRun{name: stem, results: f}
			if meta := stem + "_" + tbMeta; d.Has(meta) {
				r.meta = meta
			}
			runs = append(runs, r)
		}
	}
	for dir := range dirs {
		if stems[dir] {
			continue // the trials of a run whose results lie above
		}
		r, isRun := tbRunIn(d, dir)
		switch {
		case isRun && len(stems) == 0:
			runs = append(runs, r)
		case isRun || deeper[dir]:
			return nil, false // runs lie deeper, or in both forms
		}
	}
	slices.SortFunc(runs, func(a, b tbRun) int { return strings.Compare(a.name, b.name) })
	return runs, true
}

// attempts is how often the run tried each task, 0 if that cannot be told.
func (r *tbRun) attempts(d *Folder) int64 {
	if r.meta != "" {
		if head, err := d.Head(r.meta); err == nil {
			if v, ok := JSONValue(head); ok {
				if n := v.get("n_attempts").whole(); n.OK {
					return n.V
				}
			}
		}
	}
	if r.results == "" {
		return 0
	}
	head, err := d.Head(r.results)
	if err != nil {
		return 0
	}
	at := headValue(head, firstElement(head, headValue(head, headStart(head), "results")), "trial_name")
	if at < 0 {
		return 0
	}
	name, _, serr := scanValue(head, at)
	if m := tbTrialName.FindStringSubmatch(name.words()); serr == nil && m != nil && m[2] == "1" {
		return 1
	}
	return 0
}
