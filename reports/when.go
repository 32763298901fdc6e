package reports

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

var (
	reAgo  = regexp.MustCompile(`^([0-9]{1,5})([hdw])$`)
	reWeek = regexp.MustCompile(`^([0-9]{4})-?W([0-9]{2})$`)
)

// parseSpan reads a point or stretch of time: a date (2026-11-30), a month
// (2026-11), an ISO week (2026-W48), an RFC 3339 time, or how long before now
// (12h, 7d, 4w). It returns the half-open interval [from, to) in UTC; for a
// point from and to are equal.
func parseSpan(flag, text string, now time.Time) (from, to time.Time, err error) {
	if m := reAgo.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		unit := map[string]time.Duration{"h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}[m[2]]
		from = now.Add(-time.Duration(n) * unit)
		return from, from, nil
	}
	if m := reWeek.FindStringSubmatch(text); m != nil {
		year, _ := strconv.Atoi(m[1])
		week, _ := strconv.Atoi(m[2])
		from, ok := isoWeek(year, week)
		if !ok {
			return from, to, usagef("%s %q: the year %d has no week %d", flag, text, year, week)
		}
		return from, from.AddDate(0, 0, 7), nil
	}
	if t, err := time.Parse("2006-01-02", text); err == nil {
		return t, t.AddDate(0, 0, 1), nil
	}
	if t, err := time.Parse("2006-01", text); err == nil {
		return t, t.AddDate(0, 1, 0), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), t.UTC(), nil
		}
	}
	return from, to, usagef("%s %q: a date such as 2026-11-30, a week such as 2026-W48, a time, or 7d or 4w back from now is wanted", flag, text)
}

// isoWeek returns the Monday on which an ISO week begins.
func isoWeek(year, week int) (time.Time, bool) {
	// 4 January always lies in week 1.
	jan4 := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)
	monday := jan4.AddDate(0, 0, -(int(jan4.Weekday())+6)%7)
	start := monday.AddDate(0, 0, (week-1)*7)
	y, w := start.ISOWeek()
	return start, week >= 1 && y == year && w == week
}

func timeLiteral(t time.Time) string {
	return fmt.Sprintf("TIMESTAMPTZ '%s'", t.UTC().Format("2006-01-02 15:04:05.999999+00"))
}
