package ingest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"passhat/ingest/store"
)

// tbReader reads the runs of one source.
type tbReader struct {
	ctx   context.Context
	in    *Input
	opt   *Options
	yield func(*store.Trial, error) bool

	looked  bool   // for fileRun
	fileRun string // the run that recordings of the file name

	info *tbInfo
	// submission says that the runs are trials of one run; rank is the place of
	// the run under way.
	submission bool
	rank       int32

	// of the run under way
	passes, trials int64
	tasks          map[string][2]int64 // n, c
	empty          int64               // resolved without any test result
	header         tbHeader
}

// tbHeader holds the totals of a results.json.
type tbHeader struct {
	accuracy         store.Opt[float64]
	resolved, failed store.Opt[int64]
	passAt           map[int64]float64
}

func readTerminalBench(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		r := &tbReader{ctx: ctx, in: in, opt: opt, yield: yield}
		if err := r.read(); err != nil && err != errStopped {
			yield(nil, err)
		}
	}
}

func (r *tbReader) read() error {
	if r.in.Folder == nil {
		info, err := r.metadata(tbRun{name: r.in.Stem, meta: r.beside(tbMeta), lock: r.beside(tbLock)})
		if err != nil {
			return err
		}
		return r.run(info)
	}
	runs := []tbRun{}
	if one, ok := tbRunIn(r.in.Folder, ""); ok {
		runs = append(runs, one)
	} else {
		runs, _ = tbRunsOf(r.in.Folder.Files, r.in.Folder)
	}
	infos := make([]*tbInfo, len(runs))
	for i, run := range runs {
		var err error
		if infos[i], err = r.metadata(run); err != nil {
			return err
		}
	}
	if len(infos) > 1 {
		r.together(infos)
	}
	for i, info := range infos {
		r.rank = int32(i)
		if err := r.run(info); err != nil {
			return err
		}
	}
	return nil
}

func (r *tbReader) beside(name string) string {
	if slices.Contains(r.in.Siblings, name) {
		return name
	}
	return ""
}

// together makes the runs of a folder trials of one run where they are of one
// configuration, and says what was done.
func (r *tbReader) together(infos []*tbInfo) {
	keys := map[string]int{}
	var names []string
	var planned int32
	var at time.Time
	for _, info := range infos {
		if keys[info.key]++; keys[info.key] == 1 {
			names = append(names, info.key)
		}
		planned += max(info.attempts.V, 1)
		if b := info.base.RunAt; !b.IsZero() && (at.IsZero() || b.Before(at)) {
			at = b
		}
	}
	folder := r.in.Folder.Base()
	if len(keys) > 1 && r.opt.FolderAs != "trial" {
		r.in.Note("its %d runs are of different configurations (%s), so each stays a run of its own; --folder-as trial makes them trials of one run",
			len(infos), strings.Join(firstFew(names), " | "))
		return
	}
	r.submission = true
	for _, info := range infos {
		info.base.RunID, info.base.RunAt = folder, at
		info.attempts = store.Some(planned)
	}
	switch {
	case len(keys) > 1:
		r.in.Note("%d runs taken as trials of one run %s (--folder-as trial) although their configurations differ: %s", len(infos), folder, strings.Join(firstFew(names), " | "))
	case names[0] == "":
		r.in.Note("%d runs of one attempt each taken as trials of one run %s; no metadata says that they are of one configuration (--folder-as run keeps them apart)", len(infos), folder)
	default:
		r.in.Note("%d runs of one attempt each and one configuration (%s) taken as trials of one run %s; --folder-as run keeps them apart", len(infos), names[0], folder)
	}
}

