package ingest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// This file says when a file of free form is a trial log: reading one that is
// not would give trials of a guess, all ungraded. A task and something that
// grades it must be named, by the file or by the user.

// isTrialRow reports whether a row names a task and a verdict, a score, counts
// or a list of trials.
func (p *Probe) isTrialRow(row []field) (task, graded bool) {
	names := fieldNames(row)
	task = p.NamedTask || hasTask(names, true)
	if p.NamedVerdict {
		return task, true
	}
	for i, f := range row {
		ref, ok := namesOf[normalName(names[i])]
		if !ok {
			continue
		}
		switch columns[ref.col].name {
		case "passed", "score", "successes":
			graded = graded || f.val.Kind != Object && f.val.Kind != Array
		case "scores":
			graded = graded || holdsScore(f.val)
		case "list of trials":
			graded = graded || p.isTrialList(f.val)
		}
	}
	return task, graded
}

// holdsScore reports whether a value is an object with a number or a truth in it.
func holdsScore(v Value) (found bool) {
	if v.Kind == String || v.Kind == Untyped {
		if o, ok := JSONValue(v.Text); ok {
			v = o
		}
	}
	if v.Kind == Untyped || v.Kind == Null && v.Text == nil {
		return true // a heading, or a text that goes on
	}
	v.eachMember(func(_ string, m Value) bool {
		_, found = scoreOf(m)
		return !found
	})
	return found
}

// isTrialList reports whether a value is a list of verdicts, or of objects that
// have one.
func (p *Probe) isTrialList(v Value) (found bool) {
	if v.Kind == Untyped || v.Kind == Null && v.Text == nil {
		return true
	}
	v.eachElement(func(i int, e Value) bool {
		switch e.Kind {
		case Bool, Number, Null:
			found = true
		case Object:
			fields, _, _ := scanObject(e.Text, 0, nil)
			_, found = p.isTrialRow(fields)
		case String:
			if _, found = e.boolean(); !found {
				_, found = e.ending()
			}
		}
		return !found && i < maxViewRows
	})
	return found
}

// isTrialLog reports whether one of the rows names a task and one what grades
// it. Of rows that go on behind what was looked at the verdict may come later.
func (p *Probe) isTrialLog(rows [][]field, cut bool) bool {
	var task, graded bool
	for _, row := range rows {
		t, g := p.isTrialRow(row)
		task, graded = task || t, graded || g
	}
	return task && (graded || cut)
}

// documentRows are the first rows of an object that holds a list of them.
func (v *headView) documentRows(b []byte) (rows [][]field, cut bool) {
	for _, name := range rowLists {
		for _, key := range fieldNames(v.top) {
			if normalName(key) != name {
				continue
			}
			at := headValue(b, v.start, key)
			if at < 0 || at >= len(b) || b[at] != '[' {
				continue
			}
			list := headView{start: at}
			list.list(b)
			if len(list.rows) > 0 {
				return list.rows, list.cut
			}
			if i := skipSpace(b, at+1); i >= len(b) {
				return nil, true
			}
		}
	}
	return nil, v.cut
}

// whyUnknown says what was seen of a file that no format recognised.
func (p *Probe) whyUnknown() string {
	if len(p.Head) == 0 {
		return "the file is empty"
	}
	v := p.view()
	if why := notLog(p, v); why != "" {
		return why
	}
	rows := v.rows
	kind := "its rows have the fields "
	switch {
	case v.forms&inTable != 0:
		if !hasSuffix(p.Name, ".csv", ".tsv", ".txt") || bytes.IndexByte(p.Head, '\n') < 0 {
			return ""
		}
		kind = "its columns are "
	case v.forms&inDocument != 0 && len(v.top) > 0:
		if rows, _ = v.documentRows(p.Head); len(rows) == 0 {
			rows, kind = [][]field{v.top}, "it has the fields "
		}
	}
	if len(rows) == 0 {
		return ""
	}
	names := unionNames(rows)
	text := kind + fieldList(names) + ": "
	switch task := hasTask(names, true) || p.NamedTask; {
	case task:
		text += taskName(names) + " may name the task, but nothing is a verdict, a score or counts, so every trial would be ungraded"
	default:
		text += "nothing names the task"
	}
	if near := nearestNative(rows[0]); near != "" {
		text += "; " + near
	} else if near := nearest(rows[0]); near != "" {
		text += "; " + near
	}
	return text + ". Say which is which by --map task_id=$.FIELD --map passed=$.FIELD (or score=$.FIELD with --pass-when), or name the format by --as (see passhat formats)"
}

func hasSuffix(name string, ends ...string) bool {
	return slices.ContainsFunc(ends, func(e string) bool { return strings.HasSuffix(strings.ToLower(name), e) })
}

func unionNames(rows [][]field) []string {
	var names []string
	for _, row := range rows {
		for _, n := range fieldNames(row) {
			if !slices.Contains(names, n) && len(names) < 200 {
				names = append(names, n)
			}
		}
	}
	return names
}

// taskName is the name among names that would be taken for the task's.
func taskName(names []string) string {
	best, rank := "--map or --set", 255
	for _, n := range names {
		ref, ok := namesOf[normalName(n)]
		if ok && columns[ref.col].name == "task_id" && int(ref.rank) < rank {
			best, rank = n, int(ref.rank)
		}
	}
	return best
}

// nearest names the preset of which most fields are there, if that is at least
// half of them and more than one.
func nearest(row []field) string {
	best, text := 0, ""
	for _, p := range presets {
		for _, set := range p.keys {
			var lacks []string
			for _, k := range set {
				if !hasKey(row, k) {
					lacks = append(lacks, k)
				}
			}
			if has := len(set) - len(lacks); has > max(best, 1) && has >= len(lacks) && len(lacks) > 0 {
				best = has
				text = fmt.Sprintf("near %s, which also has %s", p.name, strings.Join(lacks, ", "))
			}
		}
	}
	return text
}

// freeForms are the formats that take names as they come.
var freeForms = []string{"jsonl", "json", "csv", "tsv", "parquet", "arrow"}

// ungradedByGuess refuses a source of free form none of whose rows has so much
// as a field for a verdict or a score, unless the user says that it is such a
// log: reports would show it as one that always fails.
func ungradedByGuess(in *Input, f Format, opt *Options, c *finishCounts, s *Stats) error {
	if c.trials == 0 || c.ungraded < c.trials || c.scoredUngraded > 0 || opt.As != "" || opt.PassWhen != "" ||
		in.Offset > 0 || !slices.Contains(freeForms, f.Name) {
		return nil
	}
	for u := range s.Used {
		if slices.Contains([]string{"passed", "score", "scores", "successes", "list of trials"}, u.Column) {
			return nil
		}
	}
	return fmt.Errorf("%s: none of its %s has a verdict or a score (read as %s): say where they are by --map passed=$.FIELD or --map score=$.FIELD, or read it all ungraded by --as %s",
		in.Name, plural(c.trials, "trial"), f.Name, f.Name)
}
