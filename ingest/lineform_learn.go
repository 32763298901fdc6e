package ingest

import (
	"slices"
	"unsafe"

	"passhat/ingest/store"
)

// formAct is how a value of a form is usually taken.
type formAct uint8

const (
	actOther formAct = iota // by its column's setter
	actVerdict
	actTime
	actText
	actTrial // this and what follows: digits
	actInt32
	actInt64
	actFloat
	actScore
)

// formField is a column whose usual values need no more than to be put in place.
type formField struct {
	act   formAct
	at    uintptr // of its value in a Trial
	stays bool    // of many trials the same, and set by nothing else
}

// formFields are those by column.
var formFields = func() (of [256]formField) {
	for name, f := range map[string]formField{
		"suite": {actText, unsafe.Offsetof(store.Trial{}.Suite), true}, "run_id": {actText, unsafe.Offsetof(store.Trial{}.RunID), true},
		"task_id": {actText, unsafe.Offsetof(store.Trial{}.TaskID), true}, "variant": {actText, unsafe.Offsetof(store.Trial{}.Variant), true},
		"model": {actText, unsafe.Offsetof(store.Trial{}.Model), true}, "agent": {actText, unsafe.Offsetof(store.Trial{}.Agent), true},
		"effort": {actText, unsafe.Offsetof(store.Trial{}.Effort), true}, "shape": {actText, unsafe.Offsetof(store.Trial{}.Shape), true},
		"trace": {actText, unsafe.Offsetof(store.Trial{}.Trace), false}, "trial": {actTrial, unsafe.Offsetof(store.Trial{}.Trial), false},
		"started_at": {actTime, unsafe.Offsetof(store.Trial{}.StartedAt), false}, "run_at": {actTime, unsafe.Offsetof(store.Trial{}.RunAt), false},
		"passed": {actVerdict, 0, false}, "score": {actScore, unsafe.Offsetof(store.Trial{}.Score), false},
		"duration_s": {actFloat, unsafe.Offsetof(store.Trial{}.DurationS), false}, "ttft_s": {actFloat, unsafe.Offsetof(store.Trial{}.TTFTS), false},
		"cost_usd": {actFloat, unsafe.Offsetof(store.Trial{}.CostUSD), false}, "temperature": {actFloat, unsafe.Offsetof(store.Trial{}.Temperature), false},
		"top_p": {actFloat, unsafe.Offsetof(store.Trial{}.TopP), false}, "seed": {actInt64, unsafe.Offsetof(store.Trial{}.Seed), false},
		"input_tokens":  {actInt64, unsafe.Offsetof(store.Trial{}.InputTokens), false},
		"output_tokens": {actInt64, unsafe.Offsetof(store.Trial{}.OutputTokens), false}, "reasoning_tokens": {actInt64, unsafe.Offsetof(store.Trial{}.ReasoningTokens), false},
		"turns": {actInt32, unsafe.Offsetof(store.Trial{}.Turns), false}, "tool_calls": {actInt32, unsafe.Offsetof(store.Trial{}.ToolCalls), false},
		"retries": {actInt32, unsafe.Offsetof(store.Trial{}.Retries), false}, "planned_trials": {actInt32, unsafe.Offsetof(store.Trial{}.PlannedTrials), false},
	} {
		of[mustColumn(name)] = f
	}
	return of
}()

// contested are columns that another one writes too, or looks at: beside that they are
// set in the order of the line.
var contested = map[columnID]columnID{
	mustColumn("trial"): mustColumn("trial_from"), colScore: mustColumn("score_name"),
	mustColumn("duration_s"): partNamed("duration in ms"), mustColumn("ttft_s"): partNamed("time to first token in ms"),
}

func partNamed(name string) columnID {
	return columnID(slices.IndexFunc(columns, func(c column) bool { return c.name == name }))
}

// What a form may hold: lines of more are read by their keys, which then is not what
// takes the time.
const (
	maxFormValues = 256
	maxFormText   = 16 << 10 // bytes between the values and of those that stay
)

// formed reports whether lines of a shape are one trial each whose fields are what
// they are called.
func (s *Shape) formed() bool {
	return len(s.targets) <= maxFormValues && !s.element && s.runsAt < 0 && s.countAt < 0 && len(s.repeated) == 0 && len(s.targets) > 0 &&
		!slices.ContainsFunc(s.targets, func(tg target) bool { return len(tg.paths) > 0 })
}

