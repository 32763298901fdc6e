package reports_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mattn/go-runewidth"
	"passhat/reports"
)

func init() {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "rewrite golden files")
	}
}

func updating() bool { return flag.Lookup("update").Value.String() == "true" }

// checkGolden compares with a file under testdata/writers.
func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("..", "testdata", "writers", name)
	if updating() {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the test with -update)", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, d)
	}
}

func rowsOf(rows ...[]any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

var hostileNames = []string{
	`=HYPERLINK("http://x")`, `<script>alert(1)</script>`, `a|b`, "two\nlines", "\x1b[31mred\x1b[0m", "",
	strings.Repeat("x", 10_000), "测试任务", "مهمة اختبار", "-1+1", "+cmd", "@sum(A1)", "\ttab", "\rcr",
	`quo"te`, "comma,semi;", "back\\slash `code` *b* _i_ [l](u)", "nul\x00l", "bidi\u202eevil", "'apostrophe", " lead",
	"👩\u200d💻 zwj", "x\u2028y", "task_id_1", "_x000D_", "bad\xffbyte", "NULL", "007", "1e5", "true",
}

// hostile is a result whose text cells are what a log could hold.
func hostile() *reports.Result {
	made := time.Date(2026, 11, 30, 3, 45, 14, 123456000, time.UTC)
	var rows [][]any
	for i, name := range hostileNames {
		rows = append(rows, []any{name, int64(i), float64(i) / 7, i%2 == 0, made.Add(time.Duration(i) * time.Hour),
			time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC), "123456789012345678901234567890", `{"a":[1,"<"]}`})
	}
	rows = append(rows, []any{nil, nil, nil, nil, nil, nil, nil, nil},
		[]any{"nan", int64(math.MaxInt64), math.NaN(), true, made, made.Truncate(24 * time.Hour), "0.10", `null`},
		[]any{"inf", int64(math.MinInt64), math.Inf(-1), false, made, made.Truncate(24 * time.Hour), "-7", `[]`},
		[]any{"tiny", int64(-1), 1.2345678e-9, false, made, made.Truncate(24 * time.Hour), "1.5", `"s"`},
		[]any{"huge", int64(1), 1.5e300, false, made, made.Truncate(24 * time.Hour), "99", `1`},
		[]any{"exact", int64(1), 0.1 + 0.2, false, made, made.Truncate(24 * time.Hour), "99", `1`})
	return &reports.Result{
		Name: "hostile", Title: "Hostile \x1b[2J names", Head: []string{"model: \x1b[31mm · temperature: not in the log"},
		Sections: []reports.Section{
			{Name: "tasks", Heading: "Tasks | all", Rows: rowsOf(rows...), Notes: []string{"a note <b>"},
				Chart: &reports.Chart{Type: "bar", X: "task_id", Y: "rate", Title: "How often <b>"},
				Columns: []reports.Column{
					{Name: "task_id", Type: "VARCHAR"}, {Name: "n", Type: "BIGINT", Kind: reports.Int},
					{Name: "rate", Type: "DOUBLE", Kind: reports.Float}, {Name: "ok", Type: "BOOLEAN", Kind: reports.Bool},
					{Name: "run_at", Type: "TIMESTAMP WITH TIME ZONE", Kind: reports.Timestamp},
					{Name: "day", Type: "DATE", Kind: reports.Date},
					{Name: "big", Type: "DECIMAL(38,2)", Kind: reports.Number}, {Name: "extra", Type: "JSON", Kind: reports.JSON},
				}},
			{Name: "Sums/[1]", Heading: "Sums", Rows: rowsOf([]any{"s", 0.5, 0.25}, []any{"t", 0.125, nil}),
				Columns: []reports.Column{{Name: "a", Type: "VARCHAR"}, {Name: "a", Type: "DOUBLE", Kind: reports.Float},
					{Name: "se", Type: "DOUBLE", Kind: reports.Float, Wide: true}}},
		},
		Foot: []string{"  passhat report tasks"}, Warnings: []string{"few \x1b[5m tasks"},
		Stamp: &reports.Stamp{Version: "1.2.3", Report: "hostile", Made: made.Truncate(time.Second),
			Sources:    []reports.StampSource{{Source: "a|<b>.json", Format: "jsonl", Hash: "abc", Rows: 3}},
			Parameters: map[string]string{"k": "1,3", "conf": "0.95"}, Policy: "fail", K: "1,3", Seed: 1, Tasks: 3, Trials: 9,
			Weights: "equal", Configuration: map[string]string{"model": "=m", "temperature": "not in the log"}},
	}
}

