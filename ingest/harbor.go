package ingest

import (
	"path"
	"slices"
	"strings"
)

// harbor reads the results of Harbor: a job's folder, the job's result.json
// alone, and results of single trials.
var harbor = Format{
	Name:    "harbor",
	Doc:     "job and trial results of Harbor: a job folder, its result.json, or result.json of trials",
	Version: 1,
	Recognised: "an object with n_total_trials and stats (a job), or with task_name, trial_name and agent_info, trial_uri or task_checksum (a trial); " +
		"a folder with a job's result.json, or whose own folders hold trials' result.json, is one source",
	Match:  matchHarbor,
	Claim:  claimHarbor,
	Beside: besideHarbor,
	Read:   readHarbor,
	Fields: []FieldDoc{
		{"suite", "trial: source; job: the data set in the key of stats.evals", "adhoc where there is none"},
		{"run_id", "job: id; trial: config.job_id", ""},
		{"run_at", "the earliest trial's start; job: started_at", "a job's times have no zone and those of its trials do, so they are never compared: with --tz the job's time counts, without it the trials'"},
		{"task_id", "trial: task_name", "from a job alone the part of the trial's name before its random end, which Harbor cuts to 32 characters"},
		{"trial", "", "by started_at, then id, within task, agent and model: Harbor has no numbers of its own; trial_from is time, or order where no time is known"},
		{"planned_trials", "config.json: n_attempts", ""},
		{"trial_uid", "trial_name", "the same whether it comes from the job or from the trial; its uuid is in extra"},
		{"passed", "verifier_result.rewards, stats.evals.*.reward_stats", "1 passes, any other number fails, none is ungraded (Harbor itself counts it as 0)"},
		{"pass_rule", "", "reward = 1"},
		{"score, score_name, scores", "the same", "reward, or the only one, or the one called by --score"},
		{"error_type, error_message", "exception_info, stats.evals.*.exception_stats", "independent of the reward: both may be there"},
		{"model", "agent_info.model_info.{provider, name}, config.json: agents[].model_name", "provider/name; from a job's result.json alone without the provider"},
		{"agent", "agent_info.name", ""},
		{"effort, temperature, top_p, seed", "config.agent.kwargs", "only sampling settings are taken out of kwargs"},
		{"config", "config.json, config", "agent, agent_version, model, sampling settings, timeout_multiplier, environment type"},
		{"harness_version", "lock.json: harbor.version", "if it is there"},
		{"started_at", "trial: started_at", ""},
		{"duration_s", "agent_execution", "the agent's time; extra has trial_s and those of the other phases"},
		{"input_tokens, output_tokens, cost_usd", "agent_result", "input includes cached tokens (extra.n_cache_tokens); 0 means unknown"},
		{"turns", "agent_result.metadata.n_episodes", "where the agent says so"},
		{"trace", "folder of the trial", "else trial_uri"},
		{"extra", "", "id, eval, job_name, task_checksum, task_git_commit, n_cache_tokens, phases in seconds, steps"},
	},
	Notes: []string{
		"A job's trials are those named in its reward_stats and exception_stats together with those that have a folder; what a folder has (times, tokens, the full name of the task, the error's text) is added to its trial.",
		"Both schemas of stats are read: n_trials and n_errors, and n_completed_trials, n_errored_trials and the rest since 0.13. Totals and means are compared with what was found; a mismatch is said with both numbers.",
		"An exception does not decide the verdict, and a missing reward is not a zero.",
		"n_retries and resumed jobs (harbor jobs resume) ran failed trials again and deleted the first outcome: where the job counts retries, that is said. Such rates are too high, and nothing in the log can undo it.",
		"n_output_tokens of 0 beside input tokens is taken as unknown, and counted.",
		"Names of tasks that are cut to 32 characters are completed from the trials' folders, or from --tasks-file FILE; two long names that begin alike cannot be told apart without.",
		"--folder-as trial takes several job folders in one folder as trials of one run.",
		"It cannot know: which trial came first where there are no trial folders, the true zone of the job's times, and what agents[].kwargs were where two agents share name and model.",
	},
}

