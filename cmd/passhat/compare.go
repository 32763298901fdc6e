package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"passhat/ingest"
	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

func (a *app) compareCommand() *cobra.Command {
	var r reportFlags
	cmd := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "A against B, task by task; each is a file, a run, last, last~1, last:git_branch=main, or COLUMN=VALUE",
		Long: `compare sets two sides against each other, each task with itself (paired): the differences of mean and of pass^k (all of k
tries pass) with intervals, p (how often chance alone does as much), a verdict, and the tasks that changed. last is the newest
run, last~1 the one before it (a gate's baseline counts without the run it judges: its last is this last~1).
passhat help terms explains the words.`,
		Example: `  passhat compare last~1 last
  passhat compare last:git_branch=main trials.jsonl -k 3
  passhat compare effort=low effort=high -o compare.xlsx`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("compare: want two sides, the old one and the new one, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.compare(cmd, &r, args[0], args[1]) },
	}
	f := cmd.Flags()
	f.StringArrayVarP(&r.params, "param", "p", nil, "`NAME=VALUE` of a flag (repeatable)")
	r.addCommon(f)
	r.read.add(cmd)
	r.out.add(cmd)
	return cmd
}

func (a *app) compare(cmd *cobra.Command, r *reportFlags, before, after string) error {
	ctx := cmd.Context()
	outs, err := r.out.outputs(a)
	if err != nil {
		return err
	}
	all, err := a.loadReports(r)
	if err != nil {
		return err
	}
	rep, err := reports.Find(all, "compare")
	if err != nil {
		return err
	}
	req, err := r.request(cmd)
	if err != nil {
		return err
	}
	s := &sides{a: a, read: &r.read}
	defer s.close()
	if err := s.open(ctx, before, after); err != nil {
		return err
	}
	if err := keepInputs(outs, &data{snap: s.main, dir: a.storeDir}, s.files, nil); err != nil {
		return err
	}
	req.Old, req.New, req.OldRuns, req.NewRuns = before, after, s.runs[0], s.runs[1]
	if len(s.files) > 0 && req.Runs == "" {
		req.Runs = "all"
	}
	bar := a.newProgress()
	bar.spin("compare")
	res, err := reports.Run(ctx, s.session, rep, req)
	bar.done()
	if err != nil {
		return err
	}
	for _, text := range res.SQL {
		fmt.Fprintf(a.stderr, "%s;\n\n", strings.TrimRight(strings.TrimSpace(text), ";"))
	}
	return r.out.print(a, res, outs)
}

// sides reads what a comparison needs: the store, and a temporary store for
// each side that is a file.
type sides struct {
	a       *app
	read    *readFlags
	main    *store.Snapshot
	also    []*store.Snapshot
	temps   []*store.Scratch
	files   []string // sides that are files
	runs    [2][]reports.RunRef
	session *sql.Session
}

func (s *sides) open(ctx context.Context, before, after string) error {
	st, err := store.Open(s.a.storeDir)
	if err != nil {
		return err
	}
	if s.main, err = st.Snapshot(ctx); err != nil {
		return err
	}
	for i, arg := range []string{before, after} {
		if !s.isFile(arg) {
			continue
		}
		s.files = append(s.files, arg)
		if s.runs[i], err = s.readFile(ctx, arg); err != nil {
			return err
		}
	}
	if len(s.files) < 2 && len(s.main.Trials()) == 0 {
		return s.a.errEmpty("compare")
	}
	s.session, err = sql.Open(ctx, s.main, sql.Config{Memory: s.a.memory, Threads: s.a.threads, Also: s.also, Unstoppable: s.a.unstoppable})
	return err
}

// isFile says whether a side names a log: a run of that name goes first.
func (s *sides) isFile(arg string) bool {
	for _, b := range s.main.Batches() {
		for _, run := range b.Runs {
			if run.RunID == arg {
				return false
			}
		}
	}
	if arg == "-" {
		return true
	}
	_, err := os.Stat(arg)
	return err == nil
}

