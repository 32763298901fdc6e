package ingest_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"passhat/ingest"
	"passhat/ingest/store"
	"passhat/sql"
)

// TestOneRowNestedTooDeep: the row is a reject, those around it are read.
func TestOneRowNestedTooDeep(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 50_000) + strings.Repeat("]}", 50_000)
	rows := []string{`{"task_id":"a","passed":true}`, `{"task_id":"b","passed":true,"x":` + deep + `}`, `{"task_id":"c","passed":false}`}
	sample := `{"id":%d,"epoch":1,"scores":{"match":{"value":"C"}},"metadata":%s}`
	for _, tt := range []struct{ name, text string }{
		{"deep.jsonl", strings.Join(rows, "\n") + "\n"},
		{"deep.json", "[" + strings.Join(rows, ",") + "]"},
		{"inspect.json", inspectDoc(fmt.Sprintf(sample, 1, "{}") + "," + fmt.Sprintf(sample, 2, deep) + "," + fmt.Sprintf(sample, 3, "{}"))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := read(t, tt.name, "", []byte(tt.text), ingest.Options{}, nil)
			if r.err != nil {
				t.Fatal(r.err)
			}
			// Inspect keeps metadata only where it is short: there the sample itself is good.
			if len(r.trials)+len(r.rejects) != 3 || len(r.trials) < 2 {
				t.Errorf("%d trials, rejects %q", len(r.trials), r.rejects)
			}
			for _, reject := range r.rejects {
				if !strings.Contains(reject, "nested deeper than 512 levels") {
					t.Errorf("reject %q", reject)
				}
			}
		})
	}
}

func TestDeepElementsAreCountedOff(t *testing.T) {
	for _, depth := range []int{511, 512, 513, 514, 100_000} {
		text := "[" + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `,{"task_id":"z","passed":true}]`
		r := read(t, "x.json", "json", []byte(text), ingest.Options{}, nil)
		if r.err != nil || len(r.trials) != 1 || len(r.rejects) != 1 {
			t.Errorf("depth %d: %d trials, rejects %q, %v", depth, len(r.trials), r.rejects, r.err)
		}
	}
}

