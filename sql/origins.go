package sql

import "context"

// An Origin is a source that trials of a run came from, and the settings that
// they have in common.
type Origin struct{ Source, Config string }

// RunOrigins lists where the trials of a run came from, by source and config.
func (s *Session) RunOrigins(ctx context.Context, suite, run string) ([]Origin, error) {
	rows, err := s.query(ctx, `SELECT DISTINCT coalesce(source, '') AS source, coalesce(config::VARCHAR, '') AS config
		FROM trials WHERE suite IS NOT DISTINCT FROM nullif($suite::VARCHAR, '') AND run_id = $run::VARCHAR
		ORDER BY source, config`, map[string]any{"suite": suite, "run": run}, false)
	if err != nil {
		return nil, err
	}
	var out []Origin
	for row, err := range rows.All() {
		if err != nil {
			return nil, err
		}
		source, _ := row[0].(string)
		config, _ := row[1].(string)
		out = append(out, Origin{source, config})
	}
	return out, nil
}
