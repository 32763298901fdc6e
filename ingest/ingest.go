// Package ingest reads the logs of agent harnesses into a store of trials: it
// finds the sources, recognises their format by content, decompresses them,
// maps their fields to the columns of the trials table, and keeps what cannot
// be read as rejects with their place.
//
// It does not judge a score without being told how (--pass-when), does not
// compute statistics, and does not open DuckDB.
package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"passhat/ingest/store"
)

// Ingest reads sources (files, folders, globs, "-" for standard input) into the
// store, each as one batch that is there wholly or not at all. A source that
// fails does not keep the others from being read; the error then names it. On a
// wrong option (*UsageError) nothing is read.
func Ingest(ctx context.Context, st *store.Store, sources []string, opt Options) (Summary, error) {
	var sum Summary
	if err := opt.check(); err != nil {
		return sum, err
	}
	opt.beside = &folderNames{}
	found, links, err := expand(sources)
	if err != nil {
		return sum, err
	}
	sum.PassedOver = links
	found, cleanup := expandArchives(ctx, found, &opt)
	defer cleanup()
	if found, err = claimFolders(found, &opt); err != nil {
		return sum, err
	}
	watch := newWatch(&opt, found)
	defer watch.stop()
	var failed []error
	ahead := openAhead(ctx, found, &opt)
	defer ahead.close()
	for range found {
		o := ahead.next()
		if o == nil || ctx.Err() != nil {
			if o != nil && o.in != nil {
				o.in.close()
			}
			return sum, context.Cause(ctx)
		}
		s, err := ingestOne(ctx, st, o, watch)
		if isUnknownFormat(err) && !o.found.Named() {
			sum.PassedOver = append(sum.PassedOver, PassedOver{o.found.name(), reasonOf(err, o.found.name())})
			continue
		}
		s.Err = err
		sum.Sources = append(sum.Sources, s)
		if err != nil {
			failed = append(failed, err)
		}
	}
	switch {
	case len(sum.Sources) == 0 && len(sum.PassedOver) > 0:
		return sum, fmt.Errorf("%s: none of its %s is a log in a known format (see passhat formats)",
			strings.Join(sources, ", "), plural(int64(len(sum.PassedOver)), "file"))
	case len(failed) == 1:
		return sum, failed[0]
	case len(failed) > 1:
		return sum, &SeveralError{Failed: failed, Of: len(found)}
	}
	return sum, nil
}

// SeveralError says that several sources failed.
type SeveralError struct {
	Failed []error
	Of     int
}

func (e *SeveralError) Error() string {
	return fmt.Sprintf("%d of %d sources failed; first: %v", len(e.Failed), e.Of, e.Failed[0])
}

func (e *SeveralError) Unwrap() []error { return e.Failed }

// check finds wrong options before anything is read.
func (o *Options) check() error {
	if _, err := newFinisher(o); err != nil {
		return err
	}
	if _, err := NewMapper(&Input{}, o); err != nil {
		return err
	}
	if _, _, err := o.maxRejects(0); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "first", "final"}, o.Attempts) {
		return usagef("--attempts", "%q: wanted first or final%s", o.Attempts, nearWord(o.Attempts, "first", "final"))
	}
	if !slices.Contains([]string{"", "trial", "run"}, o.FolderAs) {
		return usagef("--folder-as", "%q: wanted trial or run%s", o.FolderAs, nearWord(o.FolderAs, "trial", "run"))
	}
	if _, err := o.TaskList(); err != nil {
		return err
	}
	if o.Preset != "" {
		if o.As != "" {
			return usagef("--preset", "it says how to read already: leave out --as %s", o.As)
		}
		if _, err := loadPreset(o.Preset); err != nil {
			return err
		}
	}
	if o.As != "" && o.As != asLabels && o.As != asPrices {
		if _, ok := FormatNamed(o.As); !ok {
			return usagef("--as", "there is no format %q%s: choose one of %s, %s, %s", o.As, nearWord(o.As, append(FormatNames(), asLabels, asPrices)...),
				strings.Join(FormatNames(), ", "), asLabels, asPrices)
		}
	}
	return nil
}

// maxRejects is how many of rows may be rejects.
func (o *Options) maxRejects(rows int64) (n int64, text string, err error) {
	text = o.MaxRejects
	if text == "" {
		return max(1, rows/1000), "0.1% (at least 1)", nil
	}
	if share, ok := strings.CutSuffix(strings.TrimSpace(text), "%"); ok {
		f, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
		if err != nil || !(f >= 0 && f <= 100) {
			return 0, text, usagef("--max-rejects", "%q is not a share from 0%% to 100%%", text)
		}
		return int64(f / 100 * float64(rows)), text, nil
	}
	n, err = strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		return 0, text, usagef("--max-rejects", "%q is neither a count such as 20 nor a share such as 0.5%%", text)
	}
	return n, text, nil
}

