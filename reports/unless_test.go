package reports_test

import (
	"strings"
	"testing"

	"passhat/reports"
	"passhat/sql"
)

// A report says the same with the parts that its options do not need and without them.
func TestUnless(t *testing.T) {
	s := openHistory(t, tidy(), sql.Config{})
	for _, c := range []struct {
		words string
		less  bool
	}{
		{"", true},
		{"policy=exclude", true},
		{"policy=bounds", true},
		{"runs=all by=model", true},
		{"runs=all by=model policy=bounds", true},
		{"interval=bootstrap resamples=40", true},
		{"runs=all by=none interval=bootstrap resamples=40 policy=bounds", true},
		{"runs=all by=model pool=trial", true},
	} {
		t.Run(c.words, func(t *testing.T) {
			req := request(t, append(strings.Fields(c.words), "k=1,2")...)
			req.ShowSQL = true
			less, err := reports.Run(t.Context(), s, report(t, "passk"), req)
			if err != nil {
				t.Fatal(err)
			}
			var whole *reports.Result
			reports.Untrimmed(func() { whole, err = reports.Run(t.Context(), s, report(t, "passk"), req) })
			if err != nil {
				t.Fatal(err)
			}
			if a, b := told(t, whole), told(t, less); a != b {
				t.Errorf("with all parts\n%s\nand with some\n%s", a, b)
			}
			if (strings.Join(less.SQL, "\n") != strings.Join(whole.SQL, "\n")) != c.less {
				t.Errorf("parts were left out: %v", !c.less)
			}
		})
	}
}
