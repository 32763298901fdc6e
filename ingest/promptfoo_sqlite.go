package ingest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"passhat/ingest/store"
)

// pfDatabase is promptfoo.db while it is read.
type pfDatabase struct {
	*promptfooReader
	f              *sqliteFile
	evals, results *sqliteTable
	runs           map[string]*pfRun
	order          []*pfRun
	// legacy are evals of version 2, whose rows stand in evals.results.
	legacy int
}

// database reads every eval of promptfoo.db, each a run of its own.
func (r *promptfooReader) database() error {
	if r.in.Compression != Plain {
		return fmt.Errorf("%s: a compressed database: unpack it first", r.in.Name)
	}
	raw, err := r.in.OpenRaw()
	if err != nil {
		return err
	}
	defer raw.Close()
	wal, closeWAL, err := r.writeAhead()
	if err != nil {
		return err
	}
	defer closeWAL()
	d := &pfDatabase{promptfooReader: r, runs: map[string]*pfRun{}}
	if d.f, err = openSQLite(raw, raw.Size(), wal, r.opt.maxRow()); err != nil {
		return fmt.Errorf("%s: %w", r.in.Name, err)
	}
	if err := d.read(); err != nil && err != errStopped {
		if r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		return fmt.Errorf("%s: %w", r.in.Name, err)
	}
	return nil
}

// sqliteJournalMagic begins a rollback journal that is in use.
const sqliteJournalMagic = "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"

// writeAhead opens the write-ahead log beside the database, if there is one.
func (r *promptfooReader) writeAhead() (*sqliteWAL, func(), error) {
	nothing := func() {}
	if r.in.Path == "" {
		return nil, nothing, nil
	}
	base := r.in.baseName()
	if slices.Contains(r.in.Siblings, base+"-journal") {
		if b, err := r.in.Sibling(base+"-journal", maxBeside); err == nil && bytes.HasPrefix(b, []byte(sqliteJournalMagic)) {
			return nil, nothing, fmt.Errorf("%s: %s-journal beside it says that a transaction is under way, or was broken off: let promptfoo end or open it first", r.in.Name, base)
		}
	}
	if !slices.Contains(r.in.Siblings, base+"-wal") {
		return nil, nothing, nil
	}
	f, err := os.Open(filepath.Join(filepath.Dir(r.in.file), base+"-wal"))
	if err != nil {
		return nil, nothing, fmt.Errorf("%s: open %s-wal beside it: %w", r.in.Name, base, plainPathError(err))
	}
	shut := func() { f.Close() }
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		shut()
		return nil, nothing, fmt.Errorf("%s: %s-wal beside it is no plain file", r.in.Name, base)
	}
	wal, err := openSQLiteWAL(io.NewSectionReader(f, 0, info.Size()), info.Size())
	if err != nil {
		shut()
		return nil, nothing, fmt.Errorf("%s: %w", r.in.Name, err)
	}
	return wal, shut, nil
}

func (d *pfDatabase) read() error {
	tables, err := d.f.tables()
	if err != nil {
		return err
	}
	d.evals, d.results = tables["evals"], tables["eval_results"]
	if d.evals == nil || d.results == nil {
		return fmt.Errorf("it has no tables evals and eval_results: it is an SQLite database, but not one of promptfoo (since late 2024)")
	}
	for _, t := range []*sqliteTable{d.evals, d.results} {
		if !t.rowid {
			return fmt.Errorf("its table %s has no row ids, which promptfoo's has", t.name)
		}
	}
	for _, name := range []string{"id", "eval_id", "prompt_idx", "test_idx", "test_case", "provider", "success", "score"} {
		if d.results.column(name) < 0 {
			return fmt.Errorf("its table eval_results has no column %s (it has %s)", name, fewOf(d.results.columns))
		}
	}
	if err := d.f.scan(d.evals.root, d.eval); err != nil {
		return fmt.Errorf("evals: %w", err)
	}
	columns := d.columns()
	each := func(rec *sqliteRecord) error { return d.result(rec, &columns) }
	for _, second := range []bool{false, true} {
		d.second = second
		for _, run := range d.order {
			if second {
				run.begin()
			}
		}
		if err := d.f.scan(d.results.root, each); err != nil {
			if second {
				return err
			}
			return fmt.Errorf("eval_results: %w", err)
		}
	}
	for _, run := range d.order {
		run.survey.notes(d.in, run)
	}
	if d.legacy > 0 {
		d.in.Note("%s of a promptfoo before late 2024 (version 2), whose rows are not in eval_results: left out; promptfoo export eval ID -o FILE.json gives them", plural(int64(d.legacy), "eval"))
	}
	return nil
}

