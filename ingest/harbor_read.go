package ingest

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"time"

	"passhat/ingest/store"
)

// harborReader reads the jobs of one source.
type harborReader struct {
	ctx   context.Context
	in    *Input
	opt   *Options
	yield func(*store.Trial, error) bool
	tasks []string // --tasks

	run    string // overrides the job's id: several jobs are one run
	folder bool   // trial numbers come from which job

	// of the job under way
	job     harborJob
	doc     Value                    // its result.json; Null without
	config  Value                    // its config.json
	version string                   // of harbor
	id      string                   // of the job
	at      time.Time                // when the job ran
	known   map[string]*harborNamed  // by trial name
	order   []*harborNamed           // in the order of the job's maps
	full    map[string][]string      // full names of tasks by their cut ones
	numbers map[[6]string]int32      // next trial number by task, agent and model
	evals   map[string]*harborTotals // by key

	zeroOutput, disagree, cut, several int64
}

type harborReward struct {
	name  string
	value Value
}

func readHarbor(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		r := &harborReader{ctx: ctx, in: in, opt: opt, yield: yield}
		if err := r.read(); err != nil && err != errStopped {
			yield(nil, err)
		}
	}
}

func (r *harborReader) read() (err error) {
	if r.tasks, err = r.opt.TaskList(); err != nil {
		return err
	}
	if r.in.Folder == nil {
		return r.file()
	}
	jobs := []harborJob{}
	if j, ok := harborJobIn(r.in.Folder, ""); ok {
		jobs = append(jobs, j)
	} else if r.in.Folder.Has(harborResult) {
		jobs = append(jobs, harborJob{trials: []string{harborResult}})
	} else {
		jobs = harborJobsIn(r.in.Folder)
		r.run, r.folder = r.in.Folder.Base(), true
		r.in.Note("%d jobs taken as trials of one run %s (--folder-as trial)", len(jobs), r.run)
	}
	for _, j := range jobs {
		if err := r.read1(j); err != nil {
			return err
		}
	}
	return nil
}

// file reads a result.json that is the source itself, of a job or a trial.
func (r *harborReader) file() error {
	b, err := r.in.readAll(int64(r.opt.maxRow()))
	if err != nil {
		return err
	}
	v, ok := JSONValue(bytes.TrimPrefix(b, []byte(utf8BOM)))
	if !ok || v.Kind != Object {
		return fmt.Errorf("%s: it is no whole JSON object (cut while being written?): Harbor's result.json of a job or of a trial is wanted", r.in.Name)
	}
	j := harborJob{}
	for _, name := range besideHarbor(r.in) {
		if name == harborConfig {
			j.config = name
		} else {
			j.lock = name
		}
	}
	if v.get("trial_name").Kind == String && v.get("stats").Kind != Object {
		r.begin(harborJob{}, Value{}, Value{}, Value{})
		n := &harborNamed{name: v.get("trial_name").words(), inline: v, at: "[0]"}
		r.known[n.name], r.order = n, []*harborNamed{n}
		return r.finish()
	}
	config, err := r.side(j.config)
	if err != nil {
		return err
	}
	lock, err := r.side(j.lock)
	if err != nil {
		return err
	}
	r.begin(j, v, config, lock)
	if err := r.maps(); err != nil {
		return err
	}
	beside := 0
	for _, name := range r.in.Siblings {
		if r.known[name] != nil {
			beside++
		}
	}
	if beside > 0 {
		r.in.Note("%d folders of its trials lie beside it and were not read: name the folder instead of result.json for times, tokens, texts of errors and full names of tasks", beside)
	}
	return r.finish()
}

// read1 reads one job of a folder.
func (r *harborReader) read1(j harborJob) error {
	doc, err := r.side(j.result)
	if err != nil {
		return err
	}
	if j.result != "" && doc.Kind != Object {
		return fmt.Errorf("%s/%s: it is no whole JSON object (cut while being written?): name the trials' result.json alone", r.in.Name, j.result)
	}
	config, err := r.side(j.config)
	if err != nil {
		return err
	}
	lock, err := r.side(j.lock)
	if err != nil {
		return err
	}
	r.begin(j, doc, config, lock)
	if doc.Kind == Object {
		if err := r.maps(); err != nil {
			return err
		}
	} else if j.config != "" {
		r.in.Note("%s: the job has no result.json (unfinished?): its trials were read from their folders", r.jobName())
	}
	if j.open > 0 {
		r.in.Note("%s: %d trial folders have no result.json: unfinished, or deleted for a retry", r.jobName(), j.open)
	}
	if err := r.survey(); err != nil {
		return err
	}
	return r.finish()
}

