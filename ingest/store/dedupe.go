package store

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"path/filepath"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// findings are what the duplicate check says about a batch.
type findings struct {
	duplicates int64
	regraded   int64
	runs       map[uint32]bool // runs that hold a trial twice within this batch
	shared     map[uint32]bool // runs that hold a trial that an older batch has too
}

// olderFile is a live file that holds rows of a run that the batch has too.
type olderFile struct {
	path string
	runs map[batchRun]bool // only rows of these are looked at; nil: all
}

type batchRun struct {
	batch string
	RunKey
}

func (f *olderFile) want(row *storedRow) bool {
	return f.runs == nil || f.runs[batchRun{row.batch, RunKey{row.Suite, row.RunID}}]
}

// older lists the files whose rows could be the same trials as the batch's;
// leaveOut are batches that end with this commit.
func (b *Batch) older(st *state, leaveOut []string) []olderFile {
	var out []olderFile
	at := map[string]int{} // by path: batches may share a file
	for _, r := range st.live(KindTrials) {
		if slices.Contains(leaveOut, r.Batch) {
			continue
		}
		var runs []batchRun
		suites := map[string]bool{}
		for _, run := range r.Runs {
			mine := b.runs[run.RunKey]
			if mine != nil && !mine.Made && !run.Made && !st.masks[r.Batch][run.RunKey] {
				runs = append(runs, batchRun{r.Batch, run.RunKey})
				suites[run.Suite] = true
			}
		}
		if len(runs) == 0 {
			continue
		}
		for _, f := range r.Files {
			if f.Suites != nil && !slices.ContainsFunc(f.Suites, func(s string) bool { return suites[s] }) {
				continue
			}
			i, ok := at[f.Path]
			if !ok {
				i = len(out)
				at[f.Path] = i
				out = append(out, olderFile{b.s.path(filepath.FromSlash(f.Path)), map[batchRun]bool{}})
			}
			for _, run := range runs {
				out[i].runs[run] = true
			}
		}
	}
	return out
}

// dedupe looks for trials that are there more than once, in the batch itself
// and in older files. Different verdicts of one trial are an ErrConflict.
func (b *Batch) dedupe(ctx context.Context, older []olderFile) (findings, error) {
	res := findings{runs: map[uint32]bool{}}
	total := int64(0)
	for _, p := range b.parts {
		total += p.ids.groups()
	}
	if total == 0 {
		return res, nil
	}
	passes := passesFor(2 * total) // a group takes more room than a row
	for pass := range passes {
		t, err := b.fill(ctx, total, pass, passes)
		if err != nil {
			return res, err
		}
		for _, f := range older {
			err := readKeys(ctx, f.path, f.want,
				func(row *storedRow, id identity) {
					if s := t.find(id.group); s != nil {
						s.older[verdictIndex(row.Passed)] |= 1 << id.bit
					}
				})
			if err != nil {
				return res, err
			}
		}
		conflicts := res.tally(t)
		if len(conflicts) > 0 {
			return res, b.conflict(ctx, conflicts, older)
		}
	}
	return res, nil
}

