package reports

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

const (
	chartWidth  = 680 // points
	chartHeight = 320
	chartDPI    = 192
	chartMargin = 8
)

// picture draws a chart on one kind of canvas.
type picture struct {
	*chartData
	text    chartText
	label   func(string) string // a name as the picture shows it
	spell   bool                // what the carried fonts lack stands as code points
	flat    bool                // bars lie, so that long names have room
	low, up float64             // ends of the axis of values
	svg     *svgCanvas          // that it is drawn on, if it is
}

func (d *chartData) picture(spell bool) *picture {
	p := &picture{chartData: d, text: newChartText(), spell: spell}
	p.label = func(s string) string {
		return p.fit(s, chartLabel)
	}
	p.text.dots = spell
	p.low, p.up = d.valueRange()
	if d.spec.Type == "bar" {
		slot := vg.Length(chartWidth-70) / vg.Length(max(1, len(d.cats)))
		for _, c := range d.cats {
			p.flat = p.flat || p.text.width(p.label(c), chartFont(9))+10 > slot
		}
		p.flat = p.flat || len(d.cats)*len(d.series) > 40
	}
	return p
}

// drawSVG gives the picture as an SVG document that needs nothing else.
func (d *chartData) drawSVG() []byte {
	p := d.picture(false)
	c := newSVG(chartWidth, p.height())
	p.svg, p.text.svg = c, c
	p.draw(c)
	return c.document(cmp.Or(d.title, d.name, d.yLabel), d.foot)
}

// drawPNG gives the picture as PNG.
func (d *chartData) drawPNG() ([]byte, error) {
	p := d.picture(true)
	c := vgimg.NewWith(vgimg.UseWH(chartWidth, p.height()), vgimg.UseDPI(chartDPI))
	p.draw(c)
	var b bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(&b); err != nil {
		return nil, err
	}
	return pngText(b.Bytes(), "Description", strings.Join(append([]string{cmp.Or(d.title, d.name, d.yLabel)}, d.foot...), "\n")), nil
}

// valueRange is what the axis of values spans: what the header says, the whole
// of a share, or the data with zero for bars.
func (d *chartData) valueRange() (low, up float64) {
	if r := d.spec.Range; r != nil {
		return r[0], r[1]
	}
	low, up = math.Inf(1), math.Inf(-1)
	for _, l := range d.series {
		for _, p := range l.points {
			low, up = min(low, p.y), max(up, p.y)
			if p.interval() {
				low, up = min(low, p.lo), max(up, p.hi)
			}
		}
	}
	switch {
	case low > up:
		return 0, 1
	case d.percent && low >= 0 && up <= 1:
		return 0, 1
	}
	pad := 0.05 * (up - low)
	if pad == 0 {
		pad = max(math.Abs(up)/10, 1e-9)
	}
	if d.spec.Type == "bar" && low >= 0 {
		return 0, up + pad
	}
	if d.spec.Type == "bar" && up <= 0 {
		return low - pad, 0
	}
	if low >= 0 && low-pad < 0 {
		return 0, up + pad
	}
	return low - pad, up + pad
}

func (p *picture) height() vg.Length {
	h := vg.Length(chartHeight)
	if p.flat {
		h = 60 + vg.Length(len(p.cats))*max(13, 8*vg.Length(len(p.series))+5)
	}
	return h + p.headHeight() + p.footHeight()
}

func (p *picture) draw(c vg.CanvasSizer) {
	dc := draw.New(c)
	dc.SetColor(chartPaper)
	dc.Fill(dc.Rectangle.Path())
	dc = draw.Crop(dc, chartMargin, -chartMargin-4, chartMargin, -chartMargin)
	dc.Max.Y -= p.head(dc)
	dc.Min.Y += p.footer(dc)
	pl := newPlot(p.text)
	if p.spec.Type == "bar" {
		p.bars(pl)
	} else {
		p.lines(pl)
	}
	pl.Draw(dc)
}

// valueAxis sets the axis of values and its grid.
func (p *picture) valueAxis(pl *plot.Plot, a *plot.Axis) {
	a.Min, a.Max = p.low, p.up
	a.Tick.Marker = valueTicks(p.low, p.up, p.percent)
	a.Label.Text = p.label(p.yLabel)
	g := plotter.NewGrid()
	g.Vertical.Color, g.Horizontal.Color = nil, nil
	if a == &pl.X {
		g.Vertical = draw.LineStyle{Color: chartGrid, Width: 0.6}
	} else {
		g.Horizontal = draw.LineStyle{Color: chartGrid, Width: 0.6}
	}
	pl.Add(g)
}

