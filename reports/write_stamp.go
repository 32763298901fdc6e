package reports

import (
	"fmt"
	"sort"
	"strconv"
	"time"
)

// stampLines gives a stamp as pairs of key and text in a fixed order.
func stampLines(s *Stamp) [][2]string {
	lines := [][2]string{
		{"passhat", s.Version},
		{"report", s.Report},
		{"made", s.Made.UTC().Format(time.RFC3339)},
	}
	for _, src := range s.Sources {
		lines = append(lines, [2]string{"source", fmt.Sprintf("%s (%s, %d rows, %s)", src.Source, src.Format, src.Rows, src.Hash)})
	}
	lines = append(lines, prefixed("filter", s.Filter)...)
	lines = append(lines, prefixed("parameter", s.Parameters)...)
	lines = append(lines,
		[2]string{"policy for ungraded trials", s.Policy},
		[2]string{"k", s.K},
		[2]string{"seed", strconv.FormatInt(s.Seed, 10)},
		[2]string{"tasks", strconv.FormatInt(s.Tasks, 10)},
		[2]string{"trials", strconv.FormatInt(s.Trials, 10)},
		[2]string{"ungraded", fmt.Sprintf("%d trials of %d tasks", s.Ungraded, s.UngradedTasks)},
		[2]string{"weights", s.Weights},
	)
	return append(lines, prefixed("configuration", s.Configuration)...)
}

func prefixed(prefix string, m map[string]string) [][2]string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	var lines [][2]string
	for _, k := range keys {
		lines = append(lines, [2]string{prefix + " " + k, m[k]})
	}
	return lines
}
