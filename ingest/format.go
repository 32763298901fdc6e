package ingest

import (
	"context"
	"iter"

	"passhat/ingest/store"
)

// Match says how well a source's first bytes fit a format. The one highest
// match wins; two equal ones are an ambiguity that the user must settle.
type Match int

const (
	// NoMatch: the bytes are not of this format.
	NoMatch Match = iota
	// Generic: the bytes have the format's outer form (a JSON object a line, a
	// table with a header), which several harnesses may share.
	Generic
	// Specific: names or structure that only this format has.
	Specific
	// Magic: the file's own signature says so.
	Magic
)

// Format is one kind of log that passhat reads.
type Format struct {
	// Name is what --as takes and what the sources view shows.
	Name string
	// Doc is one line for `passhat formats`.
	Doc string
	// Version rises when the same bytes would be read into other rows; it is
	// kept with each batch.
	Version int
	// Lines says that rows are lines, so that a grown file can be read from
	// where the last reading ended and an unfinished last line waits.
	Lines bool
	// Recognised says in words what Match looks for.
	Recognised string
	// Match looks at the first bytes and the names beside the source; it must
	// not do I/O.
	Match func(*Probe) Match
	// Read yields the trials of a source in order. A *SyntaxError is one row
	// that cannot be read and does not end the stream; any other error does.
	// The Trial may be reused for the next one, its strings may not.
	//
	// Read leaves to the frame: run names and trial numbers that the log lacks
	// (RunID "", Trial not OK), run_at, --suite, --run, --set and --pass-when.
	// A line format starts at Input.Offset and calls Input.Consume.
	Read func(context.Context, *Input, *Options) iter.Seq2[*store.Trial, error]
	// Claim, if set, looks at a folder and names the files of it that are one
	// source of this format together; none if the folder is not its own. It may
	// read their beginnings (Folder.Head), but should decide by names first: it
	// is asked for every folder of a walk, from the top down. Read then finds
	// them in Input.Files and Input.OpenFile.
	Claim func(*Folder, *Options) []string
	// Beside, if set, names the files beside the source that Read takes
	// metadata from (Input.Sibling). Their content counts as an option: a
	// change in them replaces what was read before.
	Beside func(*Input) []string
	// Placed says that run or model are known from the file's name and folders
	// alone, so that the same bytes in another place are another run.
	Placed bool
	// Fields tells column by column where the value comes from.
	Fields []FieldDoc
	// Notes tell what the format does about errors, and what it cannot know.
	Notes []string

	// chunks, if set, makes a reader for each of several goroutines: the
	// format's lines can be read without those before them.
	chunks func(*Input, *Options) (chunkReader, error)
	// feed, if set, cuts the source into chunks, where lines are not all.
	feed func(context.Context, *pipeline) error
}

// FieldDoc is one line of the mapping that `passhat formats NAME` shows.
type FieldDoc struct {
	Column string // column of the trials table
	From   string // where it is found in the log
	Note   string // unit, rule or caveat; may be ""
}

// Formats lists the log formats; the order is that of `passhat formats`.
var Formats = append([]Format{jsonlFormat, jsonFormat, inspectFormat, tauBench, tau2Format, sweBench, humanEval, evalPlus, promptfooFormat, junitFormat, terminalBench, harbor, verifiers, halFormat, liveCodeBench, goTest, playwrightFormat, csvFormat, tsvFormat, parquetFormat, arrowFormat}, presetFormats()...)

// FormatNamed returns the format of that name.
func FormatNamed(name string) (Format, bool) {
	for _, f := range Formats {
		if f.Name == name {
			return f, true
		}
	}
	return Format{}, false
}

// FormatNames returns the names of all formats, in order.
func FormatNames() []string {
	names := make([]string, len(Formats))
	for i, f := range Formats {
		names[i] = f.Name
	}
	return names
}
