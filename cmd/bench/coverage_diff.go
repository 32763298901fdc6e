package main

import (
	"fmt"

	"passhat/udf/stats"
)

// A change is what side B, the older one, had before: how A's rates came about.
type change struct {
	name string
	// apply is the changed rate; moment is its E p^k.
	apply  func(s source, p float64) float64
	moment func(r rates, k int64) float64
}

var changes = []change{
	{"unchanged", func(_ source, p float64) float64 { return p }, rates.moment},
	// Every task needs one more thing to go right, as likely as the rest.
	{"p → p²", func(_ source, p float64) float64 { return p * p }, func(r rates, k int64) float64 { return r.moment(2 * k) }},
	{"one task in ten broken", func(s source, p float64) float64 {
		if s.IntN(10) == 0 {
			return 0
		}
		return p
	}, func(r rates, k int64) float64 { return 0.9 * r.moment(k) }},
}

// diffDesigns are the trials of A and B.
var diffDesigns = []struct {
	name string
	a, b int64
	ks   []int64
}{
	{"n = 3", 3, 3, []int64{1, 3}},
	{"n = 8", 8, 8, []int64{1, 3, 8}},
	{"n = 3 and 24", 3, 24, []int64{1, 3}},
}

// diffCells are the intervals of a difference between two runs of one suite.
func diffCells() []*cell {
	var cells []*cell
	for _, tasks := range suiteSizes {
		for i := range diffDesigns {
			for _, k := range diffDesigns[i].ks {
				for _, r := range gridRates {
					for _, ch := range changes {
						cells = append(cells, diffCell(tasks, i, k, r, ch))
					}
				}
			}
		}
	}
	return cells
}

func diffCell(tasks, at int, k int64, r rates, ch change) *cell {
	n := diffDesigns[at]
	return &cell{
		table:   "differences",
		keys:    []string{fmt.Sprintf("T = %d", tasks), n.name, fmt.Sprintf("k = %d", k), r.name, ch.name},
		methods: []string{"fixed_suite_diff", "paired_diff"},
		heavy:   2 * tasks,
		repeat: func(s source, t []tally) error {
			a := newSuiteDraw(tasks)
			b := newSuiteDraw(tasks)
			fixed := 0.0
			for i := range b.p {
				b.p[i] = r.draw(s)
				a.p[i] = ch.apply(s, b.p[i])
				a.n[i], b.n[i] = n.a, n.b
				a.c[i], b.c[i] = s.binomial(n.a, a.p[i]), s.binomial(n.b, b.p[i])
				fixed += (power(a.p[i], k) - power(b.p[i], k)) / float64(tasks)
			}
			for _, side := range []*suiteDraw{a, b} {
				if err := passHats(side.theta, side.c, side.n, k); err != nil {
					return err
				}
			}
			f, err := stats.FixedSuiteDiff(a.c, a.n, b.c, b.n, nil, k, conf)
			if err != nil {
				return err
			}
			t[0].interval(f.Lower, f.Upper, fixed, f.Flag != "")
			p, err := stats.Paired(a.theta, b.theta, nil, nil, conf)
			if err != nil {
				return err
			}
			t[1].interval(p.Lower, p.Upper, ch.moment(r, k)-r.moment(k), p.Flag != "")
			return nil
		},
	}
}
