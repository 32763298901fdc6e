package reports

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// svgFonts is what a viewer writes labels with; its own fonts serve the scripts
// that the first ones lack.
const svgFonts = "'Liberation Sans',Arial,Helvetica,sans-serif"

// svgCanvas draws for gonum/plot into SVG. The library's own canvas styles every
// element with one font and one colour for good; this one leaves classes, so
// that a dark page can replace the colours, and takes titles, which readers show over a mark and screen readers speak.
type svgCanvas struct {
	w, h  vg.Length
	body  bytes.Buffer
	state []svgState
	// anchor is which point of the next text stands where it is put.
	anchor text.XAlignment
}

type svgState struct {
	m      [6]float64 // x' = m0 x + m2 y + m4, y' = m1 x + m3 y + m5
	color  color.Color
	width  vg.Length
	dashes []vg.Length
	offset vg.Length
}

func newSVG(w, h vg.Length) *svgCanvas {
	c := &svgCanvas{w: w, h: h, state: []svgState{{m: [6]float64{1, 0, 0, 1, 0, 0}}}}
	vg.Initialize(c)
	return c
}

func (c *svgCanvas) top() *svgState           { return &c.state[len(c.state)-1] }
func (c *svgCanvas) Size() (w, h vg.Length)   { return c.w, c.h }
func (c *svgCanvas) SetLineWidth(w vg.Length) { c.top().width = w }
func (c *svgCanvas) SetColor(clr color.Color) { c.top().color = clr }
func (c *svgCanvas) Push()                    { c.state = append(c.state, *c.top()) }
func (c *svgCanvas) Pop()                     { c.state = c.state[:len(c.state)-1] }
func (c *svgCanvas) Translate(p vg.Point) {
	c.apply([6]float64{1, 0, 0, 1, float64(p.X), float64(p.Y)})
}
func (c *svgCanvas) Scale(x, y float64)                  { c.apply([6]float64{x, 0, 0, y, 0, 0}) }
func (c *svgCanvas) DrawImage(vg.Rectangle, image.Image) {} // no chart holds one

func (c *svgCanvas) SetLineDash(pattern []vg.Length, offset vg.Length) {
	c.top().dashes, c.top().offset = pattern, offset
}

func (c *svgCanvas) Rotate(rad float64) {
	sin, cos := math.Sincos(rad)
	c.apply([6]float64{cos, sin, -sin, cos, 0, 0})
}

// apply puts a transform before those that stand.
func (c *svgCanvas) apply(t [6]float64) {
	m := c.top().m
	c.top().m = [6]float64{
		m[0]*t[0] + m[2]*t[1], m[1]*t[0] + m[3]*t[1],
		m[0]*t[2] + m[2]*t[3], m[1]*t[2] + m[3]*t[3],
		m[0]*t[4] + m[2]*t[5] + m[4], m[1]*t[4] + m[3]*t[5] + m[5],
	}
}

// at gives a point in SVG's coordinates, whose y grows downwards.
func (c *svgCanvas) at(p vg.Point) string {
	m := c.top().m
	x := m[0]*float64(p.X) + m[2]*float64(p.Y) + m[4]
	y := m[1]*float64(p.X) + m[3]*float64(p.Y) + m[5]
	return svgNumber(x) + "," + svgNumber(float64(c.h)-y)
}

// svgNumber writes a coordinate with two decimals at most.
func svgNumber(f float64) string {
	s := strings.TrimRight(strings.TrimRight(strconv.FormatFloat(f, 'f', 2, 64), "0"), ".")
	if s == "-0" || s == "" {
		return "0"
	}
	return s
}

func (c *svgCanvas) Stroke(p vg.Path) {
	s := c.top()
	if s.width <= 0 {
		return
	}
	fmt.Fprintf(&c.body, `<path d="%s" fill="none"%s`, c.path(p), svgPaint("stroke", s.color))
	if s.width != 1 {
		fmt.Fprintf(&c.body, ` stroke-width="%s"`, svgNumber(float64(s.width)))
	}
	if len(s.dashes) > 0 {
		var parts []string
		for _, d := range s.dashes {
			parts = append(parts, svgNumber(float64(d)))
		}
		fmt.Fprintf(&c.body, ` stroke-dasharray="%s"`, strings.Join(parts, ","))
	}
	c.body.WriteString("/>\n")
}

func (c *svgCanvas) Fill(p vg.Path) {
	fmt.Fprintf(&c.body, `<path d="%s"%s/>`+"\n", c.path(p), svgPaint("fill", c.top().color))
}

