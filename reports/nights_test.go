package reports_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"passhat/ingest/store"
)

// nightTask is a task of the made-up nights: how often it passes in the weeks
// before the last one and in that week.
type nightTask struct {
	name, shape, risk string
	before, last      float64
	turns             int32
}

var nightTasks = []nightTask{
	{"ask-balance", "lookup", "read_only", 1, 1, 2},
	{"ask-hours", "lookup", "read_only", 1, 1, 2},
	{"ask-limits", "lookup", "read_only", 1, 1, 3},
	{"find-branch", "lookup", "read_only", 0.95, 1, 3},
	{"block-card", "writes_state", "high_risk_write", 1, 0, 6}, // breaks
	{"move-money", "writes_state", "high_risk_write", 1, 0.5, 9},
	{"close-account", "writes_state", "high_risk_write", 0.6, 0.6, 12},
	{"change-pin", "writes_state", "high_risk_write", 0.5, 1, 5}, // is fixed
	{"plan-mortgage", "long_horizon", "read_only", 0.4, 0.4, 25},
	{"merge-profiles", "long_horizon", "high_risk_write", 0, 0, 30}, // never passes
	{"settle-claim", "long_horizon", "high_risk_write", 0.7, 0.6, 22},
	{"convert-currency", "needs_tool", "read_only", 0.9, 0.9, 4},
}

// nights is a made-up history: three nights a week for five weeks, two efforts,
// four trials of each task. In the last week the harness is another one.
func nights() []store.Trial {
	rng := rand.New(rand.NewPCG(7, 11))
	first := time.Date(2026, 9, 28, 1, 0, 0, 0, time.UTC) // Monday of 2026-W40
	var out []store.Trial
	for week := range 5 {
		for night := range 3 {
			at := first.AddDate(0, 0, 7*week+2*night)
			for _, effort := range []string{"low", "high"} {
				for _, task := range nightTasks {
					out = append(out, nightTrials(rng, at, week, effort, task)...)
				}
			}
		}
	}
	return out
}

func nightTrials(rng *rand.Rand, at time.Time, week int, effort string, task nightTask) []store.Trial {
	p := task.before
	if week == 4 {
		p = task.last
	}
	if effort == "high" && p > 0 && p < 1 {
		p = min(1, p+0.15)
	}
	var out []store.Trial
	for i := range 4 {
		draw, jitter := rng.Float64(), rng.IntN(3)
		tr := store.Trial{
			Suite: "bank", RunID: "night-" + at.Format("0102"), RunAt: at, RunAtFrom: store.RunAtLog, Model: "model-b", Agent: "teller",
			Effort: effort, Temperature: store.Some(0.5), Harness: "rig", HarnessVersion: []string{"1.4", "1.5"}[week/4], GitCommit: fmt.Sprintf("c0ffee%d", week),
			TaskID: task.name, Shape: task.shape, Risk: task.risk, Trial: store.Some(int32(i)), TrialFrom: store.TrialExplicit, PlannedTrials: store.Some(int32(4)),
			TrialUID: fmt.Sprintf("%s/%s/%s/%d", at.Format("0102"), effort, task.name, i), Passed: store.Some(draw < p),
			StartedAt: at.Add(time.Duration(len(task.name)*7+i) * time.Minute), Turns: store.Some(task.turns + int32(jitter)), ToolCalls: store.Some(task.turns / 2),
			DurationS: store.Some(float64(task.turns)*3 + float64(jitter)), CostUSD: store.Some(float64(task.turns) * map[string]float64{"low": 0.002, "high": 0.005}[effort]),
			InputTokens: store.Some(int64(task.turns) * 900), OutputTokens: store.Some(int64(task.turns) * 110),
			OutputHash: fmt.Sprintf("%s-%d", task.name, jitter), Config: fmt.Sprintf(`{"concurrency":4,"retrieval":%q}`, []string{"fixed", "shuffled"}[week/4]),
		}
		if draw >= p {
			tr.ErrorType = []string{"", "tool", "timeout"}[jitter]
			tr.Trace = fmt.Sprintf("traces/%s/%s/%s-%d.json", at.Format("0102"), effort, task.name, i)
		}
		if week == 4 && task.name == "plan-mortgage" && i == 3 {
			tr.Passed, tr.ErrorType, tr.ErrorMessage = store.Opt[bool]{}, "infra", "sandbox did not start"
		}
		out = append(out, tr)
	}
	return out
}
