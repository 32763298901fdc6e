package reports_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"passhat/reports"
	"passhat/sql"
)

// crowded has 23 series, the later ones of more trials.
func crowded() *reports.Result {
	model := textCol("model")
	model.Group = true
	var rows [][]any
	for i := range 23 {
		for k := range int64(3) {
			rows = append(rows, []any{fmt.Sprintf("model-%02d", i), k + 1, int64(10 * (i%20 + 1)), float64(i) / 23})
		}
	}
	return &reports.Result{Name: "r", Warnings: []string{"trials counted together differ in temperature: 0, 1"}, Sections: []reports.Section{{Name: "curve", Heading: "By k", Buffered: true,
		Chart:   &reports.Chart{Type: "line", X: "k", Y: "pass_hat_k"},
		Columns: []reports.Column{model, intCol("k"), intCol("trials"), floatCol("pass_hat_k")}, Rows: rowsOf(rows...)}}}
}

// A picture without room for all series shows those of the most trials, and says
// so in itself.
func TestChartChoosesSeries(t *testing.T) {
	const note = "8 of 23 series: those with the most trials; the table has all"
	svg := draw(t, "chart.svg", "", crowded())
	said := "\n" + strings.Join(texts(t, svg, "text"), "\n") + "\n"
	for i := range 23 {
		name := fmt.Sprintf("model-%02d", i)
		if shown := strings.Contains(said, "\n"+name+"\n"); shown != (i >= 12 && i < 20) {
			t.Errorf("%s, of %d trials a row, shown: %v", name, 10*(i%20+1), shown)
		}
	}
	for _, want := range []string{note, "warning: trials counted together differ in temperature: 0, 1"} {
		if !strings.Contains(said, "\n"+want+"\n") {
			t.Errorf("the picture does not say %q:%s", want, said)
		}
	}
	if page := string(draw(t, "html", "", crowded())); !strings.Contains(page, note) {
		t.Error("the page does not say what its chart leaves out")
	}
	f, err := excelize.OpenReader(bytes.NewReader(draw(t, "xlsx", "", crowded())))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if title, err := f.GetCellValue("charts", "A1"); err != nil || !strings.Contains(title, note) {
		t.Errorf("the workbook does not say what its chart leaves out: %q, %v", title, err)
	}
}

// Names of groups stay whole and apart, whatever a log has in them.
func TestChartNamesHoldAnything(t *testing.T) {
	model, agent := textCol("model"), textCol("agent")
	model.Group, agent.Group = true, true
	res := &reports.Result{Name: "x", Sections: []reports.Section{{
		Name: "s", Chart: &reports.Chart{Type: "bar", X: "effort", Y: "mean"}, Columns: []reports.Column{model, agent, textCol("effort"), floatCol("mean")},
		Rows: rowsOf([]any{"a\x1fb", "c", "low", 0.25}, []any{"a", "b\x1fc", "low", 0.5}, []any{"d", "e", "low", 0.75}),
	}}}
	var series int
	for _, text := range texts(t, draw(t, "chart.svg", "", res), "text") {
		if strings.Contains(text, " · ") {
			series++
		}
	}
	if series != 3 {
		t.Errorf("%d series of 3 are named", series)
	}
}

// Of too many bars the first of the table stand, and the picture says by what
// the table is sorted.
func TestChartChoosesBars(t *testing.T) {
	var rows [][]any
	for i := range 200 {
		rows = append(rows, []any{fmt.Sprintf("task-%03d", i), float64(i) / 200})
	}
	of := func(order string) string {
		res := &reports.Result{Name: "r", Sections: []reports.Section{{Name: "tasks", Heading: "Tasks", Chart: &reports.Chart{Type: "bar", X: "task_id", Y: "rate", Order: order},
			Columns: []reports.Column{textCol("task_id"), floatCol("rate")}, Rows: rowsOf(rows...)}}}
		return "\n" + strings.Join(texts(t, draw(t, "chart.svg", "", res), "text"), "\n") + "\n"
	}
	for order, want := range map[string]string{"worst": "60 of 200 tasks, worst first", "": "60 of 200 tasks, in the order of the table"} {
		said := of(order)
		if !strings.Contains(said, "\n"+want+"; the table has all\n") || !strings.Contains(said, "\ntask-059\n") || strings.Contains(said, "\ntask-060\n") {
			t.Errorf("order %q: the picture says%s", order, said)
		}
	}
}

// The classes of the histogram stand in ascending order, whatever group has which.
func TestFlakyHistogramOrder(t *testing.T) {
	var in = append(trials("r", "a", 10, 5), trials("r", "b", 10, 10)...)
	for i := range in {
		in[i].Effort = "low"
	}
	for _, tr := range trials("q", "c", 100, 99) { // flakiness 0.04: a class that the first group lacks
		tr.Effort = "high"
		in = append(in, tr)
	}
	res := run(t, openHistory(t, in, sql.Config{}), "flaky", "by=effort")
	var got []string
	for _, row := range table(t, res, "histogram") {
		got = append(got, fmt.Sprint(row["effort"], " ", row["flakiness"], " ", row["tasks"]))
	}
	want := "low none seen 1, low over 0 0, low 0.2 and over 0, low 0.4 and over 0, low 0.6 and over 0, low 0.8 and over 1, " +
		"high none seen 0, high over 0 1, high 0.2 and over 0, high 0.4 and over 0, high 0.6 and over 0, high 0.8 and over 0"
	if strings.Join(got, ", ") != want {
		t.Errorf("histogram %q, want %s", got, want)
	}
}

// A bar that is alone over its name stands in the middle of it.
func TestChartCentresBars(t *testing.T) {
	group := textCol("effort")
	group.Group = true
	res := &reports.Result{Name: "r", Sections: []reports.Section{{Name: "s", Heading: "S", Chart: &reports.Chart{Type: "bar", X: "task_id", Y: "cost"},
		Columns: []reports.Column{group, textCol("task_id"), floatCol("cost")}, Rows: rowsOf([]any{"low", "a", 1.0}, []any{"high", "b", 1.0})}}}
	svg := string(draw(t, "chart.svg", "", res))
	var left, right []float64
	for _, line := range strings.Split(svg, "\n") {
		if !strings.Contains(line, "<title>") {
			continue
		}
		var x0, y0, x1, y1, x2, y2 float64
		if _, err := fmt.Sscanf(line[strings.Index(line, `d="M`)+4:], "%f,%fL%f,%fL%f,%f", &x0, &y0, &x1, &y1, &x2, &y2); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		left, right = append(left, x0), append(right, x2)
	}
	if len(left) != 2 {
		t.Fatalf("%d bars in %s", len(left), svg)
	}
	wide, apart := right[0]-left[0], (left[1]+right[1]-left[0]-right[0])/2
	if wide < 0.7*apart || wide > 0.8*apart {
		t.Errorf("bars from %v to %v: each is to fill most of the room of its name", left, right)
	}
}
