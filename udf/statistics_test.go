package udf_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// workedExample is a line of SQL with its result behind it.
var workedExample = regexp.MustCompile(`^(SELECT .*);\s+-- (.+)$`)

// The worked examples of docs/statistics.md are true.
func TestStatisticsPage(t *testing.T) {
	const page = "../docs/statistics.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	db := open(t)
	tried, inside := 0, false
	for i, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "```") {
			inside = line == "```sql"
			continue
		}
		if !inside {
			continue
		}
		m := workedExample.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("%s:%d: no statement with its result: %q", page, i+1, line)
			continue
		}
		tried++
		var got any
		if err := db.QueryRow(m[1]).Scan(&got); err != nil {
			t.Errorf("%s:%d: %v", page, i+1, err)
		} else if fmt.Sprint(got) != m[2] {
			t.Errorf("%s:%d: %s yields %v, the page says %s", page, i+1, m[1], got, m[2])
		}
	}
	if tried < 30 {
		t.Errorf("%s has only %d examples", page, tried)
	}
}
