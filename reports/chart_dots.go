package reports

import (
	"image"
	"strings"
	"unicode"

	"github.com/hajimehoshi/bitmapfont/v3"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/language"
	"golang.org/x/text/unicode/bidi"
	"gonum.org/v1/plot/vg"
)

// dotEm is the size in dots of the carried font of dots: Chinese, Japanese,
// Korean, Arabic and others that the carried outlines lack.
const dotEm = 12

// dotFace is read when the first rune of it is asked for.
var dotFace = bitmapfont.FaceSCEA

// dotAdvance is the width of a rune's dots, of a font of size 1.
func dotAdvance(r rune) (vg.Length, bool) {
	dr, mask, from, advance, ok := dotFace.Glyph(fixed.Point26_6{}, r)
	if !ok || mask == nil {
		return 0, false
	}
	ink := unicode.IsSpace(r) // the font counts runes that it leaves empty
	for i := 0; i < dr.Dx()*dr.Dy() && !ink; i++ {
		ink = inked(mask, from.X+i%dr.Dx(), from.Y+i/dr.Dx())
	}
	if !ink {
		return 0, false
	}
	return vg.Length(advance) / 64 / dotEm, true
}

// drawDots fills the dots of a text, in runs from left to right, whose base line
// begins at a point.
func drawDots(c vg.Canvas, at vg.Point, size vg.Length, s string) {
	dot := size / dotEm
	for _, r := range s {
		dr, mask, from, advance, ok := dotFace.Glyph(fixed.Point26_6{}, r)
		if !ok {
			continue
		}
		for y := dr.Min.Y; y < dr.Max.Y; y++ {
			for x := dr.Min.X; x < dr.Max.X; x++ {
				end := x
				for end < dr.Max.X && inked(mask, from.X+end-dr.Min.X, from.Y+y-dr.Min.Y) {
					end++
				}
				if end == x {
					continue
				}
				var p vg.Path
				left, right := at.X+dot*vg.Length(x), at.X+dot*vg.Length(end)
				top, bottom := at.Y-dot*vg.Length(y), at.Y-dot*vg.Length(y+1)
				p.Move(vg.Point{X: left, Y: bottom})
				p.Line(vg.Point{X: right, Y: bottom})
				p.Line(vg.Point{X: right, Y: top})
				p.Line(vg.Point{X: left, Y: top})
				p.Close()
				c.Fill(p)
				x = end
			}
		}
		at.X += dot * vg.Length(advance) / 64
	}
}

func inked(mask image.Image, x, y int) bool {
	_, _, _, a := mask.At(x, y).RGBA()
	return a > 0
}

// shaped brings text that runs from right to left into the order in which it is
// drawn, its letters joined.
func shaped(s string) string {
	rtl := strings.ContainsFunc(s, func(r rune) bool {
		p, _ := bidi.LookupRune(r)
		return p.Class() == bidi.R || p.Class() == bidi.AL
	})
	if !rtl {
		return s
	}
	return bitmapfont.PresentationForms(s, bitmapfont.DirectionLeftToRight, language.Und)
}
