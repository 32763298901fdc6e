package reports_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest/store"
	"passhat/reports"
)

func ls(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestWriteOutputs(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	res := hostile()
	res.Sections[1].Name = "sums"
	var out, msg bytes.Buffer
	written, err := reports.WriteOutputs(res, []reports.Output{
		{Form: "csv", Path: in("r.csv")}, {Form: "xlsx", Path: in("r.xlsx")}, {Form: "json", Path: in("r.json")}, {Form: "table", W: &out},
	}, reports.WriteOptions{Messages: &msg})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"r.csv.stamp.json", "r.json", "r.sums.csv", "r.tasks.csv", "r.xlsx"}
	if d := cmp.Diff(want, ls(t, dir)); d != "" {
		t.Errorf("files: %s", d)
	}
	if len(written) != len(want) {
		t.Errorf("written %q, want %d files", written, len(want))
	}
	// Many outputs at once give the bytes that each gives alone.
	for form, got := range map[string][]byte{"csv": read(t, in("r.tasks.csv")), "json": read(t, in("r.json")), "table": out.Bytes()} {
		var b bytes.Buffer
		alone := hostile()
		alone.Sections[1].Name = "sums"
		if err := reports.Write(&b, form, alone, reports.WriteOptions{}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(b.String(), string(got)); d != "" {
			t.Errorf("%s beside others differs from %s alone: %s", form, form, d)
		}
	}
	if n := strings.Count(msg.String(), "warning: few"); n != 1 {
		t.Errorf("the warning is said %d times, want once:\n%s", n, msg.String())
	}
	if strings.Contains(msg.String(), "stamp:") {
		t.Error("the stamp is on the messages although it has a file")
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A result that fails half way leaves no file and touches none.
func TestWriteOutputsFails(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "r.csv")
	if err := os.WriteFile(old, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, more := range [][]reports.Output{nil, {{Form: "ndjson", Path: filepath.Join(dir, "r.ndjson")}}} {
		broken := errors.New("the query failed")
		res := &reports.Result{Name: "q", Sections: []reports.Section{{Name: "a", Columns: []reports.Column{{Name: "x"}},
			Rows: func(yield func([]any, error) bool) {
				for i := range 1000 {
					if !yield([]any{fmt.Sprint(i)}, nil) {
						return
					}
				}
				yield(nil, broken)
			}}}}
		_, err := reports.WriteOutputs(res, append(more, reports.Output{Form: "csv", Path: old}), reports.WriteOptions{})
		if !errors.Is(err, broken) {
			t.Errorf("error %v, want the query's", err)
		}
		if d := cmp.Diff([]string{"r.csv"}, ls(t, dir)); d != "" || string(read(t, old)) != "old" {
			t.Errorf("after a failure: %s, r.csv holds %q", d, read(t, old))
		}
	}
}

// full is a stream that takes so many bytes and no more.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

// One full output does not hang the others.
func TestWriteOutputsFull(t *testing.T) {
	rows := func(yield func([]any, error) bool) {
		for i := range 200_000 {
			if !yield([]any{fmt.Sprint(i)}, nil) {
				return
			}
		}
	}
	res := &reports.Result{Name: "q", Sections: []reports.Section{
		{Name: "a", Columns: []reports.Column{{Name: "x"}}, Rows: rows}, {Name: "b", Columns: []reports.Column{{Name: "x"}}, Rows: rows}}}
	var b bytes.Buffer
	_, err := reports.WriteOutputs(res, []reports.Output{{Form: "json", W: &full{100_000}}, {Form: "json", W: &b}}, reports.WriteOptions{})
	if err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error %v, want the full stream's", err)
	}
	if !bytes.HasSuffix(b.Bytes(), []byte("\"warnings\":[]}\n")) {
		t.Error("the other output is not complete")
	}
}

func TestWriteOutputsPlace(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "real.md")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.md")
	if err := os.Symlink("real.md", link); err != nil {
		t.Skip("no symbolic links here")
	}
	if _, err := reports.WriteOutputs(hostile(), []reports.Output{{Form: "md", Path: link}}, reports.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced by a file")
	}
	if info, err := os.Stat(target); err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("the link's target: %v, %v; want it written, mode kept", info, err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "no", "x.md"): "no such file or directory", dir: "it is a folder, want a file"} {
		_, err := reports.WriteOutputs(hostile(), []reports.Output{{Form: "md", Path: path}}, reports.WriteOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", path, err, want)
		}
	}
}

// A panic of a writer that runs beside others is told as an error, and no file is left.
func TestWriteOutputsPanic(t *testing.T) {
	dir := t.TempDir()
	res := &reports.Result{Stamp: &reports.Stamp{}, Sections: []reports.Section{{Name: "s", Columns: []reports.Column{{Name: "c"}}, Buffered: true, Rows: func(func([]any, error) bool) {
		panic("rows of nothing")
	}}}}
	_, err := reports.WriteOutputs(res, []reports.Output{
		{Form: "csv", Path: filepath.Join(dir, "r.csv")}, {Form: "json", Path: filepath.Join(dir, "r.json")},
	}, reports.WriteOptions{})
	var fault *store.Fault
	if !errors.As(err, &fault) || !strings.Contains(err.Error(), "rows of nothing") {
		t.Errorf("error %v", err)
	}
	if left := ls(t, dir); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}
