package reports

import (
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Okabe and Ito's colours, which people with any kind of colour vision can tell
// apart; the light ones, weak on paper, come last.
var chartColors = []color.NRGBA{
	{0x00, 0x72, 0xb2, 0xff}, // blue
	{0xd5, 0x5e, 0x00, 0xff}, // vermilion
	{0x00, 0x9e, 0x73, 0xff}, // bluish green
	{0xcc, 0x79, 0xa7, 0xff}, // reddish purple
	{0xe6, 0x9f, 0x00, 0xff}, // orange
	{0x56, 0xb4, 0xe9, 0xff}, // sky blue
	{0x7f, 0x7f, 0x7f, 0xff}, // grey in place of black, which marks intervals
	{0xf0, 0xe4, 0x42, 0xff}, // yellow
}

const (
	// chartFoot is how many sentences the foot of a picture holds.
	chartFoot   = 4
	spelledNote = `\u… is the code point of a character that this picture has no font for; chart.svg shows it`
)

var (
	chartInk   = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	chartMuted = color.NRGBA{0x55, 0x55, 0x55, 0xff}
	chartGrid  = color.NRGBA{0xdd, 0xdd, 0xdd, 0xff}
	chartPaper = color.NRGBA{0xff, 0xff, 0xff, 0xff}
)

// chartClasses are the classes that SVG gives the colours, by which a dark page
// replaces them.
var chartClasses = func() map[color.NRGBA]string {
	m := map[color.NRGBA]string{chartInk: "ink", chartMuted: "muted", chartGrid: "grid", chartPaper: "paper"}
	for i, c := range chartColors {
		m[c] = "c" + strconv.Itoa(i)
	}
	return m
}()

// Lines differ in dashes and marks too, for prints without colour.
var (
	chartDashes = [][]vg.Length{nil, {6, 3}, {2, 2}, {8, 3, 2, 3}, {4, 2}, {1, 2}, {10, 3}, {6, 2, 2, 2, 2, 2}}
	chartMarks  = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{},
		draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{}}
)

// newPlot is an empty plot in the house's style.
func newPlot(t chartText) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.TextHandler, p.Title.TextStyle.Handler, p.Legend.TextStyle.Handler = t, t, t
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Handler, a.Tick.Label.Handler = t, t
		a.Label.TextStyle.Font, a.Tick.Label.Font = chartFont(10), chartFont(9)
		a.Label.TextStyle.Color, a.Tick.Label.Color = chartMuted, chartInk
		a.Label.Padding = 4
		a.LineStyle = draw.LineStyle{Color: chartMuted, Width: 0.75}
		a.Tick.LineStyle = a.LineStyle
		a.Tick.Length = 3
		a.Padding = 0
	}
	return p
}

// style is how text of a size and colour is drawn, its left end at the point.
func (t chartText) style(size float64, c color.Color) text.Style {
	return text.Style{Color: c, Font: chartFont(size), XAlign: draw.XLeft, YAlign: draw.YCenter, Handler: t}
}

// valueTicks are round numbers between the ends of an axis.
func valueTicks(low, high float64, percent bool) plot.ConstantTicks {
	span := high - low
	if !(span > 0) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10(span/5)))
	for _, f := range []float64{1, 2, 2.5, 5, 10} {
		if span/(step*f) <= 6 {
			step *= f
			break
		}
	}
	var ticks plot.ConstantTicks
	first := math.Ceil(low/step - 1e-9)
	for i := 0.0; i < 20; i++ {
		v := (first + i) * step
		if v > high+step*1e-6 {
			break
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: tickLabel(v, step, percent)})
	}
	return ticks
}

// tickLabel writes a tick with as many decimals as its step needs.
func tickLabel(v, step float64, percent bool) string {
	unit := ""
	if percent {
		v, step, unit = 100*v, 100*step, " %"
	}
	if a := max(math.Abs(v), step); a >= 1e9 || step < 1e-6 {
		return strconv.FormatFloat(v, 'g', 4, 64) + unit
	}
	return roundFloat(v, decimalsNeeded(step, 7)) + unit
}
