package reports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/xuri/excelize/v2"
)

// shortDecimal gives a decimal as a float64 where Excel's 15 digits hold it.
func shortDecimal(col *Column, s string) (float64, bool) {
	if col.Kind != Number || !isJSONNumber(s) || len(strings.TrimLeft(s, "-0.")) > 15 {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// excelFloat rounds to the 15 significant digits that Excel keeps; the library
// would cut there, and show a 3 that is 2.9999999999999996 as 2.99999999999999.
func excelFloat(f float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'e', 14, 64), 64)
	if err != nil {
		return f
	}
	return r
}

// sheetName makes a name that Excel takes: at most 31 characters, none of
// []:*?/\', not "History", and unlike the taken ones in any case of letters.
func sheetName(name string, taken []string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`[]:*?/\'`, r) || hidden(r) || r == utf8.RuneError || r > 0xffff {
			return '_'
		}
		return r
	}, name)
	if strings.TrimSpace(name) == "" {
		name = "sheet"
	}
	if strings.EqualFold(name, "history") {
		name += "_"
	}
	short := func(s string, n int) string {
		r := []rune(s)
		return string(r[:min(len(r), n)])
	}
	candidate := short(name, 31)
	for n := 2; slices.ContainsFunc(taken, func(t string) bool { return strings.EqualFold(t, candidate) }); n++ {
		suffix := fmt.Sprintf(" (%d)", n)
		candidate = short(name, 31-len(suffix)) + suffix
	}
	return candidate
}

// stamp writes the last sheet: title, head, notes, warnings, stamp.
func (x *xlsxBook) stamp(res *Result) error {
	sw, _, err := x.sheet("stamp")
	if err != nil {
		return err
	}
	if err := sw.SetColWidth(1, 1, 28); err != nil {
		return err
	}
	if err := sw.SetColWidth(2, 2, 100); err != nil {
		return err
	}
	if err := freezeHeader(sw); err != nil {
		return err
	}
	header := []any{excelize.Cell{Value: "what", StyleID: x.styles["header"]}, excelize.Cell{Value: "value", StyleID: x.styles["header"]}}
	if err := sw.SetRow("A1", header); err != nil {
		return err
	}
	for i, kv := range stampText(res) {
		row := []any{excelize.Cell{Value: x.text(kv[0]), StyleID: x.styles["key"]}, excelize.Cell{Value: x.text(kv[1]), StyleID: x.styles["text"]}}
		if err := sw.SetRow(fmt.Sprintf("A%d", i+2), row); err != nil {
			return err
		}
	}
	return sw.Flush()
}

// finish sets the workbook's properties; its times come from the stamp, never
// from the clock, so that the same result gives the same bytes.
func (x *xlsxBook) finish(res *Result) error {
	x.f.SetActiveSheet(0)
	made := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	if res.Stamp != nil && !res.Stamp.Made.IsZero() {
		made = res.Stamp.Made.UTC()
	}
	at := made.Format(time.RFC3339)
	return x.f.SetDocProps(&excelize.DocProperties{Creator: "passhat", LastModifiedBy: "passhat",
		Title: visible(cutBytes(res.Title, 255)), Created: at, Modified: at})
}