// fill enters this batch's groups that belong to a pass.
func (b *Batch) fill(ctx context.Context, total, pass, passes int64) (*groupTable, error) {
	t := newGroupTable(total / passes * 5 / 4)
	for _, p := range b.parts {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		err := p.ids.each(func(g *idGroup) {
			if passOf(g.hash, passes) != pass {
				return
			}
			t.add(g)
		})
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// tally counts what a filled table says and returns the contradictions.
func (f *findings) tally(t *groupTable) []identity {
	var conflicts []identity
	for i := range t.groups {
		s := &t.groups[i]
		all := s.mine[0] | s.mine[1] | s.mine[2] // what older batches hold besides is not this one's fault
		if both := all & (s.mine[0] | s.older[0]) & (s.mine[1] | s.older[1]); both != 0 {
			for ; both != 0; both &= both - 1 {
				conflicts = append(conflicts, identity{s.hash, uint8(bits.TrailingZeros64(both))})
			}
			continue
		}
		if s.rows > int64(bits.OnesCount64(all)) {
			f.runs[s.run] = true
		}
		graded := s.older[0] | s.older[1]
		if all&(graded|s.older[2]) != 0 {
			if f.shared == nil {
				f.shared = map[uint32]bool{}
			}
			f.shared[s.run] = true
		}
		regraded := (s.mine[0] | s.mine[1]) & s.older[2] &^ graded
		f.regraded += int64(bits.OnesCount64(regraded))
		counted := all&^(graded|s.older[2]) | regraded
		f.duplicates += s.rows - int64(bits.OnesCount64(counted))
	}
	return conflicts
}

// conflict names two rows that are one trial with two verdicts. Where they lie
// is looked up only now, since it hardly ever happens.
func (b *Batch) conflict(ctx context.Context, found []identity, older []olderFile) error {
	want := slices.MinFunc(found, func(a, b identity) int {
		return cmp.Or(cmp.Compare(a.group.hi, b.group.hi), cmp.Compare(a.group.lo, b.group.lo), cmp.Compare(a.bit, b.bit))
	})
	failed, passed, err := b.findBoth(ctx, want, older)
	if err != nil {
		return err
	}
	if failed == nil || passed == nil {
		return fmt.Errorf("%s: %w", b.src.Path, ErrConflict)
	}
	more := ""
	if n := len(found) - 1; n > 0 {
		more = fmt.Sprintf(" (and %d more trials like it)", n)
	}
	t := &failed.Trial
	name := fmt.Sprintf("task %q trial %d", t.TaskID, t.Trial.V)
	if t.Variant != "" {
		name = fmt.Sprintf("task %q variant %q trial %d", t.TaskID, t.Variant, t.Trial.V)
	}
	for _, part := range []struct{ what, value string }{{"model", t.Model}, {"agent", t.Agent}, {"effort", t.Effort}} {
		if part.value != "" {
			name += fmt.Sprintf(" %s %q", part.what, part.value)
		}
	}
	if t.TrialUID != "" {
		name = fmt.Sprintf("trial_uid %q", t.TrialUID)
	}
	return fmt.Errorf("%w: suite %q run %q %s failed at %s and passed at %s%s; drop one of the two or give one a run of its own",
		ErrConflict, t.Suite, t.RunID, name, place(failed), place(passed), more)
}

// findBoth finds the first failed and the first passed row of an identity, in
// older files before the batch's own.
func (b *Batch) findBoth(ctx context.Context, want identity, older []olderFile) (failed, passed *storedRow, err error) {
	if err := b.finished(); err != nil {
		return nil, nil, err
	}
	for _, p := range b.parts {
		for _, o := range p.outlets {
			older = append(slices.Clip(older), olderFile{path: o.staged})
		}
	}
	for _, f := range older {
		err := readKeys(ctx, f.path, f.want,
			func(t *storedRow, id identity) {
				switch {
				case id != want || !t.Passed.OK:
				case t.Passed.V && passed == nil:
					passed = t.cloneKeys()
				case !t.Passed.V && failed == nil:
					failed = t.cloneKeys()
				}
			})
		if err != nil {
			return nil, nil, err
		}
	}
	return failed, passed, nil
}

func place(t *storedRow) string { return t.source + ":" + t.SourceRow }

// storedRow is a row read back, in its key fields.
type storedRow struct {
	Trial
	source, batch string
}

// The columns an identity is made of, and where to find the row.
var keyColumns = []int{
	cSuite, cRunID, cTaskID, cTrial, cTrialFrom, cTrialUID, cVariant, cModel, cAgent, cEffort, cPassed, cSource, cSourceRow, cBatch, cRunMade,
}

// readKeys calls use for every row of a trial file that want accepts and that
// has an identity. The row is filled only in its key fields and is good
// until use returns.
func readKeys(ctx context.Context, path string, want func(*storedRow) bool, use func(*storedRow, identity)) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read %s: the file is damaged: %v", path, r)
		}
	}()
	in, err := file.OpenParquetFile(path, false)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, plain(err))
	}
	defer in.Close()
	fr, err := pqarrow.NewFileReader(in, pqarrow.ArrowReadProperties{BatchSize: 1 << 15}, memory.DefaultAllocator)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if in.MetaData().Schema.NumColumns() != numColumns {
		return fmt.Errorf("read %s: it has %d columns; %d were wanted", path, in.MetaData().Schema.NumColumns(), numColumns)
	}
	rr, err := fr.GetRecordReader(ctx, keyColumns, nil)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	defer rr.Release()
	var ids identifier
	for rr.Next() {
		keys, err := newKeyRows(rr.RecordBatch())
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		for i := range int(rr.RecordBatch().NumRows()) {
			t := keys.row(i)
			if !want(t) {
				continue
			}
			if id, ok := ids.identity(&t.Trial, nil); ok {
				use(t, id)
			}
		}
	}
	if err := rr.Err(); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// keyRows gives the key columns of a record batch row by row.
type keyRows struct {
	text         map[int]*array.String
	trial        *array.Int32
	passed, made *array.Boolean
	t            storedRow
}

func newKeyRows(rec arrow.RecordBatch) (*keyRows, error) {
	k := &keyRows{text: map[int]*array.String{}}
	for i, c := range keyColumns {
		ok := true
		switch c {
		case cTrial:
			k.trial, ok = rec.Column(i).(*array.Int32)
		case cPassed:
			k.passed, ok = rec.Column(i).(*array.Boolean)
		case cRunMade:
			k.made, ok = rec.Column(i).(*array.Boolean)
		default:
			k.text[c], ok = rec.Column(i).(*array.String)
		}
		if !ok || rec.ColumnName(i) != trialColumns[c].Name {
			return nil, fmt.Errorf("its column %q is not %s %s", rec.ColumnName(i), trialColumns[c].Name, trialColumns[c].Type)
		}
	}
	return k, nil
}

func (k *keyRows) row(i int) *storedRow {
	text := func(c int) string {
		if a := k.text[c]; a.IsValid(i) {
			return a.Value(i)
		}
		return ""
	}
	t := &k.t
	t.Suite, t.RunID, t.TaskID = text(cSuite), text(cRunID), text(cTaskID)
	t.TrialFrom, t.TrialUID, t.Variant = text(cTrialFrom), text(cTrialUID), text(cVariant)
	t.Model, t.Agent, t.Effort = text(cModel), text(cAgent), text(cEffort)
	t.source, t.SourceRow, t.batch = text(cSource), text(cSourceRow), text(cBatch)
	t.Trial.Trial = Opt[int32]{OK: k.trial.IsValid(i)}
	if t.Trial.Trial.OK {
		t.Trial.Trial.V = k.trial.Value(i)
	}
	t.Passed = Opt[bool]{OK: k.passed.IsValid(i)}
	if t.Passed.OK {
		t.Passed.V = k.passed.Value(i)
	}
	t.RunMade = k.made.IsValid(i) && k.made.Value(i)
	return t
}

// cloneKeys copies the key fields out of the reader's memory.
func (t *storedRow) cloneKeys() *storedRow {
	c := *t
	for _, s := range []*string{&c.Suite, &c.RunID, &c.TaskID, &c.TrialUID, &c.Variant, &c.Model, &c.Agent, &c.Effort, &c.source, &c.SourceRow, &c.batch} {
		*s = string([]byte(*s))
	}
	return &c
}
