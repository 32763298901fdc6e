package sql

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TestPageMemory: what is given out is all zero, nobody else has it, and what is grown keeps
// what it held.
func TestPageMemory(t *testing.T) {
	p := &pageMemory{fresh: memory.NewGoAllocator()}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(worker)))
			var held [][]byte
			var marks []byte
			for step := range 3000 {
				if len(held) > 8 || len(held) > 0 && rng.IntN(3) == 0 {
					i := rng.IntN(len(held))
					if bytes.Count(held[i], []byte{marks[i]}) != len(held[i]) {
						t.Errorf("worker %d, step %d: memory that was given out changed", worker, step)
						return
					}
					p.Free(held[i])
					held, marks = append(held[:i], held[i+1:]...), append(marks[:i], marks[i+1:]...)
					continue
				}
				size, mark := 1+rng.IntN(1<<rng.IntN(18)), byte(1+rng.IntN(255))
				b := p.Allocate(size)
				if len(b) != size || bytes.Count(b, []byte{0}) != size {
					t.Errorf("worker %d, step %d: %d bytes, not all zero: want %d zeros", worker, step, len(b), size)
					return
				}
				for i := range b {
					b[i] = mark
				}
				more := rng.IntN(2 * size)
				b = p.Reallocate(more, b)
				if kept := min(size, more); len(b) != more || bytes.Count(b[:kept], []byte{mark}) != kept || bytes.Count(b[kept:], []byte{0}) != more-kept {
					t.Errorf("worker %d, step %d: from %d to %d bytes: want the old ones and zeros", worker, step, size, more)
					return
				}
				for i := range b {
					b[i] = mark
				}
				held, marks = append(held, b), append(marks, mark)
			}
		})
	}
	wg.Wait()
}
