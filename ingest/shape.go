package ingest

import (
	"encoding/binary"
	"slices"
)

// Shape says, for one sequence of names (a table's header, the keys of a JSON
// object), what becomes of each. A Shape belongs to the Mapper that made it.
type Shape struct {
	names                     []string
	targets                   []target
	rules                     []string // pass_rule, should that name give the verdict
	element                   bool     // an element of a list of trials
	runsAt, countAt, passesAt int      // index of the list of trials, n and c, or -1
	verdictAt                 int      // index of a verdict, -1 if there is none, -2 if there are several
	rows                      int64
	repeated                  [][2]int // names that stand there twice: the earlier and the last
}

type targetKind uint8

const (
	toExtra targetKind = iota
	toColumn
	toSampling // an object that can hold secrets: only sampling settings leave it
	toNowhere  // a secret
	toIgnore   // said again by a later field, or passhat's own provenance
)

type target struct {
	kind  targetKind
	col   columnID
	exact bool   // the column's own name, or --map
	set   setter // the column's, where nothing else is to be thought of
	json  []byte // the name as a JSON string, for extra
	paths []pathRef
}

// pathRef is a --map whose path begins at a name.
type pathRef struct {
	col  columnID
	text string
	rest []pathStep
	seen bool // some row has it
}

func (p pathRef) find(v Value) (Value, bool) { return walkPath(v, p.rest) }

// Shape returns what becomes of the values of these names. Where several names
// stand for one column the best one wins, the others go to extra, except that
// all verdicts are read and must agree. Of equal names the last one counts.
func (m *Mapper) Shape(names []string) *Shape {
	return m.shapeOf(names, false)
}

func (m *Mapper) shapeOf(names []string, element bool) *Shape {
	// Each with its length: a name may hold any separator, or nothing.
	m.buf = m.buf[:0]
	for _, name := range names {
		m.buf = append(binary.AppendUvarint(m.buf, uint64(len(name))), name...)
	}
	if element {
		m.buf = append(m.buf, "element"...)
	}
	key := string(m.buf)
	if s := m.shapes[key]; s != nil {
		return s
	}
	size := 4*len(key) + 256*len(names)
	if len(m.shapes) >= maxShapes || m.held+size > maxShapeBytes {
		m.foldShapes()
	}
	m.held += size
	s := m.resolve(names, element)
	m.shapes[key] = s
	return s
}

// foldShapes forgets the shapes seen so far, keeping their counts. Who holds one may go
// on using it.
func (m *Mapper) foldShapes() {
	for _, s := range m.counts {
		m.stats.addShape(s)
	}
	clear(m.counts)
	clear(m.shapes)
	m.counts, m.held = m.counts[:0], 0
	m.folds++
}

func (m *Mapper) resolve(names []string, element bool) *Shape {
	s := &Shape{names: slices.Clone(names), element: element}
	s.targets = make([]target, len(names))
	s.rules = make([]string, len(names))
	own := isOwnExport(names)
	best := map[columnID]int{}
	rank := map[columnID]uint8{}
	again := nextSame(names)
	for i, name := range names {
		tg := &s.targets[i]
		tg.json = appendQuoted(nil, []byte(name))
		s.rules[i] = "log: " + name
		norm := normalName(name)
		ref, known := namesOf[norm]
		switch {
		case again[i] > 0:
			tg.kind = toIgnore
			if i >= m.base {
				s.repeated = append(s.repeated, [2]int{i, again[i]})
			}
		case own && slices.Contains(provenance, name):
			tg.kind = toIgnore
		case samplingOnly[norm]:
			tg.kind = toSampling
		case known:
			tg.kind, tg.col, tg.exact = toColumn, ref.col, ref.rank == 0
			if old, ok := best[ref.col]; ok && ref.col != colPassed {
				if rank[ref.col] <= ref.rank {
					tg.kind = toExtra
					break
				}
				s.targets[old].kind = toExtra
			}
			best[ref.col], rank[ref.col] = i, ref.rank
		case isSecret(norm):
			tg.kind = toNowhere
		}
	}
	m.applyRules(s)
	for i := range s.targets {
		tg := &s.targets[i]
		if tg.kind == toColumn && len(tg.paths) == 0 && tg.col != colPassed && tg.col != colScore {
			tg.set = columns[tg.col].set
		}
	}
	s.runsAt, s.countAt, s.passesAt, s.verdictAt = -1, -1, -1, -1
	for i := range s.targets {
		if s.targets[i].kind != toColumn || element {
			continue
		}
		switch s.targets[i].col {
		case colRuns:
			s.runsAt = i
		case colCount:
			s.countAt = i
		case colPasses:
			s.passesAt = i
		case colPassed:
			if s.verdictAt != -1 {
				s.verdictAt = -2
			} else {
				s.verdictAt = i
			}
		}
	}
	return s
}