// svgPaint is the attribute of a colour, with a class for the neutral ones.
func svgPaint(what string, clr color.Color) string {
	if clr == nil {
		clr = color.Black
	}
	n := color.NRGBAModel.Convert(clr).(color.NRGBA)
	s := fmt.Sprintf(` %s="#%02x%02x%02x"`, what, n.R, n.G, n.B)
	if n.A < 255 {
		s += fmt.Sprintf(` %s-opacity="%s"`, what, svgNumber(float64(n.A)/255))
	}
	if class := chartClasses[n]; class != "" {
		s += fmt.Sprintf(` class="%s-%s"`, class, what)
	}
	return s
}

func (c *svgCanvas) path(p vg.Path) string {
	var b strings.Builder
	for _, comp := range p {
		switch comp.Type {
		case vg.MoveComp:
			b.WriteString("M" + c.at(comp.Pos))
		case vg.LineComp:
			b.WriteString("L" + c.at(comp.Pos))
		case vg.ArcComp:
			c.arc(&b, comp)
		case vg.CurveComp:
			b.WriteString(map[int]string{1: "Q", 2: "C"}[len(comp.Control)])
			for _, q := range comp.Control {
				b.WriteString(c.at(q) + " ")
			}
			b.WriteString(c.at(comp.Pos))
		case vg.CloseComp:
			b.WriteString("Z")
		}
	}
	return b.String()
}

// arc writes an arc in quarters at most, since SVG has none that ends where it
// began. The transforms of a chart keep circles round.
func (c *svgCanvas) arc(b *strings.Builder, comp vg.PathComp) {
	on := func(angle float64) string {
		sin, cos := math.Sincos(angle)
		return c.at(vg.Point{X: comp.Pos.X + comp.Radius*vg.Length(cos), Y: comp.Pos.Y + comp.Radius*vg.Length(sin)})
	}
	if b.Len() == 0 {
		b.WriteString("M" + on(comp.Start))
	} else {
		b.WriteString("L" + on(comp.Start))
	}
	steps := max(1, int(math.Ceil(math.Abs(comp.Angle)/(math.Pi/2)-1e-9)))
	sweep := 0
	if comp.Angle < 0 {
		sweep = 1
	}
	r := svgNumber(float64(comp.Radius))
	for i := 1; i <= steps; i++ {
		fmt.Fprintf(b, "A%s,%s 0 0 %d %s", r, r, sweep, on(comp.Start+comp.Angle*float64(i)/float64(steps)))
	}
}

func (c *svgCanvas) FillString(f font.Face, p vg.Point, s string) {
	if f.Font.Size == 0 || s == "" {
		return
	}
	xy := c.at(p)
	x, y, _ := strings.Cut(xy, ",")
	fmt.Fprintf(&c.body, `<text x="%s" y="%s" font-size="%s"%s`, x, y, svgNumber(float64(f.Font.Size)), svgPaint("fill", c.top().color))
	switch c.anchor {
	case text.XCenter:
		c.body.WriteString(` text-anchor="middle"`)
	case text.XRight:
		c.body.WriteString(` text-anchor="end"`)
	}
	if f.Font.Weight > 0 {
		c.body.WriteString(` font-weight="bold"`)
	}
	if m := c.top().m; m[1] != 0 {
		fmt.Fprintf(&c.body, ` transform="rotate(%s %s %s)"`, svgNumber(-math.Atan2(m[1], m[0])*180/math.Pi), x, y)
	}
	c.body.WriteString(">" + svgText(s) + "</text>\n")
}

// title begins a mark that bears a title; end closes it.
func (c *svgCanvas) title(text string) { c.body.WriteString("<g><title>" + svgText(text) + "</title>") }
func (c *svgCanvas) end()              { c.body.WriteString("</g>\n") }

// svgText escapes text and leaves out what XML cannot hold.
func svgText(s string) string {
	var b strings.Builder
	for _, r := range visible(s) {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '"':
			b.WriteString("&#34;")
		case r == 0xfffe || r == 0xffff:
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// document is the picture as SVG; without a paper it is to stand in a page.
func (c *svgCanvas) document(label string, about []string) []byte {
	var b bytes.Buffer
	w, h := svgNumber(float64(c.w)), svgNumber(float64(c.h))
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img" aria-label="%s" font-family="%s">`+"\n",
		w, h, w, h, svgText(label), svgFonts)
	if len(about) > 0 {
		b.WriteString("<desc>" + svgText(strings.Join(about, " · ")) + "</desc>\n")
	}
	b.Write(c.body.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}
