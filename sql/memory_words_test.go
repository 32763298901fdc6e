package sql_test

import (
	"strings"
	"testing"

	"passhat/sql"
)

// Of too little memory DuckDB's advice is to change settings, which nobody here can.
func TestTooLittleMemoryIsSaidInOurWords(t *testing.T) {
	s := over(t, newStore(t), sql.Config{Memory: "20MB"})
	err := s.Exec(t.Context(), "CREATE TEMP TABLE wide AS SELECT list(range) AS x FROM range(20000000)")
	if err == nil || !strings.HasSuffix(err.Error(), "; --memory allows more") || strings.Contains(err.Error(), "SET ") || strings.Contains(err.Error(), "olutions") {
		t.Errorf("%v", err)
	}
}
