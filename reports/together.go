package reports

import (
	"context"
	"fmt"
	"sync"

	"passhat/sql"
)

// manySteps is the number of statements from which a second connection pays.
const manySteps = 30

// together runs the steps of a report of many small statements on two connections, each as soon as
// the tables that it reads are there. It says false, and nothing was run, where that cannot be.
func (r *runner) together(ctx context.Context, steps []*step) (bool, error) {
	if r.beside == nil {
		return false, nil
	}
	p := newPlan(r, steps)
	p.runAll(ctx)
	if p.fault != nil {
		panic(p.fault) // where it is caught and told
	}
	return true, p.err
}

func newPlan(r *runner, steps []*step) *plan {
	p := &plan{r: r, steps: steps, state: make([]stepState, len(steps)), failed: len(steps)}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// runAll runs the steps and returns when neither connection does anything any more.
func (p *plan) runAll(ctx context.Context) {
	p.r.d.other = &p.beside
	defer func() { p.r.d.other = nil }()
	var wg sync.WaitGroup
	for _, d := range []*db{p.r.d, p.r.beside} {
		wg.Go(func() {
			defer func() {
				if fault := recover(); fault != nil {
					p.fail(fault)
				}
			}()
			p.work(ctx, d)
		})
	}
	wg.Wait()
}

type stepState uint8

const (
	waiting stepState = iota
	running
	finished
)

// plan is what of the steps is done.
type plan struct {
	r       *runner
	steps   []*step
	mu      sync.Mutex
	changed *sync.Cond
	state   []stepState
	failed  int // the first step that failed
	err     error
	fault   any        // a panic
	beside  sync.Mutex // held while the second connection runs a step
}

// fail keeps a panic, which ends the work on both connections.
func (p *plan) fail(fault any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.failed, p.err = fault, -1, fmt.Errorf("run the report: %v", fault)
	p.changed.Broadcast()
	return p.err
}

// work runs steps until none is left or one failed. What the other connection runs then goes on to its
// end: it may be what fails first in the order of the report.
func (p *plan) work(ctx context.Context, d *db) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		i, left := p.next(d)
		if !left || p.err != nil {
			p.changed.Broadcast()
			return
		}
		if i < 0 {
			p.changed.Wait()
			continue
		}
		p.state[i] = running
		p.mu.Unlock()
		err := p.run(ctx, d, i)
		p.mu.Lock()
		p.state[i] = finished
		if err != nil && i < p.failed {
			p.failed, p.err = i, err
		}
		p.changed.Broadcast()
	}
}

// run runs a step, and what follows one that ran alone.
func (p *plan) run(ctx context.Context, d *db, i int) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = p.fail(fault)
		}
	}()
	if d != p.r.d {
		p.beside.Lock()
		defer p.beside.Unlock()
	}
	if err := p.r.do(ctx, d, p.steps[i]); err != nil || !p.alone(i) {
		return err
	}
	return p.after(ctx, i)
}

// next is a step that can run, below 0 where none can yet; false where none is left.
func (p *plan) next(d *db) (int, bool) {
	before, left := true, false // all before it are finished
	for i, s := range p.steps {
		if p.state[i] == waiting {
			left = true
			switch {
			case p.alone(i):
				if before && d == p.r.d {
					return i, true
				}
				return -1, true
			case p.fed(i, s) && (d == p.r.d || !p.first(s)):
				return i, true
			}
		}
		if p.state[i] != finished {
			before = false
			if p.alone(i) {
				return -1, true
			}
		}
	}
	return -1, left
}

// fed says whether every table that a step reads is there.
func (p *plan) fed(i int, s *step) bool {
	for j := range i {
		of := p.steps[j]
		if p.state[j] == finished || of.makes == "" {
			continue
		}
		if s.st.tables[of.makes] || of.makes == p.r.rep.Failures && s.st.tables["selected_failures"] {
			return false
		}
	}
	return true
}

// first says whether a step belongs on the first connection, where the session itself fills tables for it.
func (p *plan) first(s *step) bool {
	return s.st.Kind == TableStatement && s.st.Name == p.r.rep.Failures || s.st.tables["selected_set_trials"]
}

// alone says whether nothing may run beside a step: the runner makes more of its table, or it is
// large enough for all threads.
func (p *plan) alone(i int) bool {
	s := p.steps[i]
	return s.st.Kind == TableStatement && (s.st.Name == p.r.rep.Trials || p.r.makesSets(s.st.Name)) || s.st.Kind == RefuseStatement || s.st.readsTrials()
}

// after prepares for the steps after one that ran alone: the views that they name are made, and
// they have one thread each.
func (p *plan) after(ctx context.Context, i int) error {
	for j, s := range p.steps[i+1:] {
		if p.alone(i + 1 + j) {
			break
		}
		if err := p.r.d.s.Wake(ctx, s.st.tables); err != nil {
			return err
		}
	}
	return p.r.d.threads(ctx, true)
}

// besides opens a second connection for a report of many statements.
func besides(ctx context.Context, s *sql.Session, rep *Report, req Request) (*db, error) {
	many := len(rep.Statements)
	for _, u := range rep.used {
		many += len(u.Statements)
	}
	if !rep.Builtin || !rep.handles("small") || many < manySteps || req.ShowSQL || req.describing {
		return nil, nil
	}
	other, err := s.Beside(ctx)
	if err != nil || other == nil {
		return nil, err
	}
	return &db{s: other}, nil
}
