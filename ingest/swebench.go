package ingest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"passhat/ingest/store"
)

// sweBench reads what SWE-bench and its kin write: lists of instance ids, maps
// of them, and a folder of one report an instance.
var sweBench = Format{
	Name:    "swe-bench",
	Doc:     "reports of SWE-bench: run reports, older report.json and final_report.json, per-instance folders, eval_results.json of SWE-bench Pro",
	Version: 1,
	Placed:  true,
	Recognised: "a JSON object with resolved_ids or resolved beside other lists of instance ids; one of {instance: {patch_exists, resolved, …}} or " +
		"{instance: true}; a folder whose folders hold such a report.json (logs/run_evaluation/RUN/MODEL)",
	Match: matchSWEBench,
	Claim: claimSWEBench,
	Read:  readSWEBench,
	Fields: []FieldDoc{
		{"suite", "", "swe-bench, or swe-bench-pro where the ids begin with instance_; --suite says which split"},
		{"run_id", "file name MODEL.RUN.json, else folders", "logs/run_evaluation/RUN/MODEL; RUN/results/results.json; else the file's folder, with the one above where it is called after results"},
		{"model", "file name MODEL.RUN.json, or the folder", "with __ for /; NULL elsewhere: --set model=…"},
		{"task_id", "instance ids", ""},
		{"trial", "", "one an instance and run; --folder-as trial makes the run folders of one folder the trials of one run"},
		{"trial_uid", "model and instance", "where run and model come from names that SWE-bench gave, so that a run report and the per-instance reports of the same run count once"},
		{"passed", "resolved_ids, resolved", "true; false for unresolved_ids, empty_patch_ids, no_generation, no_apply, and what was applied but not resolved; " +
			"ungraded for error_ids, incomplete_ids and whatever else got no verdict"},
		{"pass_rule", "", "resolved"},
		{"scores", "report.json: tests_status", "fail_to_pass and pass_to_pass: share of the tests that succeeded"},
		{"error_type, error_message", "error_ids, empty_patch_ids, failure_reasons, install_fail, test_timeout, …; report.json: patch_*, infra_failure", ""},
		{"trace", "the folder of the instance", "per-instance folders only"},
		{"extra", "", "repo; list: the lists of the report in which the instance stands"},
		{"harness", "", "swe-bench"},
	},
	Notes: []string{
		"A report holds each instance once: several samples of one instance collapse to the last one before SWE-bench grades. Repeats are further runs.",
		"error_ids are ungraded: SWE-bench counts them as not resolved (as --policy fail does), but they hold patches that did not apply as well as failures of the machinery, and the report does not tell which.",
		"infra_failure_ids and ambiguous_failure_ids are advice: the instance keeps its verdict, the reason is in error_message.",
		"--tasks-file FILE names the tasks of the suite, one a line: those that a report does not mention become ungraded trials.",
		"final_report.json and other files that list only what was resolved are refused without --tasks-file FILE, since the failures are not in them; with it, every other task is not resolved.",
		"Totals of the report are compared with its lists, and a mismatch is said with both numbers.",
		"An existing report.json is reused by SWE-bench when the same run is evaluated again, even for another patch: such a run is a mixture that the files do not show.",
		"It cannot know time, cost, tokens, or whether the run is of the Lite, Verified or full split.",
	},
}

// sweInstance is the form of ids: repo__name-number, instance_…, org/repo:pr-1.
var sweInstance = regexp.MustCompile(`^(instance_)?[\w.-]+(__|/)[\w.-]+([-:][\w.-]+)$`)

type sweKind int

const (
	sweNone    sweKind = iota
	sweRun             // lists of instance ids
	sweReports         // {id: {resolved, …}}
	sweMap             // {id: bool}
)

// sweLists are the keys of which a report of lists has some beside resolved.
var sweLists = []string{"resolved_ids", "unresolved_ids", "completed_ids", "empty_patch_ids", "incomplete_ids", "error_ids", "submitted_ids",
	"no_generation", "no_logs", "generated", "with_logs", "install_fail", "reset_failed", "no_apply", "applied", "test_errored", "test_timeout",
	"resolved_per_project"}

func matchSWEBench(p *Probe) Match {
	if sweKindOf(p.Head) == sweNone {
		return NoMatch
	}
	return Specific
}

