package ingest

import (
	"context"
	"fmt"

	"passhat/ingest/store"
)

// pfRun is one eval: what its rows share.
type pfRun struct {
	id, description, version string
	base                     store.Trial
	repeat                   int64 // --repeat; 0: unknown
	cache, concurrency       []byte
	// settings are the providers' by label and by id.
	settings map[string]*pfSettings

	hasStats                    bool
	complete                    bool // every row of it was read
	successes, failures, errors int64
	survey                      *pfSurvey
}

// pfSettings are the sampling settings of a provider.
type pfSettings struct {
	base   store.Trial
	config jsonObject
}

func newPFRun() *pfRun {
	return &pfRun{settings: map[string]*pfSettings{}, survey: newPFSurvey(), complete: true}
}

// promptfooReader reads the rows of one source.
type promptfooReader struct {
	ctx    context.Context
	in     *Input
	opt    *Options
	yield  func(*store.Trial, error) bool
	run    *pfRun
	second bool // the second reading, which yields
}

func newPromptfooReader(ctx context.Context, in *Input, opt *Options, yield func(*store.Trial, error) bool) *promptfooReader {
	return &promptfooReader{ctx: ctx, in: in, opt: opt, yield: yield, run: newPFRun()}
}

// twice reads a source of one eval twice. The first reading keeps its faults to
// itself, since the second meets them again.
func (r *promptfooReader) twice(read func() error) error {
	yield := r.yield
	r.yield = func(*store.Trial, error) bool { return true }
	first := read()
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	r.yield, r.second = yield, true
	r.run.begin()
	if err := read(); err != nil {
		return err
	}
	if first != nil {
		return first
	}
	r.run.survey.notes(r.in, r.run)
	return nil
}

// begin makes what the trials of the eval share, once its fields are known.
func (run *pfRun) begin() {
	run.survey.ready(run.repeat)
	run.base.Suite, run.base.RunID = run.description, run.id
	fill(&run.base.Suite, "promptfoo")
	run.base.Harness, run.base.HarnessVersion = "promptfoo", run.version
}

// row takes a row: the first time for the survey, the second as a trial.
func (r *promptfooReader) row(row *pfRow) bool {
	run := r.run
	if !r.second {
		run.survey.add(row)
		return true
	}
	t := row.trial(run.base)
	t.TaskID, t.Variant = run.survey.name(row), run.survey.variant(row)
	if g := run.survey.groups[row.group()]; g != nil {
		g.name = t.TaskID
		t.PlannedTrials = g.plan()
		t.Trial, t.TrialFrom = store.Some(g.rank(row.testIdx)), store.TrialOrder
	}
	if row.repeatIndex.OK {
		t.Trial, t.TrialFrom = row.repeatIndex, store.TrialExplicit
	}
	run.configure(&t, row)
	return r.yield(&t, nil)
}

// reject yields a row that cannot be read, on the second reading.
func (r *promptfooReader) reject(line int64, at, reason string, raw []byte) bool {
	if !r.second {
		r.run.complete = false
		return true
	}
	return r.yield(nil, NewSyntaxError(r.in, line, at, reason, raw))
}

// configure gives a trial the settings of its provider and of the run.
func (run *pfRun) configure(t *store.Trial, row *pfRow) {
	var config jsonObject
	s := run.settings[row.model]
	if s == nil {
		s = run.settings[row.provider.get("id").words()]
	}
	if own := row.provider.get("config"); own.Kind == Object {
		s = newPFSettings(own)
	}
	if s != nil {
		t.Temperature, t.TopP, t.Seed, t.Effort = s.base.Temperature, s.base.TopP, s.base.Seed, s.base.Effort
		for i, key := range s.config.keys {
			config.raw(key, s.config.values[i])
		}
	}
	if run.cache != nil {
		config.raw("cache", run.cache)
	}
	if run.concurrency != nil {
		config.raw("max_concurrency", run.concurrency)
	}
	setConfig(t, &config)
}

// newPFSettings takes the sampling settings out of a provider's config, which
// may hold keys, headers and whole request bodies beside them.
func newPFSettings(config Value) *pfSettings {
	s := &pfSettings{}
	config.eachMember(func(key string, v Value) bool {
		norm := normalName(key)
		if v.Kind >= Object {
			if norm == "reasoning" && v.get("effort").Kind == String {
				s.base.Effort = v.get("effort").words()
				s.config.text("reasoning_effort", s.base.Effort)
			}
			if n := v.get("budget_tokens").whole(); norm == "thinking" && n.OK {
				s.config.int("thinking_budget_tokens", n.V)
			}
			return true
		}
		if !samplingFields[norm] && norm != "model" && norm != "modelname" {
			return true
		}
		switch norm {
		case "temperature":
			s.base.Temperature = v.number()
		case "topp":
			s.base.TopP = v.number()
		case "seed":
			if n, ok := v.integer(); ok && v.Kind == Number {
				s.base.Seed = store.Some(n)
			}
		case "reasoningeffort", "effort":
			s.base.Effort = v.words()
		}
		s.config.keep(key, v)
		return true
	})
	return s
}

// takeConfig reads the eval's configuration, config of a file or of the
// database.
func (run *pfRun) takeConfig(config Value) {
	config.eachMember(func(key string, v Value) bool {
		switch key {
		case "description":
			run.description = v.words()
		case "providers", "targets":
			run.takeProviders(v)
		case "tests":
			run.survey.declare(v)
		case "evaluateOptions", "commandLineOptions":
			run.takeOptions(v)
		}
		return true
	})
}

// takeProviders reads the list of providers: objects of id and label, or of one
// member whose key is the id.
func (run *pfRun) takeProviders(list Value) {
	add := func(name string, config Value) {
		if name != "" && config.Kind == Object {
			if _, there := run.settings[name]; there {
				run.settings[name] = nil // of two providers of one name neither is known
				return
			}
			run.settings[name] = newPFSettings(config)
		}
	}
	one := func(p Value) {
		config := p.get("config")
		if id := p.get("id"); id.Kind == String {
			add(id.words(), config)
			if label := p.get("label").words(); label != id.words() {
				add(label, config)
			}
			return
		}
		p.eachMember(func(key string, v Value) bool {
			if c := v.get("config"); c.Kind == Object {
				add(key, c)
				add(v.get("label").words(), c)
			}
			return true
		})
	}
	if list.Kind == Array {
		list.eachElement(func(_ int, p Value) bool { one(p); return true })
	} else {
		one(list)
	}
}

// takeOptions reads what eval was called with.
func (run *pfRun) takeOptions(o Value) {
	if n := o.get("repeat").whole(); n.OK && n.V > 0 {
		run.repeat = n.V
	}
	if b := o.get("cache"); b.Kind == Bool {
		run.cache = []byte(string(b.Text))
	}
	if n := o.get("maxConcurrency").whole(); n.OK {
		run.concurrency = appendJSONInt(nil, n.V)
	}
}

// takeVersion checks the version of results.
func (run *pfRun) takeVersion(in *Input, v Value) error {
	if n := v.whole(); n.OK && (n.V == 2 || n.V == 3) {
		return nil
	}
	return fmt.Errorf("%s: results.version is %s: versions 2 and 3 are known", in.Name, quoteShort(v.Text))
}

func (run *pfRun) takeStats(stats Value) {
	s, f := stats.get("successes").whole(), stats.get("failures").whole()
	run.hasStats = s.OK && f.OK
	run.successes, run.failures, run.errors = s.V, f.V, stats.get("errors").whole().V
	if !stats.get("errors").whole().OK {
		run.hasStats = false // version 2 counted errors as failures
	}
}
