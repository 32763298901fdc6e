package ingest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"passhat/ingest/store"
)

// Summary is what one ingest did, source by source.
type Summary struct {
	Sources []SourceSummary
	// PassedOver are files found in folders that no format recognised.
	PassedOver []PassedOver
}

// PassedOver is a file that was found in a folder and is no log, and why.
type PassedOver struct{ Source, Reason string }

// SourceSummary is what became of one source. Read = Stored + Duplicates +
// Rejects, unless Err is set.
type SourceSummary struct {
	Source string
	Format string
	Kind   store.Kind // trials, labels or prices
	// Plan says what was to be done and why; Store what was done. On a dry
	// run and on failure Store holds only Read and Rejects.
	Plan  store.Plan
	Store store.Summary
	// Mapping tells which column came from which field, for formats whose
	// fields are named freely.
	Mapping []MappedColumn
	// Filled tells of a dry run how it would fill each column.
	Filled []Filled
	// Notes are sentences that the user should read.
	Notes []string
	// Left is how many files of a folder that is one source were not read.
	Left int
	// Waiting is the length of an unfinished last line, in bytes.
	Waiting int64
	// FirstReject is the first row that could not be read.
	FirstReject *SyntaxError
	// Preview holds the first trials of a dry run.
	Preview []store.Trial
	DryRun  bool
	Took    time.Duration
	Err     error
}

// MappedColumn is a column, the field it came from and the number of rows that
// had that field.
type MappedColumn struct {
	Column, From string
	Rows         int64
}

func mapping(s *Stats) []MappedColumn {
	var out []MappedColumn
	for u, n := range s.Used {
		out = append(out, MappedColumn{u.Column, u.From, n})
	}
	slices.SortFunc(out, func(a, b MappedColumn) int {
		ca, cb := mustColumn(a.Column), mustColumn(b.Column)
		if ca != cb {
			return int(ca) - int(cb)
		}
		if a.Rows != b.Rows {
			return int(b.Rows - a.Rows)
		}
		return strings.Compare(a.From, b.From)
	})
	return out
}

// Text says in a few lines what became of the source.
func (s *SourceSummary) Text() []string {
	if s.Err != nil {
		return nil // the error speaks
	}
	if s.Plan.Action == store.Skip {
		line := s.Source + ": already there, skipped"
		if s.Plan.Reason != "" {
			line = s.Source + ": " + s.Plan.Reason
		}
		return []string{line}
	}
	lines := []string{s.headline()}
	if s.Plan.Reason != "" {
		lines = append(lines, "  "+s.Plan.Reason)
	}
	if m := s.mappingText(); m != "" {
		lines = append(lines, "  "+m)
	}
	lines = append(lines, s.tasksText()...)
	if s.Left > 0 {
		lines = append(lines, fmt.Sprintf("  %s of the folder not read: it is one source", plural(int64(s.Left), "other file")))
	}
	for _, n := range s.Notes {
		lines = append(lines, "  "+n)
	}
	for _, n := range s.Store.Notes {
		if slices.Contains(s.Notes, n) {
			continue // the batch keeps the notes as well
		}
		lines = append(lines, "  "+n)
	}
	return lines
}

func (s *SourceSummary) headline() string {
	st := &s.Store
	what := "rows"
	if s.Kind != store.KindTrials {
		what = string(s.Kind)
	}
	if s.DryRun {
		return fmt.Sprintf("%s (%s): %s read, %s rejected; nothing written (--dry-run)", s.Source, s.Format,
			plural(st.Read, "row"), group(st.Rejects))
	}
	return fmt.Sprintf("%s (%s): %s %s read = %s stored + %s duplicates + %s rejects%s", s.Source, s.Format,
		group(st.Read), what, group(st.Stored), group(st.Duplicates), group(st.Rejects), s.actionText())
}

func (s *SourceSummary) actionText() string {
	switch s.Store.Action {
	case store.Append:
		return fmt.Sprintf(" (from byte %d on)", s.Plan.Offset)
	case store.Replace:
		return " (replacing the earlier batch)"
	}
	return ""
}

