package ingest

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

// harborTotals are the totals of one evaluation, the job's and those counted.
type harborTotals struct {
	trials, errors store.Opt[int64]
	mean           store.Opt[float64]
	passAt         map[int64]float64

	rewarded, failed, all int64
	sum                   float64
	tasks                 map[string][2]int64
}

func newHarborTotals(e Value) *harborTotals {
	h := &harborTotals{trials: e.get("n_trials").whole(), errors: e.get("n_errors").whole(), passAt: map[int64]float64{}, tasks: map[string][2]int64{}}
	e.get("metrics").eachElement(func(_ int, m Value) bool {
		if x := m.get("mean").number(); x.OK {
			h.mean = x
		}
		return true
	})
	e.get("pass_at_k").eachMember(func(k string, p Value) bool {
		if n, err := strconv.ParseInt(k, 10, 32); err == nil && p.number().OK {
			h.passAt[n] = p.number().V
		}
		return len(h.passAt) < 100
	})
	return h
}

func (h *harborTotals) count(t *store.Trial) {
	h.all++
	if t.Score.OK {
		h.rewarded++
		h.sum += t.Score.V
	}
	if t.ErrorMessage != "" {
		h.failed++
	}
	nc := h.tasks[t.TaskID]
	h.tasks[t.TaskID] = [2]int64{nc[0] + 1, nc[1] + int64(boolInt(t.Passed.V))}
}

// compare holds the job's totals against what was found.
func (r *harborReader) compare() {
	name := r.jobName()
	differs := func(what string, says, found float64) {
		r.in.Note("%s: %s is %s in result.json, %s over the trials read", name, what, formatNumber(says), formatNumber(found))
	}
	check := func(what string, says store.Opt[int64], found int64) {
		if says.OK && says.V != found {
			differs(what, float64(says.V), float64(found))
		}
	}
	stats := r.doc.get("stats")
	check("n_total_trials", r.doc.get("n_total_trials").whole(), int64(len(r.order)))
	check("stats."+firstKey(stats, "n_trials", "n_completed_trials"), firstOf(stats.get("n_trials"), stats.get("n_completed_trials")).whole(), int64(len(r.order)))
	for _, key := range slices.Sorted(maps.Keys(r.evals)) {
		h := r.evals[key]
		check(key+": n_trials (with a reward)", h.trials, h.rewarded)
		check(key+": n_errors", h.errors, h.failed)
		if found := h.sum / float64(max(h.all, 1)); h.mean.OK && h.all > 0 && r.opt.Score == "" && math.Abs(h.mean.V-found) > 1e-9 {
			differs(key+": mean", h.mean.V, found)
		}
		for _, k := range sortedKeys(h.passAt) {
			if found, ok := passAtK(h.tasks, k); ok && math.Abs(h.passAt[k]-found) > 1e-6 {
				differs(key+": pass@"+strconv.FormatInt(k, 10), h.passAt[k], found)
			}
		}
	}
	r.partial(name, stats)
	r.remarks(name)
}

func firstKey(v Value, keys ...string) string {
	for _, k := range keys {
		if v.get(k).Kind != Null {
			return k
		}
	}
	return keys[0]
}

// partial says what keeps the job from being a whole, fair sample.
func (r *harborReader) partial(name string, stats Value) {
	var parts []string
	for _, key := range []string{"n_running_trials", "n_pending_trials", "n_cancelled_trials"} {
		if n := stats.get(key).whole(); n.V > 0 {
			parts = append(parts, key+" "+strconv.FormatInt(n.V, 10))
		}
	}
	if len(parts) > 0 {
		r.in.Note("%s: the job is not complete: %s", name, strings.Join(parts, ", "))
	}
	if n := stats.get("n_retries").whole(); n.V > 0 {
		r.in.Note("%s: %d failed trials were run again and their first outcome deleted (n_retries): the rates are too high, if anything", name, n.V)
	}
}

// remarks says what was met with on the way.
func (r *harborReader) remarks(name string) {
	if r.zeroOutput > 0 {
		r.in.Note("n_output_tokens of 0 beside input tokens on %s: taken as unknown", plural(r.zeroOutput, "trial"))
	}
	if r.disagree > 0 {
		r.in.Note("%s: other rewards in result.json of the job than in that of the trial, on %s: the trial's own were taken", name, plural(r.disagree, "trial"))
	}
	if r.several > 0 {
		r.in.Note("several rewards and none called reward, on %s: ungraded; choose one by --score NAME", plural(r.several, "trial"))
	}
	if r.cut > 0 {
		r.in.Note("names of tasks that Harbor cut to %d characters, on %s: two long names that begin alike would count as one; name the job's folder, or give --tasks-file FILE",
			harborNameLength, plural(r.cut, "trial"))
	}
	r.zeroOutput, r.disagree, r.several, r.cut = 0, 0, 0, 0
}
