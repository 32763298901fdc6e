package ingest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"passhat/ingest/store"
)

var jsonlFormat = Format{
	Name:    "jsonl",
	Doc:     "one JSON object a line: a trial, a task with a list of trials, or a task with counts",
	Version: 1,
	Lines:   true,
	Recognised: "the first line that is not blank is one whole JSON object, and the first lines name a task and a verdict, a score, " +
		"counts or a list of trials (or --map, --set, --pass-when do)",
	Match:  matchJSONL,
	Read:   readJSONL,
	Fields: ColumnFields(),
	Notes:  freeFormNotes,

	chunks: jsonlChunks,
}

// freeFormNotes hold for every format whose fields are named freely.
var freeFormNotes = []string{
	"Names are compared without regard to case, '_', '-' and blanks: taskId is task_id. Of several names for one column the first in the list above counts, the others stay in extra. For anything else: --map COLUMN=$.path.to[0].",
	"passed takes true/false, 1/0, yes/no, pass/fail, success/failure, correct/incorrect, resolved/unresolved, solved/unsolved, ok/not_ok. error, errored, exception, broken, crash, crashed, timeout, timed_out in its place leave the trial ungraded, with that as its error; skipped is no trial. Verdicts under several names must agree, or the row is a reject.",
	"A score is not a verdict: a row with a score and no verdict is ungraded, whatever the score, until --pass-when 'score >= 0.5' says how a score passes. A score that is true or false is a verdict.",
	"An error never decides passed. Without a verdict the trial is ungraded.",
	"A list under runs, trials, attempts, results, samples or rollouts holds one trial an element: an object with fields of its own beside those of the task, or just true, false or null (ungraded). Sums over the task (cost, tokens, time, score) beside such a list stay in extra.",
	"A row with n (trials) and c (successes), under the names above, stands for n trials.",
	"Trial numbers are kept as the log has them; where it has none they are made by order of appearance within suite, run, task and variant. epoch and attempt may count from 1.",
	"Times without a zone are in the zone of --tz (default UTC); numbers are seconds, milliseconds, microseconds or nanoseconds since 1970, whichever falls between 1990 and 2200. duration and latency are taken as seconds.",
	"It cannot know: what a score means, whether a run was complete unless planned_trials (k) is there, nor which suite it belongs to without a field or --suite.",
}

// matchJSONL wants the first line to be a whole object.
func matchJSONL(p *Probe) Match {
	line, more := firstLine(p)
	if len(line) == 0 || line[0] != '{' {
		return NoMatch
	}
	names, whole := topLevelNames(line)
	if v := p.view(); !p.isTrialLog(v.rows, v.cut) || notLog(p, v) != "" {
		return NoMatch
	}
	switch {
	case !whole:
		// A first line longer than what detection looks at.
		if !p.Whole && !bytes.ContainsRune(p.Head, '\n') && !isDocument(names) {
			return Generic
		}
		return NoMatch
	case more || !isDocument(names):
		return Generic
	}
	return NoMatch
}

// firstLine is the first line that is not blank, and whether an object begins
// on the line after it.
func firstLine(p *Probe) (line []byte, more bool) {
	rest := bytes.TrimPrefix(p.Head, []byte(utf8BOM))
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte{'\n'})
		if line = bytes.TrimSpace(line); len(line) > 0 {
			break
		}
	}
	rest = bytes.TrimSpace(rest)
	return line, len(rest) > 0 && rest[0] == '{'
}

// topLevelNames lists the keys of an object as far as its text goes, without
// those of row lists that are no list, and whether the text is that object and
// nothing else.
func topLevelNames(b []byte) (names []string, whole bool) {
	fields, end, err := scanObject(b, skipSpace(b, 0), nil)
	var m Mapper
	for _, f := range fields {
		name := m.name(f)
		if isRowList(name) && len(f.val.Text) > 0 && f.val.Kind != Array {
			continue
		}
		names = append(names, name)
	}
	return names, err == nil && skipSpace(b, end) == len(b)
}

// hasTask reports whether a name among names stands for the task; weak names
// are id and name, which a document may have for itself.
func hasTask(names []string, weak bool) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		norm := normalName(n)
		ref, ok := namesOf[norm]
		return ok && columns[ref.col].name == "task_id" && (weak || norm != "id" && norm != "name")
	})
}

// lineReader decodes lines with a Mapper.
type lineReader struct {
	m      *Mapper
	base   []field // fields of the document, which rows may override
	fields []field
	vals   []Value
	names  []string
	keys   keyTree
	forms  lineForms
}

