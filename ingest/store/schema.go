package store

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// Column is one column of a stored table under its DuckDB type.
type Column struct {
	Name string
	Type string // VARCHAR, JSON, INTEGER, BIGINT, DOUBLE, BOOLEAN, DATE or TIMESTAMPTZ
}

// Columns are the columns of the trials table in order, without the hidden ones.
func Columns() []Column { return append([]Column(nil), trialColumns[:numVisible]...) }

// TaskRunColumns are the columns of the roll-up parts in order: the key, then
// counts and sums over the trials that are not cached.
func TaskRunColumns() []Column { return append([]Column(nil), taskRunColumns...) }

// LabelColumns are the columns of the label files in order.
func LabelColumns() []Column { return append([]Column(nil), labelColumns...) }

// PriceColumns are the columns of the price files in order; input and output
// are dollars per million tokens.
func PriceColumns() []Column { return append([]Column(nil), priceColumns...) }

// Places in trialColumns. String columns that are part of the roll-up's key
// are always dictionary-encoded.
const (
	cSuite = iota
	cRunID
	cRunAt
	cRunAtFrom
	cTaskID
	cTrial
	cTrialFrom
	cPlannedTrials
	cTrialUID
	cVariant
	cShape
	cRisk
	cPassed
	cScore
	cScores
	cScoreName
	cPassRule
	cErrorType
	cErrorMessage
	cModel
	cAgent
	cHarness
	cHarnessVersion
	cEffort
	cTemperature
	cTopP
	cSeed
	cConfig
	cConfigHash
	cGitCommit
	cGitBranch
	cEnvironmentID
	cStartedAt
	cDurationS
	cTTFTS
	cInputTokens
	cOutputTokens
	cReasoningTokens
	cCostUSD
	cTurns
	cToolCalls
	cRetries
	cCached
	cTrace
	cOutputHash
	cExtra
	cSource
	cSourceRow
	cBatch
	cIngestedAt
	cRunMade // hidden
	numColumns
	numVisible = cRunMade
)

var trialColumns = [numColumns]Column{
	cSuite:           {"suite", "VARCHAR"},
	cRunID:           {"run_id", "VARCHAR"},
	cRunAt:           {"run_at", "TIMESTAMPTZ"},
	cRunAtFrom:       {"run_at_from", "VARCHAR"},
	cTaskID:          {"task_id", "VARCHAR"},
	cTrial:           {"trial", "INTEGER"},
	cTrialFrom:       {"trial_from", "VARCHAR"},
	cPlannedTrials:   {"planned_trials", "INTEGER"},
	cTrialUID:        {"trial_uid", "VARCHAR"},
	cVariant:         {"variant", "VARCHAR"},
	cShape:           {"shape", "VARCHAR"},
	cRisk:            {"risk", "VARCHAR"},
	cPassed:          {"passed", "BOOLEAN"},
	cScore:           {"score", "DOUBLE"},
	cScores:          {"scores", "JSON"},
	cScoreName:       {"score_name", "VARCHAR"},
	cPassRule:        {"pass_rule", "VARCHAR"},
	cErrorType:       {"error_type", "VARCHAR"},
	cErrorMessage:    {"error_message", "VARCHAR"},
	cModel:           {"model", "VARCHAR"},
	cAgent:           {"agent", "VARCHAR"},
	cHarness:         {"harness", "VARCHAR"},
	cHarnessVersion:  {"harness_version", "VARCHAR"},
	cEffort:          {"effort", "VARCHAR"},
	cTemperature:     {"temperature", "DOUBLE"},
	cTopP:            {"top_p", "DOUBLE"},
	cSeed:            {"seed", "BIGINT"},
	cConfig:          {"config", "JSON"},
	cConfigHash:      {"config_hash", "VARCHAR"},
	cGitCommit:       {"git_commit", "VARCHAR"},
	cGitBranch:       {"git_branch", "VARCHAR"},
	cEnvironmentID:   {"environment_id", "VARCHAR"},
	cStartedAt:       {"started_at", "TIMESTAMPTZ"},
	cDurationS:       {"duration_s", "DOUBLE"},
	cTTFTS:           {"ttft_s", "DOUBLE"},
	cInputTokens:     {"input_tokens", "BIGINT"},
	cOutputTokens:    {"output_tokens", "BIGINT"},
	cReasoningTokens: {"reasoning_tokens", "BIGINT"},
	cCostUSD:         {"cost_usd", "DOUBLE"},
	cTurns:           {"turns", "INTEGER"},
	cToolCalls:       {"tool_calls", "INTEGER"},
	cRetries:         {"retries", "INTEGER"},
	cCached:          {"cached", "BOOLEAN"},
	cTrace:           {"trace", "VARCHAR"},
	cOutputHash:      {"output_hash", "VARCHAR"},
	cExtra:           {"extra", "JSON"},
	cSource:          {"source", "VARCHAR"},
	cSourceRow:       {"source_row", "VARCHAR"},
	cBatch:           {"batch", "VARCHAR"},
	cIngestedAt:      {"ingested_at", "TIMESTAMPTZ"},
	cRunMade:         {"_run_made", "BOOLEAN"},
}

var labelColumns = []Column{
	{"suite", "VARCHAR"}, {"task_id", "VARCHAR"}, {"shape", "VARCHAR"}, {"risk", "VARCHAR"},
	{"difficulty", "VARCHAR"}, {"weight", "DOUBLE"}, {"kind", "VARCHAR"}, {"owner", "VARCHAR"},
}

var priceColumns = []Column{
	{"model", "VARCHAR"}, {"from", "DATE"}, {"input", "DOUBLE"}, {"output", "DOUBLE"},
}

// Schema is the Arrow schema of the trials table, without the hidden columns.
func Schema() *arrow.Schema { return arrowSchema(trialColumns[:numVisible]) }

func arrowSchema(cols []Column) *arrow.Schema {
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		fields[i] = arrow.Field{Name: c.Name, Type: arrowType(c.Type), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

func arrowType(duck string) arrow.DataType {
	switch duck {
	case "INTEGER":
		return arrow.PrimitiveTypes.Int32
	case "BIGINT":
		return arrow.PrimitiveTypes.Int64
	case "DOUBLE":
		return arrow.PrimitiveTypes.Float64
	case "BOOLEAN":
		return arrow.FixedWidthTypes.Boolean
	case "DATE":
		return arrow.FixedWidthTypes.Date32
	case "TIMESTAMPTZ":
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	}
	return arrow.BinaryTypes.String // VARCHAR, and JSON as text
}