// mappingText tells the columns that came under another name.
func (s *SourceSummary) mappingText() string {
	var parts []string
	for _, m := range s.Mapping {
		if m.Column != m.From {
			parts = append(parts, m.Column+" ← "+m.From)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "fields: " + strings.Join(parts, ", ")
}

// tasksText compares the trials planned with those found.
func (s *SourceSummary) tasksText() []string {
	tasks := s.Store.Tasks
	if len(tasks) == 0 {
		return nil
	}
	var found, ungraded, planned, missing int64
	least, short, known := tasks[0].Least, 0, true
	names, runs := map[[2]string]bool{}, map[store.RunKey]bool{}
	for _, t := range tasks {
		found += t.Found
		ungraded += t.Ungraded
		least = min(least, t.Least)
		names[[2]string{t.Suite, t.TaskID}] = true
		runs[t.RunKey] = true
		if t.Planned == 0 {
			known = false
			continue
		}
		planned += int64(t.Planned)
		if t.Missing > 0 {
			missing += t.Missing
			short++
		}
	}
	in := ""
	if len(runs) > 1 {
		in = " in " + plural(int64(len(runs)), "run")
	}
	counted, most := "", ""
	if d := s.Store.Duplicates; d > 0 {
		counted, most = fmt.Sprintf(" with %s", plural(d, "duplicate")), " at most"
	}
	line := fmt.Sprintf("  %s%s, %s%s, %s ungraded; every task supports k up to %d%s",
		plural(int64(len(names)), "task"), in, plural(found, "trial"), counted, group(ungraded), least, most)
	lines := []string{line}
	switch {
	case !known && planned == 0:
		lines = append(lines, "  planned trials: not in the log")
	case s.Plan.Action == store.Append:
		lines = append(lines, "  that is the part which is new; planned against found of the whole run: passhat runs")
	case missing == 0:
		lines = append(lines, fmt.Sprintf("  planned trials of these tasks: %s, all found", group(planned)))
	default:
		lines = append(lines, fmt.Sprintf("  planned trials of these tasks: %s, missing %s in %s: %s", group(planned), group(missing),
			plural(int64(short), "task"), shortTasks(tasks)))
	}
	return lines
}

func shortTasks(tasks []store.TaskCount) string {
	const shown = 5
	var names []string
	for _, t := range tasks {
		if t.Missing > 0 {
			if len(names) == shown {
				return strings.Join(names, ", ") + ", …"
			}
			names = append(names, fmt.Sprintf("%s (%d of %d)", t.TaskID, int64(t.Planned)-t.Missing, t.Planned))
		}
	}
	return strings.Join(names, ", ")
}

// notes puts what reading came across into sentences.
func notes(s *Stats, c *finishCounts, opt *Options) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if c.scoredUngraded > 0 {
		add("%s with a score but no verdict: ungraded. Say how a score passes, e.g. --pass-when 'score >= 0.5'", plural(c.scoredUngraded, "trial"))
	}
	if s.Errored > 0 {
		add("%s with error, timeout or the like in place of a verdict: ungraded", plural(s.Errored, "trial"))
	}
	if s.Skipped > 0 {
		add("%s skipped: no trials", plural(s.Skipped, "row"))
	}
	if s.SeveralScores > 0 {
		add("%s with several scores: choose one by --score NAME, or judge by --pass-when 'scores.NAME >= 0.5'", plural(s.SeveralScores, "row"))
	}
	if opt.PassWhen != "" {
		add("--pass-when judged %s, %s against the verdict of the log", plural(c.judged, "trial"), group(c.rejudged))
	}
	for _, col := range slices.Sorted(maps.Keys(c.zeros)) {
		add("%s of 0 on %s that plainly ran: taken as unknown", col, plural(c.zeros[col], "trial"))
	}
	if s.RepeatedKeys > 0 {
		add("%s with a key that is there twice: the last counts", plural(s.RepeatedKeys, "row"))
	}
	for _, col := range slices.Sorted(maps.Keys(c.negative)) {
		add("%s below zero on %s: taken as unknown", col, plural(c.negative[col], "trial"))
	}
	if s.NaN > 0 {
		add("NaN or infinite numbers taken as unknown: %s", group(s.NaN))
	}
	if s.NaiveTimes > 0 {
		zone := opt.TZ
		if zone == "" {
			zone = "UTC"
		}
		add("%s without a zone, taken as %s (--tz)", plural(s.NaiveTimes, "time"), zone)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Mismatched)) {
		what := ""
		if strings.HasSuffix(name, " (trial)") {
			what = "; these trials are numbered in the order of the log"
		}
		add("%s: another kind of value in %s, kept in extra%s", name, plural(s.Mismatched[name], "row"), what)
	}
	if len(s.Omitted) > 0 {
		add("too long for extra (over %d bytes), left out: %s", maxExtraValue, counted(s.Omitted))
	}
	if len(s.Unused) > 0 {
		add("fields of the whole document that no trial has, left out: %s", strings.Join(firstFew(slices.Sorted(maps.Keys(s.Unused))), ", "))
	}
	if s.Secrets > 0 {
		add("fields that can hold secrets, left out: %s", group(s.Secrets))
	}
	if c.redacted > 0 {
		add("what looks like a key or token in free text, made %s: %s", redacted, group(c.redacted))
	}
	return out
}

func firstFew(names []string) []string {
	const shown = 10
	if len(names) > shown {
		return append(names[:shown:shown], "…")
	}
	return names
}

func counted(m map[string]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s (%s)", name, plural(m[name], "row")))
	}
	return strings.Join(firstFew(parts), ", ")
}

func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return group(n) + " " + noun + "s"
}

// group writes a number with commas between thousands.
func group(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
