package ingest_test

import (
	"strings"
	"testing"

	"passhat/ingest"
)

// TestCountsThatMakeNoSense: counts that stand for no trials, or for parts of
// one, are rejects and not other trials.
func TestCountsThatMakeNoSense(t *testing.T) {
	d := newDesk(t)
	s := d.one(ingest.Options{MaxRejects: "5"}, d.write("a.jsonl", `{"task_id":"a","n":4,"c":3}`+"\n"+`{"task_id":"z","n":0,"c":0}`+"\n"+`{"task_id":"h","n":4,"c":2.5}`+"\n"))
	if s.Store.Stored != 4 || s.Store.Rejects != 2 {
		t.Errorf("%d stored, %d rejects; want 4 and 2", s.Store.Stored, s.Store.Rejects)
	}
	checkContains(t, s.FirstReject.Reason, "n = 0")
}

// TestBelowZeroIsUnknown: a mean over a cost of -1 would be wrong in silence.
func TestBelowZeroIsUnknown(t *testing.T) {
	d := newDesk(t)
	s := d.one(ingest.Options{}, d.write("a.jsonl", `{"task_id":"a","ok":true,"cost_usd":-1,"duration_s":-2}`+"\n"))
	r := storedRows(t, d.st)[0]
	if r["cost_usd"] != nil || r["duration_s"] != nil {
		t.Errorf("cost %v, duration %v; want NULL", r["cost_usd"], r["duration_s"])
	}
	checkContains(t, strings.Join(s.Notes, "\n"), "cost_usd below zero on 1 trial")
}

// TestRejectsKeepNoSecrets: what stands under a telling key is not stored with
// a row that cannot be read either.
func TestRejectsKeepNoSecrets(t *testing.T) {
	d := newDesk(t)
	s := d.one(ingest.Options{MaxRejects: "5"}, d.write("a.jsonl", `{"task_id":"a","ok":true}`+"\n"+
		`{"task_id":"b","ok":"perhaps","llm_args":{"api_key":"sk-1","Authorization":"Bearer \"x","hf_token":"hf_2"},"max_tokens":"7"}`+"\n"))
	raw := string(s.FirstReject.Raw)
	for _, secret := range []string{"sk-1", "Bearer", "hf_2"} {
		if strings.Contains(raw, secret) {
			t.Errorf("%s is kept: %s", secret, raw)
		}
	}
	if !strings.Contains(raw, `"max_tokens":"7"`) || !strings.Contains(raw, `"perhaps"`) {
		t.Errorf("too much is gone: %s", raw)
	}
}

// TestTrialsThatLackTheModel: an errored trial without the model that the others
// of its run name would leave their group in silence.
func TestTrialsThatLackTheModel(t *testing.T) {
	d := newDesk(t)
	s := d.one(ingest.Options{}, d.write("a.jsonl", `{"run_id":"r","task_id":"a","ok":true,"model":"m"}`+"\n"+`{"run_id":"r","task_id":"a","error":"timed out"}`+"\n"))
	checkContains(t, strings.Join(s.Store.Notes, "\n"), "1 trials have no model though others of their run do (m)")
}

// TestAppendedPartIsSaid: what was appended to a log that names no run is a run
// of its own, which reports on the latest run show alone.
func TestAppendedPartIsSaid(t *testing.T) {
	d := newDesk(t)
	log := d.write("a.jsonl", oneTrial)
	d.one(ingest.Options{}, log)
	d.write("a.jsonl", oneTrial+`{"task_id":"b","ok":true}`+"\n")
	s := d.one(ingest.Options{}, log)
	checkContains(t, strings.Join(s.Notes, "\n"), "a run of its own")
	named := d.write("b.jsonl", `{"run_id":"r","task_id":"b","ok":true}`+"\n")
	d.one(ingest.Options{}, named)
	d.write("b.jsonl", `{"run_id":"r","task_id":"b","ok":true}`+"\n"+`{"run_id":"r","task_id":"c","ok":true}`+"\n")
	if s = d.one(ingest.Options{}, named); strings.Contains(strings.Join(s.Notes, "\n"), "a run of its own") {
		t.Errorf("a log that names its run: %q", s.Notes)
	}
}

// TestMapThatNoRowHas: of a path whose first step is there and whose second is not, no row has
// a value.
func TestMapThatNoRowHas(t *testing.T) {
	d := newDesk(t)
	log := d.write("a.jsonl", `{"run_id":"r","task_id":"a","ok":true,"in":{"seconds":2}}`+"\n"+`{"run_id":"r","task_id":"b","ok":false,"in":{"seconds":3}}`+"\n")
	for _, path := range []string{"$.in.minutes", "$.out", "$.out.seconds"} {
		s := d.one(ingest.Options{Map: []ingest.Pair{{Name: "duration_s", Value: path}}}, log)
		checkContains(t, strings.Join(s.Notes, "\n"), "--map duration_s="+path+": no row has such a field")
		d = newDesk(t)
		log = d.write("a.jsonl", `{"run_id":"r","task_id":"a","ok":true,"in":{"seconds":2}}`+"\n")
	}
	s := d.one(ingest.Options{Map: []ingest.Pair{{Name: "duration_s", Value: "$.in.seconds"}}}, log)
	if notes := strings.Join(s.Notes, "\n"); strings.Contains(notes, "no row has") {
		t.Errorf("a path that is there: %s", notes)
	}
}

// TestLongNamesAreQuotedShort: a note does not print a name of a megabyte.
func TestLongNamesAreQuotedShort(t *testing.T) {
	d := newDesk(t)
	model := strings.Repeat("ü", 1_000_000)
	s := d.one(ingest.Options{}, d.write("a.jsonl", `{"run_id":"r","task_id":"a","ok":true,"model":"`+model+`"}`+"\n"+`{"run_id":"r","task_id":"a","ok":false}`+"\n"))
	notes := strings.Join(append(s.Notes, s.Store.Notes...), "\n")
	checkContains(t, notes, "("+strings.Repeat("ü", 60)+"…)")
	if len(notes) > 2000 {
		t.Errorf("the notes have %d bytes", len(notes))
	}
}
