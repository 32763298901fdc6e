package ingest

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"passhat/ingest/store"
)

// byInstance reads a document of one member an instance.
func (r *sweReader) byInstance(d *document) error {
	cut, err := d.whole(func(key string, c byte) error {
		d.at = key
		return d.element(c, func(at string, raw []byte) error {
			v, ok := JSONValue(raw)
			if !ok {
				return d.s.fault("the value of %s is malformed", quoteShort([]byte(key)))
			}
			return r.instance(key, at, v, "", store.Opt[int32]{})
		})
	})
	if err != nil || cut {
		return err
	}
	strange := r.strange()
	n, err := r.missing(store.Opt[bool]{}, "--tasks-file")
	if n > 0 {
		r.in.Note("%s of --tasks-file that the report does not mention: ungraded", plural(int64(n), "task"))
	}
	r.compareTasks(strange)
	return err
}

// instance hands on one instance's verdict, true or false or a report.
func (r *sweReader) instance(id, at string, v Value, trace string, trial store.Opt[int32]) error {
	w := &sweVerdict{id: id, at: at, raw: append([]byte(id+" "), v.Text...), trace: trace, trial: trial}
	reason := ""
	switch v.Kind {
	case Bool:
		w.passed = v.truth()
	case Null:
	case Object:
		reason = w.report(v)
	default:
		reason = "found " + v.Kind.String() + ", true, false or a report {…} is wanted"
	}
	if id == "" {
		reason = "found an empty id, an instance id is wanted"
	}
	if reason == "" {
		return r.trialOf(w)
	}
	if !r.yield(nil, NewSyntaxError(r.in, 0, at, reason, v.Text)) {
		return errStopped
	}
	return nil
}

// report takes the verdict of a per-instance report.
func (w *sweVerdict) report(v Value) string {
	resolved := v.get("resolved")
	if resolved.Kind != Bool && resolved.Kind != Null {
		return "resolved: found " + resolved.Kind.String() + ", true or false is wanted"
	}
	w.passed = resolved.truth()
	no := func(key string) bool { t := v.get(key).truth(); return t.OK && !t.V }
	switch {
	case v.get("infra_failure").truth().V:
		w.kind, w.message = "infra", strings.TrimSuffix("infra_failure: "+v.get("infra_failure_reason").words(), ": ")
	case v.get("patch_is_None").truth().V || no("patch_exists"):
		w.kind, w.message = "agent", "empty patch"
	case no("patch_successfully_applied") && !w.passed.V:
		w.kind, w.message = "agent", "the patch did not apply"
	}
	var scores jsonObject
	for _, group := range []string{"FAIL_TO_PASS", "PASS_TO_PASS"} {
		tests := v.get("tests_status", group)
		if tests.Kind != Object {
			continue
		}
		good, bad := tests.get("success").length(), tests.get("failure").length()
		if good+bad > 0 {
			scores.raw(strings.ToLower(group), appendJSONFloat(nil, float64(good)/float64(good+bad), 64))
			w.extra.int(strings.ToLower(group)+"_tests", int64(good+bad))
		}
	}
	w.scores = scores.String()
	return ""
}

// sweLogs are the files of an instance's folder, the one that decides first.
var sweLogs = []string{"report.json", "run_instance.log", "test_output.txt", "patch.diff", "eval.sh"}

// claimSWEBench takes a folder of instances, MODEL in logs/run_evaluation/RUN/MODEL;
// under --folder-as trial the folder of several runs above it.
func claimSWEBench(d *Folder, opt *Options) []string {
	depth := 1
	if opt.FolderAs == "trial" {
		depth = 3
	}
	best := map[string]string{} // by folder
	for _, f := range d.Files {
		dir, base := path.Split(f)
		if strings.Count(f, "/") != depth || !slices.Contains(sweLogs, base) {
			continue
		}
		if old, ok := best[dir]; !ok || slices.Index(sweLogs, base) < slices.Index(sweLogs, path.Base(old)) {
			best[dir] = f
		}
	}
	var files []string
	known := false
	for _, dir := range sortedNames(best) {
		f := best[dir]
		if files = append(files, f); known || path.Base(f) != "report.json" {
			continue
		}
		head, err := d.Head(f)
		if err != nil {
			return nil
		}
		if len(bytes.TrimSpace(head)) == 0 {
			continue
		}
		if sweKindOf(head) != sweReports || !bytes.Contains(head, []byte(`"`+path.Base(strings.TrimSuffix(dir, "/"))+`"`)) {
			return nil
		}
		known = true
	}
	if !known {
		return nil
	}
	return files
}

