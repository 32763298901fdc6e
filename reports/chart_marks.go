package reports

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"
	"time"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// head draws title and legend above the plot and gives their height.
func (p *picture) head(c draw.Canvas) vg.Length {
	y := c.Max.Y
	if p.title != "" {
		title := p.text.style(11.5, chartInk)
		title.Font.Weight = xfont.WeightBold
		c.FillText(title, vg.Point{X: c.Min.X, Y: y - 8}, p.fit(p.title, 90))
		y -= 20
	}
	for _, line := range p.under() {
		c.FillText(p.text.style(9, chartMuted), vg.Point{X: c.Min.X, Y: y - 6}, line)
		y -= 14
	}
	for _, row := range p.legend() {
		x := c.Min.X
		for _, item := range row {
			item.key(c, vg.Point{X: x, Y: y - 7})
			c.FillText(p.text.style(9, chartInk), vg.Point{X: x + 22, Y: y - 7}, item.text)
			x += item.width
		}
		y -= 15
	}
	return c.Max.Y - y + 6
}

// under is what stands below the title: what the picture leaves out.
func (p *picture) under() []string { return p.broken(p.notes(), 9) }

// footLines is what stands at the foot: the configuration, warnings, and how
// names are to be read that no carried font can show.
func (p *picture) footLines() []string {
	foot := p.foot
	if len(foot) > chartFoot {
		foot = append(slices.Clone(foot[:chartFoot]), fmt.Sprintf("and %s", plural(int64(len(foot)-chartFoot), "further warning")))
	}
	if p.spell && slices.ContainsFunc(p.names(), func(s string) bool {
		return strings.Contains(p.text.spelled(visible(s)), `\u`) && !strings.Contains(visible(s), `\u`)
	}) {
		foot = append(slices.Clone(foot), spelledNote)
	}
	return p.broken(foot, 8)
}

// names are the texts of logs in the picture.
func (d *chartData) names() []string {
	out := append([]string{d.title}, d.cats...)
	for _, l := range d.series {
		out = append(out, l.name)
	}
	return out
}

func (p *picture) footHeight() vg.Length {
	if n := len(p.footLines()); n > 0 {
		return 12*vg.Length(n) + 8
	}
	return 0
}

// footer draws what stands at the foot and gives its height.
func (p *picture) footer(c draw.Canvas) vg.Length {
	lines := p.footLines()
	for i, line := range lines {
		c.FillText(p.text.style(8, chartMuted), vg.Point{X: c.Min.X, Y: c.Min.Y + 12*vg.Length(len(lines)-i) - 6}, line)
	}
	return p.footHeight()
}

// broken breaks sentences to the picture's width, three lines each at most.
func (p *picture) broken(list []string, size float64) []string {
	var out []string
	for _, s := range list {
		line, n := "", 0
		for _, word := range strings.Fields(p.fit(s, 400)) {
			if line != "" && p.text.width(line+" "+word, chartFont(size)) > chartWidth-2*chartMargin-8 {
				out, line, n = append(out, line), "", n+1
				if n == 3 {
					out[len(out)-1] += " …"
					break
				}
			}
			line = strings.TrimSpace(line + " " + word)
		}
		if line != "" {
			out = append(out, line)
		}
	}
	return out
}

// fit shortens a text to so many cells and, in a picture of dots, brings it into
// the order and the forms in which it is drawn.
func (p *picture) fit(s string, n int) string {
	short := cut(visible(cutBytes(s, tableCellBytes)), n)
	if p.spell {
		short = p.text.spelled(shaped(short))
	}
	return short
}

func (p *picture) headHeight() vg.Length {
	h := 15*vg.Length(len(p.legend())) + 14*vg.Length(len(p.under()))
	if p.title != "" {
		h += 20
	}
	return h + 6
}

type legendItem struct {
	text  string
	width vg.Length
	key   func(draw.Canvas, vg.Point)
}

// legend names the series, if there are several, and the intervals, in rows.
func (p *picture) legend() [][]legendItem {
	var items []legendItem
	add := func(text string, key func(draw.Canvas, vg.Point)) {
		items = append(items, legendItem{text, 22 + 1.1*p.text.width(text, chartFont(9)) + 14, key})
	}
	if len(p.series) > 1 {
		for i, l := range p.series {
			add(p.label(l.name), func(c draw.Canvas, at vg.Point) { p.key(c, i, at) })
		}
	}
	if p.whisker {
		text := strings.TrimSpace(p.conf + " interval")
		if len(p.columns.y) > 1 {
			text += " of " + p.label(pretty(p.spec.Y))
		}
		add(text, func(c draw.Canvas, at vg.Point) {
			whisker(c, at.Add(vg.Point{X: 3}), at.Add(vg.Point{X: 15}), chartInk)
		})
	}
	var rows [][]legendItem
	used := vg.Length(chartWidth)
	for _, item := range items {
		if used+item.width > chartWidth-2*chartMargin {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], item)
		used += item.width
	}
	return rows
}

// key draws a series' mark in the legend.
func (p *picture) key(c draw.Canvas, i int, at vg.Point) {
	if p.spec.Type == "bar" {
		c.FillPolygon(chartColors[i], []vg.Point{{X: at.X + 3, Y: at.Y - 4}, {X: at.X + 15, Y: at.Y - 4}, {X: at.X + 15, Y: at.Y + 4}, {X: at.X + 3, Y: at.Y + 4}})
		return
	}
	if p.spec.Type == "line" {
		c.StrokeLine2(lineStyle(i), at.X, at.Y, at.X+18, at.Y)
	}
	c.DrawGlyphNoClip(mark(i), vg.Point{X: at.X + 9, Y: at.Y})
}

