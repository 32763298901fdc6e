package store

import "time"

// Opt is a value that a log may lack; the zero Opt is SQL NULL.
type Opt[T any] struct {
	V  T
	OK bool
}

// Some returns an Opt that holds v.
func Some[T any](v T) Opt[T] { return Opt[T]{V: v, OK: true} }

// How a trial's number came to be (column trial_from). Only TrialExplicit
// numbers identify a trial; the others are made up and never make two rows one.
const (
	TrialExplicit = "explicit" // the log has it
	TrialOrder    = "order"    // order of appearance in the source
	TrialFolder   = "folder"   // which run folder
	TrialTime     = "time"     // order of start times
)

// Where run_at came from (column run_at_from).
const (
	RunAtLog      = "log"
	RunAtFileName = "file name"
	RunAtFileTime = "file time"
	RunAtIngest   = "ingest"
)

// Trial is one row of the trials table: one complete, independent attempt at
// one task. Field by field it is the schema of the contract; Columns gives the
// column names in order. In string fields "" is NULL, a zero time is NULL.
// JSON fields hold one JSON text.
type Trial struct {
	Suite         string
	RunID         string
	RunAt         time.Time // UTC; never zero once committed
	RunAtFrom     string
	TaskID        string
	Trial         Opt[int32] // 0-based
	TrialFrom     string
	PlannedTrials Opt[int32]
	TrialUID      string
	Variant       string
	Shape         string // "" is stored as 'unclassified'
	Risk          string
	Passed        Opt[bool] // not OK: ungraded
	Score         Opt[float64]
	Scores        string // JSON object
	ScoreName     string
	PassRule      string
	ErrorType     string
	ErrorMessage  string

	Model, Agent, Harness, HarnessVersion, Effort string

	Temperature, TopP Opt[float64]
	Seed              Opt[int64]
	Config            string // JSON object, no secrets
	ConfigHash        string
	GitCommit         string
	GitBranch         string
	EnvironmentID     string
	StartedAt         time.Time
	DurationS, TTFTS  Opt[float64] // seconds

	InputTokens, OutputTokens, ReasoningTokens Opt[int64]

	CostUSD                   Opt[float64]
	Turns, ToolCalls, Retries Opt[int32]
	Cached                    Opt[bool]
	Trace                     string
	OutputHash                string
	Extra                     string // JSON object

	// SourceRow is the position in the source: a 1-based line for line
	// formats, else a path such as simulations[17].
	SourceRow string

	// RunMade says that RunID is not from the log (nor given by the user);
	// such a run never identifies a trial. Not a column.
	RunMade bool
	// RowHash is the XXH3-128 of the row's bytes in the source, the same
	// whatever names were made up for it. Not a column.
	RowHash [16]byte
}