// sweKindOf looks at the first keys and values.
func sweKindOf(head []byte) sweKind {
	b := bytes.TrimPrefix(head, []byte(utf8BOM))
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return sweNone
	}
	fields, _, _ := scanObject(b, i, nil)
	if len(fields) == 0 {
		return sweNone
	}
	keys := map[string]bool{}
	reports, flags := 0, 0
	for _, f := range fields {
		cut := f.val.Text == nil // the head ends in it
		if f.val.Kind != Bool && (string(f.key) != "resolved" || f.val.Kind == Array || cut) {
			keys[string(f.key)] = true
		}
		switch {
		case !sweInstance.Match(f.key):
		case f.val.Kind == Bool:
			flags++
		case f.val.Kind == Object && f.val.get("resolved").Kind == Bool && (f.val.get("patch_exists").Kind == Bool || f.val.get("patch_is_None").Kind == Bool),
			cut && bytes.Contains(b, []byte(`"resolved"`)) && bytes.Contains(b, []byte(`"patch_exists"`)):
			reports++
		}
	}
	n := 0
	for _, key := range sweLists {
		n += boolInt(keys[key])
	}
	switch {
	case keys["results"] && keys["n_resolved"]:
		return sweNone // Terminal-Bench's, which lists resolved tasks likewise
	case keys["resolved_ids"] && n > 1, keys["resolved"] && n > 0, keys["total_instances"] && n > 1:
		return sweRun
	case reports == len(fields):
		return sweReports
	case flags >= len(fields)-1 && flags > 0: // the last one may be cut
		return sweMap
	}
	return sweNone
}

func readSWEBench(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return streamed(func(yield yieldTrial) error {
		tasks, err := opt.TaskList()
		if err != nil {
			return err
		}
		r := &sweReader{ctx: ctx, in: in, opt: opt, yield: yield, tasks: tasks, seen: map[string]bool{}}
		r.base.Suite, r.base.Harness = "swe-bench", "swe-bench"
		r.known = make(map[string]bool, len(tasks))
		for _, id := range tasks {
			r.known[id] = true
		}
		if in.Folder != nil {
			err = r.folder()
		} else {
			err = r.file()
		}
		return err
	})
}

// sweReader reads one report or folder.
type sweReader struct {
	ctx   context.Context
	in    *Input
	opt   *Options
	yield yieldTrial
	tasks []string // of --tasks-file
	known map[string]bool

	base store.Trial
	uid  bool // run and model identify a trial together with its instance
	seen map[string]bool
	kind sweKind
}

func (r *sweReader) file() error {
	p, err := probe(r.in)
	if err != nil {
		return err
	}
	r.kind = sweKindOf(p.Head)
	r.named()
	d, c, closer, err := openDocument(r.ctx, r.in, r.opt, r.yield)
	if err != nil {
		return err
	}
	defer closer.Close()
	if c != '{' {
		return fmt.Errorf("%s: byte %d: a report of SWE-bench begins with {, found %q", r.in.Name, d.s.offset+1, c)
	}
	if r.kind == sweReports || r.kind == sweMap {
		return r.byInstance(d)
	}
	return r.report(d)
}

// sweResults are names of folders that say nothing of the run in them.
var sweResults = []string{"results", "result", "eval", "evaluation", "evaluations", "evals", "output", "outputs", "logs", "reports"}

// named takes run and model from the file's name and folders.
func (r *sweReader) named() {
	if r.in.Path == "" {
		return
	}
	parts := strings.Split(filepath.ToSlash(filepath.Dir(r.in.Path)), "/")
	up := func(n int) string { // the n-th folder above, from 1
		if n > len(parts) {
			return ""
		}
		return parts[len(parts)-n]
	}
	stem := r.in.Stem
	switch {
	case stem == "report" && r.kind == sweReports: // …/RUN/MODEL/INSTANCE/report.json
		r.base.RunID, r.base.Model = up(3), sweModel(up(2))
		r.uid = r.base.RunID != "" && r.base.Model != ""
	case slices.Contains([]string{"report", "final_report", "results", "eval_results"}, stem):
		if model := r.onlyFolder(); stem == "results" && up(2) == "evaluation" && model != "" { // logs/evaluation/RUN/results.json
			r.base.RunID, r.base.Model, r.uid = up(1), sweModel(model), true
			break
		}
		switch low := strings.ToLower(up(1)); {
		case slices.Contains(sweResults, low):
			r.base.RunID = up(2)
		case strings.Contains(low, "eval") || strings.Contains(low, "result"):
			r.base.RunID = strings.TrimPrefix(up(2)+"/"+up(1), "/")
		default:
			r.base.RunID = up(1)
		}
	default: // MODEL.RUN.json
		i := strings.LastIndexByte(stem, '.')
		if i <= 0 || i == len(stem)-1 || r.kind != sweRun {
			r.base.RunID = stem
			break
		}
		r.base.RunID, r.base.Model, r.uid = stem[i+1:], sweModel(stem[:i]), true
	}
}

