package reports_test

import (
	"bytes"
	"testing"

	"passhat/reports"
)

// Every report gives the same bytes in every form, run anew, once
// SOURCE_DATE_EPOCH fixes the time.
func TestEveryReportEveryForm(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "1793577600")
	s := small(t)
	for _, rep := range builtins(t) {
		var first map[string][]byte
		for range 2 {
			words := variantsOf(rep.Name)[0].words
			q := request(t, words...)
			res, err := reports.Run(t.Context(), s, rep, q)
			if err != nil {
				t.Fatalf("%s: %v", rep.Name, err)
			}
			res.Warnings = append(res.Warnings, "a warning to be found")
			got := map[string][]byte{}
			for _, form := range reports.Forms() {
				var b, msg bytes.Buffer
				err := reports.Write(&b, form, res, reports.WriteOptions{Messages: &msg})
				if err != nil && (form == "chart.svg" || form == "chart.png") {
					continue // no chart, or nothing to draw
				}
				if err != nil {
					t.Fatalf("%s as %s: %v", rep.Name, form, err)
				}
				got[form] = append(b.Bytes(), msg.Bytes()...)
				if !bytes.Contains(msg.Bytes(), []byte("warning: a warning to be found")) {
					t.Errorf("%s as %s does not say its warnings", rep.Name, form)
				}
				if form == "md" || form == "html" || form == "json" || form == "chart.svg" || form == "parquet" || form == "arrow" {
					if !bytes.Contains(b.Bytes(), []byte("a warning to be found")) {
						t.Errorf("%s: a file of form %s does not carry the warnings", rep.Name, form)
					}
				}
			}
			if first == nil {
				first = got
				continue
			}
			for form := range first {
				if !bytes.Equal(first[form], got[form]) {
					t.Errorf("%s as %s: two runs give different bytes", rep.Name, form)
				}
			}
		}
	}
}
