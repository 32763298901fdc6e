package reports

import (
	"bufio"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"
)

const (
	xlsxMaxRows  = 1_048_576
	xlsxMaxCols  = 16_384
	xlsxMaxChars = 32_767
	// Excel keeps 15 significant digits; a longer integer stays exact as text.
	xlsxMaxInt  = 999_999_999_999_999
	xlsxMinYear = 1900
	xlsxMaxWide = 60
	xlsxSample  = 500
	xlsxFont    = "Calibri"
)

// writeXLSX writes a workbook: for a report a sheet "index" with what stands
// around the tables and links, a sheet a section, a sheet "charts" with native
// charts where sections have any, and a sheet "stamp". Cells are typed, numbers with 15 digits; text is never a formula;
// NULL is empty; NaN, infinities, integers of more than 15 digits and dates
// before 1900 are text. The same result gives the same bytes.
func writeXLSX(w *bufio.Writer, res *Result, opts WriteOptions) error {
	f := excelize.NewFile()
	defer f.Close()
	f.SetZipWriter(newSortedZip)
	x := &xlsxBook{f: f, opts: opts, limit: xlsxMaxRows}
	if opts.xlsxRows > 0 {
		x.limit = opts.xlsxRows
	}
	if err := x.makeStyles(); err != nil {
		return fmt.Errorf("writing the workbook's styles: %w", err)
	}
	secs := wanted(res, opts, false)
	if err := x.sections(res, secs); err != nil {
		return err
	}
	if err := x.finish(res); err != nil {
		return fmt.Errorf("finishing the workbook: %w", err)
	}
	if x.cutCells > 0 {
		opts.warn(fmt.Sprintf("cells cut to the %d characters that Excel allows: %d", xlsxMaxChars, x.cutCells))
	}
	return f.Write(w)
}

// xlsxBook is a workbook being written.
type xlsxBook struct {
	f        *excelize.File
	opts     WriteOptions
	limit    int // rows a sheet, header included
	names    []string
	styles   map[string]int
	tones    map[string]int // conditional styles
	written  []xlsxWritten
	cutCells int
}

// xlsxWritten is a section that stands in the workbook.
type xlsxWritten struct {
	sec    *Section
	sheets []string
	rows   int
	chart  *chartData // nil without one
}

// sections writes every sheet in order.
func (x *xlsxBook) sections(res *Result, secs []*Section) error {
	index := res.Stamp != nil || len(secs) > 1
	if index {
		if _, err := x.addSheet("index"); err != nil {
			return err
		}
	}
	for _, sec := range secs {
		if err := x.section(sec, res.Stamp); err != nil {
			return err
		}
	}
	charts, err := x.charts()
	if err != nil {
		return fmt.Errorf("writing the workbook's charts: %w", err)
	}
	if err := x.stamp(res); err != nil {
		return err
	}
	if !index {
		return nil
	}
	if err := x.index(res, charts); err != nil {
		return fmt.Errorf("writing the workbook's index: %w", err)
	}
	return nil
}

func (x *xlsxBook) makeStyles() error {
	x.styles = map[string]int{}
	add := func(name string, st *excelize.Style) error {
		id, err := x.f.NewStyle(st)
		x.styles[name] = id
		return err
	}
	format := func(s string) *excelize.Style { return &excelize.Style{CustomNumFmt: &s} }
	header := &excelize.Style{
		Font:      &excelize.Font{Family: xlsxFont, Size: 11, Bold: true, Color: "FFFFFF"},
		Fill:      excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{"2F4B6E"}},
		Alignment: &excelize.Alignment{Vertical: "center", WrapText: true},
		Border:    []excelize.Border{{Type: "bottom", Color: "000000", Style: 1}},
	}
	for _, s := range []struct {
		name  string
		style *excelize.Style
	}{
		{"header", header},
		{"int", format("0")},
		{"general", format("General")},
		{"decimal", format("0.0000")},
		{"percent", format("0.0%")},
		{"date", format("yyyy-mm-dd")},
		{"time", format("yyyy-mm-dd hh:mm:ss")},
		{"text", format("@")},
		{"key", &excelize.Style{Font: &excelize.Font{Family: xlsxFont, Size: 11, Bold: true}, Alignment: &excelize.Alignment{Vertical: "top"}}},
		{"title", &excelize.Style{Font: &excelize.Font{Family: xlsxFont, Size: 16, Bold: true}}},
		{"said", &excelize.Style{Alignment: &excelize.Alignment{WrapText: true, Vertical: "top"}}},
		{"quiet", &excelize.Style{Font: &excelize.Font{Family: xlsxFont, Size: 11, Color: "5A6372"}, Alignment: &excelize.Alignment{WrapText: true, Vertical: "top"}}},
		{"warning", &excelize.Style{Font: &excelize.Font{Family: xlsxFont, Size: 11, Color: "6B3D00"}, Alignment: &excelize.Alignment{WrapText: true, Vertical: "top"},
			Fill: excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{"FFF1D6"}}}},
		{"link", &excelize.Style{Font: &excelize.Font{Family: xlsxFont, Size: 11, Color: "005F96", Underline: "single"}}},
	} {
		if err := add(s.name, s.style); err != nil {
			return err
		}
	}
	x.tones = map[string]int{}
	for _, t := range []struct{ tone, ink, paper string }{
		{toneGood, "00513A", "DDF1E9"}, {toneBad, "8A2F00", "FCE3D5"}, {toneMid, "5A4100", "FBEFC9"},
	} {
		id, err := x.f.NewConditionalStyle(&excelize.Style{Font: &excelize.Font{Color: t.ink},
			Fill: excelize.Fill{Type: "pattern", Pattern: 1, Color: []string{t.paper}}})
		if err != nil {
			return err
		}
		x.tones[t.tone] = id
	}
	return nil
}

