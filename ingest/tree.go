package ingest

import (
	"math"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"passhat/ingest/store"
)

// This file is the toolbox of the formats that read whole JSON documents: they
// walk the Values that the scanner gives, without building maps. Whatever is
// absent or of another kind reads as null, so that a format says what it wants
// and checks only what it must refuse.

// get returns the member at a path of plain keys; Null where there is none.
func (v Value) get(keys ...string) Value {
	for _, key := range keys {
		v, _ = memberOf(v, key)
	}
	return v
}

// words is the text of a string, number or boolean as valid UTF-8, cut to 4 KiB;
// "" for anything else.
func (v Value) words() string {
	if v.Kind == Null || v.Kind >= Object {
		return ""
	}
	b, _ := v.text(nil)
	return cutText(string(b), maxMessage)
}

// number is a finite number, not OK for anything else.
func (v Value) number() (o store.Opt[float64]) {
	if v.Kind != Number {
		return o
	}
	if f, ok := v.float(); ok && !math.IsNaN(f) && !math.IsInf(f, 0) {
		o = store.Some(f)
	}
	return o
}

// whole is a whole number from 0 on, not OK for anything else.
func (v Value) whole() (o store.Opt[int64]) {
	if v.Kind != Number {
		return o
	}
	if n, ok := v.integer(); ok && n >= 0 {
		o = store.Some(n)
	}
	return o
}

// small is whole within int32.
func (v Value) small() (o store.Opt[int32]) {
	if n := v.whole(); n.OK && n.V <= math.MaxInt32 {
		o = store.Some(int32(n.V))
	}
	return o
}

// truth is a JSON boolean, not OK for anything else.
func (v Value) truth() (o store.Opt[bool]) {
	if v.Kind == Bool {
		o = store.Some(v.Text[0] == 't')
	}
	return o
}

// eachMember calls f for the members of an object, in their order, until f
// returns false. Keys are decoded.
func (v Value) eachMember(f func(key string, v Value) bool) {
	if v.Kind != Object {
		return
	}
	var room [16]field // most objects have no more, and it needs no allocation
	fields, _, err := scanObject(v.Text, 0, room[:0])
	if err != nil {
		return
	}
	for _, fl := range fields {
		key, _ := Value{String, fl.keyEscaped, fl.key}.text(nil)
		if !f(strings.ToValidUTF8(string(key), "\uFFFD"), fl.val) {
			return
		}
	}
}

// eachElement calls f for the elements of a list until f returns false.
func (v Value) eachElement(f func(i int, v Value) bool) {
	if v.Kind != Array {
		return
	}
	_, _ = scanArray(v.Text, 0, func(i int, e Value) error {
		if !f(i, e) {
			return errStopped
		}
		return nil
	})
}

// length is the number of elements or members.
func (v Value) length() (n int) {
	switch v.Kind {
	case Array:
		v.eachElement(func(int, Value) bool { n++; return true })
	case Object:
		v.eachMember(func(string, Value) bool { n++; return true })
	}
	return n
}

// cleaned is the value as clean JSON: valid UTF-8, no NaN, the values of secret
// keys left out; "" where it is null, malformed or longer than limit bytes.
func (v Value) cleaned(limit int) string {
	if v.Kind == Null || len(v.Text) > limit {
		return ""
	}
	var c cleaner
	b, err := c.value(nil, v)
	if err != nil {
		return ""
	}
	return string(b)
}

// keep puts a member of a log into extra under key, unless it is null; a value
// longer than extra takes leaves its length only.
func (o *jsonObject) keep(key string, v Value) {
	switch {
	case v.Kind == Null || neverStored(normalName(key)):
	case len(v.Text) > maxExtraValue:
		o.raw(key+"_bytes", appendJSONInt(nil, int64(len(v.Text))))
	default:
		if s := v.cleaned(maxExtraValue); s != "" {
			o.raw(key, []byte(s))
		}
	}
}

// text puts a text under key, unless it is empty.
func (o *jsonObject) text(key, s string) {
	if s != "" {
		o.raw(key, appendJSONText(nil, s))
	}
}

// num puts a number under key, where there is one.
func (o *jsonObject) num(key string, n store.Opt[float64]) {
	if n.OK {
		o.raw(key, appendJSONFloat(nil, n.V, 64))
	}
}

// int puts a whole number under key.
func (o *jsonObject) int(key string, n int64) { o.raw(key, appendJSONInt(nil, n)) }

// time reads a time of a log; one without a zone is in the zone of --tz and
// counted, so that the summary says so.
func (in *Input) time(v Value, opt *Options) time.Time {
	loc, err := opt.location()
	if err != nil {
		return time.Time{}
	}
	at, naive := timeOf(v, loc)
	if naive {
		in.naiveTimes++
	}
	return at
}

// timeOf reads a time of a log, in loc if it names no zone, which naive says;
// the zero time if it is none.
func timeOf(v Value, loc *time.Location) (at time.Time, naive bool) {
	if v.Kind == Null || v.Kind >= Object {
		return at, false
	}
	if v.Kind == Number {
		at, _ = epochTime(v)
		return at, false
	}
	at, naive, ok := parseTime([]byte(v.words()), loc)
	if !ok {
		return time.Time{}, false
	}
	return at, naive
}

// newTrial begins a trial of a document: pos is its place, raw its text, whose
// hash says whether it is the same row in another file.
func newTrial(base store.Trial, pos string, raw []byte) store.Trial {
	base.SourceRow = pos
	base.RowHash = xxh3.Hash128(raw).Bytes()
	return base
}

// setConfig keeps settings as the configuration of a trial, under sorted keys,
// with their hash.
func setConfig(t *store.Trial, o *jsonObject) {
	t.Config = o.sorted()
	t.ConfigHash = ""
	if t.Config != "" {
		t.ConfigHash = string(hex16([]byte(t.Config)))
	}
}
