package store

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// How much a batch may spread out and a Part may hold.
const (
	maxFiles = 32       // trial files of a batch
	maxHeld  = 48 << 20 // bytes of rows a Part holds before it writes some
	maxValue = 1 << 28  // bytes of one value
)

// Part takes rows for one encoding worker. Parts of a batch are independent of
// each other; one Part is for one goroutine.
type Part struct {
	b      *Batch
	n      int // which Part of the batch
	shared constants

	outlets map[string]*outlet // by folder
	cur     *outlet            // of the last row
	curFrom int64              // its month, in seconds: from, to
	curTo   int64
	suite   string
	held    int // rows' bytes in all outlets

	runs   map[RunKey]*partRun
	curRun *partRun

	ids    idTable  // identities, for the duplicate check
	prints *printer // of the rows; nil for standard input, which is no path
	who    identifier
	tally  tallier
	err    error // the first error; the Part is no good after it
}

// outlet is one trial file of a Part.
type outlet struct {
	folder           string // within trials/, with slashes
	staged           string
	group            *rowGroup
	enc              *encoder
	runAtMin, runMax int64 // microseconds
	suites           []string
	rows             int64
}

// partRun is what a Part saw of a run.
type partRun struct {
	Run
	id       uint32
	from, to int64 // run_at, microseconds
	made     bool
}

func newPart(b *Batch, n int) *Part {
	return &Part{
		b: b, n: n, outlets: map[string]*outlet{}, runs: map[RunKey]*partRun{},
		shared: constants{source: b.src.Path, batch: b.id, ingestedAt: uint64(b.now.UnixMicro())},
		ids:    idTable{spill: spill{path: filepath.Join(b.dir, fmt.Sprintf("ids-%d", n)), size: idSize}},
	}
}

// AppendAll stores copies of ts, in order.
func (p *Part) AppendAll(ts []Trial) error {
	for i := range ts {
		if err := p.Append(&ts[i]); err != nil {
			return err
		}
	}
	return nil
}

// Append stores a copy of t; t and the bytes its strings point to may be
// reused afterwards. A missing shape is stored as 'unclassified', a missing time
// of the run as the time of ingest. After an error the Part takes no more.
func (p *Part) Append(t *Trial) error {
	if p.err != nil {
		return p.err
	}
	shape, at, from := t.Shape, t.RunAt, t.RunAtFrom
	if shape == "" {
		t.Shape = "unclassified"
	}
	if at.IsZero() {
		t.RunAt, t.RunAtFrom = p.b.now, RunAtIngest
	}
	p.err = p.append(t)
	t.Shape, t.RunAt, t.RunAtFrom = shape, at, from
	return p.err
}

func (p *Part) append(t *Trial) error {
	if err := t.checkSize(); err != nil {
		return fmt.Errorf("%s: %s: %w", p.b.src.Path, t.SourceRow, err)
	}
	out, err := p.outlet(t)
	if err != nil {
		return err
	}
	if err := p.note(t, out); err != nil {
		return err
	}
	before := out.group.bytes
	out.group.add(t, &p.shared)
	out.rows++
	p.held += out.group.bytes - before
	if out.group.rows == maxRowGroup {
		return p.flush(out)
	}
	if p.held > maxHeld {
		return p.flush(p.largest())
	}
	return nil
}

// checkSize refuses a value that no Parquet page could hold.
func (t *Trial) checkSize() error {
	n := len(t.Extra) + len(t.Scores) + len(t.Config) + len(t.ErrorMessage) + len(t.Trace) + len(t.TaskID) + len(t.TrialUID) +
		len(t.Suite) + len(t.RunID) + len(t.Variant) + len(t.OutputHash) + len(t.EnvironmentID)
	if n > maxValue {
		return fmt.Errorf("the row holds %d bytes of text; at most %d can be stored", n, maxValue)
	}
	return nil
}

// outlet finds the file a trial belongs into, by suite and month.
func (p *Part) outlet(t *Trial) (*outlet, error) {
	sec := t.RunAt.Unix()
	if p.cur != nil && p.suite == t.Suite && sec >= p.curFrom && sec < p.curTo {
		return p.cur, nil
	}
	at := t.RunAt.UTC()
	folder := path.Join("suite="+folderName(t.Suite), "month="+at.Format("2006-01"))
	out := p.outlets[folder]
	if out == nil {
		var ok bool
		if folder, ok = p.b.slot(folder, p); !ok {
			out = p.outlets[folder]
		}
	}
	if out == nil {
		out = &outlet{
			folder: folder, group: newTrialGroup(),
			staged: filepath.Join(p.b.dir, fmt.Sprintf("trials-%d-%d.parquet", p.n, len(p.outlets))),
		}
		out.enc = &encoder{path: out.staged, cols: trialColumns[:]}
		p.outlets[folder] = out
	}
	from := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	p.suite = strings.Clone(t.Suite)
	p.cur, p.curFrom, p.curTo = out, from.Unix(), from.AddDate(0, 1, 0).Unix()
	if s := valid(p.suite); !slices.Contains(out.suites, s) && len(out.suites) <= maxSuites {
		out.suites = append(out.suites, s)
	}
	return out, nil
}

