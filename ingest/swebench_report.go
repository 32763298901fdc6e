package ingest

import (
	"fmt"
	"slices"
	"strings"

	"passhat/ingest/store"
)

// sweStages are the lists of a report in the order in which they decide: the
// first that names an instance gives its verdict.
var sweStages = []struct {
	list, verdict string // pass, fail or none
	kind, message string
}{
	{"resolved_ids", "pass", "", ""},
	{"resolved", "pass", "", ""},
	{"error_ids", "none", "other", "error_ids: no report could be made of it"},
	{"empty_patch_ids", "fail", "agent", "empty patch"},
	{"incomplete_ids", "none", "", ""},
	{"unresolved_ids", "fail", "", ""},
	{"no_generation", "fail", "agent", "no patch was generated"},
	{"install_fail", "none", "infra", "installation failed"},
	{"reset_failed", "none", "infra", "reset of the repository failed"},
	{"no_apply", "fail", "agent", "the patch did not apply"},
	{"no_logs", "none", "infra", "no log of the evaluation"},
	{"test_errored", "none", "scorer", "the tests could not be run"},
	{"test_timeout", "none", "timeout", "the tests timed out"},
	{"applied", "fail", "", ""},
	{"completed_ids", "fail", "", ""},
	{"with_logs", "none", "", ""},
	{"generated", "none", "", ""},
	{"submitted_ids", "none", "", ""},
}

// sweAdvice are lists that explain without deciding.
var sweAdvice = map[string]string{"infra_failure_ids": "infra", "ambiguous_failure_ids": "other"}

// sweReport is a report of lists while it is read.
type sweReport struct {
	lists   map[string][]string
	totals  map[string]int64
	reasons map[string]string
	stats   map[string]int64
}

// report reads a report of lists.
func (r *sweReader) report(d *document) error {
	s := &sweReport{lists: map[string][]string{}, totals: map[string]int64{}, reasons: map[string]string{}, stats: map[string]int64{}}
	version := Value{}
	cut, err := d.whole(func(key string, c byte) error {
		switch {
		case c == '[':
			var ids []string
			err := d.elements(key, func(at string, raw []byte) error {
				v, _ := JSONValue(raw)
				id, reason := scalarText(v)
				if id == "" && reason == "" {
					reason = "found an empty id, an instance id is wanted"
				}
				if reason == "" {
					ids = append(ids, id)
				} else if !r.yield(nil, NewSyntaxError(r.in, 0, at, reason, raw)) {
					return errStopped
				}
				return nil
			})
			s.lists[key] = ids
			return err
		case key == "failure_reasons" || key == "stats":
			v, _, err := d.value(c)
			v.eachMember(func(name string, x Value) bool {
				if n := x.whole(); n.OK {
					s.stats[name] = n.V
				}
				if !neverStored(normalName(name)) {
					s.reasons[name] = x.words()
				}
				return true
			})
			return err
		case c == '{':
			return d.skip(c)
		}
		v, _, err := d.value(c)
		if n := v.whole(); n.OK && key != "schema_version" {
			s.totals[key] = n.V
		} else if key == "schema_version" {
			version = Value{v.Kind, v.Escaped, slices.Clone(v.Text)}
		}
		return err
	})
	if err != nil || cut {
		return err
	}
	if n := version.whole(); version.Kind != Null && (n.V < 1 || n.V > 2) {
		return fmt.Errorf("%s: schema_version: found %s, 1 or 2 is known", r.in.Name, quoteShort(version.Text))
	}
	return r.verdicts(s)
}

// verdicts hands on the trials of a report.
func (r *sweReader) verdicts(s *sweReport) error {
	if s.lists["resolved"] == nil && s.lists["resolved_ids"] == nil {
		return fmt.Errorf("%s: neither resolved_ids nor resolved is a list: a report of SWE-bench has one of them", r.in.Name)
	}
	places, order := map[string]*sweVerdict{}, []string(nil)
	onlyPasses := true
	for _, stage := range sweStages {
		for i, id := range s.lists[stage.list] {
			v := places[id]
			if v == nil {
				v = &sweVerdict{id: id, at: fmt.Sprintf("%s[%d]", stage.list, i), kind: stage.kind, message: stage.message}
				v.passed = sweVerdictOf(stage.verdict)
				places[id] = v
				order = append(order, id)
				onlyPasses = onlyPasses && stage.verdict == "pass"
			}
			if !strings.Contains(" "+v.trace+" ", " "+stage.list+" ") {
				v.trace = strings.TrimSpace(v.trace + " " + stage.list)
			}
		}
	}
	if onlyPasses && !s.judgesAll() && r.tasks == nil {
		return fmt.Errorf("%s: it lists only what was resolved (%d instances%s), not what failed: name the tasks of the suite by --tasks-file FILE, one a line",
			r.in.Name, len(order), s.generatedText())
	}
	slices.Sort(order)
	for _, id := range order {
		if err := r.reported(s, places[id]); err != nil {
			return err
		}
	}
	strange := r.strange()
	if err := r.restOfTasks(s, onlyPasses && !s.judgesAll()); err != nil {
		return err
	}
	r.compareTasks(strange)
	s.compare(r.in, len(order))
	return nil
}

