package reports

import (
	"context"
	"fmt"
	"time"

	"passhat/sql"
)

// chosenTrials is the view that Choose makes.
const chosenTrials = "chosen_trials"

// A Choice is which trials a request chose.
type Choice struct {
	// View is the relation in the session: the columns of trials, shape and risk
	// as labelled, and weight. Verdicts are as in the log and cached trials are
	// there: what counts is for the reader to say.
	View string
	// Whole says that the request leaves nothing out.
	Whole    bool
	Facts    [][2]string // the request in words, by flag
	Warnings []string
	K        []int32 // as asked for, nil for no wish
	Conf     float64
	Now      time.Time // of the request
}

// Choose makes the trials that a request asks for a view of the session, without
// running a report; unless the request names runs, all of them. Faults of the
// request are *UsageError.
func Choose(ctx context.Context, s *sql.Session, req Request) (*Choice, error) {
	if req.Runs == "" {
		req.Runs = "all"
	}
	req, err := req.normalise()
	if err != nil {
		return nil, err
	}
	if req.K.Word != "" {
		return nil, usagef("k %q: whole numbers such as 1,3 or 1-5 are wanted here", req.K.Word)
	}
	sel, err := prepare(ctx, &db{s: s}, req)
	if err != nil {
		return nil, err
	}
	c := &Choice{View: chosenTrials, Warnings: sel.warnings, K: req.K.List, Conf: req.Conf, Now: req.Now}
	c.Whole = req.Runs == "all" && req.Since == "" && req.Until == "" && req.Where == ""
	words := append(sel.filterWords(), [2]string{"labels", req.Labels}, [2]string{"weights", req.Weights})
	for _, f := range words {
		if f[1] != "" {
			c.Facts = append(c.Facts, f)
		}
	}
	join, weight := sel.joinWeights()
	// Whatever stands beside the trials in the relation, they are its t.
	err = s.Exec(ctx, fmt.Sprintf("CREATE OR REPLACE TEMP VIEW %s AS SELECT t.*, %s AS weight FROM %s%s",
		chosenTrials, weight, sel.chosen("labelled_trials"), join))
	return c, err
}
