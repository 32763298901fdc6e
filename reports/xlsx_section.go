package reports

import (
	"fmt"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"
)

// xlsxSection is a section being written: its first rows wait until there are
// enough to fix the columns' widths.
type xlsxSection struct {
	x      *xlsxBook
	told   xlsxWritten
	chart  *chartData
	sample [][]any
	sheet  *xlsxSheet // nil while the sample waits
}

// section writes a section; what does not fit on one sheet goes on the next.
func (x *xlsxBook) section(sec *Section, stamp *Stamp) error {
	if len(sec.Columns) > xlsxMaxCols {
		return fmt.Errorf("section %s has %d columns, more than the %d of an Excel sheet", sec.Name, len(sec.Columns), xlsxMaxCols)
	}
	s := &xlsxSection{x: x, told: xlsxWritten{sec: sec}}
	var lacks string
	if s.chart, lacks = newChart(sec, stamp); lacks != "" {
		x.opts.warn(lacks)
	}
	for row, err := range sec.Rows {
		if err != nil {
			return err
		}
		if err := s.add(row); err != nil {
			return err
		}
	}
	if s.sheet == nil {
		if err := s.flush(); err != nil {
			return err
		}
	}
	if s.chart != nil {
		if s.chart.finish(); !s.chart.empty() {
			s.told.chart = s.chart
		}
	}
	x.written = append(x.written, s.told)
	return s.sheet.close()
}

func (s *xlsxSection) add(row []any) error {
	s.told.rows++
	if s.chart != nil {
		s.chart.add(row)
	}
	if s.sheet != nil {
		return s.put(row)
	}
	s.sample = append(s.sample, append([]any(nil), row...))
	if len(s.sample) < xlsxSample {
		return nil
	}
	return s.flush()
}

// flush starts the first sheet and writes the rows that waited for it.
func (s *xlsxSection) flush() error {
	if err := s.start(); err != nil {
		return err
	}
	for _, row := range s.sample {
		if err := s.put(row); err != nil {
			return err
		}
	}
	return nil
}

func (s *xlsxSection) start() (err error) {
	if s.sheet, err = s.x.startSheet(s.told.sec, s.sample); err != nil {
		return err
	}
	s.told.sheets = append(s.told.sheets, s.sheet.name)
	return nil
}

// put writes a row, on a further sheet where this one is full.
func (s *xlsxSection) put(row []any) error {
	if s.sheet.row == s.x.limit {
		if err := s.sheet.close(); err != nil {
			return err
		}
		if err := s.start(); err != nil {
			return err
		}
	}
	return s.sheet.put(row)
}

// xlsxSheet is a sheet being written.
type xlsxSheet struct {
	book *xlsxBook
	sec  *Section
	sw   *excelize.StreamWriter
	name string
	row  int // rows written
	// said are the verdicts seen in each toned column, by their place in tones.
	said map[int]map[int]bool
}

func (x *xlsxBook) startSheet(sec *Section, sample [][]any) (*xlsxSheet, error) {
	sw, name, err := x.sheet(sec.Name)
	if err != nil {
		return nil, err
	}
	names := uniqueNames(sec.Columns, true)
	header := make([]any, len(names))
	for i, n := range names {
		wide := utf8.RuneCountInString(n) + 3 // room for the filter's arrow
		for _, row := range sample {
			s, _ := plain(&sec.Columns[i], row[i])
			if sec.Columns[i].Kind == Float {
				s = roundFloat(asFloat(row[i]), 4)
			}
			wide = max(wide, cells.StringWidth(visible(cutBytes(s, 4*xlsxMaxWide)))+1)
		}
		if err := sw.SetColWidth(i+1, i+1, float64(min(wide, xlsxMaxWide))); err != nil {
			return nil, err
		}
		header[i] = excelize.Cell{Value: x.text(n), StyleID: x.styles["header"]}
	}
	if err := freezeHeader(sw); err != nil {
		return nil, err
	}
	return &xlsxSheet{book: x, sec: sec, sw: sw, name: name, row: 1, said: map[int]map[int]bool{}}, sw.SetRow("A1", header)
}

func freezeHeader(sw *excelize.StreamWriter) error {
	return sw.SetPanes(&excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2", ActivePane: "bottomLeft",
		Selection: []excelize.Selection{{SQRef: "A2", ActiveCell: "A2", Pane: "bottomLeft"}}})
}

func asFloat(v any) float64 {
	f, _ := v.(float64)
	return f
}

func (s *xlsxSheet) put(row []any) error {
	s.row++
	out := make([]any, len(row))
	for i, v := range row {
		out[i] = s.book.cell(&s.sec.Columns[i], v)
		if text, ok := v.(string); ok {
			s.hear(i, text)
		}
	}
	return s.sw.SetRow(fmt.Sprintf("A%d", s.row), out)
}

func (s *xlsxSheet) close() error {
	if n := len(s.sec.Columns); n > 0 {
		last, err := excelize.CoordinatesToCellName(n, s.row)
		if err != nil {
			return err
		}
		if err := s.book.f.AutoFilter(s.name, "A1:"+last, nil); err != nil {
			return err
		}
	}
	if err := s.color(); err != nil {
		return err
	}
	return s.sw.Flush()
}