func lineStyle(i int) draw.LineStyle {
	return draw.LineStyle{Color: chartColors[i], Width: 1.6, Dashes: chartDashes[i]}
}

func mark(i int) draw.GlyphStyle {
	return draw.GlyphStyle{Color: chartColors[i], Radius: 3.2, Shape: chartMarks[i]}
}

// whisker draws an interval, upright or lying, on a halo of the paper, so that
// it stands out from a bar.
func whisker(c draw.Canvas, a, b vg.Point, clr color.Color) {
	cap := vg.Point{X: 3}
	if math.Abs(float64(a.Y-b.Y)) < math.Abs(float64(a.X-b.X)) {
		cap = vg.Point{Y: 3}
	}
	lines := [][]vg.Point{{a, b}, {a.Sub(cap), a.Add(cap)}, {b.Sub(cap), b.Add(cap)}}
	c.StrokeLines(draw.LineStyle{Color: chartPaper, Width: 2.6}, lines[0])
	c.StrokeLines(draw.LineStyle{Color: clr, Width: 1.1}, lines...)
}

// told brackets what draw puts on an SVG canvas with a title to read.
func (p *picture) told(i int, pt chartPoint, mark func()) {
	if p.svg == nil {
		mark()
		return
	}
	var at string
	switch {
	case p.time:
		at = strings.TrimSuffix(time.Unix(int64(pt.x), 0).UTC().Format("2006-01-02 15:04"), " 00:00")
	case p.numeric:
		at = p.xLabel + " " + roundFloat(pt.x, decimalsNeeded(pt.x, 4))
	default:
		at = cut(visible(cutBytes(p.cats[int(pt.x)], tableCellBytes)), 200)
	}
	if name := p.series[i].name; name != "" {
		at += " · " + cut(visible(cutBytes(name, tableCellBytes)), 200)
	}
	text := at + ": " + p.shown(pt.y)
	if pt.interval() {
		text += " (" + p.shown(pt.lo) + " to " + p.shown(pt.hi) + ")"
	}
	p.svg.title(text)
	mark()
	p.svg.end()
}

// shown is a value as a title says it.
func (p *picture) shown(v float64) string {
	if p.percent {
		return roundFloat(100*v, 2) + " %"
	}
	return roundFloat(v, 4)
}

// clamp keeps a value on the axis.
func (p *picture) clamp(v float64) float64 { return max(p.low, min(p.up, v)) }

// barPlot draws the bars of one series.
type barPlot struct {
	*picture
	series int
}

// side is where a bar stands among those of its name, in bars from the middle.
func (b barPlot) side(x float64) float64 {
	before, all := 0, 0
	for i, l := range b.picture.series {
		if slices.ContainsFunc(l.points, func(p chartPoint) bool { return p.x == x }) {
			all++
			if i < b.series {
				before++
			}
		}
	}
	return float64(before) - float64(all-1)/2
}

func (b barPlot) Plot(c draw.Canvas, pl *plot.Plot) {
	trX, trY := pl.Transforms(&c)
	half := 0.4 / float64(max(1, b.most))
	point := func(along, value float64) vg.Point {
		if b.flat {
			return vg.Point{X: trX(value), Y: trY(along)}
		}
		return vg.Point{X: trX(along), Y: trY(value)}
	}
	for _, pt := range b.picture.series[b.series].points {
		off := b.side(pt.x) * 2 * half
		if b.flat {
			off = -off
		}
		mid := b.place(int(pt.x)) + off
		zero, end := b.clamp(0), b.clamp(pt.y)
		if sliver := (b.up - b.low) / 500; math.Abs(end-zero) < sliver {
			end = min(zero+sliver, b.up) // a bar of nothing still shows that there is one
		}
		b.told(b.series, pt, func() {
			c.FillPolygon(chartColors[b.series], []vg.Point{
				point(mid-half*0.94, zero), point(mid-half*0.94, end), point(mid+half*0.94, end), point(mid+half*0.94, zero)})
			if pt.interval() {
				whisker(c, point(mid, b.clamp(pt.lo)), point(mid, b.clamp(pt.hi)), chartInk)
			}
		})
	}
	if b.low < 0 && b.up > 0 {
		from, to := point(-0.5, 0), point(float64(len(b.cats))-0.5, 0)
		c.StrokeLine2(draw.LineStyle{Color: chartMuted, Width: 0.75}, from.X, from.Y, to.X, to.Y)
	}
}

// linePlot draws the line and the points of one series.
type linePlot struct {
	*picture
	series int
}

func (l linePlot) Plot(c draw.Canvas, pl *plot.Plot) {
	trX, trY := pl.Transforms(&c)
	shift := vg.Length(0) // so that the intervals of several series stand side by side
	if l.whisker {
		shift = 5 * vg.Length(float64(l.series)-float64(len(l.picture.series)-1)/2)
	}
	var line []vg.Point
	points := l.picture.series[l.series].points
	for _, pt := range points {
		line = append(line, vg.Point{X: trX(pt.x) + shift, Y: trY(l.clamp(pt.y))})
	}
	if l.spec.Type == "line" && len(line) > 1 {
		c.StrokeLines(lineStyle(l.series), line)
	}
	for i, pt := range points {
		l.told(l.series, pt, func() {
			if pt.interval() {
				at := line[i].X
				whisker(c, vg.Point{X: at, Y: trY(l.clamp(pt.lo))}, vg.Point{X: at, Y: trY(l.clamp(pt.hi))}, chartColors[l.series])
			}
			if len(points) <= 200 || l.spec.Type == "points" {
				c.DrawGlyphNoClip(mark(l.series), line[i])
			}
		})
	}
}