// addSheet adds a sheet under a valid name that no other sheet has, set up to
// be printed on landscape pages as wide as one page.
func (x *xlsxBook) addSheet(name string) (string, error) {
	name = sheetName(name, x.names)
	var err error
	if len(x.names) == 0 {
		err = x.f.SetSheetName("Sheet1", name)
	} else {
		_, err = x.f.NewSheet(name)
	}
	if err != nil {
		return "", fmt.Errorf("adding the sheet %q: %w", name, err)
	}
	x.names = append(x.names, name)
	if err := x.page(name); err != nil {
		return "", fmt.Errorf("setting up the pages of the sheet %q: %w", name, err)
	}
	return name, nil
}

// sheet adds a sheet that is written as a stream, its first row on every page.
func (x *xlsxBook) sheet(name string) (*excelize.StreamWriter, string, error) {
	name, err := x.addSheet(name)
	if err != nil {
		return nil, "", err
	}
	err = x.f.SetDefinedName(&excelize.DefinedName{Name: "_xlnm.Print_Titles", RefersTo: quoteSheet(name) + "!$1:$1", Scope: name})
	if err != nil {
		return nil, "", fmt.Errorf("setting the title rows of the sheet %q: %w", name, err)
	}
	sw, err := x.f.NewStreamWriter(name)
	return sw, name, err
}

// cell gives a value its Excel type and style.
func (x *xlsxBook) cell(col *Column, v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case bool:
		return excelize.Cell{Value: v}
	case int64:
		if v >= -xlsxMaxInt && v <= xlsxMaxInt {
			return excelize.Cell{Value: v, StyleID: x.styles["int"]}
		}
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return excelize.Cell{Value: excelFloat(v), StyleID: x.styles[floatStyle(col)]}
		}
	case time.Time:
		if y := v.UTC().Year(); y >= xlsxMinYear+1 && y <= 9999 {
			if col.Kind == Date {
				return excelize.Cell{Value: v.UTC(), StyleID: x.styles["date"]}
			}
			return excelize.Cell{Value: v.UTC(), StyleID: x.styles["time"]}
		}
	case string:
		if f, ok := shortDecimal(col, v); ok {
			return excelize.Cell{Value: f, StyleID: x.styles[floatStyle(col)]}
		}
	}
	s, _ := plain(col, v)
	return excelize.Cell{Value: x.text(s), StyleID: x.styles["text"]}
}

// floatStyle shows shares as percent and every other number with decimals.
func floatStyle(col *Column) string {
	if col.share() {
		return "percent"
	}
	return "decimal"
}

// text cuts to what a cell holds and replaces what XML cannot hold.
func (x *xlsxBook) text(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < 0x20:
			return 0x2400 + r
		case r == 0xfffe || r == 0xffff:
			return utf8.RuneError
		}
		return r
	}, strings.ReplaceAll(s, "\r\n", "\n"))
	units := 0
	for i, r := range s {
		n := 1
		if r > 0xffff {
			n = 2
		}
		if units += n; units > xlsxMaxChars {
			x.cutCells++
			return cutBytes(s, i-utf8.UTFMax) + "…"
		}
	}
	return s
}
