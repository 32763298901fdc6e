package ingest

import (
	"math"
	"time"
)

// Times outside these years are mistakes: no log of an agent is older, and an
// epoch number in the wrong unit falls outside.
const (
	minYear = 1990
	maxYear = 2200
)

var (
	minUnix = time.Date(minYear, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	maxUnix = time.Date(maxYear, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
)

// epochTime reads seconds, milliseconds, microseconds or nanoseconds since 1970:
// whichever unit puts the number between 1990 and 2200.
func epochTime(v Value) (time.Time, bool) {
	if n, ok := parseInt(v.Text); ok {
		for _, per := range []int64{1, 1e3, 1e6, 1e9} {
			if s := n / per; s >= minUnix && s < maxUnix {
				return time.Unix(s, n%per*(1e9/per)).UTC(), true
			}
		}
		return time.Time{}, false
	}
	f, ok := v.float()
	if !ok || math.IsNaN(f) {
		return time.Time{}, false
	}
	for _, per := range []float64{1, 1e3, 1e6, 1e9} {
		if s := f / per; s >= float64(minUnix) && s < float64(maxUnix) {
			// A microsecond is what a double of that size still holds.
			return time.UnixMicro(int64(math.Round(s * 1e6))).UTC(), true
		}
	}
	return time.Time{}, false
}

// parseTime reads the forms of RFC 3339 and ISO 8601 that logs use: a date,
// then 'T' or a space, hours and minutes, optional seconds and fraction, an
// optional zone. Without a zone the time is in loc, and naive.
func parseTime(b []byte, loc *time.Location) (at time.Time, naive, ok bool) {
	if len(b) < 10 || b[4] != '-' || b[7] != '-' {
		return compactTime(b, loc)
	}
	year, ok1 := digits(b[:4])
	month, ok2 := digits(b[5:7])
	day, ok3 := digits(b[8:10])
	if !ok1 || !ok2 || !ok3 {
		return time.Time{}, false, false
	}
	p := clock{year: year, month: month, day: day}
	rest := b[10:]
	if len(rest) == 0 {
		return p.in(loc, true)
	}
	if rest[0] != 'T' && rest[0] != 't' && rest[0] != ' ' && rest[0] != '_' {
		return time.Time{}, false, false
	}
	rest, ok = p.timeOfDay(rest[1:])
	if !ok {
		return time.Time{}, false, false
	}
	return p.zone(rest, loc)
}

// compactTime reads 20261130T120000Z, as file names have it.
func compactTime(b []byte, loc *time.Location) (time.Time, bool, bool) {
	if len(b) < 15 || b[8] != 'T' && b[8] != '_' && b[8] != '-' {
		return time.Time{}, false, false
	}
	for _, layout := range []string{"20060102T150405Z0700", "20060102T150405Z07:00"} {
		if at, err := time.Parse(layout, string(b)); err == nil {
			return at.UTC(), false, true
		}
	}
	for _, layout := range []string{"20060102T150405", "20060102_150405", "20060102-150405"} {
		if at, err := time.ParseInLocation(layout, string(b), loc); err == nil {
			return at.UTC(), true, true
		}
	}
	return time.Time{}, false, false
}

type clock struct{ year, month, day, hour, min, sec, nsec int }

func (p *clock) timeOfDay(b []byte) (rest []byte, ok bool) {
	if len(b) < 5 || b[2] != ':' && b[2] != '-' {
		return b, false
	}
	var ok1, ok2 bool
	p.hour, ok1 = digits(b[:2])
	p.min, ok2 = digits(b[3:5])
	if !ok1 || !ok2 {
		return b, false
	}
	if len(b) < 8 || b[5] != b[2] {
		return b[5:], true
	}
	if p.sec, ok = digits(b[6:8]); !ok {
		return b, false
	}
	b = b[8:]
	if len(b) < 2 || b[0] != '.' && b[0] != ',' || b[1] < '0' || b[1] > '9' {
		return b, true
	}
	unit, i := int(1e8), 1
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		p.nsec += int(b[i]-'0') * unit
		unit /= 10
	}
	return b[i:], true
}

// zone reads Z, UTC, +hh:mm, +hhmm or +hh, or nothing.
func (p *clock) zone(b []byte, loc *time.Location) (time.Time, bool, bool) {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	switch string(b) {
	case "":
		return p.in(loc, true)
	case "Z", "z", "UTC", "GMT":
		return p.in(time.UTC, false)
	}
	sign := 0
	switch b[0] {
	case '+':
		sign = 1
	case '-':
		sign = -1
	default:
		return time.Time{}, false, false
	}
	d := b[1:]
	if len(d) == 5 && d[2] == ':' {
		d = append(append([]byte(nil), d[:2]...), d[3:]...)
	}
	if len(d) != 2 && len(d) != 4 {
		return time.Time{}, false, false
	}
	h, ok := digits(d[:2])
	m, ok2 := 0, true
	if len(d) == 4 {
		m, ok2 = digits(d[2:])
	}
	if !ok || !ok2 || h > 23 || m > 59 {
		return time.Time{}, false, false
	}
	at, _, ok := p.in(time.UTC, false)
	return at.Add(-time.Duration(sign) * (time.Duration(h)*time.Hour + time.Duration(m)*time.Minute)), false, ok
}

func (p *clock) in(loc *time.Location, naive bool) (time.Time, bool, bool) {
	if p.year < minYear || p.year >= maxYear || p.month < 1 || p.month > 12 || p.day < 1 || p.day > 31 ||
		p.hour > 23 || p.min > 59 || p.sec > 60 {
		return time.Time{}, false, false
	}
	if loc == time.UTC {
		sec := daysFromCivil(p.year, p.month, p.day)*86400 + int64(p.hour)*3600 + int64(p.min)*60 + int64(p.sec)
		at := time.Unix(sec, int64(p.nsec)).UTC()
		return at, naive, p.day <= 28 || at.Day() == p.day || p.sec == 60
	}
	at := time.Date(p.year, time.Month(p.month), p.day, p.hour, p.min, p.sec, p.nsec, loc)
	return at.UTC(), naive, p.day <= 28 || at.Day() == p.day || p.sec == 60
}

// daysFromCivil is the number of days since 1970-01-01 (H. Hinnant, "chrono-compatible
// low-level date algorithms").
func daysFromCivil(y, m, d int) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	era := y / 400
	yoe := y - era*400
	doy := (153*(m-3)+2)/5 + d - 1
	doe := yoe*365 + yoe/4 - yoe/100 + doy
	return int64(era)*146097 + int64(doe) - 719468
}

func digits(b []byte) (int, bool) {
	n := 0
	for _, c := range b {
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = n*10 + int(c)
	}
	return n, true
}