func (i *tbInfo) read(r *tbReader, meta, lock Value) {
	t, config := &i.base, jsonObject{}
	pick := func(key string, v ...Value) string {
		s := firstOf(v...).words()
		config.text(key, s)
		return s
	}
	name := pick("dataset_name", meta.get("dataset_name"), lock.get("dataset", "name"))
	version := pick("dataset_version", meta.get("dataset_version"), lock.get("dataset", "version"))
	switch {
	case name != "" && version != "":
		t.Suite = name + "@" + version
	case name != "":
		t.Suite = name
	default:
		if p := firstOf(meta.get("dataset_path"), lock.get("dataset", "local_path")).words(); p != "" && p[0] != '(' {
			t.Suite = path.Base(strings.ReplaceAll(p, `\`, "/"))
			config.text("dataset_path", t.Suite)
		}
	}
	t.Agent = pick("agent_name", meta.get("agent_name"), lock.get("agent", "name"))
	t.Model = pick("model_name", meta.get("model_name"), lock.get("agent", "model_name"))
	kwargs := firstOf(meta.get("agent_kwargs"), lock.get("agent", "kwargs"))
	fillSampling(t, &config, kwargs)
	for _, key := range []string{"global_timeout_multiplier", "global_agent_timeout_sec", "global_test_timeout_sec"} {
		config.keep(key, firstOf(lock.get("run_config", key), lock.get(key)))
	}
	setConfig(t, &config)
	i.key = strings.Join(slices.DeleteFunc([]string{t.Agent, t.Model, name, version, sampling(kwargs)}, func(s string) bool { return s == "" }), ", ")
	t.RunID = firstOf(meta.get("run_id"), lock.get("run_config", "run_id")).words()
	t.RunAt = r.in.time(meta.get("start_time"), r.opt)
	t.HarnessVersion = firstOf(lock.get("harness", "version"), lock.get("harness_version")).words()
	if c := firstOf(meta.get("commit_hash"), lock.get("harness", "git_commit_hash")).words(); c != "unknown" {
		t.GitCommit = c
	}
	i.attempts = firstOf(meta.get("n_attempts"), lock.get("run_config", "n_attempts")).small()
	i.tasks = int64(meta.get("task_ids").length())
	i.accuracy = meta.get("accuracy").number()
	i.extra.keep("n_concurrent_trials", firstOf(meta.get("n_concurrent_trials"), lock.get("run_config", "n_concurrent_trials")))
	if at := meta.get("resumed_at"); at.words() != "" {
		i.extra.keep("resumed_at", at)
		r.in.Note("%s was resumed at %s: what had not finished was run again", i.run.name, at.words())
	}
}

// run reads the trials of one run.
func (r *tbReader) run(info *tbInfo) error {
	r.info, r.passes, r.trials, r.empty = info, 0, 0, 0
	r.tasks, r.header = map[string][2]int64{}, tbHeader{}
	if r.in.Folder != nil && info.run.results == "" {
		r.in.Note("%s has no results.json: its %d trials were read from their own folders; those that threw inside the harness have none", info.run.name, len(info.run.trials))
		for _, file := range info.run.trials {
			if err := r.single(file); err != nil {
				return err
			}
		}
		return r.compare()
	}
	if r.in.Folder == nil {
		if head, err := r.in.head(); err != nil || isTBTrial(head, headStart(head)) {
			if err == nil {
				err = r.alone()
			}
			return err
		}
	}
	return r.document(info.run.results)
}

// document streams a results.json with all trials of a run.
func (r *tbReader) document(file string) error {
	w, err := r.in.walk(r.ctx, file, r.opt, r.yield)
	if err != nil {
		return err
	}
	defer w.Close()
	found := false
	err = w.object(func(key string, c byte) error {
		if key == "results" && c == '[' {
			found = true
			return w.list("results", r.trial)
		}
		v, err := w.whole(c)
		if err == nil {
			r.total(key, v)
		}
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("%s: results is missing: an object with a list results of trials is wanted, as tb run writes it", w.name)
	}
	if err != nil {
		return err
	}
	return r.compare()
}

// alone reads a source that is the results.json of one trial.
func (r *tbReader) alone() error {
	b, err := r.in.readAll(int64(r.opt.maxRow()))
	if err != nil {
		return err
	}
	return r.trial("[0]", bytes.TrimPrefix(b, []byte(utf8BOM)))
}

// single reads the results.json of one trial.
func (r *tbReader) single(file string) error {
	b, err := r.in.ReadFile(file, int64(r.opt.maxRow()))
	if err != nil {
		return err
	}
	return r.trial(file, b)
}

// total keeps a total of the file's own.
func (r *tbReader) total(key string, v Value) {
	switch key {
	case "accuracy":
		r.header.accuracy = v.number()
	case "n_resolved":
		r.header.resolved = v.whole()
	case "n_unresolved":
		r.header.failed = v.whole()
	case "pass_at_k":
		r.header.passAt = map[int64]float64{}
		v.eachMember(func(k string, p Value) bool {
			if n, err := strconv.ParseInt(k, 10, 32); err == nil && p.number().OK {
				r.header.passAt[n] = p.number().V
			}
			return len(r.header.passAt) < 100
		})
	}
}

// compare holds the totals of the file against what was read.
func (r *tbReader) compare() error {
	name, h := r.info.run.name, &r.header
	differs := func(what string, says, found float64) {
		r.in.Note("%s: %s is %s in the file, %s over the trials read", name, what, formatNumber(says), formatNumber(found))
	}
	if h.resolved.OK && h.resolved.V != r.passes {
		differs("n_resolved", float64(h.resolved.V), float64(r.passes))
	}
	if h.failed.OK && h.failed.V != r.trials-r.passes {
		differs("n_unresolved", float64(h.failed.V), float64(r.trials-r.passes))
	}
	if r.trials > 0 {
		found := float64(r.passes) / float64(r.trials)
		if h.accuracy.OK && math.Abs(h.accuracy.V-found) > 1e-9 {
			differs("accuracy", h.accuracy.V, found)
		} else if a := r.info.accuracy; a.OK && math.Abs(a.V-found) > 1e-9 {
			differs("accuracy (of run_metadata.json)", a.V, found)
		}
	}
	for _, k := range sortedKeys(h.passAt) {
		if found, ok := passAtK(r.tasks, k); ok && math.Abs(h.passAt[k]-found) > 1e-6 {
			differs(fmt.Sprintf("pass@%d", k), h.passAt[k], found)
		}
	}
	if n := int64(len(r.tasks)); r.info.tasks > 0 && n != r.info.tasks {
		r.in.Note("%s: run_metadata.json lists %d tasks, %d have trials", name, r.info.tasks, n)
	}
	if r.empty > 0 {
		r.in.Note("%s: %d trials are resolved without a single test result (empty parser_results)", name, r.empty)
	}
	return nil
}