func write(t *testing.T, form string, opts reports.WriteOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := reports.Write(&b, form, hostile(), opts); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	tests := []struct {
		file, form string
		opts       reports.WriteOptions
	}{
		{"hostile.txt", "table", reports.WriteOptions{}},
		{"hostile.80.txt", "table", reports.WriteOptions{Width: 80}},
		{"hostile.color.txt", "table", reports.WriteOptions{Width: 100, Color: true, AllColumns: true, Section: "Sums/[1]"}},
		{"hostile.csv", "csv", reports.WriteOptions{}},
		{"hostile.safe.csv", "csv", reports.WriteOptions{CSVSafe: true}},
		{"hostile.json", "json", reports.WriteOptions{}},
		{"hostile.ndjson", "ndjson", reports.WriteOptions{}},
		{"hostile.md", "md", reports.WriteOptions{}},
		{"hostile.html", "html", reports.WriteOptions{}},
		{"hostile.svg", "chart.svg", reports.WriteOptions{}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) { checkGolden(t, tt.file, write(t, tt.form, tt.opts)) })
	}
}

// Every form gives the same bytes every time.
func TestStable(t *testing.T) {
	for _, form := range reports.Forms() {
		first := write(t, form, reports.WriteOptions{})
		times := 5
		if form == "chart.png" {
			times = 1 // slow, and drawn by the code that draws chart.svg
		}
		for range times {
			if !bytes.Equal(first, write(t, form, reports.WriteOptions{})) {
				t.Errorf("%s: two writes of one result differ", form)
			}
		}
	}
}

// No form lets a control character of a log through to a terminal.
func TestTerminalSafe(t *testing.T) {
	for _, form := range []string{"table", "md"} {
		for _, width := range []int{0, 40, 80, 200} {
			out := write(t, form, reports.WriteOptions{Width: width})
			for _, r := range string(out) {
				if r != '\n' && (r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x202e) {
					t.Errorf("%s at width %d: U+%04X reaches the terminal", form, width, r)
				}
			}
		}
	}
}

func TestTableFits(t *testing.T) {
	cond := runewidth.NewCondition()
	cond.EastAsianWidth = false
	for _, width := range []int{60, 80, 100, 132} {
		out := string(write(t, "table", reports.WriteOptions{Width: width}))
		for i, line := range strings.Split(out, "\n") {
			if n := cond.StringWidth(line); n > width {
				t.Errorf("width %d: line %d has %d cells: %s", width, i+1, n, line)
			}
		}
		// Numbers are never cut, whatever the width.
		for _, number := range []string{"123456789012345678901234567890", "9223372036854775807", "-9223372036854775808", "0.3000"} {
			if !strings.Contains(out, number) {
				t.Errorf("width %d: the number %s is missing", width, number)
			}
		}
	}
}

func TestTableStreams(t *testing.T) {
	const rows = 5000
	res := &reports.Result{Name: "query", Sections: []reports.Section{{Name: "q",
		Columns: []reports.Column{{Name: "i", Kind: reports.Int}, {Name: "s"}},
		Rows: func(yield func([]any, error) bool) {
			row := make([]any, 2) // reused, as a driver may
			for i := range int64(rows) {
				row[0], row[1] = i, "row "+strconv.FormatInt(i, 10)
				if !yield(row, nil) {
					return
				}
			}
		}}}}
	var b bytes.Buffer
	if err := reports.Write(&b, "table", res, reports.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != rows+2 {
		t.Fatalf("%d lines, want a header of 2 and %d rows", len(lines), rows)
	}
	for _, i := range []int{0, 1999, 2000, 4999} {
		if want := fmt.Sprintf("row %d", i); !strings.HasSuffix(lines[i+2], want) {
			t.Errorf("row %d is %q, want it to end in %q", i, lines[i+2], want)
		}
	}
}

func TestTableRounding(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		opts reports.WriteOptions
		want string
	}{
		{0.31818181818, reports.WriteOptions{}, "0.3182"},
		{0.42, reports.WriteOptions{}, "0.4200"},
		{0.31818181818, reports.WriteOptions{Decimals: 6, Trim: true}, "0.318182"},
		{1, reports.WriteOptions{Decimals: 6, Trim: true}, "1"},
		{0.25, reports.WriteOptions{Decimals: 6, Trim: true}, "0.25"},
		{-1e-17, reports.WriteOptions{}, "-1e-17"},
		{3.2e-7, reports.WriteOptions{}, "3.2e-07"},
		{0, reports.WriteOptions{}, "0.0000"},
		{math.Copysign(0, -1), reports.WriteOptions{}, "0.0000"},
		{math.NaN(), reports.WriteOptions{}, "NaN"},
		{1e20, reports.WriteOptions{}, "1e+20"},
	} {
		var b bytes.Buffer
		res := &reports.Result{Sections: []reports.Section{{Name: "q", Columns: []reports.Column{{Name: "x", Kind: reports.Float}}, Rows: rowsOf([]any{tt.v})}}}
		if err := reports.Write(&b, "table", res, tt.opts); err != nil {
			t.Fatal(err)
		}
		lines := strings.Fields(b.String())
		if got := lines[len(lines)-1]; got != tt.want {
			t.Errorf("%v with %+v shows as %s, want %s", tt.v, tt.opts, got, tt.want)
		}
	}
}

