package ingest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"passhat/ingest/store"
)

// Limits of what one row may put into extra, and of the trials it may stand for.
const (
	// maxExtraValue is the longest single value kept in extra, in bytes of JSON.
	maxExtraValue = 4 << 10
	// maxExtra is the longest extra, scores or config of a row.
	maxExtra = 64 << 10
	// maxCount is how many trials one row of counts may stand for.
	maxCount = 50_000
	// maxShapes and maxShapeBytes bound the memory for rows of ever new keys.
	maxShapes     = 1024
	maxShapeBytes = 16 << 20
)

// Mapper turns rows of named values into trials by the names of ColumnFields
// and by --map. One Mapper is for one goroutine. Trials and Rejects gather what
// Row makes until Drain or the caller empties them.
type Mapper struct {
	Trials  []store.Trial
	Rejects []*SyntaxError

	in      *Input
	loc     *time.Location
	rules   []mapRule
	score   string // --score
	stable  bool   // the bytes of values outlive the trials
	checked bool   // the bytes are known to be valid UTF-8

	shapes map[string]*Shape
	held   int      // bytes of them, roughly
	counts []*Shape // that have rows
	folds  int      // how often shapes was emptied
	clean  cleaner
	arena  arena
	buf    []byte
	extra  []byte
	row    rowParts
	list   []field
	stats  Stats
	config map[string]*configEntry
	kept   int  // bytes of config
	noTask bool // --set gives the task
	base   int  // so many fields of each row are the document's, which the row's own override
}

// rowMode says how many trials a row stands for.
type rowMode uint8

const (
	oneTrial  rowMode = iota
	runList           // a list of trials
	runCounts         // n trials of which c passed
)

// rowParts is what a row says that is not one column by itself.
type rowParts struct {
	mode      rowMode
	verdicts  int
	verdict   bool
	verdictAt int // index of the name that gave it
	conflict  int // index of a name that says otherwise, or -1
	boolScore bool
	errored   bool   // a word where the verdict is due says that an error ended it
	errorKind string // and of which kind
	errorWord Value
	skipped   bool // or that there was no trial
	n, c      int64
	cAt       int
	badCount  string // the successes, where they are no whole number
	runs      Value
	ended     time.Time
	scores    Value
	config    Value
	usage     Value
	output    Value
	sampling  []Value
}

// NewMapper returns a Mapper for an input. Errors are of kind *UsageError.
func NewMapper(in *Input, opt *Options) (*Mapper, error) {
	rules, err := mapRules(opt.Map)
	if err != nil {
		return nil, err
	}
	loc, err := opt.location()
	if err != nil {
		return nil, err
	}
	m := &Mapper{in: in, loc: loc, rules: rules, score: opt.Score, shapes: map[string]*Shape{}, config: map[string]*configEntry{}}
	m.noTask = slices.ContainsFunc(opt.Set, func(p Pair) bool { return p.Name == "task_id" })
	in.addMapper(m)
	return m, nil
}

// Row turns one row into trials, or into a reject. shape must be that of the
// values' names; line and path say where the row stands (line 0: no lines), and
// raw is its text, whose hash identifies it.
func (m *Mapper) Row(shape *Shape, vals []Value, line int64, path string, raw []byte) {
	m.begin(shape)
	shape.count(&m.row, vals)
	t := m.next()
	if !m.end(t, m.fill(t, shape, vals), line, path, raw) {
		return
	}
	switch m.row.mode {
	case runList:
		m.expandRuns(shape, line, path, raw)
	case runCounts:
		m.expandCounts(shape, line, path, raw)
	}
}

// end completes the last trial, unless a reason why it can't be read, or the row itself,
// says that there is none.
func (m *Mapper) end(t *store.Trial, reason string, line int64, path string, raw []byte) bool {
	if reason != "" {
		m.Trials = m.Trials[:len(m.Trials)-1]
		m.reject(line, path, reason, raw)
		return false
	}
	if m.row.mode == oneTrial && m.noTrial() {
		return false
	}
	h := xxh3.Hash128(raw)
	binary.BigEndian.PutUint64(t.RowHash[:8], h.Hi)
	binary.BigEndian.PutUint64(t.RowHash[8:], h.Lo)
	if line > 0 {
		t.SourceRow = m.arena.line(line)
		if path != "" {
			t.SourceRow += ": " + path
		}
	} else {
		t.SourceRow = m.arena.str([]byte(path))
	}
	return true
}