// given lists the options that change rows, as the record of a batch keeps them.
func (o *Options) given() map[string]string {
	m := map[string]string{}
	for name, v := range map[string]string{"suite": o.Suite, "run": o.Run, "pass-when": o.PassWhen, "score": o.Score, "tz": o.TZ,
		"filter": o.Filter, "attempts": o.Attempts, "folder-as": o.FolderAs} {
		if v != "" {
			m[name] = v
		}
	}
	if o.rank > 0 {
		// Two trials of a run may well have the same bytes.
		m["trial"] = strconv.Itoa(int(o.rank))
	}
	if o.AllowDependent {
		m["allow-dependent"] = "true"
	}
	for flag, path := range map[string]string{"tasks-file": o.Tasks, "preset": o.Preset} {
		if b, err := os.ReadFile(path); path != "" && err == nil {
			h := sha256.Sum256(b)
			m[flag] = fmt.Sprintf("%x", h[:8])
		}
	}
	for name, pairs := range map[string][]Pair{"set": o.Set, "map": o.Map} {
		for _, p := range pairs {
			m[name+" "+p.Name] = p.Value
		}
	}
	return m
}

func optionsHash(m map[string]string) string {
	b, _ := json.Marshal(m) // sorted by key; strings cannot fail
	h := sha256.Sum256(b)
	return fmt.Sprintf("%x", h[:8])
}

// ingestOne brings one source into the store.
func ingestOne(ctx context.Context, st *store.Store, o *opened, watch *watch) (s SourceSummary, err error) {
	start, opt, in := time.Now(), o.opt, o.in
	s = SourceSummary{Source: o.found.name(), Kind: store.KindTrials, DryRun: opt.DryRun, Left: o.found.Left}
	defer func() { s.Took = o.took + time.Since(start) }()
	watch.begin(s.Source)
	if in != nil {
		defer in.close()
		defer watch.end(in)
	}
	if o.err != nil {
		return s, o.err
	}
	if opt.As == asLabels || opt.As == asPrices {
		err = caught(s.Source, func() error { return ingestSide(ctx, st, in, o.hash, opt, &s) })
		return s, err
	}
	s.Format = o.format.Name
	src := sourceOf(in, o.hash, o.format, opt)
	// Another writer may change what the plan rests on; then all is done again.
	for try := 0; ; try++ {
		err = caught(s.Source, func() error { return ingestPlanned(ctx, st, in, src, o.format, opt, watch, &s) })
		if !errors.Is(err, store.ErrChanged) || try == 5 {
			return s, err
		}
	}
}

// reasonOf is what err says of a source, without its name.
func reasonOf(err error, name string) string { return strings.TrimPrefix(err.Error(), name+": ") }

// placeOf is what of a path can name a run: the file and three folders above it.
func placeOf(path string) string {
	parts := strings.Split(filepath.ToSlash(path), "/")
	return strings.Join(parts[max(0, len(parts)-4):], "/")
}

func chooseFormat(in *Input, found Found, opt *Options) (Format, error) {
	if found.Folder != nil {
		f, _ := FormatNamed(found.Format)
		return f, nil
	}
	if opt.As == "" && opt.Preset == "" {
		return Detect(in, opt)
	}
	if in.Size == 0 {
		return Format{}, &UnknownFormatError{Source: in.Name, Empty: true}
	}
	if opt.Preset != "" {
		return userPreset(in, opt)
	}
	f, _ := FormatNamed(opt.As)
	return f, nil
}

func sourceOf(in *Input, hash string, f Format, opt *Options) store.Source {
	given := opt.given()
	for _, name := range besideOf(in, f) {
		given["beside "+name] = in.siblingHash(name)
	}
	if f.Placed && in.Path != "" {
		given["place"] = placeOf(in.Path)
	}
	src := store.Source{
		Path: in.Path, Format: f.Name, FormatVersion: f.Version, Hash: hash, Size: in.limit,
		// Compressed text is not read from the middle.
		LineFormat:  f.Lines && in.Compression == Plain,
		OptionsHash: optionsHash(given), Options: given, Passhat: opt.Version, Replace: opt.Replace,
	}
	if in.Path == "" {
		src.Path, src.LineFormat = store.Stdin, false
	}
	if src.LineFormat {
		src.HashPrefix = in.linePrefix
	}
	if hash == "" {
		src.LateHash = in.contentHash
	}
	return src
}

