package ingest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"passhat/ingest/store"
)

// What one row is called depends on the others: whether a description stands
// for one set of vars, which rank a testIdx has among the repeats, whether two
// columns look alike. So every file is gone through twice, and the first time
// only what this file keeps is taken.

// pfSurvey is what the first reading of an eval found.
type pfSurvey struct {
	names map[string]*pfNames
	// declared are the tests as the configuration lists them, by description:
	// a filter or an abort must not change what a task is called.
	declared map[string]*pfNames
	groups   map[pfGroupKey]*pfGroup
	// columns are the prompt columns that share a provider and a label.
	columns map[[2]string][]int64
	// order lists the groups as they came, for notes.
	order []*pfGroup
	// texts are models and labels, which rows share: a label may be a whole prompt.
	texts map[string]string

	rows, passed, failed, errors, cached int64
}

// pfNames is what is known of the tests of one description.
type pfNames struct {
	first   map[string]uint64 // hashes of the values of the first set of vars
	varying map[string]bool   // vars that differ between the sets; nil for one set
}

type pfGroupKey struct {
	task   xxh3.Uint128
	model  string
	label  string
	prompt int64
}

// pfGroup is the repeats of one task under one provider and prompt.
type pfGroup struct {
	pfGroupKey
	name    string // the task's, once known
	idx     []int64
	taken   []bool
	planned int64 // 0: unknown
}

func newPFSurvey() *pfSurvey {
	return &pfSurvey{names: map[string]*pfNames{}, declared: map[string]*pfNames{}, groups: map[pfGroupKey]*pfGroup{}, columns: map[[2]string][]int64{}, texts: map[string]string{}}
}

// add takes a row of the first reading.
func (s *pfSurvey) add(row *pfRow) {
	s.rows++
	switch {
	case row.isError():
		s.errors++
	case row.success:
		s.passed++
	default:
		s.failed++
	}
	if row.cached {
		s.cached++
	}
	addNames(s.names, row.description, row.vars)
	row.model, row.label = s.shared(row.model), s.shared(row.label)
	column := [2]string{row.model, row.label}
	if list := s.columns[column]; !slices.Contains(list, row.promptIdx) && len(list) < 1000 {
		s.columns[column] = append(list, row.promptIdx)
	}
	key := row.group()
	g := s.groups[key]
	if g == nil {
		g = &pfGroup{pfGroupKey: key}
		s.groups[key] = g
		s.order = append(s.order, g)
	}
	g.idx = append(g.idx, row.testIdx)
	g.planned = max(g.planned, row.repeat)
}

// shared is a text that is held once, however many rows have it.
func (s *pfSurvey) shared(text string) string {
	if held, ok := s.texts[text]; ok {
		return held
	}
	s.texts[text] = text
	return text
}

// addNames takes one set of vars of a description.
func addNames(names map[string]*pfNames, description string, vars []pfVar) *pfNames {
	n := names[description]
	if n == nil {
		n = &pfNames{first: map[string]uint64{}}
		for _, v := range vars {
			n.first[v.key] = v.hash
		}
		names[description] = n
		return n
	}
	seen := 0
	for _, v := range vars {
		if h, ok := n.first[v.key]; ok {
			seen++
			if h == v.hash {
				continue
			}
		}
		n.vary(v.key)
	}
	if seen < len(n.first) {
		for key := range n.first {
			if !slices.ContainsFunc(vars, func(v pfVar) bool { return v.key == key }) {
				n.vary(key)
			}
		}
	}
	return n
}

func (n *pfNames) vary(key string) {
	if n.varying == nil {
		n.varying = map[string]bool{}
	}
	n.varying[key] = true
}

// declare takes the tests of the configuration. A list stands for one test for
// each of its values.
func (s *pfSurvey) declare(tests Value) {
	tests.eachElement(func(_ int, test Value) bool {
		row := pfRow{description: test.get("description").words()}
		row.setVars(test.get("vars"))
		n := addNames(s.declared, row.description, row.vars)
		for _, v := range row.vars {
			if v.val.Kind == Array {
				n.vary(v.key)
			}
		}
		return true
	})
}

