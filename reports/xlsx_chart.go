package reports

import (
	"encoding/xml"
	"fmt"
	"image/color"
	"math"
	"strings"
	"time"

	"github.com/xuri/excelize/v2"
)

const (
	// xlsxChartCol is the column in which a chart's figures begin; the chart
	// itself lies to the left of them.
	xlsxChartCol  = 13
	xlsxChartRows = 26
	// xlsxChartMost is how many rows of a sheet a printed page holds.
	xlsxChartMost = 36
)

// charts writes the sheet of charts, each beside the figures it is drawn from,
// and gives its name, "" if no section has a chart.
func (x *xlsxBook) charts() (string, error) {
	sheet, row := "", 1
	for _, w := range x.written {
		if w.chart == nil {
			continue
		}
		if sheet == "" {
			var err error
			if sheet, err = x.addSheet("charts"); err != nil {
				return "", err
			}
		}
		c := &xlsxChart{x: x, sheet: sheet, row: row, d: w.chart, lying: w.chart.picture(false).flat}
		if err := c.write(); err != nil {
			return "", fmt.Errorf("section %s: %w", w.sec.Name, err)
		}
		row += max(c.height, c.rows) + 3
	}
	if sheet == "" {
		return "", nil
	}
	// The pictures are printed; their figures stand on the sheets already.
	last, err := excelize.ColumnNumberToName(xlsxChartCol - 1)
	if err != nil {
		return "", err
	}
	return sheet, x.f.SetDefinedName(&excelize.DefinedName{Name: "_xlnm.Print_Area", Scope: sheet,
		RefersTo: fmt.Sprintf("%s!$A$1:$%s$%d", quoteSheet(sheet), last, row)})
}

// xlsxChart is one native chart being written.
type xlsxChart struct {
	x      *xlsxBook
	sheet  string
	row    int // of the heading
	d      *chartData
	lying  bool
	rows   int // of figures, header included
	height int // of the chart in rows
	unit   float64
	series []xlsxSeries
}

// xlsxSeries are the places of a series' figures.
type xlsxSeries struct {
	name, x, y, minus, plus string
	whisker                 bool
}

func (c *xlsxChart) write() error {
	title := c.d.title
	if notes := c.d.notes(); len(notes) > 0 {
		title += " (" + strings.Join(notes, "; ") + ")"
	}
	if err := c.put(1, c.row, title, "key"); err != nil {
		return err
	}
	col := xlsxChartCol
	if !c.d.numeric {
		if err := c.categories(col); err != nil {
			return err
		}
		col++
	}
	for i := range c.d.series {
		used, err := c.figures(i, col)
		if err != nil {
			return err
		}
		col += used
	}
	first, _ := excelize.ColumnNumberToName(xlsxChartCol)
	last, _ := excelize.ColumnNumberToName(max(col-1, xlsxChartCol))
	if err := c.x.f.SetColWidth(c.sheet, first, last, 17); err != nil {
		return err
	}
	c.height = xlsxChartRows
	if c.lying {
		c.height = min(max(12, 5+len(c.d.cats)*max(1, (len(c.d.series)+1)/2)), xlsxChartMost)
	}
	if err := c.x.f.AddChart(c.sheet, fmt.Sprintf("A%d", c.row+1), c.chart()); err != nil {
		return err
	}
	return c.addIntervals()
}

// put writes a cell: text, or a number in a style.
func (c *xlsxChart) put(col, row int, v any, style string) error {
	cell, err := excelize.CoordinatesToCellName(col, row)
	if err != nil {
		return err
	}
	if s, ok := v.(string); ok {
		err = c.x.f.SetCellStr(c.sheet, cell, c.x.text(visible(cutBytes(s, tableCellBytes))))
	} else {
		err = c.x.f.SetCellValue(c.sheet, cell, v)
	}
	if err != nil {
		return err
	}
	return c.x.f.SetCellStyle(c.sheet, cell, cell, c.x.styles[style])
}

// ref names the cells of a column below the header of the figures.
func (c *xlsxChart) ref(col, n int) string {
	name, _ := excelize.ColumnNumberToName(col)
	return fmt.Sprintf("%s!$%s$%d:$%s$%d", quoteSheet(c.sheet), name, c.row+2, name, c.row+1+n)
}

func (c *xlsxChart) categories(col int) error {
	if err := c.put(col, c.row+1, c.d.xLabel, "header"); err != nil {
		return err
	}
	for i, cat := range c.d.cats {
		if err := c.put(col, c.row+2+i, cut(visible(cutBytes(cat, tableCellBytes)), chartLabel), "text"); err != nil {
			return err
		}
	}
	c.rows = 1 + len(c.d.cats)
	return nil
}

