package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xuri/excelize/v2"
)

// page sets a sheet up for printing: landscape A4, as wide as one page and as
// long as it needs. It must come before the sheet's stream begins.
func (x *xlsxBook) page(name string) error {
	landscape, a4, one, any, yes := "landscape", 9, 1, 0, true
	if err := x.f.SetSheetProps(name, &excelize.SheetPropsOptions{FitToPage: &yes}); err != nil {
		return err
	}
	if err := x.f.SetPageLayout(name, &excelize.PageLayoutOptions{Orientation: &landscape, Size: &a4, FitToWidth: &one, FitToHeight: &any}); err != nil {
		return err
	}
	margin, bottom, foot := 0.4, 0.7, 0.3
	if err := x.f.SetPageMargins(name, &excelize.PageLayoutMarginsOptions{Left: &margin, Right: &margin, Top: &margin, Bottom: &bottom, Footer: &foot, Header: &foot}); err != nil {
		return err
	}
	return x.f.SetHeaderFooter(name, &excelize.HeaderFooterOptions{OddFooter: "&L&A&R&P / &N"})
}

func quoteSheet(name string) string { return "'" + strings.ReplaceAll(name, "'", "''") + "'" }

// hear keeps which verdicts a toned column holds, so that only those get a rule.
func (s *xlsxSheet) hear(i int, text string) {
	if !toned[strings.ToLower(s.sec.Columns[i].Name)] {
		return
	}
	text = strings.ToLower(text)
	for n, t := range tones {
		if strings.HasPrefix(text, t.text) {
			if s.said[i] == nil {
				s.said[i] = map[int]bool{}
			}
			s.said[i][n] = true
			return
		}
	}
}

// color gives the columns of verdicts their conditional colours.
func (s *xlsxSheet) color() error {
	for i := range s.sec.Columns {
		var rules []excelize.ConditionalFormatOptions
		for n, t := range tones {
			if !s.said[i][n] || t.tone == "" {
				continue
			}
			id := s.book.tones[t.tone]
			rules = append(rules, excelize.ConditionalFormatOptions{Type: "text", Criteria: "begins with", Value: t.text, Format: &id, StopIfTrue: true})
		}
		if len(rules) == 0 {
			continue
		}
		col, err := excelize.ColumnNumberToName(i + 1)
		if err != nil {
			return err
		}
		if err := s.book.f.SetConditionalFormat(s.name, fmt.Sprintf("%s2:%s%d", col, col, s.row), rules); err != nil {
			return fmt.Errorf("colouring the column %s: %w", visible(s.sec.Columns[i].Name), err)
		}
	}
	return nil
}

// index fills the first sheet: what the report says, its warnings, and a link
// to every sheet.
func (x *xlsxBook) index(res *Result, charts string) error {
	ix := &xlsxIndex{x: x, sheet: x.names[0]}
	ix.put("title", 24, visible(res.Title))
	lead, chips := htmlLead(res)
	for _, s := range lead {
		ix.put("said", 0, s)
	}
	for _, c := range chips {
		ix.put("quiet", 0, strings.Join(c, " · "))
	}
	for _, s := range res.Warnings {
		ix.put("warning", 0, "warning: "+visible(s))
	}
	ix.row++
	ix.line("header", "sheet", "header", "what it holds", "header", "rows")
	for _, w := range x.written {
		for i, name := range w.sheets {
			what := visible(w.sec.Heading)
			if i > 0 {
				what += " (continued)"
			}
			ix.link(name, what, w.rows)
		}
	}
	if charts != "" {
		ix.link(charts, "charts of the sections", -1)
	}
	ix.link(x.names[len(x.names)-1], "what these figures were computed from", -1)
	for _, w := range x.written {
		if len(w.sec.Notes) == 0 {
			continue
		}
		ix.row++
		ix.put("key", 0, visible(w.sec.Heading))
		for _, s := range w.sec.Notes {
			ix.put("said", 0, visible(s))
		}
	}
	if ix.err != nil {
		return ix.err
	}
	for i, width := range []float64{24, 92, 12} {
		col := string(rune('A' + i))
		if err := x.f.SetColWidth(ix.sheet, col, col, width); err != nil {
			return err
		}
	}
	off := false
	return x.f.SetSheetView(ix.sheet, 0, &excelize.ViewOptions{ShowGridLines: &off})
}

// xlsxIndex writes the index downwards; the first error stays.
type xlsxIndex struct {
	x     *xlsxBook
	sheet string
	row   int
	err   error
}

// put writes a sentence across the sheet, as high as its lines need.
func (ix *xlsxIndex) put(style string, height float64, text string) {
	if text == "" || ix.err != nil {
		return
	}
	ix.row++
	from, to := fmt.Sprintf("A%d", ix.row), fmt.Sprintf("C%d", ix.row)
	if height == 0 {
		height = 15 * float64(max(1, (cells.StringWidth(text)+117)/118))
	}
	ix.keep(ix.x.f.MergeCell(ix.sheet, from, to))
	ix.keep(ix.x.f.SetCellStr(ix.sheet, from, ix.x.text(text)))
	ix.keep(ix.x.f.SetCellStyle(ix.sheet, from, to, ix.x.styles[style]))
	ix.keep(ix.x.f.SetRowHeight(ix.sheet, ix.row, min(height, 400)))
}

// line writes cells, each after its style.
func (ix *xlsxIndex) line(pairs ...string) {
	ix.row++
	for i := 0; i+1 < len(pairs); i += 2 {
		cell, err := excelize.CoordinatesToCellName(i/2+1, ix.row)
		ix.keep(err)
		ix.keep(ix.x.f.SetCellStr(ix.sheet, cell, ix.x.text(pairs[i+1])))
		ix.keep(ix.x.f.SetCellStyle(ix.sheet, cell, cell, ix.x.styles[pairs[i]]))
	}
}

func (ix *xlsxIndex) link(name, what string, rows int) {
	ix.line("link", name, "text", what)
	cell := fmt.Sprintf("A%d", ix.row)
	ix.keep(ix.x.f.SetCellHyperLink(ix.sheet, cell, quoteSheet(name)+"!A1", "Location"))
	if rows >= 0 {
		ix.keep(ix.x.f.SetCellInt(ix.sheet, fmt.Sprintf("C%d", ix.row), int64(rows)))
	}
}

func (ix *xlsxIndex) keep(err error) {
	if ix.err == nil {
		ix.err = err
	}
}

// stampText is the text of the sheet "stamp" in pairs.
func stampText(res *Result) [][2]string {
	var lines [][2]string
	add := func(key string, texts ...string) {
		for _, s := range texts {
			if s != "" {
				lines = append(lines, [2]string{key, s})
			}
		}
	}
	add("title", res.Title)
	add("head", res.Head...)
	for i := range res.Sections {
		add("note on "+res.Sections[i].Name, res.Sections[i].Notes...)
	}
	add("warning", res.Warnings...)
	if res.Stamp != nil {
		lines = slices.Concat(lines, stampLines(res.Stamp))
	}
	return lines
}
