package sql

import "testing"

// CountLittleAtOnce makes counts go to the file, in many pieces, and through every other way
// that is meant for large ones, up to the end of a test.
func CountLittleAtOnce(t testing.TB) {
	logged, piece, dense, table := mostLogged, logPiece, mostDense, mostTable
	mostLogged, logPiece, mostDense, mostTable = 400, 100, 600, 3
	t.Cleanup(func() { mostLogged, logPiece, mostDense, mostTable = logged, piece, dense, table })
}
