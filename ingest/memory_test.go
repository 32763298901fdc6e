package ingest_test

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"passhat/ingest"
)

// peakHeap runs f and returns the largest live heap above that before it, in
// bytes, as far as samples every few milliseconds can see it.
func peakHeap(f func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	base, peak := m.HeapAlloc, uint64(0)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapAlloc)
			}
		}
	})
	f()
	close(stop)
	wg.Wait()
	return peak - min(peak, base)
}

// bigDocument writes one document of about size bytes without a line end: many
// rows, or one row of that size.
func bigDocument(t *testing.T, path string, size int, oneRow bool) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	pad := strings.Repeat("x", 1000)
	w.WriteString(`{"model":"vela-2","results":[{"task":"first","ok":true}`)
	if oneRow {
		w.WriteString(`,{"task":"long","ok":true,"trajectory":[`)
	}
	for n := 0; n < size; n += len(pad) + 40 {
		if oneRow {
			fmt.Fprintf(w, `{"content":"%s"},`, pad)
		} else {
			fmt.Fprintf(w, `,{"task":"t%d","ok":true,"messages":"%s"}`, n%97, pad)
		}
	}
	if oneRow {
		w.WriteString(`0]}`)
	}
	w.WriteString(`,{"task":"last","ok":false}],"git_sha":"0123abcd"}`)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBigDocumentStaysSmallInMemory reads documents several times larger than
// the memory they may take.
func TestBigDocumentStaysSmallInMemory(t *testing.T) {
	const size, limit = 48 << 20, 24 << 20
	for _, c := range []struct {
		name    string
		oneRow  bool
		rejects int
	}{{"many rows", false, 0}, {"one row", true, 1}} {
		t.Run(c.name, func(t *testing.T) {
			path := t.TempDir() + "/big.json"
			bigDocument(t, path, size, c.oneRow)
			var trials int
			var rejects []*ingest.SyntaxError
			peak := peakHeap(func() {
				in, err := ingest.NewTestInput(path)
				if err != nil {
					t.Fatal(err)
				}
				f, err := ingest.Detect(in, &ingest.Options{})
				if err != nil || f.Name != "json" {
					t.Fatalf("detected %s, %v", f.Name, err)
				}
				for tr, err := range f.Read(t.Context(), in, &ingest.Options{MaxRow: 4 << 20}) {
					if bad, ok := err.(*ingest.SyntaxError); ok {
						rejects = append(rejects, bad)
					} else if err != nil {
						t.Fatal(err)
					} else if trials++; tr.GitCommit != "0123abcd" {
						t.Fatalf("the field behind the rows is missing in %+v", tr)
					}
				}
			})
			if len(rejects) != c.rejects || trials < 2 {
				t.Errorf("%d trials, rejects %v", trials, rejects)
			}
			if peak > limit {
				t.Errorf("%d MiB of heap for a document of %d MiB, want at most %d MiB", peak>>20, size>>20, limit>>20)
			}
		})
	}
}

// TestBigLineStaysSmallInMemory reads a line that is larger than a row may be.
func TestBigLineStaysSmallInMemory(t *testing.T) {
	const size, limit = 48 << 20, 24 << 20
	path := t.TempDir() + "/big.jsonl"
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	w.WriteString(`{"task":"first","ok":true}` + "\n" + `{"task":"long","x":"`)
	for range size >> 10 {
		w.WriteString(strings.Repeat("x", 1<<10))
	}
	w.WriteString(`"}` + "\n" + `{"task":"last","ok":true}` + "\n")
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	var got []string
	peak := peakHeap(func() {
		_, trials, rejects, err := ingest.ReadTrials(t.Context(), path, ingest.Options{MaxRow: 4 << 20, Env: noEnv})
		if err != nil {
			t.Fatal(err)
		}
		for _, tr := range trials {
			got = append(got, tr.TaskID+"@"+tr.SourceRow)
		}
		for _, r := range rejects {
			got = append(got, r.Pos())
		}
	})
	if strings.Join(got, " ") != "first@1 last@3 line 2" {
		t.Errorf("got %v", got)
	}
	if peak > limit {
		t.Errorf("%d MiB of heap for a line of %d MiB, want at most %d MiB", peak>>20, size>>20, limit>>20)
	}
}
