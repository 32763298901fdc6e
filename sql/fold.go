package sql

import (
	"slices"
	"strings"

	"passhat/ingest/store"
)

// An ungraded trial was judged by no rule: it has no pass_rule, and mostly no
// score_name, which its graded neighbours have. Rows of such trials alone would
// split the tasks they belong to, so they are put into the row of the same task
// that is otherwise of the same configuration, where there is one rule; rows that
// truly differ in the rule stay apart, and then those of no rule do, too.

// unruled says that a row of task_runs has ungraded trials alone, judged by no rule.
const unruled = "pass_rule IS NULL AND ungraded > 0 AND ungraded = n"

// splitBatches are the batches of which the roll-up can hold rows to be folded.
func (s *Session) splitBatches() map[string]bool {
	out := map[string]bool{}
	for i := range s.have.records {
		r := &s.have.records[i]
		if r.TaskRuns != nil && (r.Unruled == nil || *r.Unruled > 0 && r.Ruled) {
			out[r.Batch] = true
		}
	}
	return out
}

// splitLive says whether counts made from the trials of runs can hold rows to be folded.
// Such a run may have its rule in one batch and the trials without a verdict in another.
func (s *Session) splitLive(runs map[store.RunKey]bool) bool {
	bare, ruled := false, false
	s.have.runs(func(r *store.Record, run store.RunKey) {
		if runs[run] {
			bare = bare || r.Unruled == nil || *r.Unruled > 0
			ruled = ruled || r.Unruled == nil || r.Ruled
		}
	})
	return bare && ruled
}

// splitFiles parts files of roll-ups by whether they can hold rows to be folded.
func (s *Session) splitFiles(files []store.File) (plain, split []store.File) {
	batches := s.splitBatches()
	for _, f := range files {
		if slices.ContainsFunc(f.Batches, func(b string) bool { return batches[b] }) {
			split = append(split, f)
		} else {
			plain = append(plain, f)
		}
	}
	return plain, split
}

// foldSomeSQL folds the rows of rolled, a query that is cheap to repeat: tasks without
// rows to be folded go by the fold.
func foldSomeSQL(rolled string) string {
	const of = `EXISTS (SELECT 1 FROM bare AS b
	WHERE b.suite IS NOT DISTINCT FROM t.suite AND b.run_id IS NOT DISTINCT FROM t.run_id AND b.task_id IS NOT DISTINCT FROM t.task_id)`
	found := strings.Replace(of, "FROM bare", "FROM (SELECT DISTINCT suite, run_id, task_id FROM ("+rolled+") WHERE "+unruled+")", 1)
	return "SELECT * FROM (" + rolled + ") AS t WHERE NOT " + found + "\nUNION ALL\n" +
		foldSQL("SELECT * FROM ("+rolled+") AS t WHERE "+found)
}

// foldSQL folds the rows of rolled, which has the columns of task_runs.
func foldSQL(rolled string) string {
	var same, out, keys []string
	counting := false
	for _, c := range taskRunColumns() {
		name := Ident(c.Name)
		counting = counting || c.Name == "n"
		switch {
		case c.Name == "run_at":
			out = append(out, "min(run_at) AS run_at")
		case !counting:
			keys, out = append(keys, name), append(out, name)
			if c.Name != "pass_rule" && c.Name != "score_name" {
				same = append(same, name)
			}
		case c.Type == "DOUBLE":
			out = append(out, "passhat_exact_sum(list("+name+") FILTER ("+name+" IS NOT NULL)) AS "+name)
		default:
			out = append(out, wholeSum("sum("+name+")")+" AS "+name)
		}
	}
	const rule = "CASE WHEN NOT (" + unruled + ") AND (n > 0 OR pass_rule IS NOT NULL) THEN {'rule': pass_rule, 'score': score_name} END"
	const one = unruled + " AND passhat_low = passhat_high AND (score_name IS NULL OR score_name = passhat_low.score)"
	return "SELECT " + strings.Join(out, ", ") + "\nFROM (SELECT * REPLACE (CASE WHEN " + one + " THEN passhat_low.rule ELSE pass_rule END AS pass_rule, " +
		"CASE WHEN " + one + " THEN passhat_low.score ELSE score_name END AS score_name)\n" +
		"FROM (SELECT *, min(" + rule + ") OVER passhat_same AS passhat_low, max(" + rule + ") OVER passhat_same AS passhat_high\nFROM (" + rolled + ")\n" +
		"WINDOW passhat_same AS (PARTITION BY " + strings.Join(same, ", ") + ")))\nGROUP BY " + strings.Join(keys, ", ")
}

// wholeSum keeps a sum of whole numbers within its type.
func wholeSum(sum string) string {
	return "CASE WHEN " + sum + " IS NOT NULL THEN CAST(least(greatest(" + sum + ", -9223372036854775808), 9223372036854775807) AS BIGINT) END"
}
