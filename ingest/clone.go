package ingest

import (
	"strings"

	"passhat/ingest/store"
)

// cloneTrial copies a trial with its strings, which may lie in a buffer that is
// used again.
func cloneTrial(t *store.Trial) store.Trial {
	c := *t
	for _, s := range []*string{
		&c.Suite, &c.RunID, &c.RunAtFrom, &c.TaskID, &c.TrialFrom, &c.TrialUID, &c.Variant, &c.Shape, &c.Risk,
		&c.Scores, &c.ScoreName, &c.PassRule, &c.ErrorType, &c.ErrorMessage, &c.Model, &c.Agent, &c.Harness,
		&c.HarnessVersion, &c.Effort, &c.Config, &c.ConfigHash, &c.GitCommit, &c.GitBranch, &c.EnvironmentID,
		&c.Trace, &c.OutputHash, &c.Extra, &c.SourceRow,
	} {
		*s = strings.Clone(*s)
	}
	return c
}
