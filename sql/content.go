package sql

import (
	"database/sql/driver"
	"maps"

	"passhat/ingest/store"
)

// content is what a snapshot lists, asked for once.
type content struct {
	records                 []store.Record
	trials, taskRuns        []store.File
	labels, prices, rejects []store.File
	overlaps                map[store.RunKey]bool
	masked                  map[store.Mask]bool
	maskedRuns              []store.Mask
	maskedBatches           []string
	counted                 string // condition for QUALIFY
}

// contentOf reads snap; nil is an empty store.
func contentOf(snap *store.Snapshot) content {
	c := content{overlaps: map[store.RunKey]bool{}, masked: map[store.Mask]bool{}}
	if snap == nil {
		return c
	}
	c.records, c.trials, c.taskRuns = snap.Batches(), snap.Trials(), snap.TaskRuns()
	c.labels, c.prices, c.rejects = snap.Labels(), snap.Prices(), snap.Rejects()
	c.maskedRuns, c.maskedBatches = snap.MaskedRuns(), snap.Masked()
	for _, k := range snap.Overlaps() {
		c.overlaps[k] = true
	}
	for _, m := range c.maskedRuns {
		c.masked[m] = true
	}
	if len(c.overlaps) > 0 {
		c.counted = snap.CountedSQL()
	}
	return c
}

// add joins what another snapshot lists. No run may be in both, since nothing
// tells which of their trials are the same.
func (c *content) add(o content) {
	c.records = append(c.records, o.records...)
	c.trials, c.taskRuns = append(c.trials, o.trials...), append(c.taskRuns, o.taskRuns...)
	c.labels, c.prices, c.rejects = append(c.labels, o.labels...), append(c.prices, o.prices...), append(c.rejects, o.rejects...)
	c.maskedRuns, c.maskedBatches = append(c.maskedRuns, o.maskedRuns...), append(c.maskedBatches, o.maskedBatches...)
	maps.Copy(c.overlaps, o.overlaps)
	maps.Copy(c.masked, o.masked)
	if c.counted == "" {
		c.counted = o.counted
	}
}

// runs calls f for every live run of every batch of trials.
func (c *content) runs(f func(r *store.Record, run store.RunKey)) {
	c.each(func(r *store.Record, run store.Run) { f(r, run.RunKey) })
}

// each is runs, with what the record says of the run.
func (c *content) each(f func(r *store.Record, run store.Run)) {
	for i := range c.records {
		r := &c.records[i]
		if r.Kind != store.KindTrials {
			continue
		}
		for _, run := range r.Runs {
			if !c.masked[store.Mask{Batch: r.Batch, RunKey: run.RunKey}] {
				f(r, run)
			}
		}
	}
}

// runBatches are the rows of the table of that name: every live run's batches.
func (c *content) runBatches() [][]driver.Value {
	var out [][]driver.Value
	c.each(func(r *store.Record, run store.Run) {
		out = append(out, []driver.Value{r.Batch, textOrNull(run.Suite), textOrNull(run.RunID), run.RunAtMin, run.RunAtMax})
	})
	return out
}

// batchesOf are the batches that hold one of the runs.
func (c *content) batchesOf(runs map[store.RunKey]bool) map[string]bool {
	out := map[string]bool{}
	c.runs(func(r *store.Record, run store.RunKey) {
		if runs[run] {
			out[r.Batch] = true
		}
	})
	return out
}

// trialRows is the number of rows in the files of trials.
func (c *content) trialRows() int64 {
	n := int64(0)
	for _, f := range c.trials {
		n += f.Rows
	}
	return n
}

// pathsOf returns the paths of files.
func pathsOf(files []store.File) []string {
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = f.Path
	}
	return out
}

// readable returns every path that the views read.
func (c *content) readable() []string {
	var out []string
	for _, files := range [][]store.File{c.trials, c.taskRuns, c.labels, c.prices, c.rejects} {
		out = append(out, pathsOf(files)...)
	}
	return out
}
