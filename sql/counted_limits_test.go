package sql

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

// CountLittleAtOnce makes counts go to the file, in many pieces, and through every other way
// that is meant for large ones, up to the end of a test.
func CountLittleAtOnce(t testing.TB) {
	logged, piece, dense, table := mostLogged, logPiece, mostDense, mostTable
	mostLogged, logPiece, mostDense, mostTable = 400, 100, 600, 3
	t.Cleanup(func() { mostLogged, logPiece, mostDense, mostTable = logged, piece, dense, table })
}

// CountLittleMoney lets the money of so many pages of tasks be held, up to the end of a test.
func CountLittleMoney(t testing.TB, pages int) {
	was := mostMoneyPages
	mostMoneyPages = pages
	t.Cleanup(func() { mostMoneyPages = was })
}

// What is kept of runs of unequal size comes back as it was, in order, also where some still
// fit in memory after the file was begun.
func TestCountLog(t *testing.T) {
	CountLittleAtOnce(t)
	type entry struct {
		run   int32
		tasks []int32
		codes []uint16
	}
	smallAfterFile := 0
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		l := &countLog{folder: t.TempDir()}
		var want []entry
		lists := [][]int32{{1, 2, 3}, {4, 5, 6}, make([]int32, 90), make([]int32, 70)}
		for i := range lists[2] {
			lists[2][i] = int32(i)
		}
		for run := range int32(60) {
			e := entry{run: run, tasks: lists[rng.IntN(len(lists))]}
			for range e.tasks {
				e.codes = append(e.codes, uint16(rng.IntN(1<<16)))
			}
			had := l.size
			if err := l.add(e.run, e.tasks, e.codes); err != nil {
				t.Fatal(err)
			}
			if l.f != nil && had+len(l.block) <= mostLogged {
				smallAfterFile++
			}
			want = append(want, e)
		}
		for range 2 {
			var got []entry
			err := l.each(func(run int32, tasks []int32, codes []uint16) error {
				got = append(got, entry{run, append([]int32(nil), tasks...), append([]uint16(nil), codes...)})
				return nil
			})
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("seed %d: %d runs came back in another order or with other tasks, %v", seed, len(got), err)
			}
		}
		l.close()
	}
	if smallAfterFile == 0 {
		t.Error("nothing would have fitted in memory after the file was begun")
	}
}
