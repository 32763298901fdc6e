package ingest_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest"
	"passhat/ingest/store"
)

// sqliteImage makes an SQLite database of small pages, so that a few rows fill
// trees of several pages and chains of overflow pages.
type sqliteImage struct{ pages [][]byte }

const sqlitePage = 512

type sqliteRows struct {
	name, sql string
	rows      [][]any // nil, int64, float64 or string
}

func newSQLiteImage(tables []sqliteRows) []byte {
	im := &sqliteImage{pages: make([][]byte, 1)} // page 1 is the schema's
	var schema [][]any
	for _, t := range tables {
		root := im.add(nil)
		im.tree(root, t.rows)
		schema = append(schema, []any{"table", t.name, t.name, int64(root), t.sql})
	}
	im.tree(1, schema)
	head := im.pages[0]
	copy(head, "SQLite format 3\x00")
	binary.BigEndian.PutUint16(head[16:], sqlitePage)
	copy(head[18:], []byte{1, 1, 0, 64, 32, 32})
	for at, n := range map[int]uint32{24: 1, 28: uint32(len(im.pages)), 40: 1, 44: 4, 56: 1, 92: 1, 96: 3046000} {
		binary.BigEndian.PutUint32(head[at:], n)
	}
	return bytes.Join(im.pages, nil)
}

func (im *sqliteImage) add(page []byte) int {
	im.pages = append(im.pages, page)
	return len(im.pages)
}

// tree lays rows out under the page root: one leaf, or leaves under one page.
func (im *sqliteImage) tree(root int, rows [][]any) {
	head := 0
	if root == 1 {
		head = 100
	}
	type child struct {
		page int
		last uint64
	}
	var children []child
	var cells [][]byte
	room := sqlitePage - 8 - head
	flush := func(last uint64, at int) {
		page := leafPage(cells, at)
		if at == 0 {
			children = append(children, child{im.add(page), last})
		} else {
			children = append(children, child{0, last})
			im.pages[0] = page
		}
		cells, room = nil, sqlitePage-8
	}
	for i, row := range rows {
		cell := im.cell(uint64(i+1), row)
		if len(cell)+2 > room {
			flush(uint64(i), 0)
		}
		cells = append(cells, cell)
		room -= len(cell) + 2
	}
	if len(children) == 0 {
		im.pages[root-1] = leafPage(cells, head)
		return
	}
	flush(uint64(len(rows)), 0)
	page := make([]byte, sqlitePage)
	end := sqlitePage
	page[head] = 5
	binary.BigEndian.PutUint16(page[head+3:], uint16(len(children)-1))
	binary.BigEndian.PutUint32(page[head+8:], uint32(children[len(children)-1].page))
	for i, c := range children[:len(children)-1] {
		var cell []byte
		cell = binary.BigEndian.AppendUint32(cell, uint32(c.page))
		cell = appendVarint(cell, c.last)
		end -= len(cell)
		copy(page[end:], cell)
		binary.BigEndian.PutUint16(page[head+12+2*i:], uint16(end))
	}
	binary.BigEndian.PutUint16(page[head+5:], uint16(end))
	im.pages[root-1] = page
}

func leafPage(cells [][]byte, head int) []byte {
	page := make([]byte, sqlitePage)
	end := sqlitePage
	page[head] = 13
	binary.BigEndian.PutUint16(page[head+3:], uint16(len(cells)))
	for i, cell := range cells {
		end -= len(cell)
		copy(page[end:], cell)
		binary.BigEndian.PutUint16(page[head+8+2*i:], uint16(end))
	}
	binary.BigEndian.PutUint16(page[head+5:], uint16(end))
	return page
}

// cell is a row as it lies in its leaf, its rest in overflow pages.
func (im *sqliteImage) cell(rowid uint64, row []any) []byte {
	var kinds, body []byte
	for _, v := range row {
		switch v := v.(type) {
		case nil:
			kinds = append(kinds, 0)
		case int64:
			kinds = append(kinds, 6)
			body = binary.BigEndian.AppendUint64(body, uint64(v))
		case float64:
			kinds = append(kinds, 7)
			body = binary.BigEndian.AppendUint64(body, math.Float64bits(v))
		case string:
			kinds = appendVarint(kinds, uint64(13+2*len(v)))
			body = append(body, v...)
		}
	}
	payload := append(append(appendVarint(nil, uint64(len(kinds)+1)), kinds...), body...)
	if len(kinds) > 126 {
		panic("a row of so many columns needs a longer header")
	}
	cell := appendVarint(appendVarint(nil, uint64(len(payload))), rowid)
	const usable = sqlitePage
	local := len(payload)
	if most := usable - 35; local > most {
		least := (usable-12)*32/255 - 23
		if local = least + (len(payload)-least)%(usable-4); local > most {
			local = least
		}
	}
	cell = append(cell, payload[:local]...)
	if local == len(payload) {
		return cell
	}
	rest := payload[local:]
	cell = binary.BigEndian.AppendUint32(cell, uint32(len(im.pages)+1))
	for len(rest) > 0 {
		page := make([]byte, sqlitePage)
		n := copy(page[4:], rest)
		if rest = rest[n:]; len(rest) > 0 {
			binary.BigEndian.PutUint32(page, uint32(len(im.pages)+2))
		}
		im.add(page)
	}
	return cell
}

