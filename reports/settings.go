package reports

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// makeSettings makes selected_settings for a report that reads it: every
// declared setting of every group with its values, the keys of config among
// them. A trial that was judged by no rule has none that differs.
func (r *runner) makeSettings(ctx context.Context) error {
	if !slices.ContainsFunc(r.rep.Statements, func(st Statement) bool { return st.tables["selected_settings"] }) {
		return nil
	}
	var cols, parts []string
	for _, s := range settings {
		if s.column == "suite" {
			continue
		}
		cols = append(cols, s.column)
		where := ""
		if s.column == "pass_rule" {
			where = " WHERE pass_rule IS NOT NULL"
		}
		if s.column == "score_name" {
			where = fmt.Sprintf(" WHERE %[1]s IS NOT NULL OR group_no NOT IN (SELECT group_no FROM combination WHERE %[1]s IS NOT NULL)", s.column)
		}
		parts = append(parts, fmt.Sprintf("SELECT group_no, %s AS setting, %s::VARCHAR AS value, trials FROM combination%s", quoteText(s.column), s.column, where))
	}
	return r.d.exec(ctx, fmt.Sprintf(`CREATE OR REPLACE TEMP TABLE selected_settings AS
WITH combination AS (SELECT group_no, config::VARCHAR AS config, %[1]s, count(*) AS trials FROM selected GROUP BY ALL),
key AS (SELECT group_no, config, trials, unnest(json_keys(config::JSON)) AS key FROM combination WHERE json_type(config::JSON) = 'OBJECT'),
long AS (%[2]s
UNION ALL SELECT group_no, 'config.' || key, json_extract_string(config::JSON, '$."' || replace(key, '"', '') || '"'), trials FROM key)
SELECT group_no, setting, coalesce(value, %[3]s) AS value, value IS NOT NULL AS logged, sum(trials)::BIGINT AS trials FROM long GROUP BY ALL`,
		strings.Join(cols, ", "), strings.Join(parts, "\nUNION ALL "), quoteText(notInLog)))
}
