package store

import "sync"

// rowGroup holds the rows of one Parquet row group under construction, of
// trials or of a smaller table.
type rowGroup struct {
	cols  []Column
	rows  int32
	bytes int           // an estimate of what it holds in memory
	text  []*textColumn // by place in cols; nil where the column is no text
	nums  []numColumn
}

func newRowGroup(cols []Column) *rowGroup {
	g := &rowGroup{cols: cols, text: make([]*textColumn, len(cols)), nums: make([]numColumn, len(cols))}
	for i, c := range cols {
		if c.Type == "VARCHAR" || c.Type == "JSON" {
			g.text[i] = &textColumn{json: c.Type == "JSON"}
		}
	}
	g.reset()
	return g
}

// trialGroups keeps row groups of trials for reuse: they are tens of megabytes
// that would be grown anew for every file.
var trialGroups = sync.Pool{New: func() any {
	g := newRowGroup(trialColumns[:])
	for _, c := range rollupText {
		g.text[c].keep = true
	}
	return g
}}

// newTrialGroup is an empty row group of trials.
func newTrialGroup() *rowGroup {
	g := trialGroups.Get().(*rowGroup)
	for _, c := range g.text {
		if c != nil {
			c.plain = false
		}
	}
	g.reset()
	return g
}

func (g *rowGroup) reset() {
	g.rows, g.bytes = 0, 0
	for i := range g.cols {
		if g.text[i] != nil {
			g.text[i].reset()
		} else {
			g.nums[i].reset()
		}
	}
}

// add appends one trial. The columns that are the same for the whole batch
// (source, batch, ingested_at) come with c.
func (g *rowGroup) add(t *Trial, c *constants) {
	row, n := g.rows, 0
	text := func(col int, s string) {
		if c := g.text[col]; s != "" || c.last != null {
			n += c.add(row, s)
		}
	}
	g.rows++

	text(cSuite, t.Suite)
	text(cRunID, t.RunID)
	g.nums[cRunAt].add(row, uint64(t.RunAt.UnixMicro()), true)
	text(cRunAtFrom, t.RunAtFrom)
	text(cTaskID, t.TaskID)
	g.nums[cTrial].addInt32(row, t.Trial)
	text(cTrialFrom, t.TrialFrom)
	g.nums[cPlannedTrials].addInt32(row, t.PlannedTrials)
	text(cTrialUID, t.TrialUID)
	text(cVariant, t.Variant)
	text(cShape, t.Shape)
	text(cRisk, t.Risk)
	g.nums[cPassed].addBool(row, t.Passed)
	g.nums[cScore].addFloat(row, t.Score)
	text(cScores, t.Scores)
	text(cScoreName, t.ScoreName)
	text(cPassRule, t.PassRule)
	text(cErrorType, t.ErrorType)
	text(cErrorMessage, t.ErrorMessage)
	text(cModel, t.Model)
	text(cAgent, t.Agent)
	text(cHarness, t.Harness)
	text(cHarnessVersion, t.HarnessVersion)
	text(cEffort, t.Effort)
	g.nums[cTemperature].addFloat(row, t.Temperature)
	g.nums[cTopP].addFloat(row, t.TopP)
	g.nums[cSeed].addInt64(row, t.Seed)
	text(cConfig, t.Config)
	text(cConfigHash, t.ConfigHash)
	text(cGitCommit, t.GitCommit)
	text(cGitBranch, t.GitBranch)
	text(cEnvironmentID, t.EnvironmentID)
	g.nums[cStartedAt].add(row, uint64(t.StartedAt.UnixMicro()), !t.StartedAt.IsZero())
	g.nums[cDurationS].addFloat(row, t.DurationS)
	g.nums[cTTFTS].addFloat(row, t.TTFTS)
	g.nums[cInputTokens].addInt64(row, t.InputTokens)
	g.nums[cOutputTokens].addInt64(row, t.OutputTokens)
	g.nums[cReasoningTokens].addInt64(row, t.ReasoningTokens)
	g.nums[cCostUSD].addFloat(row, t.CostUSD)
	g.nums[cTurns].addInt32(row, t.Turns)
	g.nums[cToolCalls].addInt32(row, t.ToolCalls)
	g.nums[cRetries].addInt32(row, t.Retries)
	g.nums[cCached].addBool(row, t.Cached)
	text(cTrace, t.Trace)
	text(cOutputHash, t.OutputHash)
	text(cExtra, t.Extra)
	text(cSource, c.source)
	text(cSourceRow, t.SourceRow)
	text(cBatch, c.batch)
	g.nums[cIngestedAt].add(row, c.ingestedAt, true)
	g.nums[cRunMade].addBool(row, Some(t.RunMade))
	g.bytes += n + 64
}

// constants are the values that all rows of a batch share.
type constants struct {
	source, batch string
	ingestedAt    uint64 // microseconds
}
