package reports

// WithSheetRows limits the rows of an Excel sheet, so that a test can see the
// split without a million rows.
func WithSheetRows(o WriteOptions, n int) WriteOptions {
	o.xlsxRows = n
	return o
}

// OnNumbers runs f as in a large store, where selected_task_runs is made of numbered
// tables.
func OnNumbers(f func()) {
	was := namedRows
	namedRows = -1
	defer func() { namedRows = was }()
	f()
}

// OnLongRoad runs f without the short road of kinds.go.
func OnLongRoad(f func()) {
	shortRoad = false
	defer func() { shortRoad = true }()
	f()
}

// OnQueries runs f without the small road of small.go.
func OnQueries(f func()) {
	smallRoad = false
	defer func() { smallRoad = true }()
	f()
}

// Untrimmed runs f with every part of the reports' statements.
func Untrimmed(f func()) {
	trimming = false
	defer func() { trimming = true }()
	f()
}
