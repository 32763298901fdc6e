package ingest

import (
	"unsafe"

	"passhat/ingest/store"
)

// lineForm is how the lines of one shape looked of late: the text that stands between
// the values that change, to be compared at one go, and what the values that do not
// change make of a trial. A line of another form is read by its keys.
type lineForm struct {
	shape *Shape
	steps []formStep
	tail  string // behind the last value that changes
	fixed []string
	proto store.Trial // of the values in fixed, which stand at their places in the shape
	lines int         // read so far
}

// formStep is a value that changes, behind text that does not.
type formStep struct {
	before string
	formField
	place int    // of the value in the shape
	name  string // its
	value lastValue
	empty bool  // it was null in the line before
	same  int32 // how often the value stood there in a row
	day   formDay
}

const (
	maxForms   = 3
	fixedAfter = 64      // so often a value comes again before it is taken to stay
	formCost   = 8       // lines that must be read by a form to pay for its making
	formLow    = -64     // here forms are not worth it
	formRest   = 1 << 12 // for so many lines
)

// lineForms are the forms of a reader, the last one used first.
type lineForms struct {
	list  []*lineForm
	luck  int
	rest  int
	pend  []pendingValue
	spare *lineForm // one that has served
	text  []byte    // scratch of learn
}

// pendingValue is a value that its column's setter is to be asked about, once the whole
// line is read.
type pendingValue struct {
	place int
	value Value
}

// usable reports whether forms are worth a try for the next line.
func (l *lineForms) usable(m *Mapper) bool {
	if !m.checked || !m.stable {
		return false
	}
	if l.rest > 0 {
		l.rest--
		return false
	}
	return true
}

// read decodes the line b, whose object begins at i, if it has one of the forms.
func (l *lineForms) read(m *Mapper, b []byte, i int, no int64, path string) bool {
	for n, f := range l.list {
		m.Trials = extend(m.Trials)
		t := &m.Trials[len(m.Trials)-1]
		if !l.match(f, m, t, b, i) {
			m.Trials = m.Trials[:len(m.Trials)-1]
			continue
		}
		if n > 0 {
			copy(l.list[1:n+1], l.list[:n])
			l.list[0] = f
		}
		l.luck = min(l.luck+1, 1<<8)
		m.begin(f.shape)
		m.end(t, m.fillPending(t, f.shape, l.pend), no, path, b)
		if f.lines++; f.lines%fixedAfter == 0 && f.ripe() {
			l.learn(m, b, i, f.shape)
		}
		return true
	}
	return false
}

// extend makes a slice longer by one, without clearing what is there.
func extend[T any](s []T) []T {
	if n := len(s); n < cap(s) {
		return s[:n+1]
	}
	var zero T
	return append(s, zero)
}

// match puts what the line says into t, and into pend what is to be looked at once it
// is known that all of the line has the form. Until then nothing else is changed.
func (l *lineForms) match(f *lineForm, m *Mapper, t *store.Trial, b []byte, i int) bool {
	*t = f.proto
	l.pend = l.pend[:0]
	for k := range f.steps {
		s := &f.steps[k]
		e := i + len(s.before)
		if e > len(b) || string(b[i:e]) != s.before {
			return false
		}
		i = e
		switch {
		case s.act == actText:
			e = s.text(m, t, b, i)
		case s.act >= actTrial:
			e = s.number(t, b, i)
		case s.act == actTime:
			e = s.time(t, b, i)
		case s.act == actVerdict:
			if e = wordEnd(b, i); e > i {
				l.pend = append(l.pend, pendingValue{s.place, Value{Bool, false, b[i:e]}})
			}
		}
		if e == i {
			if e = l.other(s, f.shape, b, i); e < 0 {
				return false
			}
		}
		i = e
	}
	e := i + len(f.tail)
	return e <= len(b) && string(b[i:e]) == f.tail && skipSpace(b, e) == len(b)
}

// other takes a value that is not as usual; it returns where it ends, or -1.
func (l *lineForms) other(s *formStep, shape *Shape, b []byte, i int) int {
	v, e, ok := quickValue(b, i)
	if !ok {
		var err *scanError
		if v, e, err = scanValue(b, i); err != nil {
			return -1
		}
	}
	kind := shape.targets[s.place].kind
	if v.Kind == Null && kind == toColumn {
		if !s.empty {
			s.empty, s.same = true, 0
		}
		s.same++
		return e
	}
	s.empty, s.same = false, 0
	if kind != toIgnore {
		l.pend = append(l.pend, pendingValue{s.place, v})
	}
	return e
}

// text takes a string without escapes; it returns i if there is none.
func (s *formStep) text(m *Mapper, t *store.Trial, b []byte, i int) int {
	e := s.value.again(b, i)
	text := s.value.value.Text
	if e > i {
		if s.empty {
			s.empty, s.same = false, 0
		}
		s.same++
	} else {
		if i >= len(b) || b[i] != '"' {
			return i
		}
		end, escaped := stringEnd(b, i+1)
		if end < 0 || escaped {
			return i
		}
		text, e = b[i+1:end], end+1
		s.value.note(b[i:e], Value{String, false, text}, &m.arena)
		if s.empty, s.same = false, 0; s.value.quoted != "" {
			text = s.value.value.Text
		}
	}
	*(*string)(unsafe.Add(unsafe.Pointer(t), s.at)) = view(text)
	return e
}

// wordEnd is where true or false ends at b[i]; i if neither stands there.
func wordEnd(b []byte, i int) int {
	e := i
	if len(b)-i >= 5 {
		if string(b[i:i+4]) == "true" {
			e = i + 4
		} else if string(b[i:i+5]) == "false" {
			e = i + 5
		}
	}
	if e < len(b) && isWordByte(b[e]) {
		return i
	}
	return e
}

// fillPending does for a line that was read by its form what fill does for others.
func (m *Mapper) fillPending(t *store.Trial, shape *Shape, pend []pendingValue) string {
	for k := range pend {
		i, v := pend[k].place, pend[k].value
		tg := &shape.targets[i]
		if tg.set != nil && v.Kind != Null && tg.set(m, t, v) == "" {
			continue
		}
		if v.Kind == Bool && tg.col == colPassed && tg.kind == toColumn {
			m.addVerdict(i, v)
			continue
		}
		if reason := m.place(t, shape, tg, i, v); reason != "" {
			return reason
		}
	}
	return m.settle(t, shape)
}

// ripe reports whether a value has come again so often that it may be taken to stay.
func (f *lineForm) ripe() bool {
	for k := range f.steps {
		if s := &f.steps[k]; s.same >= fixedAfter && (s.empty || s.stays) {
			return true
		}
	}
	return false
}