// eval takes what the rows of one eval share.
func (d *pfDatabase) eval(rec *sqliteRecord) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	if rec.long != nil {
		return nil // its rows say enough to be read
	}
	col := func(name string) int { return d.evals.column(name) }
	run := d.runOf(rec.text(col("id")))
	if run == nil {
		return nil
	}
	run.takeConfig(rec.document(col("config")))
	if s := rec.text(col("description")); s != "" {
		run.description = s
	}
	run.base.RunAt = sqliteTime(rec.value(col("created_at")))
	run.takeOptions(rec.document(col("runtime_options")))
	if run.repeat == 0 && rec.document(col("runtime_options")).Kind == Object {
		run.repeat = 1
	}
	rec.document(col("prompts")).eachElement(func(_ int, p Value) bool {
		m := p.get("metrics")
		if n := m.get("testPassCount").whole(); n.OK {
			run.hasStats = true
			run.successes += n.V
		}
		run.failures += m.get("testFailCount").whole().V
		run.errors += m.get("testErrorCount").whole().V
		return true
	})
	if rec.document(col("results")).get("results").Kind == Array {
		d.legacy++
		run.complete = false
	}
	return nil
}

// runOf is the run of an eval, made at need: rows may outlive their eval.
func (d *pfDatabase) runOf(id string) *pfRun {
	run := d.runs[id]
	if run == nil && len(d.runs) < maxRuns {
		run = newPFRun()
		run.id = id
		d.runs[id] = run
		d.order = append(d.order, run)
	}
	return run
}

// sqliteTime reads the times of the database: milliseconds, or text in UTC.
func sqliteTime(v Value) time.Time {
	if v.Kind == Number {
		at, _ := epochTime(v)
		return at
	}
	at, _, _ := parseTime(v.Text, time.UTC)
	return at
}

// pfColumns are the places of the columns of eval_results.
type pfColumns struct {
	id, evalID, promptIdx, testIdx, testCase, prompt, promptID, provider, latency, cost, response, errorText,
	success, score, grading, named, metadata, failure, created int
}

func (d *pfDatabase) columns() pfColumns {
	col := d.results.column
	return pfColumns{id: col("id"), evalID: col("eval_id"), promptIdx: col("prompt_idx"), testIdx: col("test_idx"), testCase: col("test_case"),
		prompt: col("prompt"), promptID: col("prompt_id"), provider: col("provider"), latency: col("latency_ms"), cost: col("cost"),
		response: col("response"), errorText: col("error"), success: col("success"), score: col("score"), grading: col("grading_result"),
		named: col("named_scores"), metadata: col("metadata"), failure: col("failure_reason"), created: col("created_at")}
}

// result takes one row of eval_results.
func (d *pfDatabase) result(rec *sqliteRecord, c *pfColumns) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	at := fmt.Sprintf("eval_results[%d]", rec.rowid)
	if rec.long != nil {
		if !d.reject(0, at, rec.long.Error(), nil) {
			return errStopped
		}
		return nil
	}
	run := d.runOf(rec.text(c.evalID))
	if run == nil {
		return fmt.Errorf("it holds more than %d evals", maxRuns)
	}
	d.run = run
	row := &pfRow{pos: at, raw: rec.raw, id: rec.text(c.id), promptIdx: indexOf(rec.value(c.promptIdx)), testIdx: indexOf(rec.value(c.testIdx)),
		testCase: rec.document(c.testCase), promptID: rec.value(c.promptID), provider: rec.document(c.provider), latency: rec.value(c.latency),
		cost: rec.value(c.cost), response: rec.document(c.response), errorText: rec.value(c.errorText), score: rec.value(c.score),
		grading: rec.document(c.grading), named: rec.document(c.named), metadata: rec.document(c.metadata),
		failure: rec.value(c.failure).whole(), ended: sqliteTime(rec.value(c.created))}
	success := rec.value(c.success)
	switch n := success.whole(); {
	case n == store.Some[int64](0):
		success = Value{Kind: Bool, Text: []byte("false")}
	case n == store.Some[int64](1):
		success = Value{Kind: Bool, Text: []byte("true")}
	}
	below, reason := row.settle(Value{}, rec.document(c.prompt), success)
	ok := true
	if reason != "" {
		ok = d.reject(0, at+below, reason, nil)
	} else {
		ok = d.row(row)
	}
	if !ok {
		return errStopped
	}
	return nil
}