// figures writes one series from a column on and tells how many columns it
// took. Where x is a number the series has its own.
func (c *xlsxChart) figures(i, col int) (int, error) {
	line, from := c.d.series[i], col
	s := xlsxSeries{}
	n := len(c.d.cats)
	if c.d.numeric {
		n = len(line.points)
		if err := c.column(col, c.d.xLabel, line, func(p chartPoint) any { return c.xValue(p.x) }, c.xStyle()); err != nil {
			return 0, err
		}
		s.x = c.ref(col, n)
		col++
	} else {
		s.x = c.ref(xlsxChartCol, n)
	}
	heads := []string{line.name, "below", "above"}
	if line.name == "" {
		heads[0] = c.d.yLabel
	}
	style := "decimal"
	if c.d.percent {
		style = "percent"
	}
	values := []func(chartPoint) any{
		func(p chartPoint) any { return excelFloat(p.y) },
		func(p chartPoint) any { return whole(p, p.y-p.lo) },
		func(p chartPoint) any { return whole(p, p.hi-p.y) },
	}
	for _, p := range line.points {
		s.whisker = s.whisker || p.interval()
	}
	if !s.whisker {
		values = values[:1]
	}
	for j, v := range values {
		if err := c.column(col+j, heads[j], line, v, style); err != nil {
			return 0, err
		}
	}
	head, _ := excelize.ColumnNumberToName(col)
	s.name = fmt.Sprintf("%s!$%s$%d", quoteSheet(c.sheet), head, c.row+1)
	s.y, s.minus, s.plus = c.ref(col, n), c.ref(col+1, n), c.ref(col+2, n)
	c.series = append(c.series, s)
	c.rows = max(c.rows, n+1)
	return col + len(values) - from, nil
}

// whole is the length of one side of an interval, nil without an interval.
func whole(p chartPoint, v float64) any {
	if !p.interval() {
		return nil
	}
	return excelFloat(max(v, 0))
}

func (c *xlsxChart) column(col int, head string, line *chartLine, value func(chartPoint) any, style string) error {
	if err := c.put(col, c.row+1, head, "header"); err != nil {
		return err
	}
	for j, p := range line.points {
		row := c.row + 2 + j
		if !c.d.numeric {
			row = c.row + 2 + int(p.x)
		}
		if v := value(p); v != nil {
			if err := c.put(col, row, v, style); err != nil {
				return err
			}
		}
	}
	return nil
}

// xValue is a place along x as Excel has it; times are days since 1900.
func (c *xlsxChart) xValue(v float64) any {
	if c.d.time {
		return v/86400 + time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC).Sub(time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)).Hours()/24
	}
	return excelFloat(v)
}

func (c *xlsxChart) xStyle() string {
	if c.d.time {
		return "time"
	}
	return "general"
}

// chart describes the native chart.
func (c *xlsxChart) chart() *excelize.Chart {
	d := c.d
	kind := map[string]excelize.ChartType{"bar": excelize.Col, "line": excelize.Line, "points": excelize.Line}[d.spec.Type]
	if d.numeric {
		kind = excelize.Scatter
	} else if c.lying {
		kind = excelize.Bar
	}
	low, up := d.valueRange()
	values := excelize.ChartAxis{MajorGridLines: true, Minimum: &low, Maximum: &up, Font: excelize.Font{Color: "444444"}}
	values.NumFmt = excelize.ChartNumFmt{CustomNumFmt: "General"}
	if !d.percent {
		if ticks := valueTicks(low, up, false); len(ticks) > 1 {
			values.MajorUnit = excelFloat(ticks[1].Value - ticks[0].Value)
		}
		if d.spec.Range == nil && values.MajorUnit > 0 {
			low = math.Floor(low/values.MajorUnit+1e-9) * values.MajorUnit
			up = math.Ceil(up/values.MajorUnit-1e-9) * values.MajorUnit
			low, up = excelFloat(low), excelFloat(up)
		}
	} else {
		values.NumFmt = excelize.ChartNumFmt{CustomNumFmt: "0%"}
		values.MajorUnit = (up - low) / 5
	}
	if d.yLabel != "" {
		values.Title = axisTitle(d.yLabel)
	}
	names := excelize.ChartAxis{ReverseOrder: c.lying, Font: excelize.Font{Size: 8, Color: "222222"}, Title: axisTitle(d.xLabel)}
	if d.numeric {
		c.scale(&names)
	}
	if d.time {
		names.NumFmt = excelize.ChartNumFmt{CustomNumFmt: "yyyy-mm-dd"}
	}
	ch := &excelize.Chart{Type: kind, XAxis: names, YAxis: values, ShowBlanksAs: "gap",
		Dimension: excelize.ChartDimension{Width: 740, Height: uint(20 * (c.height - 1))},
		Legend:    excelize.ChartLegend{Position: "none"}}
	gap := uint(40)
	ch.GapWidth = &gap
	if d.spec.Type == "bar" && d.most == 1 {
		whole := 100 // one bar for each name stands over its name
		ch.Overlap = &whole
	}
	if len(c.series) > 1 {
		ch.Legend.Position = "top"
	}
	for i, s := range c.series {
		ch.Series = append(ch.Series, c.dress(i, s))
	}
	return ch
}

