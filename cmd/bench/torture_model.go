package main

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"passhat/ingest/store"
	"passhat/sql"
)

// trialSet says which trials of a suite are there: how many, how many of them
// passed, and a digest of all of them with their verdicts.
type trialSet struct {
	rows, passes int64
	digest       string
}

// model is what a store must hold, by suite; every source of the torture has a
// suite of its own.
type model map[string]trialSet

// torturedLog is a log whose content is known from its numbers alone.
type torturedLog struct {
	suite string
	seed  uint64
	rows  int
}

// row gives trial i: its task, number and verdict.
func (l torturedLog) row(i int) (task string, trial int, passed bool) {
	x := (l.seed + uint64(i)) * 0x9E3779B97F4A7C15
	x ^= x >> 29
	return fmt.Sprintf("task-%06d", i/4), i % 4, x*0xBF58476D1CE4E5B9>>63 == 0
}

// bytes is the log as JSON Lines.
func (l torturedLog) bytes() []byte {
	var b []byte
	for i := range l.rows {
		task, trial, passed := l.row(i)
		b = append(b, `{"suite":"`...)
		b = append(b, l.suite...)
		b = append(b, `","run_id":"night","task_id":"`...)
		b = append(b, task...)
		b = append(b, `","trial":`...)
		b = strconv.AppendInt(b, int64(trial), 10)
		b = append(b, `,"run_at":"2026-11-02T02:00:00Z","model":"model-a","passed":`...)
		b = strconv.AppendBool(b, passed)
		b = append(b, `,"duration_s":1.5,"cost_usd":0.01,"note":"`...)
		b = strconv.AppendUint(b, (l.seed+uint64(i))*0x9E3779B97F4A7C15, 16)
		b = append(b, "\"}\n"...)
	}
	return b
}

func (l torturedLog) write(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, l.bytes(), 0o666)
}

// set is what the log brings.
func (l torturedLog) set() trialSet {
	h := md5.New()
	s := trialSet{rows: int64(l.rows)}
	for i := range l.rows {
		task, trial, passed := l.row(i)
		if passed {
			s.passes++
		}
		if i > 0 {
			h.Write([]byte{'\n'})
		}
		fmt.Fprintf(h, "night %s %d %t", task, trial, passed)
	}
	s.digest = hex.EncodeToString(h.Sum(nil))
	return s
}

// contentSQL asks for the model of a store, once from the trials and once from
// the roll-up.
const contentSQL = `
SELECT t.suite, t.n, t.c, t.digest, coalesce(r.n, 0), coalesce(r.c, 0)
FROM (
	SELECT suite, count(*) AS n, count(*) FILTER (passed) AS c,
		md5(string_agg(run_id || ' ' || task_id || ' ' || trial || ' ' || passed, chr(10) ORDER BY run_id, task_id, trial, passed)) AS digest
	FROM trials GROUP BY suite
) t LEFT JOIN (SELECT suite, sum(n)::BIGINT AS n, sum(c)::BIGINT AS c FROM task_runs GROUP BY suite) r USING (suite)
ORDER BY t.suite`

// contentOf reads a store as any reader does.
func contentOf(ctx context.Context, dir string) (model, error) {
	st, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
	snap, err := st.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	session, err := sql.Open(ctx, snap, sql.Config{})
	if err != nil {
		return nil, err
	}
	defer session.Close()
	rows, err := session.Query(ctx, contentSQL, nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := model{}
	for rows.Next() {
		v := rows.Values()
		suite, _ := v[0].(string)
		n, _ := v[1].(int64)
		c, _ := v[2].(int64)
		digest, _ := v[3].(string)
		rn, _ := v[4].(int64)
		rc, _ := v[5].(int64)
		if n != rn || c != rc {
			return nil, fmt.Errorf("suite %s: %d trials and %d passes, but %d and %d in the roll-up", suite, n, c, rn, rc)
		}
		out[suite] = trialSet{n, c, digest}
	}
	return out, rows.Err()
}

// differs says where two models differ, "" if they don't.
func (m model) differs(have model) string {
	names := slices.Sorted(maps.Keys(m))
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, ok := m[name]; !ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if want, got := m[name], have[name]; want != got {
			return fmt.Sprintf("suite %s holds %d trials, %d passed (%s); %d, %d (%s) are wanted", name,
				got.rows, got.passes, got.digest, want.rows, want.passes, want.digest)
		}
	}
	return ""
}

// with is the model after one suite changed.
func (m model) with(suite string, set trialSet) model {
	out := maps.Clone(m)
	if out == nil {
		out = model{}
	}
	if set.rows == 0 {
		delete(out, suite)
	} else {
		out[suite] = set
	}
	return out
}

// sound verifies a store and holds it to one of several models; it says to
// which of them, from 0.
func sound(ctx context.Context, dir string, allowed ...model) (int, error) {
	st, err := store.Open(dir)
	if err != nil {
		return 0, err
	}
	rep, err := st.Verify(ctx)
	if err != nil {
		return 0, fmt.Errorf("verify: %w", err)
	}
	if len(rep.Problems) > 0 {
		return 0, fmt.Errorf("verify: %s: %s (and %d more)", rep.Problems[0].File, rep.Problems[0].What, len(rep.Problems)-1)
	}
	have, err := contentOf(ctx, dir)
	if err != nil {
		return 0, err
	}
	for i, m := range allowed {
		if m.differs(have) == "" {
			return i, nil
		}
	}
	return 0, fmt.Errorf("neither before nor after: %s", allowed[0].differs(have))
}
