package reports_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"strings"
	"testing"
	"time"

	"passhat/reports"
)

var (
	textCol  = func(name string) reports.Column { return reports.Column{Name: name, Type: "VARCHAR"} }
	floatCol = func(name string) reports.Column {
		return reports.Column{Name: name, Type: "DOUBLE", Kind: reports.Float}
	}
	intCol = func(name string) reports.Column {
		return reports.Column{Name: name, Type: "BIGINT", Kind: reports.Int}
	}
)

// pictured is a small report with a chart of every kind.
func pictured() *reports.Result {
	group := textCol("model")
	group.Group = true
	day := func(n int) time.Time { return time.Date(2026, 11, n, 0, 0, 0, 0, time.UTC) }
	mean := floatCol("mean")
	mean.Percent = true
	return &reports.Result{
		Name: "pictured", Title: "Every kind of chart", Head: []string{"pass^3 fell from 0.61 to 0.48", "suite shop · model alpha-1"},
		Warnings: []string{"trials counted together differ in temperature: 0, 1"},
		Sections: []reports.Section{
			{Name: "curve", Heading: "By k", Notes: []string{"k = 1 is the mean of single tries"},
				Chart:   &reports.Chart{Type: "line", X: "k", Y: "pass_hat_k", MoreY: []string{"pass_at_k"}, Lower: "lower", Upper: "upper", Title: "pass@k and pass^k"},
				Columns: []reports.Column{intCol("k"), floatCol("pass_at_k"), floatCol("pass_hat_k"), floatCol("lower"), floatCol("upper")},
				Rows:    rowsOf([]any{int64(1), 0.7, 0.7, 0.6, 0.8}, []any{int64(2), 0.81, 0.55, 0.43, 0.66}, []any{int64(3), 0.88, 0.48, nil, nil})},
			{Name: "effort", Heading: "By effort",
				Chart:   &reports.Chart{Type: "bar", X: "effort", Y: "mean", Lower: "lower", Upper: "upper"},
				Columns: []reports.Column{group, textCol("effort"), mean, floatCol("lower"), floatCol("upper"), textCol("verdict")},
				Rows: rowsOf([]any{"alpha-1", "low", 0.5, 0.4, 0.6, nil}, []any{"alpha-1", "high", 0.7, 0.55, 0.82, "better"},
					[]any{"测试模型", "low", 0.0, 0.0, 0.12, nil}, []any{"测试模型", "high", nil, nil, nil, "worse"})},
			{Name: "tasks", Heading: "Tasks, worst first", Chart: &reports.Chart{Type: "bar", X: "task_id", Y: "d_cost"},
				Columns: []reports.Column{textCol("task_id"), floatCol("d_cost")},
				Rows:    rowsOf([]any{"a task of a name that is longer than any label may be", -1.5}, []any{"مهمة اختبار", 2.25}, []any{"<b>&\"'", 0.5}, []any{nil, 1.0}, []any{"refund", 0.75}, []any{"cancel", 0.1})},
			{Name: "nights", Heading: "Night by night", Chart: &reports.Chart{Type: "points", X: "night", Y: "cost", Series: "suite", Range: &[2]float64{0, 10}},
				Columns: []reports.Column{{Name: "night", Type: "DATE", Kind: reports.Date}, textCol("suite"), floatCol("cost")},
				Rows:    rowsOf([]any{day(2), "shop", 4.0}, []any{day(3), "shop", 5.5}, []any{day(9), "bank", 12.0}, []any{day(20), "bank", 1.0})},
			{Name: "weeks", Heading: "Week by week", Chart: &reports.Chart{Type: "line", X: "week", Y: "rate"},
				Columns: []reports.Column{textCol("week"), floatCol("rate")},
				Rows:    rowsOf([]any{"2026-W45", 0.5}, []any{"2026-W46", 0.75}, []any{"2026-W48", 0.625})},
		},
		Foot: []string{"  passhat report tasks SOURCE     which tasks fail"},
		Stamp: &reports.Stamp{Version: "1.2.3", Report: "pictured", Made: time.Date(2026, 11, 30, 3, 45, 14, 0, time.UTC),
			Parameters: map[string]string{"conf": "0.9"}, Policy: "fail", K: "1,2,3", Seed: 1, Tasks: 4, Trials: 12, Weights: "equal",
			Configuration: map[string]string{"suite": "shop", "model": "alpha-1", "temperature": "not in the log"}},
	}
}