// ready ends the first reading; repeat is that of the run, which holds where a
// test has none of its own.
func (s *pfSurvey) ready(repeat int64) {
	for _, g := range s.order {
		if g.planned == 0 {
			g.planned = repeat
		}
		slices.Sort(g.idx)
		g.taken = make([]bool, len(g.idx))
	}
	for _, list := range s.columns {
		slices.Sort(list)
	}
}

// maxTaskName is the longest name made of vars, in bytes.
const maxTaskName = 200

// name is the task of a row.
func (s *pfSurvey) name(row *pfRow) string {
	varying := map[string]bool{}
	for _, n := range []*pfNames{s.names[row.description], s.declared[row.description]} {
		if n != nil {
			maps.Copy(varying, n.varying)
		}
	}
	switch {
	case row.description == "" && len(row.vars) == 0:
		return "test without vars " + row.checks
	case row.description == "":
		return shortName(namedOnly(row.varsJSON(nil)))
	case len(varying) == 0:
		return row.description
	}
	return row.description + " " + shortName(namedOnly(row.varsJSON(varying)))
}

// shortName cuts a name and tells what was cut off by its hash.
func shortName(s string) string {
	if len(s) <= maxTaskName {
		return s
	}
	return cutText(s, maxTaskName-20) + string(hex16([]byte(s)))
}

// variant is the prompt of a row, with its column where that alone tells two
// apart.
func (s *pfSurvey) variant(row *pfRow) string {
	label := shortName(row.label)
	if len(s.columns[[2]string{row.model, row.label}]) > 1 {
		return fmt.Sprintf("%s (column %d)", label, row.promptIdx+1)
	}
	return label
}

// rank is the number of a row's trial: how many rows of its group have a lower
// testIdx.
func (g *pfGroup) rank(testIdx int64) int32 {
	i, _ := slices.BinarySearch(g.idx, testIdx)
	for i < len(g.taken)-1 && g.taken[i] {
		i++
	}
	if i < len(g.taken) {
		g.taken[i] = true
	}
	return int32(i)
}

// plan is how many trials were planned of a group: a multiple of the repeats
// where equal tests fall together.
func (g *pfGroup) plan() store.Opt[int32] {
	if g.planned <= 0 || g.planned > maxCount {
		return store.Opt[int32]{}
	}
	n := g.planned * max(1, (int64(len(g.idx))+g.planned-1)/g.planned)
	return store.Some(int32(n))
}

// notes say what the user should know of an eval.
func (s *pfSurvey) notes(in *Input, run *pfRun) {
	var short, merged []string
	for _, g := range s.order {
		if g.planned <= 0 {
			continue
		}
		if found := int64(len(g.idx)); found < g.planned {
			short = append(short, fmt.Sprintf("%s under %s (%d of %d)", cutText(g.name, 80), cutText(g.model, 40), found, g.planned))
		} else if found > g.planned {
			text := fmt.Sprintf("%s (%d for --repeat %d)", cutText(g.name, 80), found, g.planned)
			if n := len(merged); n == 0 || merged[n-1] != text {
				merged = append(merged, text)
			}
		}
	}
	at := ""
	if run.id != "" {
		at = " in " + cutText(run.id, 80)
	}
	if len(short) > 0 {
		in.Note("%s%s with fewer trials than planned: %s; promptfoo retry after --repeat drops rows, a filter or an abort leaves them out", plural(int64(len(short)), "task"), at, fewOf(short))
	}
	if len(merged) > 0 {
		in.Note("%s%s with more trials than --repeat: tests equal in description and vars count as one task: %s", plural(int64(len(merged)), "task"), at, fewOf(merged))
	}
	if run.hasStats && run.complete && (run.successes != s.passed || run.failures != s.failed || run.errors != s.errors) {
		in.Note("the totals of results.stats%s (%d passed, %d failed, %d errors) are not those of the rows (%d, %d, %d)", at,
			run.successes, run.failures, run.errors, s.passed, s.failed, s.errors)
	}
	if s.cached > 0 {
		in.Note("%s%s answered by promptfoo's cache: copies, not independent trials", plural(s.cached, "row"), at)
	}
}

func fewOf(list []string) string {
	const shown = 5
	if len(list) > shown {
		return strings.Join(list[:shown], ", ") + ", …"
	}
	return strings.Join(list, ", ")
}
