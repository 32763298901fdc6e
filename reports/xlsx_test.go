package reports_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/xuri/excelize/v2"
	"passhat/reports"
)

func open(t *testing.T, b []byte) *excelize.File {
	t.Helper()
	f, err := excelize.OpenReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func TestXLSX(t *testing.T) {
	var msg bytes.Buffer
	f := open(t, write(t, "xlsx", reports.WriteOptions{Messages: &msg}))
	if d := cmp.Diff([]string{"index", "tasks", "Sums__1_", "charts", "stamp"}, f.GetSheetList()); d != "" {
		t.Errorf("sheets: %s", d)
	}
	raw := excelize.Options{RawCellValue: true}
	for i, name := range hostileNames {
		cell := fmt.Sprintf("A%d", i+2)
		got, err := f.GetCellValue("tasks", cell, raw)
		if err != nil {
			t.Fatal(err)
		}
		typ, _ := f.GetCellType("tasks", cell)
		if formula, _ := f.GetCellFormula("tasks", cell); formula != "" {
			t.Errorf("%s: text became the formula %q", cell, formula)
		}
		if name != "" && typ != excelize.CellTypeInlineString && typ != excelize.CellTypeSharedString {
			t.Errorf("%s (%.20q): cell type %v, want text", cell, name, typ)
		}
		if !strings.ContainsAny(name, "\x1b\x00\r") && utf8.ValidString(name) && got != name {
			t.Errorf("%s: %.40q, want %.40q", cell, got, name)
		}
	}
	types := map[string]excelize.CellType{"B3": excelize.CellTypeUnset, "C3": excelize.CellTypeUnset, "D3": excelize.CellTypeBool,
		"E3": excelize.CellTypeUnset, "F3": excelize.CellTypeUnset, "G3": excelize.CellTypeInlineString}
	for cell, want := range types {
		if got, _ := f.GetCellType("tasks", cell); got != want && !(want == excelize.CellTypeUnset && got == excelize.CellTypeNumber) {
			t.Errorf("%s: cell type %v, want %v", cell, got, want)
		}
	}
	shown := map[string]string{"B3": "1", "C3": "14.3%", "E3": "2026-11-30 04:45:14", "F3": "2026-01-02", "G3": "123456789012345678901234567890"}
	for cell, want := range shown {
		if got, _ := f.GetCellValue("tasks", cell); got != want {
			t.Errorf("%s shows %q, want %q", cell, got, want)
		}
	}
	nulls := len(hostileNames) + 2
	for _, col := range "ABCDEFGH" {
		if got, _ := f.GetCellValue("tasks", fmt.Sprintf("%c%d", col, nulls)); got != "" {
			t.Errorf("NULL in column %c is %q, want an empty cell", col, got)
		}
	}
	for cell, want := range map[string]string{"B%d": "9223372036854775807", "C%d": "NaN", "G%d": "0.1"} {
		if got, _ := f.GetCellValue("tasks", fmt.Sprintf(cell, nulls+1), raw); got != want {
			t.Errorf("%s: %q, want %q", fmt.Sprintf(cell, nulls+1), got, want)
		}
	}
	for i, want := range []string{"0.714285714285714", "0.857142857142857"} {
		if got, _ := f.GetCellValue("tasks", fmt.Sprintf("C%d", 7+i), raw); got != want {
			t.Errorf("C%d holds %q, want %s", 7+i, got, want)
		}
	}
	if got, _ := f.GetCellValue("tasks", fmt.Sprintf("C%d", nulls+5), raw); got != "0.3" {
		t.Errorf("0.1 + 0.2 is %q, want it rounded to 15 digits", got)
	}
	checkSheetDress(t, f)
}

func checkSheetDress(t *testing.T, f *excelize.File) {
	t.Helper()
	panes, err := f.GetPanes("tasks")
	if err != nil || !panes.Freeze || panes.YSplit != 1 {
		t.Errorf("header not frozen: %+v, %v", panes, err)
	}
	id, _ := f.GetCellStyle("tasks", "A1")
	if st, err := f.GetStyle(id); err != nil || st.Font == nil || !st.Font.Bold {
		t.Errorf("header not bold: %v", err)
	}
	if w, _ := f.GetColWidth("tasks", "A"); w != 60 {
		t.Errorf("width of the widest column %v, want the cap of 60", w)
	}
	filter := false
	for _, d := range f.GetDefinedName() {
		filter = filter || d.Name == "_xlnm._FilterDatabase" && d.RefersTo == fmt.Sprintf("'tasks'!$A$1:$H$%d", len(hostileNames)+7)
	}
	if !filter {
		t.Errorf("no autofilter over the table: %+v", f.GetDefinedName())
	}
	rows, err := f.GetRows("stamp")
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprint(rows)
	for _, want := range []string{"passhat 1.2.3", "parameter conf 0.95", "configuration temperature not in the log", "a note <b>", "few ␛[5m tasks"} {
		if !strings.Contains(all, want) {
			t.Errorf("stamp sheet lacks %q: %s", want, all)
		}
	}
	if props, err := f.GetDocProps(); err != nil || props.Created != "2026-11-30T03:45:14Z" {
		t.Errorf("created %+v, want the stamp's time", props)
	}
}

func TestXLSXSplit(t *testing.T) {
	var rows [][]any
	for i := range int64(1201) {
		rows = append(rows, []any{i})
	}
	res := &reports.Result{Name: "q", Sections: []reports.Section{
		{Name: strings.Repeat("long", 12), Columns: []reports.Column{{Name: "x", Kind: reports.Int}}, Rows: rowsOf(rows...)},
		{Name: "history", Columns: []reports.Column{{Name: "x"}, {Name: "X"}}, Rows: rowsOf()}}}
	var b bytes.Buffer
	if err := reports.Write(&b, "xlsx", res, reports.WithSheetRows(reports.WriteOptions{}, 601)); err != nil {
		t.Fatal(err)
	}
	f := open(t, b.Bytes())
	want := []string{"index", "longlonglonglonglonglonglonglon", "longlonglonglonglonglonglon (2)", "longlonglonglonglonglonglon (3)", "history_", "stamp"}
	if d := cmp.Diff(want, f.GetSheetList()); d != "" {
		t.Fatalf("sheets: %s", d)
	}
	next := 0
	for i, n := range []int{600, 600, 1} {
		got, err := f.GetRows(want[i+1])
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != n+1 || got[0][0] != "x" || got[1][0] != fmt.Sprint(next) {
			t.Errorf("sheet %d has %d rows beginning %v, want a header and %d rows", i, len(got), got[:2], n)
		}
		next += n
	}
	if got, _ := f.GetCellValue("history_", "B1"); got != "X_1" {
		t.Errorf("second column of one name is %q, want X_1", got)
	}
}

func TestXLSXLongCell(t *testing.T) {
	for _, tt := range []struct {
		text string
		cut  bool
	}{{strings.Repeat("a", 32_767), false}, {strings.Repeat("a", 32_768), true}, {strings.Repeat("😀", 16_383), false}, {strings.Repeat("😀", 20_000), true}} {
		var b, msg bytes.Buffer
		res := &reports.Result{Name: "q", Sections: []reports.Section{{Name: "s", Columns: []reports.Column{{Name: "x"}}, Rows: rowsOf([]any{tt.text})}}}
		if err := reports.Write(&b, "xlsx", res, reports.WriteOptions{Messages: &msg}); err != nil {
			t.Fatal(err)
		}
		got, err := open(t, b.Bytes()).GetCellValue("s", "A2")
		if err != nil {
			t.Fatal(err)
		}
		if n := len(utf16.Encode([]rune(got))); n > 32_767 || (got == tt.text) == tt.cut {
			t.Errorf("%d bytes: cell has %d units, cut %v; want cut %v", len(tt.text), n, got != tt.text, tt.cut)
		}
		if said := strings.Contains(msg.String(), "that Excel allows: 1"); said != tt.cut {
			t.Errorf("%d bytes: messages %q", len(tt.text), msg.String())
		}
	}
}