// nextSame gives, for each name, the place of the next equal one; 0: there is
// none. A row may have very many names.
func nextSame(names []string) []int {
	next, at := make([]int, len(names)), make(map[string]int, len(names))
	for i, name := range slices.Backward(names) {
		next[i] = at[name]
		at[name] = i
	}
	return next
}

// count finds out whether a row stands for several trials: a list of them, or n
// and c. {"passed": 7, "total": 10} counts, {"passed": true, "total": 10} does not.
func (s *Shape) count(r *rowParts, vals []Value) {
	if s.runsAt >= 0 && vals[s.runsAt].Kind == Array {
		r.mode = runList
		return
	}
	nAt := s.countAt
	if nAt < 0 {
		nAt = s.runsAt
	}
	if nAt < 0 {
		return
	}
	n, ok := vals[nAt].integer()
	if !ok {
		return
	}
	cAt := s.passesAt
	if s.verdictAt != -1 {
		if cAt >= 0 || s.verdictAt < 0 || n == 1 {
			return // the row's own verdict is one trial's
		}
		cAt = s.verdictAt
	}
	if cAt < 0 || vals[cAt].Kind == Bool {
		return
	}
	if c, ok := vals[cAt].integer(); ok {
		r.mode, r.n, r.c, r.cAt = runCounts, n, c, cAt
	} else if _, isNum := vals[cAt].float(); isNum {
		r.mode, r.n, r.cAt, r.badCount = runCounts, n, cAt, string(vals[cAt].Text)
	}
}

// applyRules lets --map and --score take columns from the names that usually
// stand for them.
func (m *Mapper) applyRules(s *Shape) {
	for _, r := range m.ruleSet() {
		first := r.path[0].key
		at := -1
		for i, name := range s.names {
			if name == first && s.targets[i].kind != toIgnore {
				at = i
			}
		}
		if at < 0 {
			continue
		}
		for i := range s.targets {
			if s.targets[i].kind == toColumn && s.targets[i].col == r.col {
				s.targets[i].kind = toExtra
			}
		}
		tg := &s.targets[at]
		tg.paths = append(tg.paths, pathRef{r.col, r.text, r.path[1:], false})
		if len(r.path) == 1 && tg.kind == toExtra {
			tg.kind = toIgnore
		}
		if r.col == colPassed {
			s.rules[at] = "log: " + r.text
		}
	}
}

// ruleSet is --map, and --score where that names a field of the row itself.
func (m *Mapper) ruleSet() []mapRule {
	if m.score == "" || slices.ContainsFunc(m.rules, func(r mapRule) bool { return r.col == colScore }) {
		return m.rules
	}
	return append(slices.Clone(m.rules), mapRule{colScore, m.score, []pathStep{{key: m.score}}})
}

// isOwnExport tells a table that passhat wrote itself by its provenance columns.
func isOwnExport(names []string) bool {
	for _, p := range provenance {
		if !slices.Contains(names, p) {
			return false
		}
	}
	return true
}