// scale sets the axis of numeric x as the drawn charts have it.
func (c *xlsxChart) scale(a *excelize.ChartAxis) {
	low, up, whole := math.Inf(1), math.Inf(-1), !c.d.time
	for _, l := range c.d.series {
		for _, p := range l.points {
			x, _ := c.xValue(p.x).(float64)
			low, up, whole = min(low, x), max(up, x), whole && p.x == math.Trunc(p.x)
		}
	}
	if whole && up-low <= 20 {
		low, up = low-1, up+1
		c.unit = 1 // which the library sets on the other axis only
	} else if pad := 0.03 * (up - low); pad > 0 {
		low, up = low-pad, up+pad
	} else {
		return
	}
	a.Minimum, a.Maximum = &low, &up
}

func axisTitle(text string) excelize.ChartTitle {
	return excelize.ChartTitle{Paragraph: []excelize.RichTextRun{{Text: text, Font: &excelize.Font{Size: 10, Color: "444444"}}}}
}

// dress gives a series its colour, and its marks and dashes for prints without
// colour.
func (c *xlsxChart) dress(i int, s xlsxSeries) excelize.ChartSeries {
	fill := excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{hexColor(chartColors[i])}}
	out := excelize.ChartSeries{Name: s.name, Categories: s.x, Values: s.y, Fill: fill}
	if c.d.spec.Type == "bar" {
		return out
	}
	out.Line = excelize.LineOptions{Type: excelize.LineSolid, Fill: fill, Width: 1.75,
		Dash: []excelize.LineDashType{excelize.LineDashSolid, excelize.LineDashDash, excelize.LineDashSysDot, excelize.LineDashSashDot,
			excelize.LineDashLgDash, excelize.LineDashDot, excelize.LineDashLgDashDot, excelize.LineDashLgDashDotDot}[i]}
	if c.d.spec.Type == "points" {
		out.Line = excelize.LineOptions{Type: excelize.LineNone}
	}
	out.Marker = excelize.ChartMarker{Symbol: []string{"circle", "square", "triangle", "diamond", "x", "plus", "star", "dash"}[i], Size: 7,
		Fill: fill, Border: excelize.LineOptions{Type: excelize.LineSolid, Fill: fill, Width: 0.75}}
	return out
}

func hexColor(c color.NRGBA) string { return fmt.Sprintf("%02X%02X%02X", c.R, c.G, c.B) }

// addIntervals puts the intervals into the chart just added, as error bars of
// the figures beside it; the library can't.
func (c *xlsxChart) addIntervals() error {
	path := fmt.Sprintf("xl/charts/chart%d.xml", c.x.count())
	part, ok := c.x.f.Pkg.Load(path)
	if !ok {
		return fmt.Errorf("the chart %s was not made", path)
	}
	// A scatter chart's x are numbers, though the library calls them text.
	unit := ""
	if c.unit > 0 {
		unit = fmt.Sprintf(`<majorUnit val="%g"></majorUnit>`, c.unit)
	}
	text := strings.NewReplacer("<xVal><strRef>", "<xVal><numRef>", "</strRef></xVal>", "</numRef></xVal>",
		`<auto val="1"></auto><lblAlgn val="ctr"></lblAlgn><lblOffset val="100"></lblOffset><noMultiLvlLbl val="0"></noMultiLvlLbl></valAx>`,
		`<crossBetween val="midCat"></crossBetween>`+unit+`</valAx>`).Replace(string(part.([]byte)))
	parts := strings.Split(text, "<ser>")
	if len(parts) != len(c.series)+1 {
		return fmt.Errorf("the chart %s has %d series, want %d", path, len(parts)-1, len(c.series))
	}
	for i, s := range c.series {
		if !s.whisker {
			continue
		}
		at := strings.Index(parts[i+1], "<cat>")
		if c.d.numeric {
			at = strings.Index(parts[i+1], "<xVal>")
		}
		if at < 0 {
			return fmt.Errorf("the series %d of the chart %s has no place for intervals", i+1, path)
		}
		parts[i+1] = parts[i+1][:at] + c.errorBars(s, i) + parts[i+1][at:]
	}
	c.x.f.Pkg.Store(path, []byte(strings.Join(parts, "<ser>")))
	return nil
}

// count is how many charts the workbook has.
func (x *xlsxBook) count() int {
	n := 0
	for {
		if _, ok := x.f.Pkg.Load(fmt.Sprintf("xl/charts/chart%d.xml", n+1)); !ok {
			return n
		}
		n++
	}
}

func (c *xlsxChart) errorBars(s xlsxSeries, i int) string {
	clr := hexColor(chartInk)
	if c.d.spec.Type != "bar" {
		clr = hexColor(chartColors[i])
	}
	direction := ""
	if c.d.numeric {
		direction = `<errDir val="y"/>`
	}
	var b strings.Builder
	b.WriteString(`<errBars>` + direction + `<errBarType val="both"/><errValType val="cust"/><noEndCap val="0"/><plus><numRef><f>`)
	xml.EscapeText(&b, []byte(s.plus))
	b.WriteString(`</f></numRef></plus><minus><numRef><f>`)
	xml.EscapeText(&b, []byte(s.minus))
	b.WriteString(`</f></numRef></minus><spPr><a:ln w="12700"><a:solidFill><a:srgbClr val="` + clr + `"/></a:solidFill></a:ln></spPr></errBars>`)
	return b.String()
}