// TestRowOfVeryManyKeys must not take time by their square.
func TestRowOfVeryManyKeys(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"task_id":"a","passed":true`)
	for i := range 200_000 {
		fmt.Fprintf(&b, `,"key%d":1`, i)
	}
	b.WriteString("}\n")
	began := time.Now()
	r := read(t, "x.jsonl", "jsonl", []byte(b.String()), ingest.Options{}, nil)
	if r.err != nil || len(r.trials) != 1 {
		t.Fatalf("%d trials, %q, %v", len(r.trials), r.rejects, r.err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestCSVHeaderAgain: tables put one behind the other; the header is no trial.
func TestCSVHeaderAgain(t *testing.T) {
	d := newDesk(t)
	path := d.write("x.csv", "task_id,passed\na,true\ntask_id,passed\nb,false\n\"task_id\", passed \nc,true\n")
	sum, err := ingest.Ingest(t.Context(), d.st, []string{path}, ingest.Options{Env: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	s := sum.Sources[0]
	if s.Store.Stored != 3 || s.Store.Rejects != 0 || !strings.Contains(strings.Join(s.Notes, "\n"), "rows that repeat the header, no trials: 2") {
		t.Errorf("%+v, notes %q", s.Store, s.Notes)
	}
}

func TestCSVDoubledColumn(t *testing.T) {
	r := read(t, "x.csv", "", []byte("task_id,passed,note,note,passed\na,true,x,y,true\nb,true,x,x,false\n"), ingest.Options{}, nil)
	if r.err != nil || len(r.trials) != 1 || len(r.rejects) != 1 || !strings.Contains(r.rejects[0], "passed is there twice, with different values") {
		t.Errorf("%d trials, rejects %q, %v", len(r.trials), r.rejects, r.err)
	}
}

// inspectZip is an archive in the order in which Inspect writes it. streamed
// members have their sizes behind them.
func inspectZip(t *testing.T, streamed bool) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	header := strings.TrimSuffix(inspectDoc(""), `,"samples":[]}`) + "}"
	members := [][2]string{{"_journal/start.json", header}}
	for i := range 4 {
		members = append(members, [2]string{fmt.Sprintf("samples/%d_epoch_1.json", i), fmt.Sprintf(`{"id":%d,"epoch":1,"scores":{"match":{"value":"C"}}}`, i)})
	}
	members = append(members, [2]string{"summaries.json", `[{"id":0,"epoch":1,"scores":{"match":{"value":"C"}}}]`}, [2]string{"header.json", header})
	for _, m := range members {
		var w interface{ Write([]byte) (int, error) }
		var err error
		if streamed {
			w, err = z.Create(m[0])
		} else {
			h := &zip.FileHeader{Name: m[0], Method: zip.Store}
			h.UncompressedSize64, h.CompressedSize64, h.CRC32 = uint64(len(m[1])), uint64(len(m[1])), crc32.ChecksumIEEE([]byte(m[1]))
			w, err = z.CreateRaw(h)
		}
		if err == nil {
			_, err = w.Write([]byte(m[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCutArchive: of an .eval archive that was cut off while it was copied, the
// samples before the cut are read, and that is said.
func TestCutArchive(t *testing.T) {
	for _, streamed := range []bool{true, false} {
		b := inspectZip(t, streamed)
		cut := bytes.Index(b, []byte("samples/3_epoch_1.json")) + 30
		d := newDesk(t)
		path := d.write("x.eval", string(b[:cut]))
		sum, err := ingest.Ingest(t.Context(), d.st, []string{path}, ingest.Options{Env: noEnv})
		if err != nil {
			t.Fatal(err)
		}
		s := sum.Sources[0]
		if notes := strings.Join(s.Notes, "\n"); s.Store.Stored != 3 || !strings.Contains(notes, "the archive is cut off: 4 members of it could be read") {
			t.Errorf("%+v, %s", s.Store, notes)
		}
		for n := range b {
			if n%7 == 0 {
				r := read(t, "x.eval", "inspect", b[:n], ingest.Options{}, nil)
				if r.err != nil {
					checkWords(t, r.err)
				}
			}
		}
	}
}

// TestCompressedArchive: what is not read from front to back is unfolded first.
func TestCompressedArchive(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write(inspectZip(t, true)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d := newDesk(t)
	path := d.write("x.eval.gz", z.String())
	for try, want := range []int64{4, 0} {
		sum, err := ingest.Ingest(t.Context(), d.st, []string{path}, ingest.Options{Env: noEnv})
		if err != nil {
			t.Fatal(err)
		}
		if s := sum.Sources[0]; s.Store.Stored != want || s.Format != "inspect" {
			t.Errorf("try %d: %s, %+v", try, s.Format, s.Store)
		}
	}
}

// TestDevicesAreNoLogs: they have no end.
func TestDevicesAreNoLogs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such files on Windows")
	}
	for _, path := range []string{"/dev/zero", "/dev/null"} {
		_, err := ingest.Ingest(t.Context(), newDesk(t).st, []string{path}, ingest.Options{Env: noEnv})
		if err == nil || !strings.Contains(err.Error(), path+": it is a device") {
			t.Errorf("%v", err)
		}
	}
}

// everyText is what a store holds: its trials as JSON, and its other files as they
// are.
func everyText(t *testing.T, st *store.Store) []string {
	t.Helper()
	snap, err := st.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	session, err := sql.Open(t.Context(), snap, sql.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	rows, err := session.Query(t.Context(), "SELECT to_json(t)::VARCHAR FROM trials t ORDER BY 1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		out = append(out, rows.Values()[0].(string))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(st.Dir(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) == ".parquet" {
			return err
		}
		b, err := os.ReadFile(path)
		out = append(out, string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestTokensInEveryFormat plants a token in the texts of every sample and looks
// for it in the store's own files.
func TestTokensInEveryFormat(t *testing.T) {
	const token = "sk-PLANTED7abcdefghijklmnopqrstuvwxyz0123456789"
	root := filepath.Join("..", "testdata", "formats")
	d := newDesk(t)
	planted := 0
	var logs []string
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasPrefix(filepath.Ext(path), ".json") {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, key := range []string{`"error":"`, `"error": "`, `"message":"`, `"message": "`, `"error_message":"`, `"error_message": "`, `"explanation": "`} {
			planted += bytes.Count(b, []byte(key))
			b = bytes.ReplaceAll(b, []byte(key), []byte(key+"with "+token+": "))
		}
		to := filepath.Join(d.dir, "logs", filepath.Base(filepath.Dir(path)), filepath.Base(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		logs = append(logs, to)
		return os.WriteFile(to, b, 0o666)
	})
	if err != nil || planted < 10 {
		t.Fatalf("%d planted, %v", planted, err)
	}
	// Some samples are bad on purpose; what they leave behind is looked at too.
	_, err = ingest.Ingest(t.Context(), d.st, logs, ingest.Options{Env: noEnv, MaxRejects: "100%"})
	var several *ingest.SeveralError
	if err != nil && !errors.As(err, &several) && strings.Contains(err.Error(), "fault of passhat") {
		t.Fatal(err)
	}
	if got := strings.Join(everyText(t, d.st), "\n"); strings.Contains(got, "PLANTED") {
		i := strings.Index(got, "PLANTED")
		t.Errorf("a token is in the store: %q", got[max(0, i-200):min(len(got), i+60)])
	} else if !strings.Contains(got, "[redacted]") {
		t.Error("no token was found, so none was looked for")
	}
}
