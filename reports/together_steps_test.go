package reports

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"passhat/ingest/store"
	"passhat/sql"
)

// twoConnections is a runner of steps on two connections, over an empty store.
func twoConnections(t *testing.T) *runner {
	t.Helper()
	st, err := store.Open(filepath.Join(t.TempDir(), "store"))
	if err != nil {
		t.Fatal(err)
	}
	snap, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := sql.Open(t.Context(), snap, sql.Config{Threads: 2, Leave: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		snap.Close()
	})
	other, err := s.Beside(t.Context())
	if err != nil || other == nil {
		t.Fatal(other, err)
	}
	return &runner{d: &db{s: s, small: true}, beside: &db{s: other}, rep: &Report{Name: "test", File: "test.sql", Trials: "trials_of"}, sel: &selection{decoded: true}}
}

// tableStep makes a table of a query.
func (r *runner) tableStep(name, query string) *step {
	return &step{rep: r.rep, makes: name, st: Statement{Kind: TableStatement, Name: name, SQL: query, Line: 7}}
}

// long is a query that takes some tenths of a second on one thread, and then gives an expression.
func long(expr string) string {
	return "SELECT " + expr + " AS x FROM (SELECT count(*) AS n FROM range(20000000) AS r(i) WHERE (i * 7919) % 1000003 = 1)"
}

// endless would run for hours.
const endless = "SELECT count(*) AS n FROM range(10000000) AS a(i), range(10000000) AS b(j) WHERE (i * j) % 1000003 = 1"

// bothRan runs the steps, calls then once both connections run one, and says whether that was so.
func bothRan(t *testing.T, r *runner, ctx context.Context, p *plan, then func()) bool {
	t.Helper()
	before := runtime.NumGoroutine()
	done := make(chan struct{})
	var wg sync.WaitGroup
	both := false
	wg.Go(func() {
		for !both {
			p.mu.Lock()
			n := 0
			for _, state := range p.state {
				if state == running {
					n++
				}
			}
			p.mu.Unlock()
			if both = n == 2; both {
				then()
				return
			}
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	p.runAll(ctx)
	close(done)
	wg.Wait()
	for range 200 { // those of DuckDB's driver end a moment later
		if runtime.NumGoroutine() <= before {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if now := runtime.NumGoroutine(); now > before {
		t.Errorf("%d goroutines are left of %d", now, before)
	}
	if slices.Contains(p.state, running) {
		t.Errorf("a step still runs: %v", p.state)
	}
	return both
}

// works says that both connections still do what they are asked to.
func works(t *testing.T, r *runner) {
	t.Helper()
	for i, d := range []*db{r.d, r.beside} {
		if row, err := d.row(t.Context(), "SELECT 40 + 2"); err != nil || row.text(0) != "42" {
			t.Errorf("connection %d: %v, %v", i, row, err)
		}
	}
}

// A step that fails while the other connection runs one ends the report, with its place; the
// other is let come to its end, and what fails first in the order of the report is told.
func TestStepFailsWhileBothRun(t *testing.T) {
	for name, steps := range map[string][2]string{
		"the second": {long("n"), long("error('oh no')")},
		"the first":  {long("error('oh no')"), long("n")},
		"both":       {long("error('oh no')"), long("error('later')")},
	} {
		t.Run(name, func(t *testing.T) {
			r := twoConnections(t)
			after := r.tableStep("c", "SELECT * FROM a, b")
			after.st.tables = map[string]bool{"a": true, "b": true}
			p := newPlan(r, []*step{r.tableStep("a", steps[0]), r.tableStep("b", steps[1]), after})
			if !bothRan(t, r, t.Context(), p, func() {}) {
				t.Error("the connections did not run at the same time")
			}
			if p.err == nil || !strings.Contains(p.err.Error(), "report test: test.sql:7: ") || !strings.Contains(p.err.Error(), "oh no") || p.fault != nil {
				t.Errorf("error %v, panic %v", p.err, p.fault)
			}
			if p.state[2] != waiting {
				t.Error("a step ran after one before it had failed")
			}
			works(t, r)
		})
	}
}

// A report that is ended while both connections run ends soon, in words.
func TestReportEndsWhileBothRun(t *testing.T) {
	r := twoConnections(t)
	ctx, stop := context.WithCancelCause(t.Context())
	p := newPlan(r, []*step{r.tableStep("a", endless), r.tableStep("b", endless)})
	if !bothRan(t, r, ctx, p, func() { stop(errors.New("enough")) }) {
		t.Error("the connections did not run at the same time")
	}
	if !errors.Is(p.err, context.Canceled) || p.err.Error() != "report test: the statement was cancelled" || p.fault != nil {
		t.Errorf("error %v, panic %v", p.err, p.fault)
	}
	works(t, r)
}

// A panic while both connections run is handed on to who waits for the report.
func TestStepPanicsWhileBothRun(t *testing.T) {
	r := twoConnections(t)
	broken := r.tableStep("b", long("error('oh no')"))
	broken.rep = nil // so that telling the error is a fault
	p := newPlan(r, []*step{r.tableStep("a", long("n")), broken})
	if !bothRan(t, r, t.Context(), p, func() {}) {
		t.Error("the connections did not run at the same time")
	}
	if p.fault == nil || p.err == nil {
		t.Errorf("panic %v, error %v", p.fault, p.err)
	}
	works(t, r)
	defer func() {
		if fault := recover(); fault == nil || !strings.Contains(fmt.Sprint(fault), "nil pointer") {
			t.Errorf("panic %v", fault)
		}
	}()
	_, err := r.together(t.Context(), []*step{r.tableStep("a", "SELECT 1"), broken})
	t.Errorf("error %v instead of a panic", err)
}

func finishedSteps(p *plan) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, state := range p.state {
		if state == finished {
			n++
		}
	}
	return n
}

// What needs all threads waits until the other connection does nothing, and keeps it so.
func TestAllThreadsWhileTheOtherWaits(t *testing.T) {
	r := twoConnections(t)
	if err := r.d.threads(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	threads := func() string {
		row, err := r.d.row(t.Context(), "SELECT current_setting('threads')")
		if err != nil {
			t.Fatal(err)
		}
		return row.text(0)
	}
	var p *plan
	alone := r.tableStep("first", "SELECT 1")
	alone.st.tables = map[string]bool{"selected_set_trials": true} // so it is the first connection's
	r.sel.await = func(ctx context.Context) error {
		return r.d.onAll(ctx, func() error {
			if got := threads(); got != "2" {
				t.Errorf("%s threads, want both", got)
			}
			begun := finishedSteps(p)
			time.Sleep(200 * time.Millisecond)
			if now := finishedSteps(p); now != begun {
				t.Errorf("%d steps were finished meanwhile on the other connection", now-begun)
			}
			return nil
		})
	}
	steps := []*step{alone}
	for i := range 50 {
		steps = append(steps, r.tableStep(fmt.Sprint("t", i), "SELECT count(*) AS n FROM range(200000) AS r(i) WHERE i % 7 = 1"))
	}
	p = newPlan(r, steps)
	if !bothRan(t, r, t.Context(), p, func() {}) || p.err != nil {
		t.Errorf("error %v", p.err)
	}
	if got := threads(); got != "1" {
		t.Errorf("%s threads afterwards, want 1", got)
	}
	works(t, r)
}
