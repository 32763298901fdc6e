package ingest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// conclude says what the user must hear of the log. A log without samples is an
// error that says why.
func (l *inspectLog) conclude() error {
	l.noteState()
	if l.found == 0 {
		return l.empty()
	}
	l.noteTotals()
	if err := l.noteScores(); err != nil {
		return err
	}
	l.noteSamples()
	return nil
}

func (l *inspectLog) noteState() {
	fault := ""
	if l.fault != "" {
		fault = ": " + cutText(strings.Join(strings.Fields(l.fault), " "), 200)
	}
	switch {
	case l.unfinished:
		l.in.Note("the archive has no %s: the run is still going, or it crashed; read from its journal", inspectHeader)
	case l.status == "started":
		l.in.Note("the log's status is started: the run is still going, or it crashed")
	case l.status != "success":
		l.in.Note("the log's status is %s%s: the run did not do all that it meant to", quoteShort([]byte(l.status)), fault)
	}
}

// expected is how many samples, all epochs counted, the header speaks of.
func (l *inspectLog) expected() (n int64, how string) {
	if l.total.OK {
		return l.total.V, "results.total_samples"
	}
	if l.planned > 0 {
		return l.planned * int64(l.epochs), fmt.Sprintf("%s × %s", plural(l.planned, "sample"), plural(int64(l.epochs), "epoch"))
	}
	return 0, ""
}

func (l *inspectLog) noteTotals() {
	want, how := l.expected()
	got := l.found + l.tally.invalid
	if how == "" || want == got {
		return
	}
	says := "the absent ones are missing, not failed"
	if got > want {
		says = "all of them are taken"
	}
	l.in.Note("the log's header speaks of %s (%s), %s in the log: %s", plural(want, "sample"), how, isOrAre(got), says)
	if want > got && l.planned > int64(len(l.tally.tasks)) {
		l.in.Note("of the %s of the dataset %s a trial in the log", plural(l.planned, "sample"), hasOrHave(int64(len(l.tally.tasks))))
	}
	if want > got && l.reductions {
		l.in.Note("the log still has the scores reduced over epochs of what is absent: single trials cannot be told from them, so they are not read")
	}
}

func isOrAre(n int64) string {
	if n == 1 {
		return "1 is"
	}
	return group(n) + " are"
}

func hasOrHave(n int64) string {
	if n == 1 {
		return "1 has"
	}
	return group(n) + " have"
}

// empty says why there are no trials.
func (l *inspectLog) empty() error {
	why := "its samples are not in the file"
	switch {
	case l.tally.invalid > 0:
		why = fmt.Sprintf("its %s were invalidated", plural(l.tally.invalid, "sample"))
	case l.tally.running > 0:
		why = fmt.Sprintf("its %s are still running", plural(l.tally.running, "sample"))
	case l.noSamples:
		why = "the run was told not to log samples (log_samples: false)"
	}
	speaks := ""
	if n, how := l.expected(); how != "" {
		speaks = fmt.Sprintf("; its header speaks of %s", plural(n, "sample"))
	}
	return fmt.Errorf("%s: the log holds no trials: %s (status %s%s)", l.in.Name, why, l.status, speaks)
}

// noteScores says which score was taken, and what it could not judge.
func (l *inspectLog) noteScores() error {
	p := &l.pick
	others := l.otherScores()
	switch {
	case p.asked != "" && p.hits == 0 && len(p.seen) > 0:
		return fmt.Errorf("%s: --score %s: no sample has such a score; there are: %s", l.in.Name, p.asked, strings.Join(firstFew(l.scoreNames()), ", "))
	case len(p.seen) == 0:
		l.in.Note("no sample has a score: all trials are ungraded")
	case p.asked != "":
	case p.hits == 0:
		l.in.Note("the score %s (%s) is in no sample: all are ungraded; choose another by --score (%s)",
			joinScore(p.scorer, p.key), p.why, strings.Join(firstFew(others), ", "))
	case len(l.tally.setValues) > 0:
		l.in.Note("the score %s is a set of values, none of which says pass or fail for all: its trials are ungraded; choose one by --score (%s)",
			p.scorer, strings.Join(firstFew(slices.Sorted(maps.Keys(l.tally.setValues))), ", "))
	case len(others) > 0:
		l.in.Note("several scores: passed and score are those of %s (%s); by --score: %s", joinScore(p.scorer, p.key), p.why, strings.Join(firstFew(others), ", "))
	}
	if len(l.tally.noValue) > 0 {
		l.in.Note("scores that are no number, C, I, P, N, yes or no: ungraded (Inspect itself takes them for 0): %s; judge by --pass-when or choose another by --score", counted(l.tally.noValue))
	}
	if l.tally.infinite > 0 {
		l.in.Note("infinite scores: ungraded, %s", plural(l.tally.infinite, "trial"))
	}
	return nil
}

// scoreNames are all scores that the header or the samples name.
func (l *inspectLog) scoreNames() []string {
	names := slices.Clone(l.pick.listed)
	for _, n := range l.pick.seen {
		within := slices.ContainsFunc(names, func(s string) bool { return strings.HasPrefix(s, n+".") })
		if !within && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(l.tally.setValues)) {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

func (l *inspectLog) otherScores() []string {
	chosen := joinScore(l.pick.scorer, l.pick.key)
	return slices.DeleteFunc(l.scoreNames(), func(n string) bool { return n == chosen })
}

func (l *inspectLog) noteSamples() {
	c := &l.tally
	if c.invalid > 0 {
		l.in.Note("invalidated samples left out: %s", group(c.invalid))
	}
	if c.running > 0 {
		l.in.Note("samples still running left out: %s", group(c.running))
	}
	if c.superseded > 0 {
		l.in.Note("records of a sample and epoch that a later one replaces, left out: %s", group(c.superseded))
	}
	if c.retried > 0 {
		l.in.Note("%s came after attempts of the same sample that raised an error (retry_on_error): those attempts are no trials", plural(c.retried, "trial"))
	}
	if c.mixed > 0 {
		l.in.Note("tokens of %s are of several models (also %s), graders perhaps among them: the log does not keep them apart", plural(c.mixed, "trial"),
			strings.Join(firstFew(slices.Sorted(maps.Keys(c.models))), ", "))
	}
}
