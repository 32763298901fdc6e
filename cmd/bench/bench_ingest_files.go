package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// fewHeader names the fields of a fewRow in order.
const fewHeader = "suite,run_id,task_id,trial,passed,score,model,effort,started_at,duration_s,input_tokens,output_tokens,cost_usd,trace\n"

// fewRow is a trial of the fourteen fields that most logs have.
type fewRow struct {
	run, task, trial, within int
	effort, started          string
	passed                   bool
	score, duration, cost    float64
	input, output            int
}

// fewRow draws trial i; the order is that of history.appendRow.
func (h history) fewRow(i int, rates []float64, rng *rand.Rand) fewRow {
	perRun := h.Tasks * h.N
	r := fewRow{run: i / perRun, within: i % perRun}
	r.task, r.trial = r.within/h.N, r.within%h.N
	r.effort = efforts[r.run%len(efforts)]
	r.started = start.AddDate(0, 0, r.run).Add(time.Duration(r.within) * 7 * time.Second).Format(time.RFC3339)
	r.passed = rng.Float64() < rates[r.task]
	r.score = 1
	if !r.passed {
		r.score = math.Round(rng.Float64()*500) / 1000
	}
	r.duration = math.Round(rng.ExpFloat64()*30000) / 1000
	r.input, r.output = 2000+rng.IntN(30000), 200+rng.IntN(3000)
	r.cost = math.Round(float64(r.input)*2.5+float64(r.output)*10) / 1e6
	return r
}

func (r *fewRow) json(b []byte) []byte {
	b = append(b, `{"suite":"support","run_id":"night-`...)
	b = strconv.AppendInt(b, int64(r.run), 10)
	b = append(b, `","task_id":"task-`...)
	b = strconv.AppendInt(b, int64(r.task), 10)
	b = append(b, `","trial":`...)
	b = strconv.AppendInt(b, int64(r.trial), 10)
	b = append(b, `,"passed":`...)
	b = strconv.AppendBool(b, r.passed)
	b = append(b, `,"score":`...)
	b = strconv.AppendFloat(b, r.score, 'g', -1, 64)
	b = append(b, `,"model":"model-a-2026-05-13","effort":"`...)
	b = append(b, r.effort...)
	b = append(b, `","started_at":"`...)
	b = append(b, r.started...)
	b = append(b, `","duration_s":`...)
	b = strconv.AppendFloat(b, r.duration, 'f', -1, 64)
	b = append(b, `,"input_tokens":`...)
	b = strconv.AppendInt(b, int64(r.input), 10)
	b = append(b, `,"output_tokens":`...)
	b = strconv.AppendInt(b, int64(r.output), 10)
	b = append(b, `,"cost_usd":`...)
	b = strconv.AppendFloat(b, r.cost, 'f', -1, 64)
	b = append(b, `,"trace":"traces/night-`...)
	b = strconv.AppendInt(b, int64(r.run), 10)
	b = append(b, '/')
	b = strconv.AppendInt(b, int64(r.within), 10)
	return append(b, ".json\"}\n"...)
}

