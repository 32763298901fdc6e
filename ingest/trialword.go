package ingest

import (
	"strings"

	"passhat/ingest/store"
)

// trialWord reports whether a value that is no trial number names the trial in words:
// "trial_id": "t0-3". Other fields that could hold a number, such as a sample, may hold
// anything.
func (m *Mapper) trialWord(tg *target, name string, v Value) bool {
	if tg.col != colTrial || m.row.mode != oneTrial || v.Kind != String && v.Kind != Untyped || losesText(v) {
		return false
	}
	norm := normalName(name)
	if !strings.HasSuffix(norm, "id") {
		return false
	}
	if m.stats.Words == nil {
		m.stats.Words = map[string]int64{}
	}
	count1(m.stats.Words, name)
	return true
}

// nameByWord makes a trial_uid of it, with the task, because such words often begin
// anew for each; so the same trials in another file are known again.
func (m *Mapper) nameByWord(t *store.Trial) {
	word := m.str(m.row.word)
	if t.TrialUID != "" || t.TaskID == "" || word == "" || t.Trial.OK {
		return
	}
	uid := t.TaskID
	if t.Variant != "" {
		uid += "/" + t.Variant
	}
	t.TrialUID = keyText(StringValue(uid + "/" + word))
}
