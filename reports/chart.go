package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// chartBars is how many categories of bars one picture holds.
	chartBars = 60
	// chartPoints is how many points of lines it holds.
	chartPoints = 4000
	// chartSeries is how many series it holds, which is how many colours there
	// are that everyone can tell apart.
	chartSeries = 8
	// chartLabel is how many cells of a name a label shows.
	chartLabel = 34
)

// chartData are the rows of a section as its chart wants them.
type chartData struct {
	spec    *Chart
	title   string
	name    string // what it is called where no title is drawn
	conf    string // level of the interval in percent, "" unknown
	xLabel  string
	yLabel  string
	numeric bool // x is a number or a time, not a name
	time    bool
	percent bool
	whisker bool // some point has an interval

	cats    []string // labels along x, unless numeric
	byName  map[string][]int
	series  []*chartLine
	rows    int // rows with something to show
	left    int // rows that had no room
	noRoom  int // of those, rows of series beyond the last
	columns chartColumns
}

// chartColumns are places in a row; -1 is none.
type chartColumns struct {
	x, series, lower, upper int
	y, groups               []int
	cols                    []Column
}

// chartLine is one series: what shares a colour.
type chartLine struct {
	name   string
	points []chartPoint
}

// chartPoint is one value, with its interval where lo and hi are numbers.
type chartPoint struct {
	x      float64 // number, seconds since 1970, or index of the category
	y      float64
	lo, hi float64
}

func (p chartPoint) interval() bool { return !math.IsNaN(p.lo) && !math.IsNaN(p.hi) }

// newChart begins the chart of a section. It is nil, with the reason, where the
// section lacks a column that the chart is of.
func newChart(sec *Section, stamp *Stamp) (*chartData, string) {
	spec := sec.Chart
	if spec == nil {
		return nil, ""
	}
	at := func(name string) int {
		return slices.IndexFunc(sec.Columns, func(c Column) bool { return name != "" && c.Name == name })
	}
	d := &chartData{spec: spec, title: cmp.Or(spec.Title, sec.Heading), byName: map[string][]int{}}
	d.columns = chartColumns{x: at(spec.X), series: at(spec.Series), lower: at(spec.Lower), upper: at(spec.Upper), cols: sec.Columns}
	if d.columns.x < 0 {
		return nil, fmt.Sprintf("section %s has no column %s, which its chart is by", sec.Name, spec.X)
	}
	d.percent = true
	for _, name := range spec.ys() {
		i := at(name)
		if i < 0 && name == spec.Y {
			return nil, fmt.Sprintf("section %s has no column %s, which its chart is of", sec.Name, name)
		}
		if i >= 0 {
			d.columns.y = append(d.columns.y, i)
			d.percent = d.percent && sec.Columns[i].share()
		}
	}
	for i, c := range sec.Columns {
		if c.Group && i != d.columns.x && d.columns.series < 0 {
			d.columns.groups = append(d.columns.groups, i)
		}
	}
	kind := sec.Columns[d.columns.x].Kind
	d.time = (kind == Date || kind == Timestamp) && spec.Type != "bar"
	d.numeric = d.time || spec.Type != "bar" && sec.Columns[d.columns.x].numeric()
	d.xLabel, d.yLabel = pretty(spec.X), pretty(spec.Y)
	if len(d.columns.y) > 1 {
		d.yLabel = ""
	}
	if stamp != nil {
		if conf, err := strconv.ParseFloat(stamp.Parameters["conf"], 64); err == nil {
			d.conf = strconv.FormatFloat(100*conf, 'g', 6, 64) + " %"
		}
	}
	return d, ""
}

// pretty is a column's name as an axis bears it.
func pretty(name string) string {
	switch name {
	case "pass_hat_k":
		return "pass^k"
	case "pass_at_k":
		return "pass@k"
	case "pass_1":
		return "pass@1"
	case "task_id":
		return "task"
	}
	return visible(strings.ReplaceAll(name, "_", " "))
}

// add takes in a row.
func (d *chartData) add(row []any) {
	c := &d.columns
	x, label, ok := d.xOf(row)
	if !ok {
		return
	}
	if d.rows >= chartPoints {
		d.left++
		return
	}
	shown := false
	for i, at := range c.y {
		p := chartPoint{x: x, y: number(row[at]), lo: math.NaN(), hi: math.NaN()}
		if i == 0 && c.lower >= 0 && c.upper >= 0 {
			p.lo, p.hi = number(row[c.lower]), number(row[c.upper])
		}
		line := d.line(d.seriesOf(row, i))
		if line == nil {
			d.left++
			d.noRoom++
			return
		}
		if !d.numeric {
			at := d.category(line, label)
			if at < 0 {
				d.left++
				return
			}
			p.x = float64(at)
		}
		if math.IsNaN(p.y) || math.IsInf(p.y, 0) {
			continue
		}
		shown = true
		d.whisker = d.whisker || p.interval()
		line.points = append(line.points, p)
	}
	if shown {
		d.rows++
	}
}

