package runner

import (
	"encoding/json"
	"maps"
	"slices"
)

// contract is what the trials of the run have in common. A file of tasks that
// grew has the hash of the one that the run began with.
func (r *Run) contract() contract {
	c := r.spec.contract()
	if r.tasksHash != "" {
		c.Tasks = r.tasksHash
	}
	return c
}

// ContractDiffers says in which part of its contract a trial recorded with
// config differs from the run, "" if in none.
func (r *Run) ContractDiffers(config string) string { return differs(r.contract(), config) }

// sameTasks looks whether the tasks of the log are in the file as they were. Others
// may have come: the run is theirs too, and its contract the one it began with.
func (r *Run) sameTasks() error {
	o, s := r.out, &r.spec
	var had contract
	if json.Unmarshal([]byte(o.config), &had) != nil || had.Tasks == "" || had.Tasks == s.TasksHash {
		return nil // the rest is for ContractDiffers
	}
	hashes := make(map[string]string, len(s.Tasks))
	for i := range s.Tasks {
		hashes[s.Tasks[i].ID] = s.Tasks[i].hash()
	}
	for _, id := range slices.Sorted(maps.Keys(o.tasks)) {
		was := o.tasks[id]
		now, there := hashes[id]
		switch {
		case was == "":
			return nil
		case !there:
			return usagef("%s holds the run %q with the task %s, which the tasks no longer have; tasks may be added to a run but not taken away, so name another --run and -o", s.Out, o.runID, id)
		case now != was:
			return usagef("%s holds the run %q with another task %s: its line among the tasks has changed; trials of both would be mixed, so name another --run and -o", s.Out, o.runID, id)
		}
	}
	r.tasksHash = had.Tasks
	if fresh := len(s.Tasks) - len(o.tasks); fresh > 0 {
		r.grown = fresh
	}
	return nil
}

// untried lists the planned tasks that have no trial at all when the run stops
// early. The log holds no trace of them, so no report counts them, neither as
// failed nor as missing: whoever stopped the run must be told.
func (r *Run) untried() []string {
	has := map[string]bool{}
	for k := range r.out.done {
		has[k.task] = true
	}
	var names []string
	for _, j := range r.jobs {
		if !has[j.task] {
			has[j.task] = true
			names = append(names, j.task)
		}
	}
	return names
}
