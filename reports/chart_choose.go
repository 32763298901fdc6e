package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// finish chooses what has room, gives names their places along x, puts lines in
// order of x and takes from the series' names the parts that all have.
func (d *chartData) finish() {
	d.chooseSeries()
	d.place()
	for _, l := range d.series {
		var keep []string
		for j, part := range l.parts {
			if slices.ContainsFunc(d.series, func(o *chartLine) bool { return o.parts[j] != part }) {
				keep = append(keep, part)
			}
		}
		l.name = strings.Join(keep, " · ")
		slices.SortStableFunc(l.points, func(a, b chartPoint) int { return cmp.Compare(a.x, b.x) })
	}
}

// chooseSeries keeps the series that rest on the most trials, in the order in
// which they came. The columns of one group stay together.
func (d *chartData) chooseSeries() {
	d.all = len(d.series)
	room := chartSeries - chartSeries%max(1, len(d.columns.y))
	if d.all <= chartSeries {
		return
	}
	chosen := slices.Clone(d.series)
	slices.SortStableFunc(chosen, func(a, b *chartLine) int { return cmp.Compare(b.weight, a.weight) })
	chosen = chosen[:room]
	d.series = slices.DeleteFunc(d.series, func(l *chartLine) bool { return !slices.Contains(chosen, l) })
}

// place makes points of what was found. Names stand along x in the order of the
// table, and two rows of one name in one series side by side, so that none hides
// the other.
func (d *chartData) place() {
	type at struct {
		line  *chartLine
		found *chartFound
	}
	var order []at
	for _, l := range d.series {
		for i := range l.found {
			order = append(order, at{l, &l.found[i]})
		}
	}
	slices.SortStableFunc(order, func(a, b at) int { return cmp.Compare(a.found.seq, b.found.seq) })
	known, last := map[string][]int{}, 0
	for _, o := range order {
		p := o.found.chartPoint
		if !d.numeric {
			i := o.line.used[o.found.label]
			o.line.used[o.found.label]++
			if i == len(known[o.found.label]) {
				known[o.found.label] = append(known[o.found.label], d.catsAll)
				d.catsAll++
				if d.spec.Type != "bar" || len(d.cats) < chartBars {
					d.cats = append(d.cats, o.found.label)
				}
			}
			p.x = float64(known[o.found.label][i])
			if int(p.x) >= len(d.cats) {
				continue
			}
		}
		if math.IsNaN(p.y) || math.IsInf(p.y, 0) {
			continue
		}
		if len(o.line.points) >= chartPoints {
			d.left++
			continue
		}
		d.whisker = d.whisker || p.interval()
		o.line.points = append(o.line.points, p)
		if o.found.seq != last {
			d.rows, last = d.rows+1, o.found.seq
		}
	}
	count := map[float64]int{}
	for _, l := range d.series {
		l.found = nil
		for _, p := range l.points {
			count[p.x]++
			d.most = max(d.most, count[p.x])
		}
	}
}

// notes say what the picture leaves out, and by what it was chosen.
func (d *chartData) notes() []string {
	var out []string
	if d.all > len(d.series) {
		what := "rows"
		if c := d.columns; c.weight >= 0 {
			what = c.cols[c.weight].Name
			if what == "n" || what == "count" {
				what = "trials"
			}
		}
		out = append(out, fmt.Sprintf("%d of %d series: those with the most %s", len(d.series), d.all, what))
	}
	if d.catsAll > len(d.cats) {
		name, order := pretty(d.spec.X)+"s", "in the order of the table"
		if d.spec.Order != "" {
			order = d.spec.Order + " first"
		}
		out = append(out, fmt.Sprintf("%d of %d %s, %s", len(d.cats), d.catsAll, name, order))
	}
	if d.more {
		out = append(out, fmt.Sprintf("the first %d rows", d.seen))
	} else if d.left > 0 {
		out = append(out, fmt.Sprintf("the first %d of %d rows", d.seen-d.left, d.seen))
	}
	if len(out) > 0 {
		out[len(out)-1] += "; the table has all"
	}
	return out
}
