package ingest

import (
	"errors"
	"fmt"

	"passhat/ingest/store"
)

// SyntaxError is one row of a log that cannot be read: it becomes a reject,
// and reading goes on behind it.
type SyntaxError struct {
	Source string // the source as the user knows it
	Line   int64  // 1-based; 0: the source has no lines
	Path   string // place in the document or within the line: `simulations[17].reward_info`, `runs[2]`
	Reason string // what was found and what was wanted
	Raw    []byte // the row's text, cut to RawLimit
	Cut    bool   // Raw is only the beginning
}

// RawLimit is how many bytes of a row's text a reject keeps.
const RawLimit = 4 << 10

func (e *SyntaxError) Error() string {
	if pos := e.Pos(); pos != "" {
		return e.Source + ": " + pos + ": " + e.Reason
	}
	return e.Source + ": " + e.Reason
}

// Pos is the place in the source: `line 3`, `line 3: runs[2]`, `[17]`.
func (e *SyntaxError) Pos() string {
	switch {
	case e.Line == 0:
		return e.Path
	case e.Path == "":
		return fmt.Sprintf("line %d", e.Line)
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Path)
}

// NewSyntaxError makes a SyntaxError of the row at a line (0: none) and a path
// (may be ""), keeping a copy of at most RawLimit bytes of raw.
func NewSyntaxError(in *Input, line int64, path, reason string, raw []byte) *SyntaxError {
	cut := len(raw) > RawLimit
	if cut {
		raw = raw[:RawLimit]
	}
	reason = string(withoutSecrets([]byte(reason)))
	if underSecret(path) {
		raw, cut = []byte(leftOut), false
	}
	return &SyntaxError{Source: in.Name, Line: line, Path: path, Reason: reason, Raw: withoutSecrets(raw), Cut: cut}
}

// UsageError is a wrong option (exit code 2): an unknown column, a bad
// expression, a format that does not exist.
type UsageError struct {
	Option string // --set, --map, …
	Reason string
}

func (e *UsageError) Error() string { return e.Option + ": " + e.Reason }

func usagef(option, format string, args ...any) error {
	return &UsageError{Option: option, Reason: fmt.Sprintf(format, args...)}
}

// UnknownFormatError says that no format recognised a source, or that it is
// known to hold no trials.
type UnknownFormatError struct {
	Source string
	Empty  bool
	Reason string // what it is instead, where that is known
}

func (e *UnknownFormatError) Error() string {
	if e.Empty {
		return e.Source + ": the file is empty"
	}
	if e.Reason != "" {
		return e.Source + ": " + e.Reason
	}
	return e.Source + ": no known log format fits its content; name one by --as (see passhat formats)"
}

// isUnknownFormat reports whether err says that no format fits.
func isUnknownFormat(err error) bool {
	var u *UnknownFormatError
	return errors.As(err, &u)
}

// RejectedError says that too many rows of a source could not be read, so that
// it was not committed.
type RejectedError struct {
	Source  string
	Rows    int64 // rows read, rejects included
	Rejects int64
	Limit   string // --max-rejects
	Strict  bool
	First   *SyntaxError
}

func (e *RejectedError) Error() string {
	at := e.First.Reason
	if pos := e.First.Pos(); pos != "" {
		at = pos + ": " + at
	}
	if e.Strict {
		return fmt.Sprintf("%s: %s; nothing was stored (--strict)", e.Source, at)
	}
	if e.Rejects == e.Rows {
		return fmt.Sprintf("%s: none of its %d rows could be read; nothing was stored. First: %s (all: passhat rejects --failed)", e.Source, e.Rows, at)
	}
	return fmt.Sprintf("%s: %d of %d rows could not be read, more than --max-rejects %s allows; nothing was stored. First: %s (all: passhat rejects --failed)",
		e.Source, e.Rejects, e.Rows, e.Limit, at)
}

// Fault is a fault of passhat itself over a source (exit code 5).
type Fault struct{ Source, Cause string }

func (e *Fault) Error() string {
	return e.Source + ": a fault of passhat itself, please report it: " + e.Cause
}

// caught calls f and makes a *Fault of a panic in it, and of one that the store caught.
func caught(source string, f func() error) error {
	err := store.Caught(f)
	var fault *store.Fault
	if errors.As(err, &fault) {
		return &Fault{source, fault.Cause}
	}
	return err
}
