package store

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"
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
	held    int   // rows' bytes in all outlets
	taken   int64 // rows
	look    int64 // after so many, files that take no more are looked for

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
	group            *rowGroup // nil: given back
	enc              *encoder
	runAtMin, runMax int64 // microseconds
	suites           []string
	rows             int64
	tallied          bool  // what group holds is in the roll-up
	used             int64 // how many rows the Part had taken when it last took one for this file
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
	for len(ts) > 0 {
		if ts[0].RunAt.IsZero() {
			if err := p.Append(&ts[0]); err != nil {
				return err
			}
			ts = ts[1:]
			continue
		}
		n, err := p.append(ts)
		if err != nil {
			return err
		}
		ts = ts[n:]
	}
	return p.err
}

// Append stores a copy of t; t and the bytes its strings point to may be
// reused afterwards. A missing shape is stored as 'unclassified', a missing time
// of the run as the time of ingest. After an error the Part takes no more.
func (p *Part) Append(t *Trial) error {
	at, from := t.RunAt, t.RunAtFrom
	if at.IsZero() {
		t.RunAt, t.RunAtFrom = p.b.now, RunAtIngest
	}
	_, err := p.append(unsafe.Slice(t, 1))
	t.RunAt, t.RunAtFrom = at, from
	return err
}

// togetherRows is how many trials are taken together at most: few enough to stay
// in the nearest cache while one column after the other is made of them.
const togetherRows = 32

// append stores the first of ts and those behind it that belong into the same
// file, and says how many these were.
func (p *Part) append(ts []Trial) (n int, err error) {
	if p.err == nil {
		n, p.err = p.take(ts)
	}
	return n, p.err
}

func (p *Part) take(ts []Trial) (int, error) {
	out, err := p.outlet(&ts[0])
	if err != nil {
		return 0, err
	}
	if out.group == nil {
		out.group = newTrialGroup()
	}
	n, most := 0, min(len(ts), togetherRows, maxRowGroup-int(out.group.rows))
	var before *Trial
	for n < most && (n == 0 || p.sameOutlet(&ts[n], before)) {
		t := &ts[n]
		if err := t.checkSize(); err != nil {
			return 0, fmt.Errorf("%s: %s: %w", p.b.src.Path, t.SourceRow, err)
		}
		if err := p.note(t, before, out); err != nil {
			return 0, err
		}
		before = t
		out.rows++
		n++
	}
	held := out.group.bytes
	out.group.add(ts[:n], &p.shared)
	p.held += out.group.bytes - held
	p.taken += int64(n)
	out.used = p.taken
	if out.group.rows == maxRowGroup {
		return n, p.flush(out)
	}
	if p.held > maxHeld {
		return n, p.flush(p.largest())
	}
	return n, nil
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
	if p.cur != nil && p.sameOutlet(t, nil) {
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
			folder: folder,
			staged: filepath.Join(p.b.dir, fmt.Sprintf("trials-%d-%d.parquet", p.n, len(p.outlets))),
		}
		out.enc = &encoder{path: out.staged, cols: trialColumns[:]}
		p.outlets[folder] = out
	}
	if err := p.giveBack(out); err != nil {
		return nil, err
	}
	from := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	p.suite = strings.Clone(t.Suite)
	p.cur, p.curFrom, p.curTo = out, from.Unix(), from.AddDate(0, 1, 0).Unix()
	if s := valid(p.suite); !slices.Contains(out.suites, s) && len(out.suites) <= maxSuites {
		out.suites = append(out.suites, s)
	}
	return out, nil
}

// giveBack writes what other files hold that took no row for as long as a row group is:
// most logs are in the order of time, and each month would keep a row group of tens of megabytes to the end.
func (p *Part) giveBack(out *outlet) error {
	if p.taken < p.look {
		return nil
	}
	p.look = p.taken + maxRowGroup/4
	for _, folder := range slices.Sorted(maps.Keys(p.outlets)) {
		o := p.outlets[folder]
		if o == out || o.group == nil || p.taken-o.used < maxRowGroup {
			continue
		}
		if err := p.flush(o); err != nil {
			return err
		}
		trialGroups.Put(o.group)
		o.group = nil
	}
	return nil
}

// sameOutlet reports whether a trial belongs into the file of the last row; before
// is that row's trial, if it is still there.
func (p *Part) sameOutlet(t, before *Trial) bool {
	sec := t.RunAt.Unix()
	return sec >= p.curFrom && sec < p.curTo && (before != nil && sameText(t.Suite, before.Suite) || p.suite == t.Suite)
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
// and its hash. before is the trial of the row before, if it is still there.
func (p *Part) note(t, before *Trial, out *outlet) error {
	at := t.RunAt.UnixMicro()
	if out.rows == 0 {
		out.runAtMin, out.runMax = at, at
	}
	out.runAtMin, out.runMax = min(out.runAtMin, at), max(out.runMax, at)
	r := p.curRun
	if before == nil || !before.sameRun(t) {
		if r == nil || r.RunID != t.RunID || r.Suite != t.Suite || r.made != t.RunMade {
			var err error
			if r, err = p.run(t); err != nil {
				return err
			}
			p.curRun = r
		}
		before = nil
	}
	if r.Rows == 0 {
		r.from, r.to = at, at
	}
	r.Rows++
	r.from, r.to = min(r.from, at), max(r.to, at)
	if id, ok := p.who.identity(t, before); ok {
		if err := p.ids.note(id, r.id, verdictIndex(t.Passed)); err != nil {
			return err
		}
	}
	if p.b.src.Path == Stdin {
		return nil
	}
	if p.prints == nil {
		var err error
		if p.prints, err = newPrinter(p.b.dir, p.n, !p.b.plan.alone); err != nil {
			return err
		}
	}
	return p.prints.add(t.RowHash)
}

// sameRun reports whether two trials that are there at once plainly belong to one
// run.
func (t *Trial) sameRun(o *Trial) bool {
	return t.RunMade == o.RunMade && sameText(t.RunID, o.RunID) && (sameText(t.Suite, o.Suite) || t.Suite == "" && o.Suite == "")
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
		if o.group == nil {
			continue
		}
		if big == nil || o.group.bytes > big.group.bytes {
			big = o
		}
	}
	return big
}

// flush writes an outlet's rows as a row group.
func (p *Part) flush(o *outlet) error {
	if !o.tallied {
		if err := p.tally.add(o.group, p.b.roll); err != nil {
			return err
		}
	}
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
