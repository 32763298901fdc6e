package ingest

import (
	"context"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"passhat/ingest/store"
)

// numberKey identifies what a trial number counts within.
func numberKey(t *store.Trial) uint64 {
	h := xxh3.HashString(t.Suite)
	h = xxh3.HashStringSeed(t.RunID, h)
	h = xxh3.HashStringSeed(t.TaskID, h)
	return xxh3.HashStringSeed(t.Variant, h)
}

// sequencer gives trials, in the order of the source, what depends on those
// before them: run names, the run's time, trial numbers.
type sequencer struct {
	nameRun  func() (string, error) // gives runName when it is needed first
	runName  string                 // for trials of no run
	fallback runTime
	runs     map[store.RunKey]runTime
	last     store.RunKey
	lastTime runTime
	lastAt   time.Time // the same
	numbers  map[uint64]int32
	made     bool  // a trial was given runName
	first    int32 // the number of a task's first trial of which the log gives none
}

type runTime struct {
	at   int64 // Unix microseconds
	from string
	set  bool
}

// maxRuns bounds the memory for run times; runs beyond it take each row's own time.
const maxRuns = 1 << 20

func (s *sequencer) sequence(trials []store.Trial) error {
	for i := range trials {
		t := &trials[i]
		if t.RunID == "" {
			if s.runName == "" {
				var err error
				if s.runName, err = s.nameRun(); err != nil {
					return err
				}
			}
			t.RunID, t.RunMade = s.runName, true
			s.made = true
		}
		s.runTime(t)
		if !t.Trial.OK {
			key := numberKey(t)
			n := s.numbers[key]
			s.numbers[key] = n + 1
			t.Trial = store.Some(s.first + n)
			if t.TrialFrom == "" || t.TrialFrom == store.TrialExplicit {
				t.TrialFrom = store.TrialOrder
			}
		} else if t.TrialFrom == "" {
			t.TrialFrom = store.TrialExplicit
		}
	}
	return nil
}

// runNamer names the run of trials that are of none: after the file and the hash of
// its content. Where that is still to come, the content is read for it at once.
func (in *Input) runNamer(ctx context.Context, hash string) func() (string, error) {
	return func() (string, error) {
		if hash == "" {
			var err error
			if hash, err = in.contentHash(ctx); err != nil {
				return "", err
			}
		}
		return in.Stem + "@" + hash[:8], nil
	}
}

// runTime gives the trial its run's time: the log's own, else that of the first
// trial of the run, else that of the file.
func (s *sequencer) runTime(t *store.Trial) {
	if !t.RunAt.IsZero() {
		fill(&t.RunAtFrom, store.RunAtLog)
		return
	}
	key := store.RunKey{Suite: t.Suite, RunID: t.RunID}
	if !s.lastTime.set || key != s.last {
		at, ok := s.runs[key]
		key = store.RunKey{Suite: strings.Clone(t.Suite), RunID: strings.Clone(t.RunID)}
		if !ok {
			at = s.fallback
			if !t.StartedAt.IsZero() {
				at = runTime{t.StartedAt.UnixMicro(), store.RunAtLog, true}
			}
			if len(s.runs) < maxRuns {
				s.runs[key] = at
			}
		}
		s.last, s.lastTime, s.lastAt = key, at, microTime(at.at)
	}
	t.RunAt, t.RunAtFrom = s.lastAt, s.lastTime.from
}

func microTime(us int64) time.Time { return time.UnixMicro(us).UTC() }
