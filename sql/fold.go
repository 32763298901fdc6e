package sql

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/metadata"

	"passhat/ingest/store"
)

// An ungraded trial was judged by no rule: it has no pass_rule, and mostly no
// score_name, which its graded neighbours have. Rows of such trials alone would
// split the tasks they belong to, so they are put into the row of the same task
// that is otherwise of the same configuration, where there is one rule; rows that
// truly differ in the rule stay apart, and then those of no rule do, too.

// unruled says that a row of task_runs has ungraded trials alone, judged by no rule.
const unruled = "pass_rule IS NULL AND ungraded > 0 AND ungraded = n"

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

// splitFiles parts files of roll-ups by whether they can hold rows to be folded, as the
// records of their batches say, or the footers where a record is of older times.
func (s *Session) splitFiles(files []store.File) (plain, split []store.File) {
	held, unknown := map[string]bool{}, map[string]bool{}
	for i := range s.have.records {
		r := &s.have.records[i]
		held[r.Batch] = r.Unruled != nil && *r.Unruled > 0 && r.Ruled
		unknown[r.Batch] = r.TaskRuns != nil && r.Unruled == nil
	}
	for _, f := range files {
		if slices.ContainsFunc(f.Batches, func(b string) bool { return held[b] }) ||
			slices.ContainsFunc(f.Batches, func(b string) bool { return unknown[b] }) && !allGraded(f.Path) {
			split = append(split, f)
		} else {
			plain = append(plain, f)
		}
	}
	return plain, split
}

// allGraded says whether the footer of a roll-up shows that no trial lacks a verdict.
func allGraded(path string) (graded bool) {
	defer func() {
		if recover() != nil { // of a footer that makes no sense
			graded = false
		}
	}()
	in, err := file.OpenParquetFile(path, false)
	if err != nil {
		return false
	}
	defer in.Close()
	at := in.MetaData().Schema.ColumnIndexByName("ungraded")
	if at < 0 {
		return false
	}
	for g := range in.NumRowGroups() {
		chunk, err := in.MetaData().RowGroup(g).ColumnChunk(at)
		if err != nil {
			return false
		}
		st, err := chunk.Statistics()
		if counts, ok := st.(*metadata.Int64Statistics); err != nil || !ok || !counts.HasMinMax() || counts.Max() > 0 {
			return false
		}
	}
	return true
}

// foldSomeSQL folds the rows of rolled, a query that is cheap to repeat: tasks without
// rows to be folded go by the fold.
func foldSomeSQL(rolled string) string {
	of := " JOIN (SELECT DISTINCT suite, run_id, task_id FROM (" + rolled + ") WHERE " + unruled + `) AS b
	ON b.suite IS NOT DISTINCT FROM t.suite AND b.run_id IS NOT DISTINCT FROM t.run_id AND b.task_id IS NOT DISTINCT FROM t.task_id`
	return "SELECT t.* FROM (" + rolled + ") AS t ANTI" + of + "\nUNION ALL\n" + foldSQL("SELECT t.* FROM ("+rolled+") AS t SEMI"+of)
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