func sortedNames(m map[string]string) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// folder reads the per-instance reports of a folder.
func (r *sweReader) folder() error {
	r.kind = sweReports
	parts := strings.Split(strings.TrimSuffix(strings.ReplaceAll(r.in.Path, `\`, "/"), "/"), "/")
	last := parts[len(parts)-1]
	deep := len(r.in.Files) > 0 && strings.Count(r.in.Files[0], "/") == 3
	switch {
	case deep:
		r.base.RunID = last
	case slices.Contains(sweResults, strings.ToLower(last)) && len(parts) > 1:
		r.base.RunID = parts[len(parts)-2]
	case len(parts) > 1:
		r.base.RunID, r.base.Model, r.uid = parts[len(parts)-2], sweModel(last), true
	}
	var runs []string
	var none []string
	for _, name := range r.in.Files {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		var trial store.Opt[int32]
		if deep {
			p := strings.Split(name, "/")
			if !slices.Contains(runs, p[0]) {
				runs = append(runs, p[0])
			}
			trial = store.Some(int32(slices.Index(runs, p[0])))
			r.base.Model = sweModel(p[1])
		}
		graded, err := r.instanceFile(name, trial)
		if err != nil {
			return err
		}
		if !graded {
			none = append(none, path.Base(path.Dir(name)))
		}
	}
	if len(none) > 0 {
		r.in.Note("%s without a report: ungraded: %s", plural(int64(len(none)), "instance"), strings.Join(firstFew(none), ", "))
	}
	if deep {
		r.in.Note("its %s are the trials of run %s (--folder-as trial): %s", plural(int64(len(runs)), "folder"), last, strings.Join(firstFew(runs), ", "))
		return nil
	}
	strange := r.strange()
	n, err := r.missing(store.Opt[bool]{}, "--tasks-file")
	if n > 0 {
		r.in.Note("%s of --tasks-file without a folder: ungraded", plural(int64(n), "task"))
	}
	r.compareTasks(strange)
	return err
}

// instanceFile reads the file of one instance; graded is false where it holds
// no report.
func (r *sweReader) instanceFile(name string, trial store.Opt[int32]) (graded bool, err error) {
	id, trace := path.Base(path.Dir(name)), path.Dir(name)
	raw := []byte(nil)
	if path.Base(name) == "report.json" {
		if raw, err = r.in.ReadFile(name, int64(r.opt.maxRow())); err != nil {
			return false, err
		}
	}
	raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte(utf8BOM)))
	if len(raw) == 0 {
		v := &sweVerdict{id: id, at: name, raw: []byte(name), kind: "other", message: "no report could be made of it", trace: trace, trial: trial}
		v.extra.text("list", "no report")
		return false, r.trialOf(v)
	}
	doc, ok := JSONValue(raw)
	if !ok || doc.Kind != Object {
		bad := NewSyntaxError(r.in, 0, name, "a report {\"INSTANCE\": {…}} is wanted: it is malformed or was cut while being written", raw)
		if !r.yield(nil, bad) {
			return true, errStopped
		}
		return true, nil
	}
	report := doc.get(id)
	if report.Kind == Null {
		bad := NewSyntaxError(r.in, 0, name, fmt.Sprintf("it has no report of %s, the instance that its folder is called after", quoteShort([]byte(id))), raw)
		if !r.yield(nil, bad) {
			return true, errStopped
		}
		return true, nil
	}
	return true, r.instance(id, name, report, trace, trial)
}