const (
	harborResult = "result.json"
	harborConfig = "config.json"
	harborLock   = "lock.json"
)

func matchHarbor(p *Probe) Match {
	if isHarborJob(p.Head) || isHarborTrial(p.Head) {
		return Specific
	}
	return NoMatch
}

func isHarborJob(b []byte) bool {
	i := headStart(b)
	if !hasAll(headKeys(b, i), "n_total_trials", "stats") {
		return false
	}
	stats := headKeys(b, max(headValue(b, i, "stats"), 0))
	return stats["evals"] || stats["n_trials"] || stats["n_completed_trials"]
}

func isHarborTrial(b []byte) bool {
	keys := headKeys(b, headStart(b))
	return hasAll(keys, "task_name", "trial_name") && (keys["agent_info"] || keys["trial_uri"] || keys["task_checksum"])
}

func besideHarbor(in *Input) []string {
	var names []string
	for _, name := range []string{harborConfig, harborLock} {
		if slices.Contains(in.Siblings, name) {
			names = append(names, name)
		}
	}
	return names
}

// harborJob is one job in a claimed folder.
type harborJob struct {
	dir    string   // "" for the folder itself
	result string   // the job's result.json, "" if there is none
	config string   // config.json and lock.json of the job, "" if absent
	lock   string   //
	trials []string // result.json of each trial
	open   int      // trial folders without one
}

// harborJobIn finds a job whose files lie in dir, by names and a look at the
// first of them; not ok if there is none.
func harborJobIn(d *Folder, dir string) (j harborJob, ok bool) {
	prefix := ""
	if dir != "" {
		prefix = dir + "/"
	}
	j.dir = dir
	started := map[string]bool{}
	from, _ := slices.BinarySearch(d.Files, prefix)
	for _, f := range d.Files[from:] {
		rest, below := strings.CutPrefix(f, prefix)
		if !below {
			break
		}
		switch base := path.Base(f); {
		case rest == harborConfig:
			j.config = f
		case rest == harborLock:
			j.lock = f
		case strings.Count(rest, "/") != 1:
		case base == harborResult:
			j.trials = append(j.trials, f)
		case base == harborConfig:
			started[path.Dir(f)] = true
		}
	}
	for _, f := range j.trials {
		delete(started, path.Dir(f))
	}
	j.open = len(started)
	if d.Has(prefix + harborResult) {
		head, err := d.Head(prefix + harborResult)
		j.result = prefix + harborResult
		return j, err == nil && isHarborJob(head)
	}
	return j, len(j.trials) > 0 && harborTrialsIn(d, j.trials)
}

// harborTrialsIn looks into some of the files that names promised.
func harborTrialsIn(d *Folder, files []string) bool {
	step := max(len(files)/32, 1)
	for i := 0; i < len(files); i += step {
		if head, err := d.Head(files[i]); err != nil || !isHarborTrial(head) {
			return false
		}
	}
	return true
}

func (j *harborJob) files() []string {
	files := slices.Clone(j.trials)
	for _, f := range []string{j.result, j.config, j.lock} {
		if f != "" {
			files = append(files, f)
		}
	}
	return files
}

// claimHarbor takes the folder of a job, of one trial, and on request that of
// several jobs.
func claimHarbor(d *Folder, opt *Options) []string {
	if j, ok := harborJobIn(d, ""); ok {
		return j.files()
	}
	if d.Has(harborResult) {
		if head, err := d.Head(harborResult); err == nil && isHarborTrial(head) {
			return []string{harborResult}
		}
		return nil
	}
	if opt.FolderAs != "trial" {
		return nil
	}
	var files []string
	jobs := harborJobsIn(d)
	for _, j := range jobs {
		files = append(files, j.files()...)
	}
	if len(jobs) < 2 {
		return nil
	}
	return files
}

// harborJobsIn finds the jobs that lie directly in a folder.
func harborJobsIn(d *Folder) []harborJob {
	var jobs []harborJob
	for _, f := range d.Below(harborResult) {
		if j, ok := harborJobIn(d, path.Dir(f)); ok {
			jobs = append(jobs, j)
		}
	}
	return jobs
}
