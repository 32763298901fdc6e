package reports

import "context"

// checkWhere refuses a --where that is not one boolean expression.
func checkWhere(ctx context.Context, d *db, where string) error {
	type checker interface {
		CheckWhere(context.Context, string) error
	}
	if c, ok := any(d.s).(checker); ok {
		return c.CheckWhere(ctx, where)
	}
	return nil
}
