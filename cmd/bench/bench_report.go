package main

import (
	"bytes"
	"context"
	gosql "database/sql"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"passhat/ingest/store"
	"passhat/reports"
	"passhat/sql"
)

// reportProcess is one report in a process of its own: what it took, from opening
// the store to the last row, start of the process included.
type reportProcess struct {
	seconds, cpu float64
	memory       int64 // bytes, 0 where the system does not tell
}

// runReport runs `bench report process STORE NAME word=value…` in turn with
// nothing else; the word memory is the session's limit.
func runReport(ctx context.Context, args ...string) (run reportProcess, err error) {
	self, err := os.Executable()
	if err != nil {
		return run, fmt.Errorf("find this program: %w", err)
	}
	var out, words bytes.Buffer
	cmd := exec.CommandContext(ctx, self, append([]string{"report", "process"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &words
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return run, fmt.Errorf("report %s: %w: %s", strings.Join(args[1:], " "), err, strings.TrimSpace(words.String()))
	}
	run.seconds = time.Since(began).Seconds()
	run.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return run, json.Unmarshal(out.Bytes(), &run.memory)
}

// reportProcessCommand is that process; with the report - it opens an empty
// DuckDB session and closes it.
func reportProcessCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "process STORE NAME [WORD=VALUE]...",
		Hidden: true,
		Args:   cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if args[1] == "-" {
				err = emptySession(cmd.Context())
			} else {
				err = oneReport(cmd.Context(), args[0], args[1], args[2:])
			}
			if err == nil {
				fmt.Println(mostHeld())
			}
			return err
		},
	}
}

func emptySession(ctx context.Context) error {
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		return fmt.Errorf("open DuckDB: %w", err)
	}
	if err := db.PingContext(ctx); err != nil {
		return fmt.Errorf("open DuckDB: %w", err)
	}
	return db.Close()
}

// oneReport runs a report as the command does and reads every row.
func oneReport(ctx context.Context, dir, name string, words []string) error {
	debug.SetGCPercent(400) // as passhat sets it
	config := sql.Config{Leave: true}
	var req reports.Request
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		if key == "memory" {
			config.Memory = value
			continue
		}
		if err := req.Set(key, value); err != nil {
			return err
		}
	}
	st, err := store.Open(dir)
	if err != nil {
		return err
	}
	snap, err := st.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snap.Close()
	session, err := sql.Open(ctx, snap, config)
	if err != nil {
		return err
	}
	defer session.Close()
	all, err := reports.Load()
	if err != nil {
		return err
	}
	report, err := reports.Find(all, name)
	if err != nil {
		return err
	}
	result, err := reports.Run(ctx, session, report, req)
	if err != nil {
		return err
	}
	for _, section := range result.Sections {
		for _, err := range section.Rows {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// groupBy is the bare count of every run's tasks over trial files, in a session
// of its own with the limits that passhat has; the rows stay inside DuckDB.
func groupBy(ctx context.Context, files []string) error {
	db, err := gosql.Open("duckdb", "")
	if err != nil {
		return fmt.Errorf("open DuckDB: %w", err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "SET memory_limit = '4GB'"); err != nil {
		return fmt.Errorf("limit DuckDB: %w", err)
	}
	var rows, trials, passes float64
	err = db.QueryRowContext(ctx, fmt.Sprintf(`SELECT count(*), sum(n), sum(c) FROM (
	SELECT suite, run_id, task_id, count(*) AS n, count(*) FILTER (passed) AS c FROM read_parquet([%s], hive_partitioning = false) GROUP BY ALL)`,
		strings.Join(files, ", "))).Scan(&rows, &trials, &passes)
	if err != nil {
		return fmt.Errorf("group by over %d files: %w", len(files), err)
	}
	return nil
}

// filesBetween lists the live trial files, as literals, that can hold runs begun
// in [from, to).
func filesBetween(ctx context.Context, dir string, from, to time.Time) ([]string, error) {
	st, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
	snap, err := st.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	var out []string
	for _, f := range snap.Trials() {
		if f.RunAtMax.Before(from) || !f.RunAtMin.Before(to) {
			continue
		}
		out = append(out, "'"+quoted(f.Path)+"'")
	}
	return out, nil
}

// yearsCommand makes the large store and keeps it.
func (b *bench) yearsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "years DIR",
		Short: "make the store of many weeks that the report lines read, and keep it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return buildYears(cmd.Context(), yearsOf(int(b.trials), b.seed), args[0])
		},
	}
}

func buildYears(ctx context.Context, y years, dir string) error {
	began := time.Now()
	err := y.build(ctx, dir, func(done, all int) {
		fmt.Fprintf(os.Stderr, "\rstore of %d trials: %d, %.0f s", all, done, time.Since(began).Seconds())
		if done == all {
			fmt.Fprintln(os.Stderr)
		}
	})
	return err
}