// xOf is where a row stands along x.
func (d *chartData) xOf(row []any) (x float64, label string, ok bool) {
	v := row[d.columns.x]
	switch {
	case d.time:
		t, isTime := v.(time.Time)
		return float64(t.Unix()), "", isTime
	case d.numeric:
		x = number(v)
		return x, "", !math.IsNaN(x) && !math.IsInf(x, 0)
	}
	col := &d.columns.cols[d.columns.x]
	if f, isFloat := v.(float64); isFloat {
		return 0, roundFloat(f, 4), true
	}
	label, ok = plain(col, v)
	if !ok {
		label = nullCell
	}
	if label == "" {
		label = `""`
	}
	return 0, label, true
}

// category is the index of a label in a series: the first of that name that the
// series does not fill yet, so that two rows of one name don't hide each other.
// It is -1 where a new one would find no room.
func (d *chartData) category(line *chartLine, label string) int {
	taken := func(i int) bool {
		return slices.ContainsFunc(line.points, func(p chartPoint) bool { return p.x == float64(i) })
	}
	for _, i := range d.byName[label] {
		if !taken(i) {
			return i
		}
	}
	if d.spec.Type == "bar" && len(d.cats) >= chartBars {
		return -1
	}
	d.byName[label] = append(d.byName[label], len(d.cats))
	d.cats = append(d.cats, label)
	return len(d.cats) - 1
}

// seriesOf names the series of a row's i-th y.
func (d *chartData) seriesOf(row []any, i int) string {
	var parts []string
	at := d.columns.groups
	if d.columns.series >= 0 {
		at = []int{d.columns.series}
	}
	for _, g := range at {
		s, ok := plain(&d.columns.cols[g], row[g])
		if !ok {
			s = nullCell
		}
		parts = append(parts, s)
	}
	if len(d.columns.y) > 1 {
		parts = append(parts, pretty(d.columns.cols[d.columns.y[i]].Name))
	}
	return strings.Join(parts, "\x1f")
}

func (d *chartData) line(name string) *chartLine {
	for _, l := range d.series {
		if l.name == name {
			return l
		}
	}
	if len(d.series) == chartSeries {
		return nil
	}
	d.series = append(d.series, &chartLine{name: name})
	return d.series[len(d.series)-1]
}

// finish puts lines in order of x and takes from the series' names the parts
// that all have.
func (d *chartData) finish() {
	names := make([][]string, len(d.series))
	for i, l := range d.series {
		names[i] = strings.Split(l.name, "\x1f")
	}
	for i, l := range d.series {
		var keep []string
		for j, part := range names[i] {
			if slices.ContainsFunc(names, func(o []string) bool { return o[j] != part }) {
				keep = append(keep, part)
			}
		}
		l.name = strings.Join(keep, " · ")
		slices.SortStableFunc(l.points, func(a, b chartPoint) int { return cmp.Compare(a.x, b.x) })
	}
}

// empty says that there is nothing to draw.
func (d *chartData) empty() bool { return d.rows == 0 }

// notes say what the picture leaves out.
func (d *chartData) notes() []string {
	var out []string
	if d.left > 0 {
		what := fmt.Sprintf("the first %d rows", d.rows)
		if d.spec.Type == "bar" {
			what = fmt.Sprintf("the first %d", len(d.cats))
		}
		if d.noRoom > 0 {
			what = fmt.Sprintf("the first %d series", chartSeries)
		}
		out = append(out, "the chart shows "+what+"; the table has all")
	}
	return out
}

// number is a cell as a float64, NaN where it is none.
func number(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	case string:
		if f, err := strconv.ParseFloat(v, 64); err == nil && isJSONNumber(v) {
			return f
		}
	}
	return math.NaN()
}

// readChart reads the rows of a section into its chart, as far as they have
// room.
func readChart(sec *Section, d *chartData) error {
	defer d.finish()
	for row, err := range sec.Rows {
		if err != nil {
			return err
		}
		d.add(row)
	}
	return nil
}
