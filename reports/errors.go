package reports

import (
	"fmt"
	"strings"

	"passhat/sql"
)

// UsageError is a fault in what the user asked for (an unknown report,
// parameter or column, a value of the wrong type), as opposed to a fault in
// the data or in a query. The command line ends with exit code 2 on it.
type UsageError struct {
	Message string
}

func (e *UsageError) Error() string { return e.Message }

func usagef(format string, args ...any) error {
	return &UsageError{Message: fmt.Sprintf(format, args...)}
}

// HeaderError is a fault in a report file, with its line.
type HeaderError struct {
	File    string
	Line    int // 1-based; 0 when the file as a whole is at fault
	Message string
}

func (e *HeaderError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Message)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// orWords is "a, b or c".
func orWords(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// suggest returns " (did you mean …?)" with the candidates nearest to word, or
// "" when none is near.
func suggest(word string, candidates []string) string {
	return sql.DidYouMean(sql.Nearest(word, candidates))
}