// Drain hands over what Row has made and forgets it; it returns false when
// yield does.
func (m *Mapper) Drain(yield func(*store.Trial, error) bool) bool {
	defer func() { m.Trials, m.Rejects = m.Trials[:0], m.Rejects[:0] }()
	for i := range m.Trials {
		if !yield(&m.Trials[i], nil) {
			return false
		}
	}
	for _, r := range m.Rejects {
		if !yield(nil, r) {
			return false
		}
	}
	return true
}

// next grows Trials by one zero trial.
func (m *Mapper) next() *store.Trial {
	if n := len(m.Trials); n < cap(m.Trials) {
		m.Trials = m.Trials[:n+1]
		m.Trials[n] = store.Trial{}
	} else {
		m.Trials = append(m.Trials, store.Trial{})
	}
	return &m.Trials[len(m.Trials)-1]
}

func (m *Mapper) reject(line int64, path, reason string, raw []byte) {
	m.Rejects = append(m.Rejects, NewSyntaxError(m.in, line, path, reason, raw))
}

func (m *Mapper) begin(shape *Shape) {
	if shape.rows++; shape.rows == 1 {
		m.counts = append(m.counts, shape)
	}
	sampling := m.row.sampling[:0]
	m.row = rowParts{conflict: -1, sampling: sampling}
	m.extra = m.extra[:0]
}

// forget lets go of what the last row was made with.
func (m *Mapper) forget() {
	m.row, m.list, m.buf, m.extra = rowParts{}, nil, nil, nil
	if cap(m.arena.block) > arenaBlock {
		m.arena.block = nil
	}
}

// fill puts every value where it belongs; a text that is not empty says why the
// row cannot be read.
func (m *Mapper) fill(t *store.Trial, shape *Shape, vals []Value) string {
	single := m.row.mode == oneTrial
	if len(shape.repeated) > 0 {
		if reason := m.repeatedKey(shape, vals); reason != "" {
			return reason
		}
	}
	for i := range vals {
		tg := &shape.targets[i]
		if vals[i].Kind == Untyped && len(vals[i].Text) == 0 {
			continue
		}
		// The usual field, without detours.
		if single && tg.set != nil && vals[i].Kind != Null && (m.quick(t, tg.col, vals[i]) || tg.set(m, t, vals[i]) == "") {
			continue
		}
		if single && vals[i].Kind == Bool && tg.col == colPassed && tg.kind == toColumn && len(tg.paths) == 0 {
			m.addVerdict(i, vals[i])
			continue
		}
		if reason := m.place(t, shape, tg, i, vals[i]); reason != "" {
			return reason
		}
	}
	return m.settle(t, shape)
}

// repeatedKey counts a row that has a key twice; where the two differ and say
// what the trial is or how it went, neither can be believed.
func (m *Mapper) repeatedKey(shape *Shape, vals []Value) string {
	for _, p := range shape.repeated {
		a, b := vals[p[0]], vals[p[1]]
		if a.Kind == b.Kind && bytes.Equal(a.Text, b.Text) {
			continue
		}
		tg := &shape.targets[p[1]]
		decides := tg.kind == toColumn && deciding[tg.col]
		for _, ref := range tg.paths {
			decides = decides || deciding[ref.col]
		}
		if decides {
			return fmt.Sprintf("%s is there twice, with different values: %s and %s", shape.names[p[0]], shortValue(a), shortValue(b))
		}
	}
	m.stats.RepeatedKeys++
	return ""
}

func shortValue(v Value) string {
	if v.Kind >= Object {
		return v.Kind.String()
	}
	return quoteShort(v.Text)
}

