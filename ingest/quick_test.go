package ingest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"passhat/ingest/store"
)

// TestQuickFields: what quick puts in place is what the column's setter does.
func TestQuickFields(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	texts := []string{"", "a", " a ", "0", "00", "7", "-1", "+1", "1.5", ".5", "5.", "1.2.3", "1e3", "NaN", "123456789", "1234567890", "0.1234567890123",
		"123456789012345", "1234567890123456", "12345678.9012345", "2147483648", "true", "null", "2026-11-30T12:00:00Z", "ä", "a\xff", "1 ", "\u00a01"}
	for range 40 {
		texts = append(texts, fmt.Sprintf("%.*f", rng.IntN(9), rng.ExpFloat64()*100), fmt.Sprint(rng.Uint64()>>rng.IntN(64)))
	}
	taken := map[columnID]bool{}
	for col := range columns {
		for _, text := range texts {
			for _, kind := range []Kind{Null, Bool, Number, String, Untyped, Object, Array} {
				for _, flags := range []int{0, 1, 2, 3, 7} {
					m := &Mapper{stable: flags&1 > 0, checked: flags&2 > 0, loc: time.UTC}
					v := Value{kind, flags&4 > 0, []byte(text)}
					var quick, usual store.Trial
					if quickFields[col] == notQuick || kind == Bool && text == "" {
						continue
					}
					if !m.quick(&quick, columnID(col), v) {
						if quick != (store.Trial{}) {
							t.Fatalf("%s: %q is refused and put in place", columns[col].name, text)
						}
						continue
					}
					taken[columnID(col)] = true
					if reason := columns[col].set(m, &usual, v); reason != "" || quick != usual {
						t.Fatalf("%s: %s %q, %03b: %q\n%+v, want\n%+v", columns[col].name, kind, text, flags, reason, quick, usual)
					}
				}
			}
		}
	}
	for col, q := range quickFields {
		if q != notQuick && !taken[columnID(col)] {
			t.Errorf("%s: no value was taken", columns[col].name)
		}
	}
}
