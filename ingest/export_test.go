package ingest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"passhat/ingest/store"
)

// memory is a sink for tests.
type memSink struct {
	mu      sync.Mutex
	trials  []store.Trial
	rejects []*SyntaxError
}

func (m *memSink) part() (func([]store.Trial) error, error) {
	return func(ts []store.Trial) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		for i := range ts {
			m.trials = append(m.trials, cloneTrial(&ts[i]))
		}
		return nil
	}, nil
}

func (m *memSink) reject(r *SyntaxError) error {
	m.rejects = append(m.rejects, r)
	return nil
}

// ReadTrials reads one source into memory as Ingest would into a store.
func ReadTrials(ctx context.Context, path string, opt Options) (string, []store.Trial, []*SyntaxError, error) {
	found, err := Expand([]string{path})
	if err == nil {
		found, err = claimFolders(found, &opt)
	}
	if err != nil {
		return "", nil, nil, err
	}
	if len(found) != 1 {
		return "", nil, nil, fmt.Errorf("%s: it holds %d sources, wanted one", path, len(found))
	}
	in, hash, err := openInput(ctx, found[0], &opt)
	if err != nil {
		return "", nil, nil, err
	}
	defer in.close()
	f, err := chooseFormat(in, found[0], &opt)
	if err != nil {
		return "", nil, nil, err
	}
	loc, err := opt.location()
	if err != nil {
		return f.Name, nil, nil, err
	}
	trials, rejects, err := pipeBy(ctx, in, hash, f, &opt, loc, 1)
	return f.Name, trials, rejects, err
}

// ReadTrialsBy reads a file by several workers; trials are in the order of their
// lines.
func ReadTrialsBy(ctx context.Context, path string, opt Options, jobs int) ([]store.Trial, []*SyntaxError, error) {
	in, hash, err := openInput(ctx, Found{Path: path}, &opt)
	if err != nil {
		return nil, nil, err
	}
	defer in.close()
	f, err := chooseFormat(in, Found{Path: path}, &opt)
	if err != nil {
		return nil, nil, err
	}
	trials, rejects, err := pipeBy(ctx, in, hash, f, &opt, time.UTC, jobs)
	line := func(t store.Trial) int {
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.Fields(t.SourceRow)[0], ":"))
		return n
	}
	slices.SortStableFunc(trials, func(a, b store.Trial) int { return cmp.Compare(line(a), line(b)) })
	return trials, rejects, err
}

// SetChunkBytes makes chunks small and returns what restores their size.
func SetChunkBytes(n int) (restore func()) {
	was := chunkBytes
	chunkBytes = n
	return func() { chunkBytes = was }
}

func pipeBy(ctx context.Context, in *Input, hash string, f Format, opt *Options, loc *time.Location, jobs int) ([]store.Trial, []*SyntaxError, error) {
	var m memSink
	var rows atomic.Int64
	p := &pipeline{
		in: in, opt: opt, f: f, sink: &m, jobs: jobs, rows: &rows,
		seq: &sequencer{nameRun: in.runNamer(context.Background(), hash), fallback: in.runTime(loc),
			runs: map[store.RunKey]runTime{}, numbers: map[uint64]int32{}},
	}
	err := p.run(ctx)
	return m.trials, m.rejects, err
}

// NewTestInput makes an Input of a file for Format.Read.
func NewTestInput(path string) (*Input, error) {
	in, _, err := openInput(context.Background(), Found{Path: path}, &Options{})
	return in, err
}

var (
	ParseTime = parseTime
	TimeIn    = timeInName
	ParsePath = parsePath
	IsSecret  = isSecret
)

// FilledColumns names what a dry run tells of.
func FilledColumns() []string {
	var names []string
	for _, c := range filledColumns {
		names = append(names, c.name)
	}
	return names
}