// onlyFolder is the one name beside the source that has no suffix, "" if there
// are several.
func (r *sweReader) onlyFolder() (name string) {
	for _, s := range r.in.Siblings {
		if strings.HasPrefix(s, ".") || strings.HasSuffix(s, ".json") || strings.HasSuffix(s, ".log") || strings.HasSuffix(s, ".txt") {
			continue
		}
		if name != "" {
			return ""
		}
		name = s
	}
	return name
}

// sweModel undoes what SWE-bench does to a model's name for a file's.
func sweModel(name string) string { return strings.ReplaceAll(name, "__", "/") }

// sweVerdict is what a report says of an instance.
type sweVerdict struct {
	id      string
	passed  store.Opt[bool]
	kind    string // of error
	message string
	at      string // place in the source
	extra   jsonObject
	scores  string
	raw     []byte
	trace   string
	trial   store.Opt[int32]
}

// trialOf hands on the trial of a verdict.
func (r *sweReader) trialOf(v *sweVerdict) error {
	t := newTrial(r.base, v.at, v.raw)
	t.TaskID, t.Passed, t.ErrorType, t.ErrorMessage, t.Scores, t.Trace = v.id, v.passed, v.kind, v.message, v.scores, v.trace
	t.ScoreName, t.PassRule = "resolved", "resolved"
	if strings.HasPrefix(v.id, "instance_") {
		t.Suite = "swe-bench-pro"
	}
	if r.uid {
		t.TrialUID = t.Model + " " + v.id
	}
	if v.trial.OK {
		t.Trial, t.TrialFrom = v.trial, store.TrialFolder
	}
	v.extra.text("repo", sweRepo(v.id))
	t.Extra = v.extra.String()
	r.seen[v.id] = true
	if !r.yield(&t, nil) {
		return errStopped
	}
	return nil
}

// sweRepo is the repository in an instance's id, "" where there is none.
func sweRepo(id string) string {
	id = strings.TrimPrefix(id, "instance_")
	if org, rest, ok := strings.Cut(id, "__"); ok {
		if i := strings.LastIndexByte(rest, '-'); i > 0 {
			return org + "/" + sweRest(rest, i)
		}
	} else if repo, _, ok := strings.Cut(id, ":"); ok && strings.Contains(repo, "/") {
		return repo
	}
	return ""
}

// sweRest cuts number or commit and version off the repository's name.
func sweRest(rest string, i int) string {
	if m := sweCommit.FindStringIndex(rest); m != nil {
		return rest[:m[0]]
	}
	return rest[:i]
}

var sweCommit = regexp.MustCompile(`-[0-9a-f]{40}(-v.*)?$`)

// missing hands on the tasks of --tasks-file that the source does not mention.
func (r *sweReader) missing(verdict store.Opt[bool], why string) (n int, err error) {
	for _, id := range r.tasks {
		if r.seen[id] {
			continue
		}
		n++
		v := &sweVerdict{id: id, at: "--tasks-file", raw: []byte("--tasks-file " + id), passed: verdict}
		v.extra.text("list", why)
		if err := r.trialOf(v); err != nil {
			return n, err
		}
	}
	return n, nil
}

// compareTasks says how --tasks-file and the source differ.
func (r *sweReader) compareTasks(strange []string) {
	if len(strange) > 0 {
		slices.Sort(strange)
		r.in.Note("%s that --tasks-file does not list, counted all the same: %s", plural(int64(len(strange)), "instance"), strings.Join(firstFew(strange), ", "))
	}
}

// strange are the instances seen that --tasks-file lacks.
func (r *sweReader) strange() (out []string) {
	if r.tasks == nil {
		return nil
	}
	for id := range r.seen {
		if !r.known[id] {
			out = append(out, id)
		}
	}
	return out
}
