package ingest_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"passhat/ingest"
)

// TestChunkBorders reads logs of nasty lines by one worker in one chunk and by
// four in chunks of every small size, so that a border falls behind every byte:
// trials, their made-up names and numbers, rejects and their places are the same.
func TestChunkBorders(t *testing.T) {
	long := strings.Repeat("x", 2000)
	jsonLines := "\ufeff" + strings.Join([]string{
		`{"task_id":"a","passed":true,"run_id":"r1","trial":0}`,
		"{\"task_id\":\"a\",\"passed\":false,\"run_id\":\"r1\",\"trial\":1}\r",
		"", "\r", " \t ",
		`{"task_id":"b","passed":true,"note":"half a line`,
		"{\"task_id\":\"c\",\"passed\":true,\"note\":\"\xff\xfe\"}",
		"{\"task_id\":\"d\xff\",\"passed\":true}",
		`{"task_id":"e","ok":1,"note":"` + long + `"}`,
		`{"task_id":"e","ok":1,"note":"` + strings.Repeat(long, 3) + `"}`,
		`{"task_id":"e","ok":0}`,
		`{"task_id":"täsk ☃","runs":[true,false,{"passed":true,"score":0.5}]}`,
		`{"task_id":"f","n":3,"c":2}`,
		`not json`, `{"task_id":"g"}}`,
		`{ "task_id" : "h" , "passed" : false , "error_type" : "timeout" }`,
		`{"passed":true,"task_id":"h","error_type":null}`,
		`{"task_id":"z","passed":true,"note":"unfinished`,
	}, "\n")
	table := "task_id,passed,trial,note\r\n" + strings.Join([]string{
		"a,true,0,plain", "a,false,1,\r", "", "b,true", "c,yes,0,\xff", "task_id,passed,trial,note", "e,1,,", "e,0,,\r",
		"g,true,," + long, "h,true,,\"quoted, and\nof two lines\"", "h,false,,\"stray", "i,true,,after", "j,tr",
	}, "\n")
	for _, c := range []struct{ name, file, text string }{
		{"lines", "a.jsonl", jsonLines},
		{"lines with an end", "a.jsonl", jsonLines + "\"}\n"},
		{"table", "a.csv", table},
		{"table with an end", "a.csv", table + "ue,,\n"},
		{"table without quotes", "a.csv", strings.ReplaceAll(table, `"`, "")},
		{"table of carriage returns", "a.csv", strings.ReplaceAll(strings.ReplaceAll(table, "\r", ""), "\n", "\r")},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			want := readBy(t, path, 1)
			if len(want) < 8 {
				t.Fatalf("only %d rows: %q", len(want), want)
			}
			sizes := []int{1, 2, 3, 5, 8, 13, 21, 34}
			for size := 50; size < 250; size += 3 {
				sizes = append(sizes, size)
			}
			for _, size := range sizes {
				restore := ingest.SetChunkBytes(size)
				got := readBy(t, path, 4)
				restore()
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("in chunks of %d bytes (-one +many):\n%s", size, diff)
				}
			}
		})
	}
}

// readBy lists what several workers read, in the order of the source.
func readBy(t *testing.T, path string, jobs int) []string {
	t.Helper()
	opt := ingest.Options{MaxRow: 5000, MaxRejects: "100", Env: noEnv}
	trials, rejects, err := ingest.ReadTrialsBy(t.Context(), path, opt, jobs)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, tr := range trials {
		out = append(out, fmt.Sprintf("%s: %q %s %d (%s) %v %v %q %q %x %q", tr.SourceRow, tr.TaskID, tr.RunID, tr.Trial.V, tr.TrialFrom,
			tr.Passed, tr.Score, tr.ErrorType, tr.Extra[:min(len(tr.Extra), 60)], tr.RowHash, tr.Suite))
	}
	for _, r := range rejects {
		out = append(out, fmt.Sprintf("reject %d %s: %s: %q", r.Line, r.Path, r.Reason, fmt.Sprint(len(r.Raw), r.Cut, sha256.Sum256([]byte(r.Raw)))))
	}
	return out
}
