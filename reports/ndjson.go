package reports

import "bufio"

// writeNDJSON writes one section as one JSON object a line, with the values of
// the form json.
func writeNDJSON(w *bufio.Writer, res *Result, opts WriteOptions) error {
	for _, sec := range wanted(res, opts, true) {
		keys := jsonKeys(uniqueNames(sec.Columns, false))
		for row, err := range sec.Rows {
			if err != nil {
				return err
			}
			if err := writeJSONRow(w, sec.Columns, keys, row); err != nil {
				return err
			}
			if err := w.WriteByte('\n'); err != nil {
				return err
			}
		}
	}
	return nil
}
