package sql

import (
	"strings"

	"passhat/ingest/store"
)

// fieldsSQL describes every column of trials and every key of extra: its type,
// the share of trials in which it is filled, and the least value as example.
// The columns are counted in one pass.
func fieldsSQL() string {
	var cols []string
	for _, c := range store.Columns() {
		name := Ident(c.Name)
		cols = append(cols, "{'field': "+Literal(c.Name)+", 'type': "+Literal(c.Type)+
			", 'filled': count("+name+") / nullif(count(*), 0), 'example': left(min("+name+"::VARCHAR), 80)}")
	}
	return `SELECT unnest([` + strings.Join(cols, ",\n\t") + `], recursive := true)
FROM trials
UNION ALL
SELECT 'extra.' || e.key,
	CASE WHEN count(DISTINCT e.type) = 1 AND any_value(e.type) <> 'UBIGINT' THEN any_value(e.type)
		WHEN bool_and(e.type IN ('UBIGINT', 'BIGINT')) THEN 'BIGINT'
		WHEN bool_and(e.type IN ('UBIGINT', 'BIGINT', 'DOUBLE')) THEN 'DOUBLE'
		ELSE 'JSON' END,
	count(*) / (SELECT count(*) FROM trials), left(min(json_extract_string(e.value, '$')), 80)
FROM trials AS t, json_each(t.extra) AS e
WHERE e.type <> 'NULL' AND e.key IS NOT NULL
GROUP BY e.key`
}