// side reads a small file of the job; Null where there is none.
func (r *harborReader) side(name string) (v Value, err error) {
	var b []byte
	switch {
	case name == "":
		return v, nil
	case r.in.Folder == nil:
		b, err = r.in.Sibling(name, maxBeside)
	default:
		b, err = r.in.ReadFile(name, int64(r.opt.maxRow()))
	}
	if err != nil {
		return v, err
	}
	v, ok := JSONValue(bytes.TrimPrefix(b, []byte(utf8BOM)))
	if !ok || v.Kind != Object {
		if path.Base(name) != harborResult {
			r.in.Note("%s is no JSON object: nothing was taken from it", name)
		}
		return Value{}, nil
	}
	return v, nil
}

// begin forgets the job before.
func (r *harborReader) begin(j harborJob, doc, config, lock Value) {
	r.job, r.doc, r.config = j, doc, config
	r.id = doc.get("id").words()
	r.version = firstOf(lock.get("harbor", "version"), lock.get("harbor_version")).words()
	r.known, r.order = map[string]*harborNamed{}, nil
	r.full, r.numbers, r.evals = map[string][]string{}, map[[6]string]int32{}, map[string]*harborTotals{}
	r.at = time.Time{}
	if r.opt.TZ != "" {
		r.at = r.in.time(doc.get("started_at"), r.opt)
	}
	for _, t := range r.tasks {
		r.learn(t)
	}
	config.get("tasks").eachElement(func(_ int, t Value) bool {
		if p := firstOf(t.get("path"), t.get("name")).words(); p != "" {
			r.learn(path.Base(strings.ReplaceAll(p, `\`, "/")))
		}
		return true
	})
}

func (r *harborReader) jobName() string {
	if name := r.config.get("job_name").words(); name != "" {
		return name
	}
	if r.job.dir != "" {
		return r.job.dir
	}
	return r.in.Stem
}

// survey reads from every trial folder what the order of trials needs, and
// forgets the rest: a job may have very many.
func (r *harborReader) survey() error {
	for _, file := range r.job.trials {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		v, reason, raw := r.result(file)
		if reason != "" {
			n := r.known[path.Base(path.Dir(file))]
			if n != nil {
				r.in.Note("%s: %s; what the job says of the trial was taken", file, reason)
				continue
			}
			if !r.yield(nil, NewSyntaxError(r.in, 0, file, reason, raw)) {
				return errStopped
			}
			continue
		}
		n := r.trialNamed("", v.get("trial_name").words())
		n.file = file
		r.note(n, v)
	}
	return nil
}

// result reads a trial's result.json; reason says why that cannot be.
func (r *harborReader) result(file string) (v Value, reason string, raw []byte) {
	raw, err := r.in.ReadFile(file, int64(r.opt.maxRow()))
	if err != nil {
		return v, strings.TrimPrefix(err.Error(), r.in.Name+"/"+file+": "), nil
	}
	v, ok := JSONValue(bytes.TrimPrefix(raw, []byte(utf8BOM)))
	switch {
	case !ok || v.Kind != Object:
		return Value{}, "it is no whole JSON object (cut while being written?)", raw
	case v.get("trial_name").words() == "" || v.get("task_name").words() == "":
		return Value{}, "trial_name or task_name is missing: a trial's result is wanted", raw
	}
	return v, "", raw
}

// note keeps what the order of trials and the names of tasks need.
func (r *harborReader) note(n *harborNamed, v Value) {
	n.task, n.id = v.get("task_name").words(), v.get("id").words()
	n.started = r.in.time(v.get("started_at"), r.opt)
	r.learn(n.task)
	if r.id == "" {
		r.id = v.get("config", "job_id").words()
	}
	if r.opt.TZ == "" && !n.started.IsZero() && (r.at.IsZero() || n.started.Before(r.at)) {
		r.at = n.started
	}
}

// finish yields the job's trials in order of time and compares the totals.
func (r *harborReader) finish() error {
	slices.SortStableFunc(r.order, func(a, b *harborNamed) int {
		if a.started.IsZero() != b.started.IsZero() {
			return boolInt(a.started.IsZero()) - boolInt(b.started.IsZero())
		}
		if c := a.started.Compare(b.started); c != 0 {
			return c
		}
		if a.started.IsZero() {
			return 0
		}
		return strings.Compare(a.id, b.id)
	})
	if r.at.IsZero() {
		r.at = r.in.time(r.doc.get("started_at"), r.opt)
	}
	for _, n := range r.order {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err := r.trial(n); err != nil {
			return err
		}
	}
	r.compare()
	return nil
}
