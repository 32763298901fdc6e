package main

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// history says how large a made-up log is to be. The same history makes the
// same bytes on every machine.
type history struct {
	Trials int    // rows in the file, at least 1
	Tasks  int    // tasks in each run
	N      int    // trials of each task in each run
	Seed   uint64 // of PCG64
}

// suiteTasks is the number of tasks when the history names none: large enough
// that a run is a real suite, small enough that a million trials are months.
const suiteTasks = 200

var (
	shapes  = []string{"lookup", "multi_step", "writes_state", "long_horizon", "needs_tool"}
	efforts = []string{"low", "medium", "high"}
	faults  = []string{"timeout", "tool", "context_length"}
	start   = time.Date(2026, 1, 5, 2, 0, 0, 0, time.UTC)
)

// write makes the log as JSON Lines at path and returns its size in bytes.
func (h history) write(path string) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, fmt.Errorf("make history: %w", err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	rng := rand.New(rand.NewPCG(h.Seed, 1))
	rates := make([]float64, h.Tasks)
	for t := range rates {
		// Most tasks are solid, some are flaky, a few hardly ever pass.
		rates[t] = 1 - math.Pow(rng.Float64(), 3)
	}
	var row []byte
	for i := range h.Trials {
		row = h.appendRow(row[:0], i, rates, rng)
		if _, err := w.Write(row); err != nil {
			return 0, fmt.Errorf("make history: %w", err)
		}
	}
	if err := w.Flush(); err != nil {
		return 0, fmt.Errorf("make history: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("make history: %w", err)
	}
	return info.Size(), f.Close()
}

// appendRow appends trial i: runs follow each other night by night, and within
// a run the trials of one task do.
func (h history) appendRow(b []byte, i int, rates []float64, rng *rand.Rand) []byte {
	perRun := h.Tasks * h.N
	run, within := i/perRun, i%perRun
	task, trial := within/h.N, within%h.N
	night := start.AddDate(0, 0, run)
	at := night.Add(time.Duration(within) * 7 * time.Second)
	effort := efforts[run%len(efforts)]
	passed := rng.Float64() < rates[task]

	b = append(b, `{"suite":"support","run_id":"night-`...)
	b = strconv.AppendInt(b, int64(run), 10)
	b = append(b, `","run_at":"`...)
	b = night.AppendFormat(b, time.RFC3339)
	b = append(b, `","task_id":"task-`...)
	b = strconv.AppendInt(b, int64(task), 10)
	b = append(b, `","trial":`...)
	b = strconv.AppendInt(b, int64(trial), 10)
	b = append(b, `,"shape":"`...)
	b = append(b, shapes[task%len(shapes)]...)
	b = append(b, `","risk":"read_only","passed":`...)
	b = strconv.AppendBool(b, passed)
	b = append(b, `,"score":`...)
	if passed {
		b = append(b, '1')
	} else {
		b = strconv.AppendFloat(b, math.Round(rng.Float64()*500)/1000, 'g', -1, 64)
		b = append(b, `,"error_type":"`...)
		b = append(b, faults[rng.IntN(len(faults))]...)
		b = append(b, `","error_message":"stopped after the step \"confirm\" of task `...)
		b = strconv.AppendInt(b, int64(task), 10)
		b = append(b, '"')
	}
	b = append(b, `,"score_name":"reward","model":"model-a","agent":"tool-calling","harness":"loop","harness_version":"1.4.2","effort":"`...)
	b = append(b, effort...)
	b = append(b, `","temperature":0.2,"top_p":0.95,"seed":`...)
	b = strconv.AppendInt(b, int64(rng.Int32()), 10)
	b = append(b, `,"git_commit":"4c1d9e0a7b","git_branch":"main","environment_id":"sandbox-`...)
	b = strconv.AppendInt(b, int64(i%64), 10)
	b = append(b, `","started_at":"`...)
	b = at.AppendFormat(b, time.RFC3339)
	b = append(b, `","duration_s":`...)
	b = strconv.AppendFloat(b, math.Round(rng.ExpFloat64()*30000)/1000, 'g', -1, 64)
	b = append(b, `,"input_tokens":`...)
	b = strconv.AppendInt(b, int64(2000+rng.IntN(30000)), 10)
	b = append(b, `,"output_tokens":`...)
	b = strconv.AppendInt(b, int64(200+rng.IntN(3000)), 10)
	b = append(b, `,"cost_usd":`...)
	b = strconv.AppendFloat(b, math.Round(rng.Float64()*1e5)/1e6, 'g', -1, 64)
	b = append(b, `,"turns":`...)
	b = strconv.AppendInt(b, int64(3+rng.IntN(25)), 10)
	b = append(b, `,"tool_calls":`...)
	b = strconv.AppendInt(b, int64(1+rng.IntN(20)), 10)
	b = append(b, `,"trace":"traces/night-`...)
	b = strconv.AppendInt(b, int64(run), 10)
	b = append(b, '/')
	b = strconv.AppendInt(b, int64(within), 10)
	return append(b, ".json\"}\n"...)
}

// makeHistory writes the history into dir and says how large it came out.
func makeHistory(dir string, h history) (string, int64, error) {
	path := filepath.Join(dir, "history.jsonl")
	size, err := h.write(path)
	return path, size, err
}