func appendVarint(b []byte, v uint64) []byte {
	n := 1
	for x := v >> 7; x > 0; x >>= 7 {
		n++
	}
	for i := n - 1; i >= 0; i-- {
		c := byte(v>>(7*i)) & 0x7f
		if i > 0 {
			c |= 0x80
		}
		b = append(b, c)
	}
	return b
}

// sqliteWALOf is a write-ahead log that turns the database old into new.
func sqliteWALOf(old, new []byte) []byte {
	salt := []byte{1, 2, 3, 4, 5, 6, 7, 8}
	var a, b uint32
	sum := func(text []byte) {
		for ; len(text) >= 8; text = text[8:] {
			a += binary.BigEndian.Uint32(text) + b
			b += binary.BigEndian.Uint32(text[4:]) + a
		}
	}
	put := func(out []byte, ns ...uint32) []byte {
		for _, n := range ns {
			out = binary.BigEndian.AppendUint32(out, n)
		}
		return out
	}
	out := append(put(nil, 0x377f0683, 3007000, sqlitePage, 0), salt...)
	sum(out)
	out = put(out, a, b)
	last := len(new) / sqlitePage
	for n := 1; n <= last; n++ {
		page := new[(n-1)*sqlitePage : n*sqlitePage]
		if n < last && n*sqlitePage <= len(old) && bytes.Equal(page, old[(n-1)*sqlitePage:n*sqlitePage]) {
			continue
		}
		commit := uint32(0)
		if n == last {
			commit = uint32(last)
		}
		head := put(nil, uint32(n), commit)
		sum(head)
		sum(page)
		out = append(put(append(append(out, head...), salt...), a, b), page...)
	}
	return out
}

const (
	evalsSQL = "CREATE TABLE `evals` (\n\t`id` text NOT NULL, -- of the eval\n\t`created_at` integer DEFAULT CURRENT_TIMESTAMP NOT NULL,\n" +
		"\t`description` text,\n\t`results` text NOT NULL,\n\t`config` text NOT NULL\n, `prompts` text, `runtime_options` text)"
	resultsSQL = "CREATE TABLE \"eval_results\"(id TEXT, created_at INT, eval_id TEXT, prompt_idx INT, test_idx INT, test_case TEXT, prompt TEXT,\n" +
		" prompt_id TEXT, provider TEXT, latency_ms INT, cost REAL, response TEXT, error TEXT, success INT, score REAL, grading_result TEXT,\n" +
		" named_scores TEXT, metadata TEXT, `failure_reason` integer DEFAULT 0 NOT NULL,\n" +
		" FOREIGN KEY (`eval_id`) REFERENCES `evals`(`id`))"
)

// promptfooDB is a database of one eval with three repeats of two tests.
func promptfooDB(repeats int) []byte {
	const eval = "eval-Abc-2026-11-02T09:00:00"
	provider := `{"id":"exec:agent.sh","label":"agent one","config":{"temperature":0.2,"apiKey":"sk-not-to-be-stored","env":{"A":"b"}}}`
	config := `{"description":"ticket desk","providers":[` + provider + `],"tests":[]}`
	var rows [][]any
	for i := range repeats {
		for test, question := range []string{"Where is my parcel?", "Cancel it. " + strings.Repeat("Please. ", 150)} {
			q, _ := json.Marshal(question)
			testCase := fmt.Sprintf(`{"description":"test %d","vars":{"question":%s},"metadata":{"category":"tickets"}}`, test, q)
			success, failure, score := int64(1), int64(0), 1.0
			response, message := any(`{"output":"done","tokenUsage":{"prompt":20,"completion":4}}`), any(nil)
			if test == 1 && i == 1 {
				success, failure, score, response, message = 0, 2, 0, nil, "Error: connect ECONNREFUSED: connection refused"
			} else if test == 1 {
				success, failure, score, message = 0, 1, 0.25, "Expected output to contain \"cancelled\""
			}
			rows = append(rows, []any{fmt.Sprintf("row-%d-%d", test, i), fmt.Sprintf("2026-11-02 09:00:%02d", 10+i), eval, int64(0), int64(test*repeats + i),
				testCase, `{"raw":"Q: {{question}}","label":"plain"}`, "p1", provider, int64(1500), 0.002, response, message, success, score,
				`{"pass":true,"score":1,"reason":"graded"}`, `{"tone":0.5}`, `{"category":"tickets"}`, failure})
		}
	}
	return newSQLiteImage([]sqliteRows{
		{"evals", evalsSQL, [][]any{{eval, int64(1793610000000), "ticket desk", `{"durationMs":5}`, config, `[]`, `{"repeat":3,"cache":false,"maxConcurrency":2}`}}},
		{"other", "CREATE TABLE other (a, b)", [][]any{{int64(-5), 2.5}}},
		{"eval_results", resultsSQL, rows},
	})
}

