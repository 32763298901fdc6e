package ingest

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// orderedLog makes lines of the usual fields; order gives the keys of line n.
func orderedLog(lines int, order func(n int, keys []string) []string) []byte {
	rng := rand.New(rand.NewPCG(3, 3))
	keys := strings.Fields("suite run_id task_id trial passed score model effort started_at duration_s input_tokens output_tokens cost_usd trace")
	var b strings.Builder
	for n := range lines {
		v := map[string]string{"suite": `"support"`, "run_id": fmt.Sprintf(`"night-%d"`, n/20000), "task_id": fmt.Sprintf(`"task-%d"`, n/8%200), "trial": fmt.Sprint(n % 8),
			"passed": fmt.Sprint(rng.IntN(4) > 0), "score": fmt.Sprintf("0.%d", rng.IntN(100)), "model": `"model-a-2026-05-13"`, "effort": `"low"`,
			"started_at": fmt.Sprintf(`"2026-01-05T%02d:%02d:%02dZ"`, n/3600%24, n/60%60, n%60), "duration_s": fmt.Sprintf("%d.%03d", rng.IntN(90), rng.IntN(1000)),
			"input_tokens": fmt.Sprint(rng.IntN(40000)), "output_tokens": fmt.Sprint(rng.IntN(9000)), "cost_usd": fmt.Sprintf("0.%04d", rng.IntN(10000)), "trace": fmt.Sprintf(`"traces/night-0/%d.json"`, n)}
		for i, k := range order(n, slices.Clone(keys)) {
			val, ok := v[k]
			if !ok {
				val = "1"
			}
			fmt.Fprintf(&b, `%s"%s":%s`, []string{",", "{"}[max(0, 1-i)], k, val)
		}
		b.WriteString("}\n")
	}
	return []byte(b.String())
}

// BenchmarkLineForms reads logs that have few and many forms, with forms and without. Where
// they do not help they must not cost.
func BenchmarkLineForms(b *testing.B) {
	rng := rand.New(rand.NewPCG(4, 4))
	shuffled := func(orders int) func(int, []string) []string {
		var perm [][]int
		for range orders {
			perm = append(perm, rng.Perm(14))
		}
		return func(_ int, keys []string) (out []string) {
			for _, i := range perm[rng.IntN(orders)] {
				out = append(out, keys[i])
			}
			return out
		}
	}
	rare := func(each int) func(int, []string) []string {
		return func(n int, keys []string) []string {
			if n%each == 0 {
				keys = append(keys, fmt.Sprint("x", rng.IntN(14)))
			}
			return keys
		}
	}
	for _, log := range []struct {
		name  string
		order func(int, []string) []string
	}{
		{"one", shuffled(1)}, {"orders-2", shuffled(2)}, {"orders-4", shuffled(4)}, {"orders-50", shuffled(50)}, {"orders-1000", shuffled(1000)},
		{"rare-6", rare(6)}, {"rare-8", rare(8)}, {"rare-9", rare(9)}, {"rare-12", rare(12)}, {"rare-30", rare(30)},
	} {
		text := orderedLog(40_000, log.order)
		for _, forms := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/%v", log.name, forms), func(b *testing.B) {
				r, err := newLineReader(&Input{Name: "a.jsonl"}, &Options{})
				if err != nil {
					b.Fatal(err)
				}
				r.m.stable = true
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					for rest := text; len(rest) > 0; {
						if !forms {
							r.forms.rest = math.MaxInt
						}
						end := min(len(rest), chunkBytes)
						end += bytes.IndexByte(rest[end-1:], '\n')
						r.m.Trials, r.m.Rejects = r.m.Trials[:0], r.m.Rejects[:0]
						r.lines(rest[:end], 1)
						rest = rest[end:]
					}
				}
			})
		}
	}
}