func (r *fewRow) csv(b []byte) []byte {
	return fmt.Appendf(b, "support,night-%d,task-%d,%d,%t,%s,model-a-2026-05-13,%s,%s,%s,%d,%d,%s,traces/night-%d/%d.json\n",
		r.run, r.task, r.trial, r.passed, decimal(r.score), r.effort, r.started, decimal(r.duration), r.input, r.output, decimal(r.cost), r.run, r.within)
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// writeTrials writes a history of fourteen fields in the form that the name of
// the file says, and returns its size.
func writeTrials(path string, h history) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, fmt.Errorf("make trials: %w", err)
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	w := io.Writer(out)
	finish := func() error { return nil }
	if strings.HasSuffix(path, ".zst") {
		z, err := zstd.NewWriter(out)
		if err != nil {
			return 0, fmt.Errorf("make trials: %w", err)
		}
		w, finish = z, z.Close
	}
	if err := h.writeFew(w, strings.HasSuffix(path, ".csv")); err != nil {
		return 0, fmt.Errorf("make trials: %w", err)
	}
	if err := finish(); err != nil {
		return 0, fmt.Errorf("make trials: %w", err)
	}
	if err := out.Flush(); err != nil {
		return 0, fmt.Errorf("make trials: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return 0, fmt.Errorf("make trials: %w", err)
	}
	return info.Size(), f.Close()
}

func (h history) writeFew(w io.Writer, csv bool) error {
	rng := rand.New(rand.NewPCG(h.Seed, 1))
	rates := make([]float64, h.Tasks)
	for t := range rates {
		rates[t] = 1 - math.Pow(rng.Float64(), 3)
	}
	var b []byte
	if csv {
		b = append(b, fewHeader...)
	}
	for i := range h.Trials {
		row := h.fewRow(i, rates, rng)
		if csv {
			b = row.csv(b)
		} else {
			b = row.json(b)
		}
		if len(b) >= 1<<16 || i == h.Trials-1 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	return nil
}

// documentBytes is the size of the one document of long trajectories when a
// million trials are measured; it shrinks and grows with them.
const documentBytes = 500e6

// documentFile is what that document is called.
const documentFile = "results.json"

// ingestDocument measures the ingest of one large document against Python's
// json.load of it.
func (b *bench) ingestDocument(ctx context.Context, dir string) (ingestLine, error) {
	line := ingestLine{target: 0.25, limit: 300 << 20, against: "python3 json.load"}
	path := filepath.Join(dir, documentFile)
	size, err := writeDocument(path, int64(documentBytes*float64(b.trials)/1e6), b.seed)
	if err != nil {
		return line, err
	}
	defer os.Remove(path)
	line.work = fmt.Sprintf("ingest one document of %d MB in the form of tau2", size/1e6)
	theirs := func() error {
		cmd := exec.CommandContext(ctx, "python3", "-c", "import json, sys\nwith open(sys.argv[1]) as f: json.load(f)", path)
		cmd.Stderr = os.Stderr
		return cmd.Run()
	}
	return line, b.measure(ctx, dir, path, &line, theirs)
}

// writeDocument makes results in the form of tau2-bench: 50 tasks, four trials
// of each and as many times that as fill the size, with conversations of some
// tens of messages.
func writeDocument(path string, size int64, seed uint64) (int64, error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, fmt.Errorf("make a document: %w", err)
	}
	defer f.Close()
	w := &countingWriter{w: bufio.NewWriterSize(f, 1<<20)}
	rng := rand.New(rand.NewPCG(seed, 3))
	const tasks, trials = 50, 4
	fmt.Fprint(w, `{"timestamp":"2026-03-02T09:00:00.000000","info":{"git_commit":"4c1d9e0a7b","num_trials":4,"max_steps":200,"seed":300,`+
		`"agent_info":{"implementation":"llm_agent","llm":"model-a","llm_args":{"temperature":0.0}},`+
		`"environment_info":{"domain_name":"support","policy":"Be exact."}},"tasks":[`)
	for t := range tasks {
		fmt.Fprintf(w, `%s{"id":"%d","description":{"purpose":"settle request %d"}}`, comma(t), t, t)
	}
	fmt.Fprint(w, `],"simulations":[`)
	for i := 0; w.n < size && w.err == nil; i++ {
		writeSimulation(w, i, i%tasks, i/tasks, rng)
	}
	fmt.Fprint(w, "]}\n")
	if w.err == nil {
		w.err = w.w.Flush()
	}
	if w.err != nil {
		return 0, fmt.Errorf("make a document: %w", w.err)
	}
	return w.n, f.Close()
}

func writeSimulation(w io.Writer, i, task, trial int, rng *rand.Rand) {
	reward := rng.IntN(2)
	fmt.Fprintf(w, `%s{"id":"sim-%d","task_id":"%d","trial":%d,"seed":%d,"start_time":"2026-03-02T09:00:00.000000","end_time":"2026-03-02T09:05:00.000000",`+
		`"duration":%.3f,"termination_reason":"user_stop","agent_cost":%.5f,"user_cost":0.001,"reward_info":{"reward":%d.0,"db_check":{"db_match":%t}},"messages":[`,
		comma(i), i, task, trial, 300+trial, 20+200*rng.Float64(), rng.Float64()/10, reward, reward == 1)
	for m := range 20 + rng.IntN(40) {
		if m%2 == 0 {
			fmt.Fprintf(w, `%s{"role":"user","content":"%s","turn_idx":%d}`, comma(m), sentence(rng, 30), m)
			continue
		}
		fmt.Fprintf(w, `%s{"role":"assistant","content":"%s","tool_calls":[{"id":"call-%d","name":"find_order","arguments":{"order":"#W%07d","note":"said \"now\""},"requestor":"assistant"}],`+
			`"turn_idx":%d,"cost":%.6f,"usage":{"completion_tokens":%d,"prompt_tokens":%d}}`,
			comma(m), sentence(rng, 80), m, rng.IntN(1e7), m, rng.Float64()/100, 20+rng.IntN(300), 1000+rng.IntN(9000))
	}
	fmt.Fprint(w, "]}")
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

var nouns = strings.Fields("the order was sent to another address before anyone could change it and so a refund is due by the rules of this shop unless it is opened")

func sentence(rng *rand.Rand, words int) string {
	var b strings.Builder
	for range words {
		b.WriteString(nouns[rng.IntN(len(nouns))])
		b.WriteByte(' ')
	}
	return b.String()
}

// countingWriter keeps the first error and counts the bytes.
type countingWriter struct {
	w   *bufio.Writer
	n   int64
	err error
}

// Write implements io.Writer.
func (c *countingWriter) Write(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.w.Write(p)
	c.n, c.err = c.n+int64(n), err
	return n, err
}
