package reports

import (
	"context"
	"fmt"

	"passhat/ingest/store"
)

// fewTrials is the number of trials in the store up to which looking at each of them takes less time
// than preparing a query that does not.
const fewTrials = 200_000

// sourcesSQL selects, by source, how many trials were read, with their seeds and
// start states. On the short road the counts are known by run, and trials are
// looked at only where some file has seeds or start states at all.
func (r *runner) sourcesSQL(ctx context.Context) (string, error) {
	used := `used AS (SELECT batch, count(*) AS n, count(seed) AS seeds, min(seed) AS low, max(seed) AS high, count(environment_id) AS envs
FROM selected GROUP BY batch)`
	if (r.sel.short || r.sel.direct) && r.d.s.TrialRows() > fewTrials {
		groups, runs := "request_groups", "selected_cells"
		if r.sel.direct {
			groups, runs = "selected_group_runs", "(SELECT suite, run_id, counted AS n_all, 0 AS ungraded, 1 AS tasks FROM selected_group_runs)"
		}
		row, err := r.d.row(ctx, `SELECT count(*) FROM (SELECT g.suite, g.run_id FROM (SELECT DISTINCT suite, run_id FROM `+groups+`) AS g JOIN passhat_store.run_batches AS b
	ON b.suite IS NOT DISTINCT FROM g.suite AND b.run_id IS NOT DISTINCT FROM g.run_id GROUP BY g.suite, g.run_id HAVING count(*) > 1)`)
		if err != nil {
			return "", err
		}
		if row.int(0) == 0 {
			counted := "n_all"
			if r.sel.req.Policy == PolicyExclude {
				counted = "n_all - ungraded"
			}
			have, err := r.sel.rareValues(ctx, r.d)
			if err != nil {
				return "", err
			}
			seeds, envs := "selected WHERE seed IS NOT NULL", "selected WHERE environment_id IS NOT NULL"
			if !have["seed"] {
				seeds = "(SELECT NULL::VARCHAR AS batch, NULL::BIGINT AS seed) WHERE false"
			}
			if !have["environment_id"] {
				envs = "(SELECT NULL::VARCHAR AS batch) WHERE false"
			}
			used = `counted AS (SELECT b.batch, sum((` + counted + `) * t.tasks)::BIGINT AS n FROM ` + runs + ` AS t JOIN passhat_store.run_batches AS b
	ON b.suite IS NOT DISTINCT FROM t.suite AND b.run_id IS NOT DISTINCT FROM t.run_id GROUP BY b.batch),
seed AS (SELECT batch, count(*) AS seeds, min(seed) AS low, max(seed) AS high FROM ` + seeds + ` GROUP BY batch),
env AS (SELECT batch, count(*) AS envs FROM ` + envs + ` GROUP BY batch),
used AS (SELECT c.batch, c.n, coalesce(seeds, 0) AS seeds, low, high, coalesce(envs, 0) AS envs
FROM counted AS c LEFT JOIN seed ON seed.batch = c.batch LEFT JOIN env ON env.batch = c.batch WHERE c.n > 0)`
		}
	}
	return "WITH " + used + `
SELECT coalesce(s.source, u.batch), s.format, s.hash, u.n, u.seeds, u.low, u.high, u.envs
FROM used AS u LEFT JOIN sources AS s ON s.batch = u.batch ORDER BY coalesce(s.source, u.batch), s.hash, u.batch`, nil
}

// rare are columns that most logs do not fill.
var rare = []string{"seed", "environment_id", "config"}

// rareValues says of each of those whether some trial that is looked at may have a value.
func (sel *selection) rareValues(ctx context.Context, d *db) (map[string]bool, error) {
	if sel.rare != nil {
		return sel.rare, nil
	}
	if d.footers == nil {
		d.readFooters(ctx, sel.ofWeeks)
	}
	have := <-d.footers
	if have.err != nil {
		return nil, have.err
	}
	sel.rare = map[string]bool{}
	for i, name := range rare {
		sel.rare[name] = have.values[i]
	}
	return sel.rare, nil
}

// footerValues is the answer of readFooters.
type footerValues struct {
	values []bool
	err    error
}

// readFooters begins to look for rare values, beside what is done until they are asked for.
func (d *db) readFooters(ctx context.Context, runs map[store.RunKey]bool) {
	out := make(chan footerValues, 1)
	d.footers = out
	go func() {
		defer close(out)
		var values []bool
		err := store.Caught(func() (err error) {
			values, err = d.s.HaveValues(ctx, runs, rare...)
			return err
		})
		out <- footerValues{values, err}
	}()
}

// sourceRows are the rows of sourcesSQL.
func (r *runner) sourceRows(ctx context.Context) ([][]any, error) {
	if r.sel.small != nil {
		if rows, known, err := r.sel.smallSources(ctx, r.d); err != nil || known {
			return rows, err
		}
	}
	text, err := r.sourcesSQL(ctx)
	if err != nil {
		return nil, err
	}
	_, rows, err := r.d.table(ctx, text, nil)
	if err != nil {
		return nil, fmt.Errorf("read the sources: %w", err)
	}
	return rows, nil
}

// sources reads which sources the result rests on, how seeds were set and
// whether start states are known.
func (r *runner) sources(ctx context.Context) ([]StampSource, string, bool, error) {
	rows, err := r.sourceRows(ctx)
	if err != nil {
		return nil, "", false, err
	}
	var out []StampSource
	var n, seeds, low, high, envs int64
	for _, row := range rows {
		rec := record(row)
		out = append(out, StampSource{Source: rec.text(0), Format: rec.text(1), Hash: rec.text(2), Rows: rec.int(3)})
		n += rec.int(3)
		if rec.int(4) > 0 {
			if seeds == 0 || rec.int(5) < low {
				low = rec.int(5)
			}
			if seeds == 0 || rec.int(6) > high {
				high = rec.int(6)
			}
		}
		seeds += rec.int(4)
		envs += rec.int(7)
	}
	seed := notInLog
	switch {
	case seeds == 0:
	case low == high && seeds == n:
		seed = fmt.Sprintf("the same for every trial: %d", low)
	case low == high:
		seed = fmt.Sprintf("%d where the log has one", low)
	default:
		seed = fmt.Sprintf("varies from %d to %d", low, high)
	}
	return out, seed, envs > 0, nil
}
