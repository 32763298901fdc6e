package sql

import (
	"encoding/binary"
)

// Places of the text columns of a row of task_runs; the settings follow.
const (
	inSuite = iota
	inRun
	inTask
	inSettings
)

// tally is what CountRuns counts, in the order in which it was met.
type tally struct {
	spec   CountSpec
	in     []*interner
	runs   []*tallyRun
	runOf  map[[2]int32]int32 // of suite and name, by number
	places map[string]int32   // of the values of By
	byRun  bool
	by     []int // which of in are By

	tasks  []tallyTask
	taskOf []([]int32) // by suite and name: the task's number plus one

	codes  []tallyKey // the counts that occur, by number
	codeOf map[tallyKey]int32
	small  [smallCount * smallCount]int32 // by n and c, the number plus one
	dense  [][][]uint32                   // by place, code and task: how many runs; neighbours among tasks are met one after the other
	cells  int                            // in dense
	heads  [][]int32                      // by place and task: one plus the first of its other kinds
	kinds  []tallyKind

	current *tallyRun   // the run of the last row
	number  int32       // its number plus one
	found   []foundCell // by class and code, where those are small
	class   [][]int32   // by place and task: one plus the class; nil: all are of class 0

	rows []CountedRow // kept one by one where not nil

	// Of single trials: the counts of the current run by task, and those that it has.
	sums    []trialSum
	touched []int32
	log     *cellLog
}

type tallyRun struct {
	keys  []int32
	place int32
	cells []tallyCell
	class map[[2]int32]int32 // by class and code, where those are large: the place in cells
}

// foundCell says where a run's cell is.
type foundCell struct{ number, at int32 }

type tallyKey struct{ n, c, ungraded, cached int64 }

type tallyCell struct {
	class, code               int32
	runAt, tasks, nano, costN int64
	priced                    bool
}

type tallyTask struct {
	suite, name int32
	last        int32 // number plus one of the run that had it last
}

type tallyKind struct {
	runs       int64
	code, next int32
}

// tallyRow is a row of task_runs beside its texts.
type tallyRow struct {
	n, c, ungraded, cached, runAt, nano, costN int64
	priced                                     bool
}

const (
	smallCount = 16
	mostDense  = 24_000_000 // of 4 bytes
	mostKinds  = 4_000_000  // of 16 bytes
	mostCodes  = 4096
	codeBits   = 8
)

func newTally(spec CountSpec) *tally {
	t := &tally{spec: spec, runOf: map[[2]int32]int32{}, places: map[string]int32{}, codeOf: map[tallyKey]int32{}}
	names := append([]string{"suite", "run_id", "task_id"}, spec.Settings...)
	for i, name := range names {
		t.in = append(t.in, newInterner())
		for _, by := range spec.By {
			t.byRun = t.byRun || by == "run_id"
			if by == name {
				t.by = append(t.by, i)
			}
		}
	}
	return t
}

// again is an empty tally that numbers runs, tasks and places as t did.
func (t *tally) again(class map[PlacedTask]int32) *tally {
	out := &tally{spec: t.spec, in: t.in, runOf: map[[2]int32]int32{}, codeOf: map[tallyKey]int32{}, places: t.places, byRun: t.byRun, by: t.by,
		tasks: t.tasks, taskOf: t.taskOf, class: make([][]int32, len(t.dense))}
	inner := make([]int32, len(t.tasks)) // by rank
	for i, rank := range t.taskNumbers() {
		inner[rank] = int32(i)
		out.tasks[i].last = 0
	}
	for at, c := range class {
		of := &out.class[at.Place]
		if *of == nil {
			*of = make([]int32, len(t.tasks))
		}
		(*of)[inner[at.Task]] = c + 1
	}
	return out
}

// add counts one row. keys are good until it returns.
func (t *tally) add(keys []int32, row tallyRow) error {
	if t.current == nil || !sameKeys(t.current.keys, keys) {
		if err := t.enter(keys); err != nil {
			return err
		}
	}
	return t.count(t.taskNo(keys[inSuite], keys[inTask]), row)
}

func sameKeys(a, b []int32) bool {
	for i := range a {
		if i != inTask && a[i] != b[i] {
			return false
		}
	}
	return true
}

// enter begins a run. A run's rows lie side by side and have the same settings.
func (t *tally) enter(keys []int32) error {
	name := [2]int32{keys[inSuite], keys[inRun]}
	if _, ok := t.runOf[name]; ok {
		return errUncounted
	}
	var place int32
	if !t.byRun {
		var at []byte
		for _, i := range t.by {
			at = binary.LittleEndian.AppendUint32(at, uint32(keys[i]))
		}
		var ok bool
		if place, ok = t.places[string(at)]; !ok {
			place = int32(len(t.places))
			t.places[string(at)] = place
		}
	}
	for len(t.dense) <= int(place) {
		t.dense, t.heads = append(t.dense, nil), append(t.heads, nil)
	}
	t.current = &tallyRun{keys: append([]int32(nil), keys...), place: place}
	t.runOf[name] = int32(len(t.runs))
	t.runs = append(t.runs, t.current)
	t.number = int32(len(t.runs))
	return nil
}

