package ingest

import (
	"time"
	"unsafe"

	"passhat/ingest/store"
)

// number takes digits, with a point for floats, as few as are finite and fit
// everywhere; it returns i for anything else.
func (s *formStep) number(t *store.Trial, b []byte, i int) int {
	n, places, e := digitsAt(b, i)
	if e == i || s.act < actFloat && (places > 0 || e-i > 9) {
		return i
	}
	at := unsafe.Add(unsafe.Pointer(t), s.at)
	switch s.act {
	case actInt64:
		*(*store.Opt[int64])(at) = store.Some(n)
	case actInt32:
		*(*store.Opt[int32])(at) = store.Some(int32(n))
	case actTrial:
		*(*store.Opt[int32])(at) = store.Some(int32(n))
		t.TrialFrom = store.TrialExplicit
	case actScore:
		t.ScoreName = s.name
		fallthrough
	default:
		*(*store.Opt[float64])(at) = store.Some(float64(n) / pow10[places])
	}
	return e
}

// digitsAt reads up to fifteen digits with a point among them, as quickValue does, and
// says how many are behind the point; end is i for anything else.
func digitsAt(b []byte, i int) (n int64, places, end int) {
	e := i
	for ; e < len(b) && b[e]-'0' <= 9; e++ {
		n = n*10 + int64(b[e]-'0')
	}
	if e == i {
		return 0, 0, i
	}
	if e < len(b) && b[e] == '.' {
		point := e
		for e++; e < len(b) && b[e]-'0' <= 9; e++ {
			n = n*10 + int64(b[e]-'0')
		}
		if places = e - point - 1; places == 0 {
			return 0, 0, i
		}
	}
	if e-i > 15 || e == len(b) || b[e] != ',' && b[e] != '}' && b[e] != ' ' {
		return 0, 0, i
	}
	return n, places, e
}

// formDay is the day of the time before, in seconds since 1970.
type formDay struct {
	known bool
	date  [10]byte
	unix  int64
}

// time takes a time such as "2026-11-30T12:00:00.25Z"; it returns i for any other.
func (s *formStep) time(t *store.Trial, b []byte, i int) int {
	const clock = len(`"2006-01-02T15:04:05`)
	if len(b)-i < clock+2 || b[i] != '"' || b[i+11] != 'T' || b[i+14] != ':' || b[i+17] != ':' {
		return i
	}
	hour, ok1 := digits(b[i+12 : i+14])
	minute, ok2 := digits(b[i+15 : i+17])
	sec, ok3 := digits(b[i+18 : i+20])
	if !ok1 || !ok2 || !ok3 || hour > 23 || minute > 59 || sec > 59 || !s.day.is(b[i+1:i+11]) {
		return i
	}
	e, nsec := i+clock, int64(0)
	if b[e] == '.' {
		unit := int64(1e8)
		for e++; e < len(b) && b[e]-'0' <= 9; e++ {
			nsec += int64(b[e]-'0') * unit
			unit /= 10
		}
		if e == i+clock+1 {
			return i
		}
	}
	switch {
	case len(b)-e >= 2 && string(b[e:e+2]) == `Z"`:
		e += 2
	case len(b)-e >= 7 && string(b[e:e+7]) == `+00:00"`:
		e += 7
	default:
		return i
	}
	at := time.Unix(s.day.unix+int64(hour*3600+minute*60+sec), nsec).UTC()
	*(*time.Time)(unsafe.Add(unsafe.Pointer(t), s.at)) = at
	return e
}

// is takes a date and reports whether it is one.
func (d *formDay) is(date []byte) bool {
	if d.known && string(date) == string(d.date[:]) {
		return true
	}
	at, _, ok := parseTime(date, time.UTC)
	if !ok {
		return false
	}
	d.known, d.date, d.unix = true, [10]byte(date), at.Unix()
	return true
}
