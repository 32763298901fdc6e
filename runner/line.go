package runner

import (
	"strings"
	"time"
)

// taskHash is the key of extra that a later call of the run reads.
const taskHash = "task_sha256"

// line is the canonical line of a trial.
func (r *Run) line(j job, o outcome) []byte {
	columns := map[string]any{"harness": "passhat run", "harness_version": r.spec.Version}
	extra := map[string]any{"exit_code": o.exit}
	for name, v := range o.report.columns {
		columns[name] = v
	}
	for name, v := range o.report.extra {
		extra[name] = v
	}
	for name, v := range r.spec.Set {
		if rest, ok := strings.CutPrefix(name, "extra."); ok {
			extra[rest] = v
			continue
		}
		columns[name] = v
	}
	if j.v.State != "" {
		extra["state"] = cutText(r.secrets.hide(j.v.State), 4096)
	}
	if len(j.t.Variants) > 1 {
		extra["variant_seed"] = j.v.Seed
	}
	extra[taskHash] = j.t.hash()
	if j.cut > 0 {
		extra["cut_before"] = j.cut
	}
	if len(o.report.faults) > 0 {
		extra["report_faults"] = o.report.faults
	}
	delete(columns, "error_type")
	if o.errorType != "" {
		columns["error_type"] = o.errorType
	}
	if o.errorMessage != "" {
		columns["error_message"] = o.errorMessage
	}
	if o.log != "" {
		columns["trace"] = o.log
	}
	if _, ok := columns["output_hash"]; !ok && o.hash != "" {
		columns["output_hash"] = o.hash
	}
	fixed := encode(struct {
		Suite   string   `json:"suite"`
		RunID   string   `json:"run_id"`
		RunAt   string   `json:"run_at"`
		TaskID  string   `json:"task_id"`
		Variant string   `json:"variant,omitempty"`
		Trial   int      `json:"trial"`
		Planned int      `json:"planned_trials"`
		Shape   string   `json:"shape,omitempty"`
		Risk    string   `json:"risk,omitempty"`
		Passed  *bool    `json:"passed"`
		Started string   `json:"started_at"`
		Took    float64  `json:"duration_s"`
		Config  rawBytes `json:"config"`
	}{r.suite, r.runID, r.runAt, j.t.ID, j.v.Name, j.trial, j.planned, j.t.Shape, j.t.Risk, o.passed, stamp(o.started),
		o.took.Round(time.Millisecond).Seconds(), r.config})
	line := append(fixed[:len(fixed)-1], ',')
	line = append(line, encode(columns)[1:]...)
	line = append(line[:len(line)-1], `,"extra":`...)
	return append(append(line, encode(extra)...), '}')
}

// rawBytes is JSON that stands in JSON.
type rawBytes []byte

// MarshalJSON gives the bytes themselves.
func (b rawBytes) MarshalJSON() ([]byte, error) { return b, nil }