func newLineReader(in *Input, opt *Options) (*lineReader, error) {
	m, err := NewMapper(in, opt)
	if err != nil {
		return nil, err
	}
	return &lineReader{m: m}, nil
}

// line decodes one line, without its end; path is "" for lines.
func (r *lineReader) line(b []byte, no int64, path string) {
	i := skipSpace(b, 0)
	if i == len(b) {
		return
	}
	if len(r.base) == 0 {
		formed := r.forms.usable(r.m)
		if formed && r.forms.read(r.m, b, i, no, path) {
			return
		}
		vals, end, shape := r.keys.scan(b, i, r.vals[:0], &r.m.arena)
		r.vals = vals
		if shape != nil && skipSpace(b, end) == len(b) {
			r.m.Row(shape, vals, no, path, b)
			if formed {
				r.forms.learn(r.m, b, i, shape)
			}
			return
		}
	}
	fields, end, err := scanObject(b, i, append(r.fields[:0], r.base...))
	r.fields = fields
	if err == nil {
		if end = skipSpace(b, end); end != len(b) {
			err = scanErrorf(end, "text after the object")
		}
	}
	if err != nil {
		r.m.reject(no, path, err.Error(), b)
		return
	}
	r.names = r.names[:0]
	for _, f := range fields {
		r.names = append(r.names, r.m.name(f))
	}
	folds := r.m.folds
	shape := r.m.Shape(r.names)
	if r.m.folds != folds {
		r.keys, r.forms = keyTree{}, lineForms{} // their shapes count no more
	}
	if len(r.base) == 0 {
		r.keys.learn(fields, shape)
	}
	r.vals = r.vals[:0]
	for i := range fields {
		r.vals = append(r.vals, fields[i].val)
	}
	r.m.Row(shape, r.vals, no, path, b)
}

// lines decodes whole lines, the first of which has number no, until they are
// used up or have given very many trials; it returns what is left.
func (r *lineReader) lines(b []byte, no int64) (rest []byte, next int64) {
	r.m.checked = utf8.Valid(b)
	if len(b) > maxReuse {
		defer r.forget()
	}
	for len(b) > 0 && len(r.m.Trials) < maxPending {
		line := b
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			line, b = b[:i], b[i+1:]
		} else {
			b = nil
		}
		r.line(line, no, "")
		no++
	}
	r.m.checked = false
	return b, no
}

// forget lets go of long text, into which what is kept for reuse still looks.
func (r *lineReader) forget() {
	r.fields, r.vals, r.names, r.forms.pend = nil, nil, nil, nil
	r.m.forget()
}

// jsonlChunks returns a reader of chunks of whole lines.
func jsonlChunks(in *Input, opt *Options) (chunkReader, error) {
	r, err := newLineReader(in, opt)
	if err != nil {
		return nil, err
	}
	r.m.stable = true
	return r, nil
}

func (r *lineReader) chunk(c *chunk) (more bool) {
	overlong := len(c.rejects) > 0
	r.m.Trials, r.m.Rejects = c.trials[:0], c.rejects
	c.text, c.line = r.lines(c.text, c.line)
	c.trials, c.rejects = r.m.Trials, r.m.Rejects
	if overlong {
		slices.SortStableFunc(c.rejects, func(a, b *SyntaxError) int { return cmp.Compare(a.Line, b.Line) })
	}
	return len(c.text) > 0
}

// readJSONL reads chunk after chunk.
func readJSONL(ctx context.Context, in *Input, opt *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		r, err := newLineReader(in, opt)
		if err != nil {
			yield(nil, err)
			return
		}
		err = readChunks(ctx, in, opt, func(c *chunk) bool {
			r.m.Rejects = append(r.m.Rejects, c.rejects...)
			for len(c.text) > 0 {
				c.text, c.line = r.lines(c.text, c.line)
				if !r.m.Drain(yield) {
					return false
				}
			}
			return r.m.Drain(yield)
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// unfinished reports whether a last line without an end is one that a writer
// has not finished: it does not parse.
func unfinished(line []byte) bool {
	i := skipSpace(line, 0)
	if i == len(line) {
		return true
	}
	_, end, err := scanObject(line, i, nil)
	return err != nil || skipSpace(line, end) != len(line)
}

// tooLong is the reject for a line beyond the limit.
func tooLong(in *Input, line int64, size int64, limit int, head []byte) *SyntaxError {
	return NewSyntaxError(in, line, "", fmt.Sprintf("the line is %d bytes long, more than the %d that a row may have", size, limit), head)
}
