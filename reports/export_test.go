package reports

// WithSheetRows limits the rows of an Excel sheet, so that a test can see the
// split without a million rows.
func WithSheetRows(o WriteOptions, n int) WriteOptions {
	o.xlsxRows = n
	return o
}

// OnLongRoad runs f without the short road of kinds.go.
func OnLongRoad(f func()) {
	shortRoad = false
	defer func() { shortRoad = true }()
	f()
}