// bars lays out bars, upright or lying.
func (p *picture) bars(pl *plot.Plot) {
	values, names := &pl.Y, &pl.X
	if p.flat {
		values, names = &pl.X, &pl.Y
	}
	p.valueAxis(pl, values)
	names.Min, names.Max = -0.5, float64(len(p.cats))-0.5
	names.Label.Text = p.label(p.xLabel)
	var ticks plot.ConstantTicks
	for i, c := range p.cats {
		ticks = append(ticks, plot.Tick{Value: p.place(i), Label: p.label(c)})
	}
	names.Tick.Marker = ticks
	names.Tick.Length = 0
	for i := range p.series {
		pl.Add(barPlot{p, i})
	}
}

// place is where a category stands; lying bars are read from the top.
func (p *picture) place(i int) float64 {
	if p.flat {
		return float64(len(p.cats) - 1 - i)
	}
	return float64(i)
}

// lines lays out lines or points.
func (p *picture) lines(pl *plot.Plot) {
	p.valueAxis(pl, &pl.Y)
	pl.X.Label.Text = p.label(p.xLabel)
	low, up := math.Inf(1), math.Inf(-1)
	for _, l := range p.series {
		for _, pt := range l.points {
			low, up = min(low, pt.x), max(up, pt.x)
		}
	}
	switch {
	case !p.numeric:
		pl.X.Min, pl.X.Max = -0.5, float64(len(p.cats))-0.5
		pl.X.Tick.Marker = p.thinned()
	case p.time:
		pad := max((up-low)*0.03, 3600)
		pl.X.Min, pl.X.Max = low-pad, up+pad
		pl.X.Tick.Marker = timeTicks(low, up)
	default:
		pad := (up - low) * 0.05
		if pad == 0 {
			pad = max(math.Abs(up)*0.1, 0.5)
		}
		pl.X.Min, pl.X.Max = low-pad, up+pad
		pl.X.Tick.Marker = wholeTicks(p.series, low, up)
	}
	for i := range p.series {
		pl.Add(linePlot{p, i})
	}
}

// thinned labels as many categories as have room.
func (p *picture) thinned() plot.ConstantTicks {
	widest := vg.Length(0)
	for _, c := range p.cats {
		widest = max(widest, p.text.width(p.label(c), chartFont(9))+8)
	}
	every := max(1, int(math.Ceil(float64(widest)*float64(len(p.cats))/(chartWidth-70))))
	var ticks plot.ConstantTicks
	for i, c := range p.cats {
		if i%every == 0 {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: p.label(c)})
		}
	}
	return ticks
}

// wholeTicks marks every x where these are few whole numbers, as k is.
func wholeTicks(series []*chartLine, low, up float64) plot.ConstantTicks {
	if up-low > 20 {
		return valueTicks(low, up, false)
	}
	var ticks plot.ConstantTicks
	for _, l := range series {
		for _, p := range l.points {
			if p.x != math.Trunc(p.x) {
				return valueTicks(low, up, false)
			}
		}
	}
	for v := math.Ceil(low); v <= up; v++ {
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprint(v)})
	}
	return ticks
}

// timeTicks marks up to seven days, or moments where all is one or two days.
func timeTicks(low, up float64) plot.ConstantTicks {
	const day = 86400
	step, layout := float64(day), dateLayout
	if up-low < 2*day {
		step, layout = 3600, "01-02 15:04"
	}
	for _, f := range []float64{1, 2, 3, 6, 7, 12, 14, 28, 56, 112, 365, 730, 3650} {
		if (up-low)/(step*f) <= 7 {
			step *= f
			break
		}
	}
	var ticks plot.ConstantTicks
	for v, n := math.Ceil(low/step)*step, 0; v <= up && n < 20; v, n = v+step, n+1 {
		ticks = append(ticks, plot.Tick{Value: v, Label: time.Unix(int64(v), 0).UTC().Format(layout)})
	}
	if len(ticks) == 0 {
		ticks = append(ticks, plot.Tick{Value: low, Label: time.Unix(int64(low), 0).UTC().Format(layout)})
	}
	return ticks
}
