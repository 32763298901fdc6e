package ingest_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"passhat/ingest"
)

// member is a file of an archive that a test makes.
type member struct {
	name, text string
	method     uint16
	mode       os.FileMode
}

func writeZip(t *testing.T, members ...member) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zstd.ZipMethodWinZip, zstd.ZipCompressor())
	for _, m := range members {
		h := &zip.FileHeader{Name: m.name, Method: m.method, Modified: sampleTime}
		h.SetMode(max(m.mode, 0o644))
		w, err := z.CreateHeader(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "logs.zip")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const oneTrial = `{"task_id":"a","trial":0,"ok":true}` + "\n"

// TestArchiveOfLogs: the files in a zip archive are sources of their own, known
// by archive and name.
func TestArchiveOfLogs(t *testing.T) {
	path := writeZip(t,
		member{name: "night1/a.jsonl", text: oneTrial, method: zip.Deflate},
		member{name: "night2/b.csv", text: "task_id,ok\nb,false\n", method: zstd.ZipMethodWinZip},
		member{name: "night2/b.csv", text: "task_id,ok\nb,true\n", method: zip.Store}, // the last of a name is valid
		member{name: "__MACOSX/._a.jsonl", text: "junk"},
		member{name: ".hidden/c.jsonl", text: oneTrial},
		member{name: "inner.zip", text: "PK\x03\x04 not followed"},
		member{name: "readme.txt", text: "words"},
	)
	d := newDesk(t)
	sum, err := ingest.Ingest(t.Context(), d.st, []string{path}, ingest.Options{Env: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range sum.Sources {
		names = append(names, strings.TrimPrefix(s.Source, path))
	}
	if want := []string{"/night1/a.jsonl", "/night2/b.csv"}; !slices.Equal(names, want) {
		t.Errorf("sources %q, want %q", names, want)
	}
	if len(sum.PassedOver) != 2 {
		t.Errorf("passed over %q, want the inner archive and the words", sum.PassedOver)
	}
	for _, r := range storedRows(t, d.st) {
		if r["passed"] != true {
			t.Errorf("%v: passed %v; the last member of a name is valid", r["task_id"], r["passed"])
		}
		if r["run_at"] != sampleTime.Format("2006-01-02T15:04:05Z") {
			t.Errorf("run_at %v is not the member's time", r["run_at"])
		}
	}
	again, err := ingest.Ingest(t.Context(), d.st, []string{path}, ingest.Options{Env: noEnv})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range again.Sources {
		if s.Plan.Action.String() != "skip" {
			t.Errorf("%s again: %v", s.Source, s.Plan.Action)
		}
	}
}

// TestHostileArchive: nothing leaves the archive, and nothing explodes.
func TestHostileArchive(t *testing.T) {
	bomb := strings.Repeat(oneTrial, 100_000)
	for _, c := range []struct {
		name, want string
		limits     ingest.Limits
		members    []member
	}{
		{name: "climbing name", want: "leads out of it", members: []member{{name: "../../evil.jsonl", text: oneTrial}}},
		{name: "absolute name", want: "leads out of it", members: []member{{name: "/etc/evil.jsonl", text: oneTrial}}},
		{name: "windows name", want: "leads out of it", members: []member{{name: `..\evil.jsonl`, text: oneTrial}}},
		{name: "link", want: "link", members: []member{{name: "a.jsonl", text: "/etc/passwd", mode: os.ModeSymlink | 0o777}}},
		{name: "bomb", want: "times its size", limits: ingest.Limits{MaxRatio: 50, RatioFrom: 1 << 16},
			members: []member{{name: "a.jsonl", text: bomb, method: zip.Deflate}}},
		{name: "too long", want: "more than the limit", limits: ingest.Limits{MaxBytes: 1 << 16},
			members: []member{{name: "a.jsonl", text: bomb, method: zip.Deflate}}},
		{name: "empty", want: "no files", members: []member{{name: "folder/"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			_, err := ingest.Ingest(t.Context(), d.st, []string{writeZip(t, c.members...)}, ingest.Options{Env: noEnv, Limits: c.limits})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// TestLyingArchive: a member that unfolds to more than its declared size, and a
// damaged one, are one error.
func TestLyingArchive(t *testing.T) {
	path := writeZip(t, member{name: "a.jsonl", text: strings.Repeat(oneTrial, 1000), method: zip.Deflate})
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func([]byte){
		"flipped bytes": func(b []byte) { b[60] ^= 0xff; b[80] ^= 0xff },
		"cut":           func(b []byte) { clear(b[len(b)-40:]) },
	} {
		t.Run(name, func(t *testing.T) {
			c := bytes.Clone(b)
			change(c)
			bad := filepath.Join(t.TempDir(), "bad.zip")
			if err := os.WriteFile(bad, c, 0o600); err != nil {
				t.Fatal(err)
			}
			d := newDesk(t)
			if _, err := ingest.Ingest(t.Context(), d.st, []string{bad}, ingest.Options{Env: noEnv}); err == nil || !strings.Contains(err.Error(), "bad.zip") {
				t.Errorf("error %v", err)
			}
			if rows := storedRows(t, d.st); len(rows) > 0 {
				t.Errorf("%d rows of a damaged archive are stored", len(rows))
			}
		})
	}
}

// TestOddArchivesDoNotStopOthers: an archive that cannot be unpacked is one
// source that failed when it was named, and passed over with its reason when it
// was found in a folder.
func TestOddArchivesDoNotStopOthers(t *testing.T) {
	d := newDesk(t)
	good := d.write("logs/good.jsonl", oneTrial)
	link, err := os.ReadFile(writeZip(t, member{name: "a.jsonl", text: "/etc/passwd", mode: os.ModeSymlink | 0o777}))
	if err != nil {
		t.Fatal(err)
	}
	bad := d.write("logs/bad.zip", string(link))
	d.write("logs/cut.zip", string(link[:30]))
	d.write("logs/table.xlsx", string(link)) // an archive that is no .zip is another kind of file
	sum, err := d.ingest(ingest.Options{}, d.path("logs"))
	if err != nil {
		t.Fatal(err)
	}
	if len(sum.Sources) != 1 || sum.Sources[0].Source != good || len(sum.PassedOver) != 3 {
		t.Errorf("sources %+v, passed over %+v", sum.Sources, sum.PassedOver)
	}
	checkContains(t, fmt.Sprint(sum.PassedOver), "not a path that leads out of it or a link")
	again := newDesk(t)
	sum, err = again.ingest(ingest.Options{}, good, bad)
	if err == nil || len(sum.Sources) != 2 || sum.Sources[0].Err != nil || sum.Sources[1].Err == nil {
		t.Errorf("named: %v, %+v", err, sum.Sources)
	}
}

// TestArchiveOfTooManyMembers: its table of contents is not even read.
func TestArchiveOfTooManyMembers(t *testing.T) {
	path := writeZip(t, member{name: "a.jsonl", text: oneTrial})
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The end record moves behind a zip64 one that claims two million members.
	end := bytes.Clone(b[len(b)-22:])
	end[10], end[11] = 0xff, 0xff
	at := uint64(len(b) - 22)
	wide := make([]byte, 56)
	copy(wide, "PK\x06\x06")
	binary.LittleEndian.PutUint64(wide[32:], 2_000_000)
	locator := make([]byte, 20)
	copy(locator, "PK\x06\x07")
	binary.LittleEndian.PutUint64(locator[8:], at)
	b = append(append(append(b[:at:at], wide...), locator...), end...)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	d := newDesk(t)
	if _, err := d.ingest(ingest.Options{}, path); err == nil || !strings.Contains(err.Error(), "2000000 members") {
		t.Errorf("error %v", err)
	}
}