// TestPromptfooDatabaseSample keeps the sample what this file makes.
func TestPromptfooDatabaseSample(t *testing.T) {
	path := filepath.Join(formatsDir, "promptfoo", "sample.db")
	if *update {
		if err := os.WriteFile(path, promptfooDB(3), 0o666); err != nil {
			t.Fatal(err)
		}
		other := newSQLiteImage([]sqliteRows{{"notes", "CREATE TABLE notes (eval_results TEXT)", [][]any{{"x"}}}})
		if err := os.WriteFile(filepath.Join(formatsDir, "promptfoo", "bad_other.db"), other, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, promptfooDB(3)) {
		t.Error("sample.db is not what the test makes; -update writes it anew")
	}
}

// readDB reads a database written into a folder of its own, and holds the
// reading to leaving the folder as it was.
func readDB(t *testing.T, files map[string][]byte) ([]store.Trial, error) {
	t.Helper()
	dir := t.TempDir()
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	_, trials, rejects, err := ingest.ReadTrials(t.Context(), filepath.Join(dir, "promptfoo.db"), ingest.Options{Env: noEnv})
	if len(rejects) > 0 {
		t.Fatalf("rejects: %v", rejects[0])
	}
	entries, derr := os.ReadDir(dir)
	if derr != nil || len(entries) != len(files) {
		t.Errorf("the folder holds %v, want the %d files that were there", entries, len(files))
	}
	return trials, err
}

// TestPromptfooWriteAheadLog reads what stands in the log only, up to its last
// whole transaction.
func TestPromptfooWriteAheadLog(t *testing.T) {
	before, after := promptfooDB(1), promptfooDB(3)
	wal := sqliteWALOf(before, after)
	broken := bytes.Clone(wal)
	broken[len(broken)-1] ^= 1
	salted := bytes.Clone(wal)
	salted[32+8] ^= 1
	for name, c := range map[string]struct {
		wal  []byte
		want int
	}{
		"whole":                   {wal, 6},
		"cut in its last frame":   {wal[:len(wal)-100], 2},
		"damaged in its last":     {broken, 2},
		"of an earlier round":     {salted, 2},
		"empty":                   {[]byte{}, 2},
		"no write-ahead log":      {[]byte(strings.Repeat("x", 100)), 2},
		"whole with a stale tail": {append(bytes.Clone(wal), wal[32:32+24+sqlitePage]...), 6},
	} {
		t.Run(name, func(t *testing.T) {
			trials, err := readDB(t, map[string][]byte{"promptfoo.db": before, "promptfoo.db-wal": c.wal, "promptfoo.db-shm": []byte("shared")})
			if err != nil || len(trials) != c.want {
				t.Errorf("%d trials, error %v; want %d", len(trials), err, c.want)
			}
		})
	}
}

func TestPromptfooDatabaseUnderWay(t *testing.T) {
	_, err := readDB(t, map[string][]byte{"promptfoo.db": promptfooDB(1), "promptfoo.db-journal": []byte("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7rest")})
	if err == nil || !strings.Contains(err.Error(), "a transaction is under way") {
		t.Errorf("error %v, want one about the transaction", err)
	}
}

// TestPromptfooDatabaseDamaged cuts and changes a database anywhere: whatever
// comes, it is no panic and no silent loss.
func TestPromptfooDatabaseDamaged(t *testing.T) {
	whole := promptfooDB(3)
	for _, n := range []int{100, 600, len(whole) / 2, len(whole) - sqlitePage} {
		if trials, err := readDB(t, map[string][]byte{"promptfoo.db": whole[:n]}); err == nil {
			t.Errorf("cut at %d: %d trials and no error", n, len(trials))
		}
	}
	for name, change := range map[string]func(b []byte){
		"page size":    func(b []byte) { b[16], b[17] = 0, 3 },
		"encoding":     func(b []byte) { b[59] = 9 },
		"kind of page": func(b []byte) { b[100] = 77 },
		"circle": func(b []byte) { // the tree's last child is its own root
			root := bytes.LastIndex(b, []byte{5, 0, 0})
			root -= root % sqlitePage
			binary.BigEndian.PutUint32(b[root+8:], uint32(root/sqlitePage+1))
		},
	} {
		b := bytes.Clone(whole)
		change(b)
		if trials, err := readDB(t, map[string][]byte{"promptfoo.db": b}); err == nil {
			t.Errorf("%s: %d trials and no error", name, len(trials))
		}
	}
}