// taskNo numbers a task of a suite.
func (t *tally) taskNo(suite, name int32) int32 {
	for len(t.taskOf) <= int(suite) {
		t.taskOf = append(t.taskOf, nil)
	}
	of := t.taskOf[suite]
	if int(name) >= len(of) {
		of = append(of, make([]int32, int(name)+1-len(of)+len(of)/2)...)
		t.taskOf[suite] = of
	}
	if of[name] == 0 {
		t.tasks = append(t.tasks, tallyTask{suite: suite, name: name})
		of[name] = int32(len(t.tasks))
	}
	return of[name] - 1
}

// count adds a row of a task to the run that was entered.
func (t *tally) count(task int32, row tallyRow) error {
	run := t.current
	if t.tasks[task].last == t.number {
		return errUncounted // a task in several rows
	}
	t.tasks[task].last = t.number
	var class int32
	if t.class != nil {
		of := t.class[run.place]
		if int(task) >= len(of) || of[task] == 0 {
			return nil
		}
		class = of[task] - 1
	}
	code, ok := t.code(row)
	if !ok {
		return errUncounted
	}
	cell := t.cell(class, code, row.runAt)
	cell.tasks++
	cell.costN += row.costN
	cell.runAt = min(cell.runAt, row.runAt)
	if row.priced {
		if !addTo(&cell.nano, row.nano) {
			return errUncounted
		}
		cell.priced = true
	}
	if t.class != nil {
		return nil
	}
	if t.rows != nil {
		t.rows = append(t.rows, CountedRow{
			Run: t.number - 1, Task: task, N: row.n, C: row.c, Ungraded: row.ungraded, Cached: row.cached, CostN: row.costN,
			RunAt: row.runAt, Nano: row.nano, Priced: row.priced,
		})
		return nil
	}
	return t.kind(run.place, task, code)
}

// code numbers the counts of a row.
func (t *tally) code(row tallyRow) (int32, bool) {
	little := uint64(row.n) < smallCount && uint64(row.c) < smallCount && row.ungraded|row.cached == 0
	if little {
		if code := t.small[row.n*smallCount+row.c]; code > 0 {
			return code - 1, true
		}
	}
	key := tallyKey{row.n, row.c, row.ungraded, row.cached}
	code, ok := t.codeOf[key]
	if !ok {
		if len(t.codes) >= mostCodes {
			return 0, false
		}
		code = int32(len(t.codes))
		t.codes, t.codeOf[key] = append(t.codes, key), code
	}
	if little {
		t.small[row.n*smallCount+row.c] = code + 1
	}
	return code, true
}

// mostFound bounds the table by which a run's cells are found.
const mostFound = 1 << 16

// cell finds the cell of a class and code, or makes it.
func (t *tally) cell(class, code int32, runAt int64) *tallyCell {
	r := t.current
	if at := int(class)<<codeBits | int(code); at < mostFound && code < 1<<codeBits {
		if at >= len(t.found) {
			t.found = append(t.found, make([]foundCell, at+64-len(t.found))...)
		}
		f := &t.found[at]
		if f.number != t.number {
			*f = foundCell{t.number, int32(len(r.cells))}
			r.cells = append(r.cells, tallyCell{class: class, code: code, runAt: runAt})
		}
		return &r.cells[f.at]
	}
	at, ok := r.class[[2]int32{class, code}]
	if !ok {
		if r.class == nil {
			r.class = map[[2]int32]int32{}
		}
		at = int32(len(r.cells))
		r.class[[2]int32{class, code}] = at
		r.cells = append(r.cells, tallyCell{class: class, code: code, runAt: runAt})
	}
	return &r.cells[at]
}

// kind counts a run of a task.
func (t *tally) kind(place, task, code int32) error {
	if t.room(place, task, code) {
		t.dense[place][code][task]++
		return nil
	}
	heads := t.heads[place]
	if int(task) >= len(heads) {
		heads = append(heads, make([]int32, int(task)+1-len(heads)+len(heads)/2)...)
		t.heads[place] = heads
	}
	for at := heads[task]; at > 0; at = t.kinds[at-1].next {
		if k := &t.kinds[at-1]; k.code == code {
			k.runs++
			return nil
		}
	}
	if len(t.kinds) >= mostKinds {
		return errUncounted
	}
	t.kinds = append(t.kinds, tallyKind{code: code, runs: 1, next: heads[task]})
	heads[task] = int32(len(t.kinds))
	return nil
}

// room makes room in dense, as long as there is memory for it.
func (t *tally) room(place, task, code int32) bool {
	codes := t.dense[place]
	for int(code) >= len(codes) {
		codes = append(codes, nil)
		t.dense[place] = codes
	}
	of := codes[code]
	if int(task) < len(of) {
		return true
	}
	more := max(int(task)+1-len(of)+len(of)/2, min(len(t.tasks), 1<<16)-len(of))
	if t.cells+more > mostDense {
		return false
	}
	t.cells += more
	codes[code] = append(of, make([]uint32, more)...)
	return true
}

// eachKind calls use for every place and task, and counts with the number of runs that
// have them, in one call or several.
func (t *tally) eachKind(use func(place, task int32, counts tallyKey, runs int64)) {
	for place, codes := range t.dense {
		for code, tasks := range codes {
			for task, runs := range tasks {
				if runs > 0 {
					use(int32(place), int32(task), t.codes[code], int64(runs))
				}
			}
		}
		for task, at := range t.heads[place] {
			for ; at > 0; at = t.kinds[at-1].next {
				k := &t.kinds[at-1]
				use(int32(place), int32(task), t.codes[k.code], k.runs)
			}
		}
	}
}