func draw(t *testing.T, form, section string, res *reports.Result) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := reports.Write(&b, form, res, reports.WriteOptions{Section: section}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// texts reads SVG as XML and gives what its elements of a name say.
func texts(t *testing.T, svg []byte, element string) []string {
	t.Helper()
	dec := xml.NewDecoder(bytes.NewReader(svg))
	var out []string
	in := false
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			if in = tok.Name.Local == element; in {
				out = append(out, "")
			}
			if tok.Name.Local == "script" || tok.Name.Local == "b" {
				t.Errorf("a name became the element %s", tok.Name.Local)
			}
		case xml.EndElement:
			in = false
		case xml.CharData:
			if in {
				out[len(out)-1] += string(tok)
			}
		}
	}
}

func TestChartGolden(t *testing.T) {
	want := map[string]struct{ labels, titles []string }{
		"curve": {[]string{"pass@k and pass^k", "pass^k", "pass@k", "90 % interval of pass^k", "100 %", "k", "1", "2", "3"},
			[]string{"k 1 · pass^k: 70.00 % (60.00 % to 80.00 %)", "k 3 · pass^k: 48.00 %"}},
		"effort": {[]string{"By effort", "alpha-1", "测试模型", "90 % interval", "effort", "mean", "low", "high"},
			[]string{"high · alpha-1: 70.00 % (55.00 % to 82.00 %)", "low · 测试模型: 0.00 % (0.00 % to 12.00 %)"}},
		"tasks": {[]string{"a task of a name that is longer t…", "مهمة اختبار", "<b>&\"'", "—", "-1", "0", "2", "d cost, $", "task"},
			[]string{"a task of a name that is longer than any label may be: -1.5000"}},
		"nights": {[]string{"bank", "shop", "0", "10", "night", "cost, $"}, []string{"2026-11-09 · bank: 12.0000"}},
		"weeks":  {[]string{"2026-W45", "2026-W48", "week", "rate", "40 %"}, []string{"2026-W46: 75.00 %"}},
	}
	for section, w := range want {
		t.Run(section, func(t *testing.T) {
			svg := draw(t, "chart.svg", section, pictured())
			checkGolden(t, "chart."+section+".svg", svg)
			for element, list := range map[string][]string{"text": w.labels, "title": w.titles} {
				have := "\n" + strings.Join(texts(t, svg, element), "\n") + "\n"
				for _, s := range list {
					if !strings.Contains(have, "\n"+s+"\n") {
						t.Errorf("no %s says %q:%s", element, s, have)
					}
				}
			}
			img, err := png.Decode(bytes.NewReader(draw(t, "chart.png", section, pictured())))
			if err != nil {
				t.Fatal(err)
			}
			if w := img.Bounds().Dx(); w < 1500 {
				t.Errorf("PNG is %d dots wide, want enough to print", w)
			}
		})
	}
}

// The picture of dots spells what it has no font for, and says so; Chinese and
// Arabic it can write.
func TestChartPNGSpells(t *testing.T) {
	of := func(name string) (picture []byte, said string) {
		var b, msg bytes.Buffer
		res := &reports.Result{Name: "r", Sections: []reports.Section{{Name: "tasks", Heading: "Tasks", Chart: &reports.Chart{Type: "bar", X: "task_id", Y: "cost"},
			Columns: []reports.Column{textCol("task_id"), floatCol("cost")}, Rows: rowsOf([]any{name, 0.5})}}}
		if err := reports.Write(&b, "chart.png", res, reports.WriteOptions{Messages: &msg}); err != nil {
			t.Fatal(err)
		}
		return b.Bytes(), msg.String()
	}
	seen := map[string]bool{}
	for name, spelled := range map[string]bool{"测试任务": false, "测试任劳": false, "مهمة اختبار": false, "작업": false, "งาน": true, "👩": true, "refund": false} {
		picture, said := of(name)
		if strings.Contains(said, "code point") != spelled {
			t.Errorf("%s: messages %q, spelled is to be %v", name, said, spelled)
		}
		if seen[string(picture)] {
			t.Errorf("%s gives the same picture as another name", name)
		}
		seen[string(picture)] = true
	}
	b := bytes.NewBuffer(draw(t, "chart.png", "tasks", pictured()))
	if bytes.Equal(b.Bytes(), draw(t, "chart.png", "weeks", pictured())) {
		t.Error("two charts give the same picture")
	}
}

