package store

import (
	"cmp"
	"math"
	"sync"
	"unsafe"
)

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

// add appends trials. The columns that are the same for the whole batch (source,
// batch, ingested_at) come with c. It takes one column after the other, since most
// of them are NULL or as in the row before.
func (g *rowGroup) add(ts []Trial, c *constants) {
	row, n := g.rows, 64*len(ts)
	g.rows += int32(len(ts))
	for _, f := range trialTexts {
		n += g.text[f.col].addField(row, ts, f.at)
	}
	for _, f := range trialFloats {
		addOpts(&g.nums[f.col], row, ts, f.at, math.Float64bits)
	}
	for _, f := range trialLongs {
		addOpts(&g.nums[f.col], row, ts, f.at, func(v int64) uint64 { return uint64(v) })
	}
	for _, f := range trialInts {
		addOpts(&g.nums[f.col], row, ts, f.at, func(v int32) uint64 { return uint64(v) })
	}
	for _, f := range trialBools {
		addOpts(&g.nums[f.col], row, ts, f.at, boolBits)
	}
	for i := range ts {
		t, row := &ts[i], row+int32(i)
		g.nums[cRunAt].add(row, uint64(t.RunAt.UnixMicro()), true)
		g.nums[cStartedAt].add(row, uint64(t.StartedAt.UnixMicro()), !t.StartedAt.IsZero())
		g.nums[cRunMade].add(row, boolBits(t.RunMade), true)
		n += g.text[cShape].add(row, cmp.Or(t.Shape, unclassified))
	}
	// Within a row group these never change.
	n += g.text[cSource].add(row, c.source)
	n += g.text[cBatch].add(row, c.batch)
	g.nums[cIngestedAt].add(row, c.ingestedAt, true)
	g.bytes += n
}

// unclassified is the shape of a trial of which the log gives none.
const unclassified = "unclassified"

func boolBits(v bool) uint64 {
	if v {
		return 1
	}
	return 0
}

// trialField is a column of trials and where in a Trial its value lies.
type trialField struct {
	col int
	at  uintptr
}

// The fields of a Trial that are columns as they are, by type.
var (
	trialTexts = []trialField{
		{cSuite, unsafe.Offsetof(Trial{}.Suite)}, {cRunID, unsafe.Offsetof(Trial{}.RunID)}, {cRunAtFrom, unsafe.Offsetof(Trial{}.RunAtFrom)},
		{cTaskID, unsafe.Offsetof(Trial{}.TaskID)}, {cTrialFrom, unsafe.Offsetof(Trial{}.TrialFrom)}, {cTrialUID, unsafe.Offsetof(Trial{}.TrialUID)},
		{cVariant, unsafe.Offsetof(Trial{}.Variant)}, {cRisk, unsafe.Offsetof(Trial{}.Risk)}, {cScores, unsafe.Offsetof(Trial{}.Scores)},
		{cScoreName, unsafe.Offsetof(Trial{}.ScoreName)}, {cPassRule, unsafe.Offsetof(Trial{}.PassRule)}, {cErrorType, unsafe.Offsetof(Trial{}.ErrorType)},
		{cErrorMessage, unsafe.Offsetof(Trial{}.ErrorMessage)}, {cModel, unsafe.Offsetof(Trial{}.Model)}, {cAgent, unsafe.Offsetof(Trial{}.Agent)},
		{cHarness, unsafe.Offsetof(Trial{}.Harness)}, {cHarnessVersion, unsafe.Offsetof(Trial{}.HarnessVersion)}, {cEffort, unsafe.Offsetof(Trial{}.Effort)},
		{cConfig, unsafe.Offsetof(Trial{}.Config)}, {cConfigHash, unsafe.Offsetof(Trial{}.ConfigHash)}, {cGitCommit, unsafe.Offsetof(Trial{}.GitCommit)},
		{cGitBranch, unsafe.Offsetof(Trial{}.GitBranch)}, {cEnvironmentID, unsafe.Offsetof(Trial{}.EnvironmentID)}, {cTrace, unsafe.Offsetof(Trial{}.Trace)},
		{cOutputHash, unsafe.Offsetof(Trial{}.OutputHash)}, {cExtra, unsafe.Offsetof(Trial{}.Extra)}, {cSourceRow, unsafe.Offsetof(Trial{}.SourceRow)},
	}
	trialFloats = []trialField{
		{cScore, unsafe.Offsetof(Trial{}.Score)}, {cTemperature, unsafe.Offsetof(Trial{}.Temperature)}, {cTopP, unsafe.Offsetof(Trial{}.TopP)},
		{cDurationS, unsafe.Offsetof(Trial{}.DurationS)}, {cTTFTS, unsafe.Offsetof(Trial{}.TTFTS)}, {cCostUSD, unsafe.Offsetof(Trial{}.CostUSD)},
	}
	trialLongs = []trialField{
		{cSeed, unsafe.Offsetof(Trial{}.Seed)}, {cInputTokens, unsafe.Offsetof(Trial{}.InputTokens)}, {cOutputTokens, unsafe.Offsetof(Trial{}.OutputTokens)},
		{cReasoningTokens, unsafe.Offsetof(Trial{}.ReasoningTokens)},
	}
	trialInts = []trialField{
		{cTrial, unsafe.Offsetof(Trial{}.Trial)}, {cPlannedTrials, unsafe.Offsetof(Trial{}.PlannedTrials)}, {cTurns, unsafe.Offsetof(Trial{}.Turns)},
		{cToolCalls, unsafe.Offsetof(Trial{}.ToolCalls)}, {cRetries, unsafe.Offsetof(Trial{}.Retries)},
	}
	trialBools = []trialField{{cPassed, unsafe.Offsetof(Trial{}.Passed)}, {cCached, unsafe.Offsetof(Trial{}.Cached)}}
)

// addField notes a text field of trials, the first of which is at row; it returns
// how many bytes it took to keep.
func (c *textColumn) addField(row int32, ts []Trial, at uintptr) (n int) {
	i := 0
	if c.last == null {
		for i < len(ts) && *(*string)(unsafe.Add(unsafe.Pointer(&ts[i]), at)) == "" {
			i++
		}
	}
	before := ""
	for ; i < len(ts); i++ {
		s := *(*string)(unsafe.Add(unsafe.Pointer(&ts[i]), at))
		if sameText(s, before) {
			continue
		}
		n += c.add(row+int32(i), s)
		before = s
	}
	return n
}

// sameText reports whether two texts are one in memory. Both must still be there.
func sameText(a, b string) bool {
	return len(a) == len(b) && unsafe.StringData(a) == unsafe.StringData(b) && a != ""
}

// addOpts notes a field of trials that is a number or NULL.
func addOpts[T any](c *numColumn, row int32, ts []Trial, at uintptr, bits func(T) uint64) {
	i := 0
	if c.last == null {
		for i < len(ts) && !(*Opt[T])(unsafe.Add(unsafe.Pointer(&ts[i]), at)).OK {
			i++
		}
	}
	for ; i < len(ts); i++ {
		v := (*Opt[T])(unsafe.Add(unsafe.Pointer(&ts[i]), at))
		c.add(row+int32(i), bits(v.V), v.OK)
	}
}

// constants are the values that all rows of a batch share.
type constants struct {
	source, batch string
	ingestedAt    uint64 // microseconds
}
