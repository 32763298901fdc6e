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

	current *tallyRun // the run of the last row
	number  int32     // its number plus one
	found   []int32   // by code: one plus the place of the run's cell

	// The tasks of the current run with the numbers of their counts, and those of all runs.
	ofTask []int32
	ofCode []uint16
	kept   *countLog
	money  [][]*moneyPage // by place and task, unless it is told by run
	pages  int            // of money

	rows []CountedRow // kept one by one where not nil

	// Of single trials: what came to tasks of the current run so far, and where in it, by task.
	sums  []trialSum
	sumOf []int32
}

type tallyRun struct {
	keys  []int32
	place int32
	cells []tallyCell
}

type tallyKey struct{ n, c, ungraded, cached int64 }

// tallyCell are tasks of a run with the same counts.
type tallyCell struct {
	code         int32
	runAt, tasks int64
	taskMoney
}

// taskMoney is in nano-dollars, over n trials of which something is known.
type taskMoney struct {
	nano, n int64
	priced  bool
}

// moneyPage is the money of tasks whose numbers follow each other: a place has those of its
// suites only.
type moneyPage [moneyTasks]taskMoney

// moneyTasks is the number of tasks of a page, of 24 bytes each.
const moneyTasks = 64

// mostMoneyPages are held of all places together, some 200 MB. Tests lower it.
var mostMoneyPages = 131_072

// pay adds the money of a row, unless it does not fit.
func (m *taskMoney) pay(row *tallyRow) bool {
	m.n += row.costN
	m.priced = m.priced || row.priced
	return addTo(&m.nano, row.nano)
}

type tallyTask struct {
	suite, name int32
	last        int32 // number plus one of the run that had it last
}

// tallyRow is a row of task_runs beside its texts.
type tallyRow struct {
	n, c, ungraded, cached, runAt, nano, costN int64
	priced                                     bool
}

const (
	smallCount = 16
	mostCodes  = 4096
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
	if err := t.leave(); err != nil {
		return err
	}
	if t.tooMany() {
		return errUncounted
	}
	clear(t.found)
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
	if t.tasks[task].last == t.number {
		return errUncounted // a task in several rows
	}
	t.tasks[task].last = t.number
	return t.countTask(task, &row)
}

// countTask adds a row of a task that the run has not had.
func (t *tally) countTask(task int32, row *tallyRow) error {
	code, ok := t.code(*row)
	if !ok {
		return errUncounted
	}
	cell := t.cell(code, row.runAt)
	cell.tasks++
	cell.runAt = min(cell.runAt, row.runAt)
	if row.costN > 0 {
		ok = cell.pay(row)
		if !t.byRun {
			of := t.moneyOf(t.current.place, task)
			ok = ok && of != nil && of.pay(row)
		}
		if !ok {
			return errUncounted
		}
	}
	if t.rows != nil {
		t.rows = append(t.rows, CountedRow{
			Run: t.number - 1, Task: task, N: row.n, C: row.c, Ungraded: row.ungraded, Cached: row.cached, CostN: row.costN,
			RunAt: row.runAt, Nano: row.nano, Priced: row.priced,
		})
		return nil
	}
	t.ofTask, t.ofCode = append(t.ofTask, task), append(t.ofCode, uint16(code))
	return nil
}

// moneyOf is what is known of the money of a task, nil where it would be too much to hold.
func (t *tally) moneyOf(place, task int32) *taskMoney {
	for int(place) >= len(t.money) {
		t.money = append(t.money, nil)
	}
	of, page := t.money[place], int(task/moneyTasks)
	if page >= len(of) {
		of = append(of, make([]*moneyPage, page+1-len(of))...)
		t.money[place] = of
	}
	if of[page] == nil {
		if t.pages++; t.pages > mostMoneyPages {
			return nil
		}
		of[page] = &moneyPage{}
	}
	return &of[page][task%moneyTasks]
}

// leave keeps the tasks of the run that was read.
func (t *tally) leave() error {
	for i := range t.sums {
		s := &t.sums[i]
		if err := t.countTask(s.task, &s.tallyRow); err != nil {
			return err
		}
	}
	t.sums = t.sums[:0]
	if len(t.ofTask) == 0 {
		return nil
	}
	err := t.kept.add(t.number-1, t.ofTask, t.ofCode)
	t.ofTask, t.ofCode = t.ofTask[:0], t.ofCode[:0]
	return err
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

// cell finds the current run's cell of a code, or makes it.
func (t *tally) cell(code int32, runAt int64) *tallyCell {
	r := t.current
	if int(code) >= len(t.found) {
		t.found = append(t.found, make([]int32, int(code)+1-len(t.found))...)
	}
	if t.found[code] == 0 {
		r.cells = append(r.cells, tallyCell{code: code, runAt: runAt})
		t.found[code] = int32(len(r.cells))
	}
	return &r.cells[t.found[code]-1]
}
