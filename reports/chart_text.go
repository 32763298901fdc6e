package reports

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"golang.org/x/image/font/sfnt"
)

// chartFonts are the fonts that the program carries: Latin, Greek, Cyrillic,
// Hebrew.
var chartFonts = sync.OnceValue(func() *font.Cache { return font.NewCache(liberation.Collection()) })

// chartFont is the font of labels at a size in points.
func chartFont(size float64) font.Font {
	return font.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)}
}

// chartText is gonum's plain text with the widths of scripts that the carried
// fonts lack: SVG leaves those to the reader's fonts.
type chartText struct {
	text.Plain
	faces *faceCache
	svg   *svgCanvas // that it draws on, if it does
	dots  bool       // glyphs that the carried font lacks are set in dots
}

// faceCache holds what looking for a glyph needs; one chart, one goroutine.
type faceCache struct{ buf sfnt.Buffer }

func newChartText() chartText {
	return chartText{Plain: text.Plain{Fonts: chartFonts()}, faces: &faceCache{}}
}

// has says whether the carried font has a glyph.
func (t chartText) has(face font.Face, r rune) bool {
	i, err := face.Face.GlyphIndex(&t.faces.buf, r)
	return err == nil && i != 0
}

// width measures text; a rune that the font lacks has the width of its dots or
// counts as half a line's height, or a whole one if it is wide.
func (t chartText) width(s string, f font.Font) vg.Length {
	face := t.Fonts.Lookup(f, f.Size)
	known := strings.Map(func(r rune) rune {
		if t.has(face, r) {
			return r
		}
		return -1
	}, s)
	w := face.Width(known)
	for _, r := range s {
		if t.has(face, r) {
			continue
		}
		if advance, ok := dotAdvance(r); t.dots && ok {
			w += f.Size * advance
		} else {
			w += f.Size * vg.Length(cells.RuneWidth(r)) / 2
		}
	}
	return w
}

// Box is the bounding box of a line of text.
func (t chartText) Box(s string, f font.Font) (width, height, depth vg.Length) {
	_, height, depth = t.Plain.Box("", f)
	return t.width(s, f), height, depth
}

// Draw writes a line of text where the style aligns it.
func (t chartText) Draw(c vg.Canvas, s string, sty text.Style, pt vg.Point) {
	if s == "" {
		return
	}
	face := t.Fonts.Lookup(sty.Font, sty.Font.Size)
	c.SetColor(sty.Color)
	if sty.Rotation != 0 {
		c.Push()
		defer c.Pop()
		c.Rotate(sty.Rotation)
	}
	sin, cos := math.Sincos(sty.Rotation)
	x, y := float64(pt.X), float64(pt.Y)
	pt = vg.Point{X: vg.Length(y*sin + x*cos), Y: vg.Length(y*cos - x*sin)}
	pt.Y += sty.Height(s)*vg.Length(sty.YAlign) - face.Extents().Ascent + sty.Font.Size
	if t.svg != nil { // whose reader has other fonts, of other widths
		t.svg.anchor = sty.XAlign
	} else {
		pt.X += vg.Length(sty.XAlign) * t.width(s, sty.Font)
	}
	if !t.dots {
		c.FillString(face, pt, s)
		return
	}
	for _, part := range t.parts(face, s) {
		if part.dots {
			drawDots(c, pt, sty.Font.Size, part.text)
		} else {
			c.FillString(face, pt, part.text)
		}
		pt.X += t.width(part.text, sty.Font)
	}
}

// textPart is a stretch of text in one font.
type textPart struct {
	text string
	dots bool
}

func (t chartText) parts(face font.Face, s string) []textPart {
	var out []textPart
	for _, r := range s {
		dots := !t.has(face, r)
		if n := len(out); n > 0 && out[n-1].dots == dots {
			out[n-1].text += string(r)
		} else {
			out = append(out, textPart{string(r), dots})
		}
	}
	return out
}

// spelled writes what the carried fonts lack as code points: a picture of dots
// can't ask the reader's fonts for it, and an empty box tells no names apart.
func (t chartText) spelled(s string) string {
	face := t.Fonts.Lookup(chartFont(9), 9)
	var b strings.Builder
	for _, r := range s {
		if _, ok := dotAdvance(r); ok || t.has(face, r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