func sweVerdictOf(s string) (o store.Opt[bool]) {
	if s != "none" {
		o = store.Some(s == "pass")
	}
	return o
}

// reported hands on one instance, with the lists in which it stands.
func (r *sweReader) reported(s *sweReport, v *sweVerdict) error {
	lists := strings.Fields(v.trace)
	v.trace = ""
	if slices.Contains(lists, "unresolved_ids") && v.passed.V {
		bad := NewSyntaxError(r.in, 0, v.at, "instance "+quoteShort([]byte(v.id))+" is both resolved and unresolved", []byte(v.id))
		r.seen[v.id] = true
		if !r.yield(nil, bad) {
			return errStopped
		}
		return nil
	}
	for _, list := range []string{"infra_failure_ids", "ambiguous_failure_ids"} {
		if slices.Contains(s.lists[list], v.id) {
			lists = append(lists, list)
			v.kind, v.message = sweAdvice[list], strings.TrimSuffix(list, "_ids")
			if why := s.reasons[v.id]; why != "" {
				v.message += ": " + why
			}
		}
	}
	v.extra.text("list", strings.Join(lists, " "))
	v.raw = []byte(v.id + " " + strings.Join(lists, " "))
	return r.trialOf(v)
}

// judgesAll tells whether the report also lists what was not resolved, even
// where there is none of it.
func (s *sweReport) judgesAll() bool {
	for _, list := range []string{"unresolved_ids", "completed_ids", "submitted_ids", "generated", "applied", "with_logs"} {
		if _, ok := s.lists[list]; ok {
			return true
		}
	}
	return false
}

func (s *sweReport) generatedText() string {
	if n, ok := s.stats["generated"]; ok {
		return fmt.Sprintf(" of %d generated", n)
	}
	return ""
}

// restOfTasks hands on the tasks of --tasks-file that the report does not mention.
func (r *sweReader) restOfTasks(s *sweReport, onlyPasses bool) error {
	if !onlyPasses {
		n, err := r.missing(store.Opt[bool]{}, "--tasks-file")
		if n > 0 {
			r.in.Note("%s of --tasks-file that the report does not mention: ungraded", plural(int64(n), "task"))
		}
		return err
	}
	n, err := r.missing(store.Some(false), "--tasks-file, not resolved")
	if n > 0 {
		r.in.Note("it lists only what was resolved%s: %s of --tasks-file taken as not resolved, among them those never generated",
			s.generatedText(), plural(int64(n), "other task"))
	}
	return err
}

// sweTotals pairs totals with the lists that they count.
var sweTotals = [][2]string{{"resolved_instances", "resolved_ids"}, {"unresolved_instances", "unresolved_ids"}, {"completed_instances", "completed_ids"},
	{"submitted_instances", "submitted_ids"}, {"empty_patch_instances", "empty_patch_ids"}, {"error_instances", "error_ids"}}

// compare says where the report's totals and its lists differ.
func (s *sweReport) compare(in *Input, found int) {
	if n, ok := s.totals["total_instances"]; ok && n != int64(found) {
		in.Note("total_instances is %d, but its lists name %d instances", n, found)
	}
	for _, pair := range sweTotals {
		list, ok := s.lists[pair[1]]
		if !ok && pair[1] == "resolved_ids" {
			list, ok = s.lists["resolved"]
		}
		if n, has := s.totals[pair[0]]; has && ok && n != int64(len(list)) {
			in.Note("%s is %d, but %s holds %d", pair[0], n, pair[1], len(list))
		}
	}
	for _, key := range []string{"resolved", "generated", "applied", "with_logs"} {
		if n, has := s.stats[key]; has && s.lists[key] != nil && n != int64(len(s.lists[key])) {
			in.Note("stats.%s is %d, but %s holds %d", key, n, key, len(s.lists[key]))
		}
	}
	for _, list := range []string{"infra_failure_ids", "ambiguous_failure_ids"} {
		if n := len(s.lists[list]); n > 0 {
			in.Note("%s in %s: SWE-bench's verdict on them stands", plural(int64(n), "instance"), list)
		}
	}
}