// ingestPlanned plans, reads and commits.
func ingestPlanned(ctx context.Context, st *store.Store, in *Input, src store.Source, f Format, opt *Options, watch *watch, s *SourceSummary) error {
	*s = SourceSummary{Source: s.Source, Kind: s.Kind, Format: s.Format, DryRun: s.DryRun, Left: s.Left}
	var err error
	if s.Plan, err = st.Plan(ctx, src); err != nil {
		return err
	}
	if s.Plan.Action == store.Skip {
		s.Store.Action = store.Skip
		return nil
	}
	in.Offset, in.FirstLine, in.consumed, in.mappers.all = 0, 1, 0, nil
	in.notes, in.naiveTimes = nil, 0
	if s.Plan.Action == store.Append {
		// Not all of it will be read, so its hash is taken before.
		if src.Hash == "" {
			if src.Hash, err = in.contentHash(ctx); err != nil {
				return err
			}
		}
		in.Offset = s.Plan.Offset
		lines, err := in.countLines(ctx, in.Offset)
		if err != nil {
			return err
		}
		in.FirstLine = lines + 1
	}
	if opt.DryRun {
		return readInto(ctx, in, src, f, opt, watch, s, noSink{})
	}
	b, err := st.Begin(ctx, src, s.Plan)
	if err != nil {
		return err
	}
	defer b.Abort()
	if err := readInto(ctx, in, src, f, opt, watch, s, batchSink{b}); err != nil {
		var rejected *RejectedError
		if errors.As(err, &rejected) {
			return errors.Join(err, b.Fail())
		}
		return err
	}
	for _, n := range s.Notes {
		b.Warn(n)
	}
	if src.LineFormat {
		b.Consumed(in.consumed)
	}
	s.Store, err = b.Commit(ctx)
	return err
}

// readInto runs the pipeline and judges its rejects.
func readInto(ctx context.Context, in *Input, src store.Source, f Format, opt *Options, watch *watch, s *SourceSummary, to sink) error {
	loc, err := opt.location()
	if err != nil {
		return err
	}
	in.onRead = watch.read
	p := &pipeline{
		in: in, opt: opt, f: f, sink: to, jobs: opt.jobs(), rows: &watch.rows,
		seq: &sequencer{nameRun: in.runNamer(ctx, src.Hash), fallback: in.runTime(loc),
			runs: map[store.RunKey]runTime{}, numbers: map[uint64]int32{}, first: max(opt.rank-1, 0)},
	}
	err = p.run(ctx)
	in.onRead = nil
	s.FirstReject, s.Preview = p.first, p.preview
	s.Store.Read, s.Store.Rejects = p.counts.trials+p.rejects, p.rejects
	if err != nil {
		return err
	}
	limit, text, err := opt.maxRejects(s.Store.Read)
	if err != nil {
		return err
	}
	stored := s.Store.Read - p.rejects
	waiting := f.Lines && in.Grows() && in.consumed < in.limit
	if s.Store.Read == 0 && !waiting && s.Plan.Action != store.Append {
		return fmt.Errorf("%s: it holds no trials (read as %s)", in.Name, f.Name)
	}
	if p.rejects > limit || p.rejects > 0 && stored == 0 && s.Plan.Action != store.Append {
		return &RejectedError{Source: in.Name, Rows: s.Store.Read, Rejects: p.rejects, Limit: text, First: p.first}
	}
	if err := in.unchanged(ctx, src.Hash); err != nil {
		return err
	}
	if waiting {
		s.Waiting = in.limit - in.consumed
	}
	stats := in.stats()
	stats.NaiveTimes += in.naiveTimes
	if err := ungradedByGuess(in, f, opt, &p.counts, &stats); err != nil {
		return err
	}
	s.Mapping = mapping(&stats)
	s.Filled = p.filled.list(&f, s.Mapping)
	s.Notes = append(slices.Clone(in.notes), notes(&stats, &p.counts, opt)...)
	s.Notes = append(s.Notes, unusedRules(&stats, opt)...)
	if s.Plan.Action == store.Append && p.seq.made {
		s.Notes = append(s.Notes, fmt.Sprintf("the log names no run, so what was appended is a run of its own, %s: reports on the latest run show that part alone (--runs all reads all; --run NAME or a run_id in the log keeps one run)", p.seq.runName))
	}
	if s.Waiting > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("the last line is unfinished: its %s wait for the next ingest", plural(s.Waiting, "byte")))
	}
	return nil
}

// unusedRules names every --map and --score that found nothing.
func unusedRules(stats *Stats, opt *Options) []string {
	var out []string
	for _, m := range opt.Map {
		if stats.Used[Used{m.Name, shownRule(m.Value)}] == 0 {
			out = append(out, fmt.Sprintf("--map %s=%s: no row has such a field", m.Name, m.Value))
		}
	}
	return out
}

func (o *Options) jobs() int {
	if o.Jobs > 0 {
		return min(o.Jobs, 64)
	}
	return min(max(runtime.GOMAXPROCS(0), 1), 16)
}
