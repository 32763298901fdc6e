package main

import (
	"context"
	"fmt"
	"time"

	"passhat/reports"
	"passhat/sql"
)

// runStatus is passhat without a command: one line on the store and what to
// type next.
func (a *app) runStatus(ctx context.Context) error {
	d, err := a.open(ctx, nil, nil, sql.Config{})
	if err != nil {
		return err
	}
	defer d.close()
	if d.empty {
		_, err := fmt.Fprintf(a.stdout, "%s: no trials yet\n\n  passhat ingest FILE          takes a log in\n"+
			"  passhat report passk FILE    reports straight on a log\n  passhat demo                 makes an example history\n  passhat help                 lists the commands\n", oneLine(a.storeDir))
		return err
	}
	res, err := reports.List(ctx, d.session, "status")
	if err != nil {
		return err
	}
	for row, err := range res.Sections[0].Rows {
		if err != nil {
			return err
		}
		n := func(i int) int64 { v, _ := row[i].(int64); return v }
		newest, _ := row[3].(time.Time)
		_, err := fmt.Fprintf(a.stdout, "%s: %s of %s, %s, newest %s UTC, %s\n\n  passhat report passk    how reliable, per configuration and k\n"+
			"  passhat report tasks    every task, worst first\n  passhat report          the other reports\n  passhat runs            the runs\n  passhat help terms      what the words mean\n", oneLine(a.storeDir),
			count(n(0), "run"), count(n(1), "suite"), count(n(2), "trial"), newest.UTC().Format("2006-01-02 15:04"), count(n(4), "reject"))
		return err
	}
	return nil
}
