package ingest

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// harborNamed is a trial as the job's maps name it.
type harborNamed struct {
	name, eval string
	rewards    []harborReward
	exceptions []string
	file       string    // its result.json
	inline     Value     // its result within the job's
	at         string    // place of that
	task       string    // full name, from its result
	started    time.Time // likewise
	id         string
}

// maps takes the trials that the job's own maps name.
func (r *harborReader) maps() error {
	evals := r.doc.get("stats", "evals")
	if evals.Kind != Object {
		return fmt.Errorf("%s: stats.evals is missing: a job's statistics by agent, model and data set are wanted, with reward_stats and exception_stats that name the trials (found %s)",
			r.in.Name, fieldList(memberNames(r.doc.get("stats"))))
	}
	evals.eachMember(func(key string, e Value) bool {
		r.evals[key] = newHarborTotals(e)
		e.get("reward_stats").eachMember(func(name string, byValue Value) bool {
			if byValue.Kind == Array { // early versions have one reward without a name
				r.named(key, byValue, func(n *harborNamed) { n.rewards = append(n.rewards, harborReward{"reward", numberText(name)}) })
				return true
			}
			if neverStored(normalName(name)) {
				return true // not a reward: what is below it are no names
			}
			byValue.eachMember(func(value string, names Value) bool {
				r.named(key, names, func(n *harborNamed) { n.rewards = append(n.rewards, harborReward{name, numberText(value)}) })
				return true
			})
			return true
		})
		e.get("exception_stats").eachMember(func(kind string, names Value) bool {
			r.named(key, names, func(n *harborNamed) { n.exceptions = append(n.exceptions, kind) })
			return true
		})
		return true
	})
	r.doc.get("trial_results").eachElement(func(i int, v Value) bool {
		if name := v.get("trial_name").words(); name != "" {
			n := r.trialNamed("", name)
			n.inline, n.at = v, fmt.Sprintf("trial_results[%d]", i)
			r.note(n, v)
		}
		return true
	})
	return nil
}

func memberNames(v Value) []string {
	var names []string
	v.eachMember(func(key string, _ Value) bool {
		names = append(names, key)
		return len(names) < 10
	})
	return names
}

// numberText is the number that a key of reward_stats is.
func numberText(s string) Value {
	v := Value{Kind: Number, Text: []byte(s)}
	if _, ok := v.float(); !ok {
		return Value{}
	}
	return v
}

func (r *harborReader) named(eval string, names Value, each func(*harborNamed)) {
	names.eachElement(func(_ int, v Value) bool {
		if name := v.words(); name != "" {
			each(r.trialNamed(eval, name))
		}
		return true
	})
}

func (r *harborReader) trialNamed(eval, name string) *harborNamed {
	n := r.known[name]
	if n == nil {
		n = &harborNamed{name: name, eval: eval}
		r.known[name] = n
		r.order = append(r.order, n)
	}
	return n
}

// learn keeps the full name of a task.
func (r *harborReader) learn(task string) {
	key := harborCut(task)
	if task != "" && !slices.Contains(r.full[key], task) {
		r.full[key] = append(r.full[key], task)
	}
}

// harborNameLength is how much of a task's name a trial's name holds.
const harborNameLength = 32

func harborCut(task string) string {
	runes := []rune(task)
	if len(runes) > harborNameLength {
		return string(runes[:harborNameLength])
	}
	return task
}

// taskOf is the task of a trial that only the job names.
func (r *harborReader) taskOf(name string) string {
	task := name
	if i := strings.LastIndex(name, "__"); i > 0 {
		task = name[:i]
	}
	if len([]rune(task)) < harborNameLength {
		return task
	}
	if full := r.full[task]; len(full) == 1 {
		return full[0]
	}
	r.cut++
	return task
}
