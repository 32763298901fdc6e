package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"passhat/ingest/store"
)

// sample is a small log of one format.
type sample struct {
	name string // FORMAT/FILE
	text []byte
}

// hostileMemory is the most that any hostile file may make passhat hold.
const hostileMemory = 1 << 30

// mutantsPerProcess is how many damaged logs one process is given.
const mutantsPerProcess = 40

func (t *torture) hostile(ctx context.Context, until time.Time) error {
	samples, err := readSamples(t.samples)
	if err != nil {
		return err
	}
	if err := t.bombs(ctx); err != nil {
		return err
	}
	if err := t.folderTricks(ctx); err != nil {
		return err
	}
	for round := 0; round < 3 || time.Now().Before(until); round++ {
		if err := t.mutants(ctx, samples); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	return nil
}

// readSamples reads the sample of every format, and what lies in those that are
// folders.
func readSamples(root string) ([]sample, error) {
	var out []sample
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".golden") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err == nil && len(b) < 1<<20 {
			out = append(out, sample{filepath.ToSlash(rel), b})
		}
		return err
	})
	if err != nil || len(out) == 0 {
		return nil, fmt.Errorf("samples in %s: %v", root, err)
	}
	return out, nil
}

// mutants gives one process a row of damaged logs, each in a folder of its own.
func (t *torture) mutants(ctx context.Context, samples []sample) error {
	dir, err := t.fresh("hostile")
	if err != nil {
		return err
	}
	target := filepath.Join(dir, "store")
	args := []string{"--store", target, "ingest", "--quiet", "--max-rejects", "100%"}
	for i := range mutantsPerProcess {
		s := samples[t.rng.IntN(len(samples))]
		b := bytes.Clone(s.text)
		for range 1 + t.rng.IntN(3) {
			m := mutations[t.rng.IntN(len(mutations))]
			b = m.change(t.rng, b, samples[t.rng.IntN(len(samples))].text)
		}
		path := filepath.Join(dir, fmt.Sprint(i), filepath.Base(s.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			return err
		}
		args = append(args, path)
	}
	o := t.run(ctx, args...)
	err = o.wants(0, 2, 4)
	if err == nil && o.memory > hostileMemory {
		err = fmt.Errorf("%d bytes of memory were taken: %v", o.memory, o)
	}
	if err == nil {
		err = t.readable(ctx, target)
	}
	if err != nil {
		return fmt.Errorf("%w (the files: %s)", err, dir)
	}
	t.count("damaged logs ingested or refused in words", mutantsPerProcess)
	return os.RemoveAll(dir)
}

// readable wants a sound store of which every view can be read.
func (t *torture) readable(ctx context.Context, target string) error {
	if err := t.run(ctx, "--store", target, "verify").wants(0, 4); err != nil {
		return err
	}
	st, err := store.Open(target)
	if err != nil {
		return err
	}
	rep, err := st.Verify(ctx)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if len(rep.Problems) > 0 {
		return fmt.Errorf("verify: %v", rep.Problems)
	}
	if rep.Records == 0 {
		return nil
	}
	o := t.run(ctx, "--store", target, "query", "--output", "ndjson", "SELECT * FROM trials ORDER BY ALL LIMIT 2000")
	if err := o.wants(0); err != nil {
		return err
	}
	return t.run(ctx, "--store", target, "report", "passk", "--runs", "all", "--output", "json").wants(0, 4)
}

// mutation damages a log; other is another log.
type mutation struct {
	name   string
	change func(r *rand.Rand, b, other []byte) []byte
}

// placeIn is a place in b, or 0.
func placeIn(r *rand.Rand, b []byte) int {
	if len(b) == 0 {
		return 0
	}
	return r.IntN(len(b))
}

func insertAt(r *rand.Rand, b []byte, what ...byte) []byte {
	return slices.Insert(b, placeIn(r, b), what...)
}

// oddTexts are put anywhere.
var oddTexts = []string{
	"1e999", "-1", "99999999999999999999999999", "NaN", "-Infinity", "null", "true", "{}", "[]", `""`, "\"", "'", "\\", "\\u", `\ud800`,
	"\x00", "\xff\xfe", "\xc3\x28", "\xed\xa0\x80", "\r", "\r\n", "\n\n", ",", ";", "\t", "=cmd()", "<!DOCTYPE x [<!ENTITY a \"&a;\">]>", "&a;", "]]>", "<", "{{", "$(x)",
	"\u202e", "\u0000", "\ufeff", "--", "/*", "*/", "%s%n", "../../../etc/passwd", "0x7fffffff", "1e-999", "9223372036854775808", "0000000000001",
	`{"task_id":"a","passed":true}`, `"passed":true,"passed":false,`, "1970-01-01", "2026-02-30T25:61:61Z", "+275760-09-13T00:00:00Z",
}

var mutations = []mutation{
	{"truncate", func(r *rand.Rand, b, _ []byte) []byte { return b[:placeIn(r, b)] }},
	{"cut the front", func(r *rand.Rand, b, _ []byte) []byte { return b[placeIn(r, b):] }},
	{"delete a piece", func(r *rand.Rand, b, _ []byte) []byte {
		i := placeIn(r, b)
		return slices.Delete(b, i, min(len(b), i+1+r.IntN(64)))
	}},
	{"repeat a piece", func(r *rand.Rand, b, _ []byte) []byte {
		i := placeIn(r, b)
		return slices.Insert(b, i, bytes.Repeat(b[i:min(len(b), i+1+r.IntN(200))], 1+r.IntN(30))...)
	}},
	{"splice", func(r *rand.Rand, b, other []byte) []byte {
		i := placeIn(r, b)
		return append(b[:i:i], other[placeIn(r, other):]...)
	}},
	{"flip bits", func(r *rand.Rand, b, _ []byte) []byte {
		for range 1 + r.IntN(8) {
			if len(b) > 0 {
				b[r.IntN(len(b))] ^= 1 << r.IntN(8)
			}
		}
		return b
	}},
	{"odd text", func(r *rand.Rand, b, _ []byte) []byte {
		for range 1 + r.IntN(6) {
			b = insertAt(r, b, []byte(oddTexts[r.IntN(len(oddTexts))])...)
		}
		return b
	}},
	{"huge length", func(r *rand.Rand, b, _ []byte) []byte {
		if len(b) > 8 {
			copy(b[r.IntN(len(b)-8):], bytes.Repeat([]byte{0xff, 0xff, 0xff, 0x7f}, 1+r.IntN(2)))
		}
		return b
	}},
	{"change numbers", func(r *rand.Rand, b, _ []byte) []byte {
		for range 1 + r.IntN(10) {
			if i := bytes.IndexAny(b[placeIn(r, b):], "0123456789"); i >= 0 && i < len(b) {
				b[i] = "0123456789-.eE"[r.IntN(14)]
			}
		}
		return b
	}},
	{"nest", func(r *rand.Rand, b, _ []byte) []byte {
		n := []int{300, 600, 20_000}[r.IntN(3)]
		open, shut := "[", "]"
		if r.IntN(2) == 0 {
			open, shut = `{"a":`, "}"
		}
		return insertAt(r, b, []byte(strings.Repeat(open, n)+"1"+strings.Repeat(shut, n))...)
	}},
	{"other types", func(r *rand.Rand, b, _ []byte) []byte {
		pairs := []string{"true", `"yes"`, "false", "[1]", "null", "{}", "{", "[", "}", "]", ":", ",", "\"", "", "1", `"1"`}
		i := 2 * r.IntN(len(pairs)/2)
		return bytes.Replace(b, []byte(pairs[i]), []byte(pairs[i+1]), 1+r.IntN(5))
	}},
	{"byte order mark", func(_ *rand.Rand, b, _ []byte) []byte { return append([]byte("\xef\xbb\xbf"), b...) }},
	{"UTF-16", func(r *rand.Rand, b, _ []byte) []byte { return toUTF16(b, r.IntN(2) == 0, r.IntN(3) > 0) }},
	{"CR line ends", func(_ *rand.Rand, b, _ []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r")) }},
	{"CRLF line ends", func(_ *rand.Rand, b, _ []byte) []byte { return bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")) }},
	{"long text", func(r *rand.Rand, b, _ []byte) []byte {
		return insertAt(r, b, bytes.Repeat([]byte("ab\u00e9"), 100_000)...)
	}},
	{"gzip", func(_ *rand.Rand, b, _ []byte) []byte { return gzipped(b) }},
	{"cut gzip", func(r *rand.Rand, b, _ []byte) []byte { z := gzipped(b); return z[:placeIn(r, z)] }},
	{"zstd", func(_ *rand.Rand, b, _ []byte) []byte { return zstdOf(b) }},
	{"damaged zstd", func(r *rand.Rand, b, _ []byte) []byte {
		z := zstdOf(b)
		z[placeIn(r, z)] ^= 0x55
		return z
	}},
	{"shuffle lines", func(r *rand.Rand, b, _ []byte) []byte {
		lines := bytes.Split(b, []byte("\n"))
		r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		return bytes.Join(lines, []byte("\n"))
	}},
	{"nothing left", func(*rand.Rand, []byte, []byte) []byte { return nil }},
}

func toUTF16(b []byte, big, mark bool) []byte {
	units := utf16.Encode([]rune(string(b)))
	if mark {
		units = slices.Insert(units, 0, 0xFEFF)
	}
	out := make([]byte, 0, 2*len(units))
	for _, u := range units {
		if big {
			out = append(out, byte(u>>8), byte(u))
		} else {
			out = append(out, byte(u), byte(u>>8))
		}
	}
	return out
}

func gzipped(b []byte) []byte {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, _ = w.Write(b) // a buffer takes everything
	_ = w.Close()
	return buf.Bytes()
}

func zstdOf(b []byte) []byte {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		return b
	}
	return w.EncodeAll(b, nil)
}
