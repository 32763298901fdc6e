package ingest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"passhat/ingest"
	"passhat/ingest/store"
)

// Of a file that no format recognises it is said what was seen and what it is
// near to.
func TestNearFormats(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"a.json", `[{"task_id":0,"info":{},"traj":[],"trial":0}]`, "near tau-bench, which also has reward"},
		{"b.json", `{"simulations":[{"task_id":"1","messages":[]}],"tasks":[],"info":{}}`,
			"near tau2, which also has simulations with termination_reason and reward_info"},
		{"c.json", `{"config":{},"suites":[]}`, "near playwright, which also has stats"},
		{"d.bin", "\x7fELF\x02\x01\x01\x00\x00", "its first bytes are 7f 45 4c 46 02 01 01 00"},
		{"e", "<html><body>\x1b[2J no log at all, and a long one</body>", "its first bytes are "},
		{"f", "<html>\n<body>no log at all, and a long one</body>", `it begins with "<html> <body>no log at all, and a long o…"`},
	} {
		path := filepath.Join(t.TempDir(), c.file)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		st, err := store.Open(filepath.Join(t.TempDir(), "store"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = ingest.Ingest(context.Background(), st, []string{path}, ingest.Options{Version: "test"})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%s: error %v, want %q", c.file, err, c.want)
		}
	}
}