// maxSuites is how many suites a file lists; more means: unknown.
const maxSuites = 64

// severalFolder takes what would make a batch too many files.
const severalFolder = "suite=_several/month=_several"

// slot grants a Part a file in folder, or says to use the shared folder. One
// file a Part is kept back for that.
func (b *Batch) slot(folder string, p *Part) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.slots+len(b.parts) >= maxFiles {
		return severalFolder, false
	}
	b.slots++
	return folder, true
}

// folderName is a suite as a folder's name: percent-encoded, at most 64 bytes.
func folderName(suite string) string {
	if suite == "" {
		return "_none"
	}
	var b strings.Builder
	for i := 0; i < len(suite); i++ {
		c := suite[i]
		piece := string(rune(c))
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' && i > 0) {
			piece = fmt.Sprintf("%%%02X", c)
		}
		if b.Len()+len(piece) > 64 {
			break
		}
		b.WriteString(piece)
	}
	return b.String()
}

// note keeps what the commit needs to know of a row: its run, its identity
// and its hash.
func (p *Part) note(t *Trial, out *outlet) error {
	at := t.RunAt.UnixMicro()
	if out.rows == 0 {
		out.runAtMin, out.runMax = at, at
	}
	out.runAtMin, out.runMax = min(out.runAtMin, at), max(out.runMax, at)
	r := p.curRun
	if r == nil || r.RunID != t.RunID || r.Suite != t.Suite || r.made != t.RunMade {
		var err error
		if r, err = p.run(t); err != nil {
			return err
		}
		p.curRun = r
	}
	if r.Rows == 0 {
		r.from, r.to = at, at
	}
	r.Rows++
	r.from, r.to = min(r.from, at), max(r.to, at)
	if id, ok := p.who.identity(t); ok {
		if err := p.ids.note(id, r.id, verdictIndex(t.Passed)); err != nil {
			return err
		}
	}
	if p.b.src.Path == Stdin {
		return nil
	}
	if p.prints == nil {
		var err error
		if p.prints, err = newPrinter(p.b.dir, p.n); err != nil {
			return err
		}
	}
	return p.prints.add(t.RowHash)
}

// run finds or enters the run of a trial. A made-up name that is also a real
// one counts as real, since only then can duplicates arise.
func (p *Part) run(t *Trial) (*partRun, error) {
	key := RunKey{valid(t.Suite), valid(t.RunID)}
	r := p.runs[key]
	if r == nil {
		key = RunKey{strings.Clone(key.Suite), strings.Clone(key.RunID)}
		r = &partRun{Run: Run{RunKey: key, Made: true}}
		var err error
		if r.id, err = p.b.runID(key); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", p.b.src.Path, t.SourceRow, err)
		}
		p.runs[key] = r
	}
	r.made = t.RunMade
	r.Made = r.Made && (t.RunMade || t.RunID == "")
	return r, nil
}

// maxRuns is how many runs one source may hold: its record lists them all.
const maxRuns = 100_000

// runID numbers the runs of a batch.
func (b *Batch) runID(key RunKey) (uint32, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	id, ok := b.runIDs[key]
	if !ok {
		if len(b.runList) == maxRuns {
			return 0, fmt.Errorf("more than %d runs in one source; is run_id a trial's own id (map that to trial_uid)?", maxRuns)
		}
		id = uint32(len(b.runList))
		b.runIDs[key] = id
		b.runList = append(b.runList, key)
	}
	return id, nil
}

func (p *Part) largest() *outlet {
	var big *outlet
	for _, o := range p.outlets {
		if big == nil || o.group.bytes > big.group.bytes {
			big = o
		}
	}
	return big
}

// flush writes an outlet's rows as a row group.
func (p *Part) flush(o *outlet) error {
	p.tally.add(o.group, p.b.roll)
	if err := o.enc.write(o.group); err != nil {
		return err
	}
	p.held -= o.group.bytes
	o.group.reset()
	return nil
}

func (p *Part) abandon() {
	for _, o := range p.outlets {
		o.enc.abandon()
	}
	if p.prints != nil {
		p.prints.abandon()
	}
	p.ids.spill.close()
}