func TestJSON(t *testing.T) {
	var got struct {
		Report   string
		Stamp    reports.Stamp
		Warnings []string
		Sections []struct {
			Name    string
			Columns []struct{ Name, Type string }
			Rows    []map[string]any
		}
	}
	dec := json.NewDecoder(bytes.NewReader(write(t, "json", reports.WriteOptions{})))
	dec.UseNumber()
	if err := dec.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Report != "hostile" || got.Stamp.Version != "1.2.3" || len(got.Warnings) != 1 || len(got.Sections) != 2 {
		t.Errorf("frame is %+v", got)
	}
	rows := got.Sections[0].Rows
	if v := rows[0]["task_id"]; v != hostileNames[0] {
		t.Errorf("task_id %v", v)
	}
	if v := rows[0]["big"]; v != json.Number("123456789012345678901234567890") {
		t.Errorf("big is %#v, want every digit", v)
	}
	if v, ok := rows[len(hostileNames)+1]["rate"]; v != nil || !ok {
		t.Errorf("NaN is %#v, want null", v)
	}
	if d := cmp.Diff(map[string]any{"a": []any{json.Number("1"), "<"}}, rows[0]["extra"]); d != "" {
		t.Errorf("extra: %s", d)
	}
	if d := cmp.Diff(map[string]any{"a": "s", "a_1": json.Number("0.5"), "se": json.Number("0.25")}, got.Sections[1].Rows[0]); d != "" {
		t.Errorf("columns of one name: %s", d)
	}
}

func TestMessages(t *testing.T) {
	var msg bytes.Buffer
	write(t, "csv", reports.WriteOptions{Messages: &msg})
	for _, want := range []string{"stamp: {\"passhat\":\"1.2.3\"", "only section tasks is shown; --section NAME picks another: Sums/[1]", "warning: few ␛[5m tasks"} {
		if !strings.Contains(msg.String(), want) {
			t.Errorf("messages lack %q:\n%s", want, msg.String())
		}
	}
}

func TestUnknown(t *testing.T) {
	var usage *reports.UsageError
	if err := reports.Write(io.Discard, "exel", hostile(), reports.WriteOptions{}); !errors.As(err, &usage) {
		t.Errorf("unknown form: %v, want a usage error", err)
	}
	if err := reports.Write(io.Discard, "csv", hostile(), reports.WriteOptions{Section: "task"}); !errors.As(err, &usage) || !strings.Contains(err.Error(), "did you mean tasks?") {
		t.Errorf("unknown section: %v, want a suggestion", err)
	}
	if _, err := reports.FormOf("x.pdf"); err == nil {
		t.Error("FormOf(x.pdf) succeeds")
	}
	if f, err := reports.FormOf("dir.d/X.XLSX"); f != "xlsx" || err != nil {
		t.Errorf("FormOf(X.XLSX) = %q, %v", f, err)
	}
}

// On a terminal a long table ends with how many rows more there are; elsewhere
// it has all.
func TestTableLimit(t *testing.T) {
	long := func() *reports.Result {
		var rows [][]any
		for i := range 5000 {
			rows = append(rows, []any{fmt.Sprint("task-", i)})
		}
		return &reports.Result{Name: "r", Sections: []reports.Section{{Name: "s", Columns: []reports.Column{{Name: "task_id", Type: "VARCHAR"}}, Rows: rowsOf(rows...)}}}
	}
	for _, tt := range []struct {
		limit, lines int
		last         string
	}{
		{0, 5002, "task-4999"}, {200, 203, "… 4800 more rows; --limit 0 shows all, -o FILE.csv writes them"}, {4999, 5002, "… 1 more row; --limit 0 shows all, -o FILE.csv writes them"},
		{5000, 5002, "task-4999"}, {2000, 2003, "… 3000 more rows; --limit 0 shows all, -o FILE.csv writes them"},
	} {
		var b bytes.Buffer
		if err := reports.Write(&b, "table", long(), reports.WriteOptions{Limit: tt.limit}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimRight(b.String(), "\n"), "\n")
		if len(lines) != tt.lines || lines[len(lines)-1] != tt.last {
			t.Errorf("limit %d: %d lines, the last %q; want %d and %q", tt.limit, len(lines), lines[len(lines)-1], tt.lines, tt.last)
		}
		if b.Reset(); reports.Write(&b, "csv", long(), reports.WriteOptions{Limit: tt.limit}) != nil || strings.Count(b.String(), "\n") != 5001 {
			t.Errorf("limit %d: csv has %d lines, want all", tt.limit, strings.Count(b.String(), "\n"))
		}
	}
}