// readFile takes a log into a store of its own and returns its runs. Content
// that is known already is not read a second time.
func (s *sides) readFile(ctx context.Context, path string) ([]reports.RunRef, error) {
	opts, err := s.read.options(s.a)
	if err != nil {
		return nil, err
	}
	snap, err := s.take(ctx, path, opts)
	if err != nil {
		return nil, err
	}
	if runs := s.known(snap); runs != nil {
		return runs, nil
	}
	if names := s.clashes(snap); len(names) > 0 && len(runsOf(snap.Batches())) > len(names) { // the others keep their names
		opts.Renames = map[string]string{}
		for _, name := range names {
			opts.Renames[name] = fmt.Sprintf("%s@%d", name, len(s.files))
			s.a.say("%s: its run %s is in the store or on the other side too; here it goes by the name %s", path, name, opts.Renames[name])
		}
		if snap, err = s.take(ctx, path, opts); err != nil {
			return nil, err
		}
	}
	if names := s.clashes(snap); len(names) > 0 { // of a name that was made up
		name := names[0]
		opts.Run = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) + fmt.Sprintf("@%d", len(s.files))
		s.a.say("%s: its run %s is in the store or on the other side too; here it goes by the name %s", path, name, opts.Run)
		if snap, err = s.take(ctx, path, opts); err != nil {
			return nil, err
		}
	}
	s.also = append(s.also, snap)
	return runsOf(snap.Batches()), nil
}

// take reads a log into a new temporary store.
func (s *sides) take(ctx context.Context, path string, opts ingest.Options) (*store.Snapshot, error) {
	temp, err := store.NewScratch()
	if err != nil {
		return nil, fmt.Errorf("making a temporary store: %w", err)
	}
	s.temps = append(s.temps, temp)
	st, err := store.Open(temp.Dir)
	if err != nil {
		return nil, err
	}
	bar := s.a.newProgress()
	defer bar.done()
	opts.Progress = bar.update
	sum, err := ingest.Ingest(ctx, st, []string{path}, opts)
	bar.done()
	s.a.sayNamed(sum)
	if err != nil {
		return nil, err
	}
	return st.Snapshot(ctx)
}

// known gives the runs of a log whose sources are all in the store or on the
// other side already, nil when one is not.
func (s *sides) known(snap *store.Snapshot) []reports.RunRef {
	for _, have := range append([]*store.Snapshot{s.main}, s.also...) {
		byHash := map[string]store.Record{}
		for _, b := range have.Batches() {
			byHash[b.Hash+" "+b.OptionsHash] = b
		}
		var found []store.Record
		for _, b := range snap.Batches() {
			if in, ok := byHash[b.Hash+" "+b.OptionsHash]; ok && in.Kind == store.KindTrials {
				found = append(found, in)
			}
		}
		if len(found) == len(snap.Batches()) {
			return runsOf(found)
		}
	}
	return nil
}

// clashes names the runs of snap that are elsewhere too.
func (s *sides) clashes(snap *store.Snapshot) []string {
	taken := map[store.RunKey]bool{}
	for _, have := range append([]*store.Snapshot{s.main}, s.also...) {
		for _, b := range have.Batches() {
			for _, run := range b.Runs {
				taken[run.RunKey] = true
			}
		}
	}
	var out []string
	for _, b := range snap.Batches() {
		for _, run := range b.Runs {
			if taken[run.RunKey] && !slices.Contains(out, run.RunID) {
				out = append(out, run.RunID)
			}
		}
	}
	return out
}

func runsOf(batches []store.Record) []reports.RunRef {
	var out []reports.RunRef
	for _, b := range batches {
		for _, run := range b.Runs {
			out = append(out, reports.RunRef{Suite: run.Suite, RunID: run.RunID})
		}
	}
	return out
}

func (s *sides) close() error {
	var errs []error
	if s.session != nil {
		errs = append(errs, s.session.Close())
	}
	for _, snap := range append(s.also, s.main) {
		if snap != nil {
			errs = append(errs, snap.Close())
		}
	}
	for _, temp := range s.temps {
		errs = append(errs, temp.Close())
	}
	return errors.Join(errs...)
}