// has reports whether a name of the shape stands for a column.
func (s *Shape) has(col columnID) bool {
	return slices.ContainsFunc(s.targets, func(tg target) bool { return tg.kind == toColumn && tg.col == col })
}

// field says how value i of lines of the shape is taken.
func (s *Shape) field(i int) formField {
	tg := &s.targets[i]
	if tg.kind != toColumn {
		return formField{}
	}
	if other, ok := contested[tg.col]; ok && s.has(other) {
		return formField{}
	}
	return formFields[tg.col]
}

// learn makes a form of the line b, whose object begins at i, or makes that of its shape
// anew; or it decides, after many lines that had none of the forms, to do without for a
// while. The line parses; whether it was a trial or a reject does not matter.
func (l *lineForms) learn(m *Mapper, b []byte, i int, shape *Shape) {
	if l.luck -= formCost; l.luck < formLow {
		l.luck, l.rest = 0, formRest
		return
	}
	if !shape.formed() {
		return
	}
	at := slices.IndexFunc(l.list, func(f *lineForm) bool { return f.shape == shape })
	var old *lineForm
	if at >= 0 {
		old = l.list[at]
	}
	if !l.make(b, i, shape, old) {
		l.spare = nil // it may look into the line
		return
	}
	switch made := l.spare; {
	case at >= 0:
		l.list[at], l.spare = made, old
	case len(l.list) < maxForms:
		l.list, l.spare = append(l.list, made), nil
	default:
		l.list[maxForms-1], l.spare = made, l.list[maxForms-1]
	}
}

// make makes a form of a line and puts it in the place of the spare one; old is the one
// before of the same shape. What it keeps of the line is copied, so that it does not hold
// the values. It makes none where that would be much.
func (l *lineForms) make(line []byte, i int, shape *Shape, old *lineForm) bool {
	f := l.spare
	if f == nil {
		f = &lineForm{}
		l.spare = f
	}
	n := len(shape.targets)
	steps, fixed := slices.Grow(f.steps[:0], n), slices.Grow(f.fixed[:0], n)[:n]
	clear(fixed)
	*f = lineForm{shape: shape, steps: steps, fixed: fixed}
	l.text = l.text[:0]
	from := i
	i = skipSpace(line, i+1)
	for n := range shape.targets {
		_, _, begin, err := scanKey(line, i)
		if err != nil {
			return false
		}
		v, end, err := scanValue(line, begin)
		if err != nil {
			return false
		}
		if step := old.step(n, shape); old.stays(step, n, line[begin:end]) {
			f.fix(n, shape.field(n), string(line[begin:end]), v)
		} else {
			if len(l.text)+begin-from > maxFormText {
				return false
			}
			l.text = append(l.text, line[from:begin]...)
			step.before = view(line[from:begin]) // until it is there once more
			f.steps = append(f.steps, step)
			from = end
		}
		if i = skipSpace(line, end); i == len(line) {
			return false
		}
		if line[i] == ',' {
			i = skipSpace(line, i+1)
		}
	}
	if line[i] != '}' || len(l.text)+i-from > maxFormText {
		return false
	}
	rest := string(append(l.text, line[from:i+1]...))
	for k := range f.steps {
		before := &f.steps[k].before
		*before, rest = rest[:len(*before)], rest[len(*before):]
	}
	f.tail = rest
	return true
}

// step is the step of value n, with what is remembered of it.
func (f *lineForm) step(n int, shape *Shape) formStep {
	if f != nil {
		at, ok := slices.BinarySearchFunc(f.steps, n, func(s formStep, n int) int { return s.place - n })
		if ok {
			return f.steps[at]
		}
	}
	return formStep{formField: shape.field(n), place: n, name: shape.names[n]}
}

// stays reports whether value n, text in the line, is taken to stay as it is.
func (f *lineForm) stays(s formStep, n int, text []byte) bool {
	if f == nil {
		return false
	}
	if f.fixed[n] != "" {
		return f.fixed[n] == string(text)
	}
	if s.same < fixedAfter {
		return false
	}
	return s.empty && string(text) == "null" || !s.empty && s.formField.stays && string(text) == s.value.quoted
}

// fix puts a value that stays into the form.
func (f *lineForm) fix(n int, field formField, text string, v Value) {
	f.fixed[n] = text
	if v.Kind == String {
		*(*string)(unsafe.Add(unsafe.Pointer(&f.proto), field.at)) = text[1 : len(text)-1]
	}
}