// place puts value i of a row where its name's target says.
func (m *Mapper) place(t *store.Trial, shape *Shape, tg *target, i int, v Value) string {
	for j := range tg.paths {
		ref := &tg.paths[j]
		got, ok := ref.find(v)
		ref.seen = ref.seen || ok
		if ok && got.Kind != Null {
			if reason := m.assign(t, shape, ref.col, i, got); reason != "" {
				return fmt.Sprintf("%s (from %s): %s", columns[ref.col].name, ref.text, reason)
			}
		}
	}
	switch tg.kind {
	case toColumn:
		if v.Kind == Null {
			return ""
		}
		if m.row.mode != oneTrial {
			if tg.col == colRuns && m.row.mode == runList {
				m.row.runs = v
				return ""
			}
			if i == m.row.cAt && m.row.mode == runCounts {
				return ""
			}
			if perTrial[tg.col] {
				return m.addExtra(tg, shape.names[i], v) // about the task as a whole
			}
		}
		reason := m.assign(t, shape, tg.col, i, v)
		if reason == "" {
			return ""
		}
		if !tg.exact && columns[tg.col].plain && reason != notText {
			if reason != notColumn {
				m.stats.mismatch(shape.names[i], columns[tg.col].name)
			}
			return m.addExtra(tg, shape.names[i], v)
		}
		return shape.names[i] + ": " + reason
	case toExtra:
		return m.addExtra(tg, shape.names[i], v)
	case toSampling:
		if v.Kind == Object {
			m.row.sampling = append(m.row.sampling, v)
		}
		m.stats.Secrets++
	case toNowhere:
		m.stats.Secrets++
	}
	return ""
}

func (m *Mapper) assign(t *store.Trial, shape *Shape, col columnID, i int, v Value) string {
	switch col {
	case colPassed:
		return m.addVerdict(i, v)
	case colScore:
		if t.ScoreName == "" && v.Kind < Object {
			t.ScoreName = shape.names[i]
		}
	}
	return columns[col].set(m, t, v)
}

// str makes a string of a scalar's text.
func (m *Mapper) str(v Value) string {
	b := v.Text
	if v.Escaped {
		m.buf = unescape(m.buf[:0], b)
		if !m.checked && !utf8.Valid(m.buf) {
			return m.arena.str(appendValid(nil, m.buf))
		}
		return m.arena.str(m.buf)
	}
	if !m.checked && !utf8.Valid(b) {
		m.buf = appendValid(m.buf[:0], b)
		return m.arena.str(m.buf)
	}
	if m.stable {
		return view(b)
	}
	return m.arena.str(b)
}

// addExtra keeps a field that has no column.
func (m *Mapper) addExtra(tg *target, name string, v Value) string {
	if v.Kind == Untyped && len(v.Text) == 0 {
		return ""
	}
	if len(v.Text) > maxExtraValue || len(m.extra) > maxExtra {
		m.stats.omit(name)
		return ""
	}
	mark := len(m.extra)
	m.extra = append(append(m.extra, ','), tg.json...)
	m.extra = append(m.extra, ':')
	before := m.clean.dropped
	out, err := m.clean.value(m.extra, v)
	m.extra = out
	m.stats.Secrets += int64(m.clean.dropped - before)
	if err != nil {
		m.extra = m.extra[:mark]
		return name + ": " + err.Error()
	}
	return ""
}

// mapRule is one --map.
type mapRule struct {
	col  columnID
	text string // as given
	path []pathStep
}

func mapRules(pairs []Pair) ([]mapRule, error) {
	var rules []mapRule
	for _, p := range pairs {
		col, ok := columnNamed(p.Name)
		if !ok || slices.Contains([]string{"trial_from", "run_at_from", "extra"}, p.Name) {
			return nil, unknownColumn("--map", p.Name)
		}
		path, err := parsePath(p.Value)
		if err != nil {
			return nil, usagef("--map", "%s=%s: %v", p.Name, p.Value, err)
		}
		for _, r := range rules {
			if r.col == col {
				return nil, usagef("--map", "column %s is mapped twice: %s and %s", p.Name, r.text, p.Value)
			}
		}
		rules = append(rules, mapRule{col, shownRule(p.Value), path})
	}
	return rules, nil
}
