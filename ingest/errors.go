package ingest

import (
	"errors"
	"fmt"
)

// SyntaxError is one row of a log that cannot be read: it becomes a reject,
// and reading goes on behind it.
type SyntaxError struct {
	Source string // the source as the user knows it
	Pos    string // where in it: `line 3`, `line 3: runs[2]`, `simulations[17].reward_info`
	Reason string // what was found and what was wanted
	Raw    []byte // the row's text, cut to RawLimit
}

// RawLimit is how many bytes of a row's text a reject keeps.
const RawLimit = 4 << 10

func (e *SyntaxError) Error() string {
	if e.Pos == "" {
		return e.Source + ": " + e.Reason
	}
	return e.Source + ": " + e.Pos + ": " + e.Reason
}

// NewSyntaxError makes a SyntaxError of a row at pos, keeping a copy of at most
// RawLimit bytes of raw.
func NewSyntaxError(in *Input, pos, reason string, raw []byte) *SyntaxError {
	if len(raw) > RawLimit {
		raw = raw[:RawLimit]
	}
	return &SyntaxError{Source: in.Name, Pos: pos, Reason: reason, Raw: append([]byte(nil), raw...)}
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

// UnknownFormatError says that no format recognised a source.
type UnknownFormatError struct {
	Source string
	Empty  bool
}

func (e *UnknownFormatError) Error() string {
	if e.Empty {
		return e.Source + ": the file is empty"
	}
	return e.Source + ": no known log format fits its content; name one by --as (see passhat formats)"
}

// isUnknownFormat reports whether err says that no format fits.
func isUnknownFormat(err error) bool {
	var u *UnknownFormatError
	return errors.As(err, &u)
}
