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
	// chartPoints is how many points of a line it holds.
	chartPoints = 4000
	// chartSeries is how many series it holds, which is how many colours there
	// are that everyone can tell apart.
	chartSeries = 8
	// chartHeld is how many points are held to choose from.
	chartHeld = 400_000
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
	foot    []string

	cats    []string // labels along x, unless numeric
	most    int      // bars that share a category, at most
	series  []*chartLine
	byName  map[string]*chartLine
	held    int  // points, of all series
	seen    int  // rows
	rows    int  // rows with something to show
	left    int  // rows beyond what is held
	more    bool // whether further rows were not looked at
	catsAll int  // categories that there would be with room for all
	all     int  // series that there would be
	columns chartColumns
}

// chartColumns are places in a row; -1 is none.
type chartColumns struct {
	x, series, lower, upper, weight int
	y, groups                       []int
	cols                            []Column
}

// chartLine is one series: what shares a colour.
type chartLine struct {
	parts  []string // of its name: the groups, and the column where there are several
	name   string   // what of them tells it from the others
	weight float64  // trials that it rests on, or rows
	found  []chartFound
	points []chartPoint // what is drawn, once finished
	used   map[string]int
}

// chartFound is a point as it was read, before there are places for names.
type chartFound struct {
	seq   int // of the row
	label string
	chartPoint
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
	d := &chartData{spec: spec, title: cmp.Or(spec.Title, sec.Heading), byName: map[string]*chartLine{}}
	d.columns = chartColumns{x: at(spec.X), series: at(spec.Series), lower: at(spec.Lower), upper: at(spec.Upper), weight: -1, cols: sec.Columns}
	for _, name := range []string{"trials", "n", "count", "tasks"} {
		if i := at(name); i >= 0 && d.columns.weight < 0 && sec.Columns[i].Kind == Int {
			d.columns.weight = i
		}
	}
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
		// A configuration along x names the groups already.
		if c.Group && i != d.columns.x && d.columns.series < 0 && spec.X != "configuration" {
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
	text := visible(strings.ReplaceAll(name, "_", " "))
	switch {
	case strings.HasPrefix(strings.TrimPrefix(name, "d_"), "cost") && !strings.HasSuffix(name, "_share"):
		text += ", $"
	case strings.HasSuffix(name, "_s"):
		text = strings.TrimSuffix(text, " s") + ", s"
	}
	return text
}

// add takes in a row.
func (d *chartData) add(row []any) {
	c := &d.columns
	x, label, ok := d.xOf(row)
	if !ok {
		return
	}
	d.seen++
	if d.held+len(c.y) > chartHeld {
		d.left++
		return
	}
	weight := 1.0
	if c.weight >= 0 {
		weight = max(number(row[c.weight]), 0)
	}
	for i, at := range c.y {
		p := chartPoint{x: x, y: number(row[at]), lo: math.NaN(), hi: math.NaN()}
		if i == 0 && c.lower >= 0 && c.upper >= 0 {
			p.lo, p.hi = number(row[c.lower]), number(row[c.upper])
		}
		line := d.line(d.seriesOf(row, i))
		if weight > 0 {
			line.weight += weight
		}
		line.found = append(line.found, chartFound{d.seen, label, p})
		d.held++
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

// seriesOf names the series of a row's i-th y.
func (d *chartData) seriesOf(row []any, i int) []string {
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
	return parts
}

func (d *chartData) line(parts []string) *chartLine {
	key := fmt.Sprintf("%q", parts) // a name may hold any separator
	l := d.byName[key]
	if l == nil {
		l = &chartLine{parts: parts, used: map[string]int{}}
		d.byName[key] = l
		d.series = append(d.series, l)
	}
	return l
}

// empty says that there is nothing to draw.
func (d *chartData) empty() bool { return d.rows == 0 }

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
