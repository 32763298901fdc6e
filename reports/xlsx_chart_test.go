package reports_test

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
	"passhat/reports"
)

// parts reads a workbook's files, each of them XML.
func parts(t *testing.T, b []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if !f.Modified.IsZero() && f.Modified.Year() > 1980 {
			t.Errorf("%s bears the time %v", f.Name, f.Modified)
		}
		dec := xml.NewDecoder(bytes.NewReader(text))
		for {
			if _, err := dec.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s is no XML: %v", f.Name, err)
			}
		}
		out[f.Name] = string(text)
	}
	return out
}

func TestXLSXCharts(t *testing.T) {
	out := draw(t, "xlsx", "", pictured())
	files := parts(t, out)
	for i, want := range []struct {
		kind   string
		bars   int // series with intervals
		series int
	}{{"<scatterChart>", 1, 2}, {"<barChart><barDir val=\"col\">", 2, 2}, {"<barChart><barDir val=\"bar\">", 0, 1}, {"<scatterChart>", 0, 2}, {"<lineChart>", 0, 1}} {
		chart := files[fmt.Sprintf("xl/charts/chart%d.xml", i+1)]
		if !strings.Contains(chart, want.kind) || strings.Count(chart, "<errBars>") != want.bars || strings.Count(chart, "<ser>") != want.series {
			t.Errorf("chart %d: %d series, %d with intervals, want %d, %d and %s in %.300s", i+1, strings.Count(chart, "<ser>"), strings.Count(chart, "<errBars>"), want.series, want.bars, want.kind, chart)
		}
	}
	// Error bars are the distances to the ends, in the cells that they name.
	f := open(t, out)
	raw := excelize.Options{RawCellValue: true}
	chart := files["xl/charts/chart1.xml"]
	for element, want := range map[string][]string{"plus": {"0.1", "0.11", ""}, "minus": {"0.1", "0.12", ""}} {
		_, ref, _ := strings.Cut(chart, "<"+element+"><numRef><f>&#39;charts&#39;!")
		ref, _, _ = strings.Cut(ref, "</f>")
		from, _, _ := strings.Cut(strings.ReplaceAll(ref, "$", ""), ":")
		col, row, err := excelize.CellNameToCoordinates(from)
		if err != nil {
			t.Fatalf("%s is of the cells %q: %v", element, ref, err)
		}
		for i, w := range want {
			cell, _ := excelize.CoordinatesToCellName(col, row+i)
			if got, _ := f.GetCellValue("charts", cell, raw); got != w {
				t.Errorf("%s %d in %s is %q, want %q", element, i, cell, got, w)
			}
		}
	}
}

func TestXLSXIndex(t *testing.T) {
	f := open(t, draw(t, "xlsx", "", pictured()))
	want := []string{"index", "curve", "effort", "tasks", "nights", "weeks", "charts", "stamp"}
	if d := cmp.Diff(want, f.GetSheetList()); d != "" {
		t.Fatalf("sheets: %s", d)
	}
	rows, err := f.GetRows("index")
	if err != nil {
		t.Fatal(err)
	}
	links := map[string]bool{}
	for i, row := range rows {
		if ok, target, err := f.GetCellHyperLink("index", fmt.Sprintf("A%d", i+1)); ok && err == nil {
			links[target] = true
			if target != "'"+row[0]+"'!A1" {
				t.Errorf("%s leads to %s", row[0], target)
			}
		}
	}
	if len(links) != len(want)-1 {
		t.Errorf("links to %v, want one to each other sheet", links)
	}
	for _, s := range []string{"pass^3 fell from 0.61 to 0.48", "warning: trials counted together differ in temperature: 0, 1", "k = 1 is the mean of single tries"} {
		if !strings.Contains(fmt.Sprint(rows), s) {
			t.Errorf("the index lacks %q", s)
		}
	}
}

func TestXLSXPages(t *testing.T) {
	f := open(t, draw(t, "xlsx", "", pictured()))
	for _, sheet := range f.GetSheetList() {
		props, err := f.GetSheetProps(sheet)
		if err != nil || props.FitToPage == nil || !*props.FitToPage {
			t.Errorf("%s does not fit the page: %v", sheet, err)
		}
		lay, err := f.GetPageLayout(sheet)
		if err != nil || lay.Orientation == nil || *lay.Orientation != "landscape" || lay.FitToWidth == nil || *lay.FitToWidth != 1 || lay.FitToHeight == nil || *lay.FitToHeight != 0 {
			t.Errorf("%s: layout %+v, %v; want landscape, one page wide", sheet, lay, err)
		}
	}
	titles := map[string]string{}
	for _, d := range f.GetDefinedName() {
		if d.Name == "_xlnm.Print_Titles" {
			titles[d.Scope] = d.RefersTo
		}
	}
	if titles["effort"] != "'effort'!$1:$1" {
		t.Errorf("rows to repeat: %v", titles)
	}
	if got, _ := f.GetCellValue("effort", "C3"); got != "70.0%" {
		t.Errorf("a declared share shows as %q, want 70.0%%", got)
	}
	if got, _ := f.GetCellValue("nights", "C2"); got != "4.0000" {
		t.Errorf("a cost shows as %q", got)
	}
	formats, err := f.GetConditionalFormats("effort")
	if err != nil || len(formats["F2:F5"]) != 2 {
		t.Fatalf("conditional formats %+v, %v; want the two verdicts' on F2:F5", formats, err)
	}
	for i, want := range []string{"worse", "better"} {
		if got := formats["F2:F5"][i]; got.Criteria != "begins with" || got.Value != want {
			t.Errorf("rule %d is %s %q, want %q", i, got.Criteria, got.Value, want)
		}
	}
}

// A query's workbook is its rows and the sheet about them.
func TestXLSXQuery(t *testing.T) {
	res := &reports.Result{Name: "query", Sections: []reports.Section{{Name: "query", Columns: []reports.Column{intCol("x")}, Rows: rowsOf([]any{int64(1)})}}}
	if d := cmp.Diff([]string{"query", "stamp"}, open(t, draw(t, "xlsx", "", res)).GetSheetList()); d != "" {
		t.Errorf("sheets: %s", d)
	}
}