func TestChartFirst(t *testing.T) {
	res := pictured()
	res.Sections[0].Chart = nil
	if got := texts(t, draw(t, "chart.svg", "", res), "text"); got[0] != "By effort" {
		t.Errorf("the chart is %q, want that of the first section that has one", got[0])
	}
}

func TestChartRefused(t *testing.T) {
	bare := pictured()
	for i := range bare.Sections {
		bare.Sections[i].Chart = nil
	}
	lost := pictured()
	lost.Sections[0].Chart = &reports.Chart{Type: "bar", X: "k", Y: "gone"}
	void := pictured()
	void.Sections[0].Rows = rowsOf()
	one := pictured()
	one.Sections[1].Chart = nil
	for _, tt := range []struct {
		res     *reports.Result
		section string
		want    string
	}{
		{bare, "", "report pictured has no chart"},
		{one, "effort", "section effort has no chart; --section takes one that has: curve, tasks, nights, weeks"},
		{lost, "", "section curve has no column gone, which its chart is of"},
		{void, "", "no row has a value of pass_hat_k"},
		{&reports.Result{Name: "query", Sections: bare.Sections[:1]}, "", "this result has no chart"},
	} {
		for _, form := range []string{"chart.svg", "chart.png"} {
			err := reports.Write(io.Discard, form, tt.res, reports.WriteOptions{Section: tt.section})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: error %v, want %q", form, err, tt.want)
			}
		}
	}
}

// A chart shows what has room, and says what has not.
func TestChartLimits(t *testing.T) {
	var many, lines [][]any
	for i := range 500 {
		many = append(many, []any{fmt.Sprintf("task %d", i), 0.5, "a"})
		lines = append(lines, []any{fmt.Sprint(i % 20), 0.5, fmt.Sprint("model ", i/20)})
	}
	same := make([][]any, 300)
	for i := range same {
		same[i] = []any{"one name", 0.25, "a"}
	}
	for _, tt := range []struct {
		kind, series string
		rows         [][]any
		want         string
	}{
		{"bar", "", many, "the chart shows 60 of 500 tasks, in the order of the table; the table has all"},
		{"bar", "", same, "the chart shows 60 of 300 tasks, in the order of the table; the table has all"},
		{"line", "model", lines, "the chart shows 8 of 25 series: those with the most rows; the table has all"},
	} {
		res := &reports.Result{Name: "r", Sections: []reports.Section{{Name: "s", Columns: []reports.Column{textCol("task_id"), floatCol("rate"), textCol("model")},
			Rows: rowsOf(tt.rows...), Chart: &reports.Chart{Type: tt.kind, X: "task_id", Y: "rate", Series: tt.series}}}}
		var b, msg bytes.Buffer
		if err := reports.Write(&b, "chart.svg", res, reports.WriteOptions{Messages: &msg}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(msg.String(), tt.want) {
			t.Errorf("messages %q, want %q", msg.String(), tt.want)
		}
		if n := len(texts(t, b.Bytes(), "title")); n > 8*20 {
			t.Errorf("%d marks are drawn", n)
		}
	}
}

func TestChartDirective(t *testing.T) {
	for _, tt := range []struct{ chart, want string }{
		{"points x=a y=b lower=c", "lower and upper go together"},
		{"bar x=a y=b range=1..0", "the ends of the axis of y are wanted"},
		{"bar x=a y=b range=0..NaN", "the ends of the axis of y are wanted"},
		{"bar x=a y=b color=red", "unknown key \"color\""},
		{"points x=a y=b y=c lower=l upper=u series=s range=-1..1 title=A b", ""},
	} {
		_, err := reports.Parse("r.sql", "-- title: T\n-- section: s\n-- percent: b\n-- chart: "+tt.chart+"\nSELECT 1 AS a, 2 AS b ORDER BY a\n")
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: error %v, want %q", tt.chart, err, tt.want)
		}
	}
}
