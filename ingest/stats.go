package ingest

import "sync"

// Stats counts what reading a source came across and a user should hear of.
type Stats struct {
	NaN           int64            // numbers that are not numbers, read as NULL
	NaiveTimes    int64            // times without a zone
	Secrets       int64            // fields left out because they can hold secrets
	Skipped       int64            // rows that say that there was no trial
	Errored       int64            // rows with a word for an error in place of a verdict
	SeveralScores int64            // rows with several scores, none chosen
	RepeatedKeys  int64            // rows with a key twice, of which the last counts
	Omitted       map[string]int64 // fields too long for extra
	Unused        map[string]int64 // fields of a document that no row has
	Mismatched    map[string]int64 // "field (column)": values of another kind, kept in extra
	Used          map[Used]int64   // rows in which a column came from a name
}

// Used is one line of the mapping that was used.
type Used struct{ Column, From string }

func (s *Stats) omit(name string) {
	if s.Omitted == nil {
		s.Omitted = map[string]int64{}
	}
	count1(s.Omitted, cutText(name, maxStatsName))
}

func (s *Stats) unused(name string) {
	if s.Unused == nil {
		s.Unused = map[string]int64{}
	}
	count1(s.Unused, cutText(name, maxStatsName))
}

func (s *Stats) mismatch(name, column string) {
	if s.Mismatched == nil {
		s.Mismatched = map[string]int64{}
	}
	count1(s.Mismatched, cutText(name, maxStatsName)+" ("+column+")")
}

// maxStatsName is how much of a name is kept, in bytes: a key of a log may have megabytes.
const maxStatsName = 500

// count1 counts under a name, for a bounded number of names.
func count1(m map[string]int64, name string) {
	if _, ok := m[name]; !ok && len(m) >= maxShapes {
		name = "others"
	}
	m[name]++
}

func (s *Stats) addShape(sh *Shape) {
	if sh.rows == 0 {
		return
	}
	if s.Used == nil {
		s.Used = map[Used]int64{}
	}
	for i, tg := range sh.targets {
		if tg.kind == toColumn {
			s.use(Used{columns[tg.col].name, cutText(sh.names[i], maxStatsName)}, sh.rows)
		}
		for _, p := range tg.paths {
			if !p.seen {
				continue // its first step was there
			}
			s.use(Used{columns[p.col].name, p.text}, sh.rows)
		}
	}
	sh.rows = 0
}

func (s *Stats) use(u Used, rows int64) {
	if _, ok := s.Used[u]; ok || len(s.Used) < maxShapes {
		s.Used[u] += rows
	}
}

func (s *Stats) add(o *Stats) {
	s.NaN += o.NaN
	s.NaiveTimes += o.NaiveTimes
	s.Secrets += o.Secrets
	s.Skipped += o.Skipped
	s.Errored += o.Errored
	s.SeveralScores += o.SeveralScores
	s.RepeatedKeys += o.RepeatedKeys
	s.Omitted = addCounts(s.Omitted, o.Omitted)
	s.Unused = addCounts(s.Unused, o.Unused)
	s.Mismatched = addCounts(s.Mismatched, o.Mismatched)
	s.Used = addCounts(s.Used, o.Used)
}

func addCounts[K comparable](dst, src map[K]int64) map[K]int64 {
	if dst == nil && len(src) > 0 {
		dst = map[K]int64{}
	}
	for k, n := range src {
		dst[k] += n
	}
	return dst
}

// mappers are those that read an input, for their Stats.
type mappers struct {
	mu  sync.Mutex
	all []*Mapper
}

func (in *Input) addMapper(m *Mapper) {
	in.mappers.mu.Lock()
	defer in.mappers.mu.Unlock()
	in.mappers.all = append(in.mappers.all, m)
}

// stats sums up what the input's Mappers came across. They must have stopped.
func (in *Input) stats() Stats {
	var s Stats
	for _, m := range in.mappers.all {
		m.foldShapes()
		s.add(&m.stats)
	}
	return s
}
