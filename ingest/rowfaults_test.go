package ingest_test

import (
	"slices"
	"strings"
	"testing"

	"passhat/ingest"
)

// TestRepeatedKeys: of a key that is there twice the last counts, unless the two
// differ and say what the trial is or how it went.
func TestRepeatedKeys(t *testing.T) {
	tests := []struct {
		name, raw string
		want      []string
		reject    string
	}{
		{"the same twice", `{"task_id":"a","task_id":"a","passed":true}`, []string{"a/true"}, ""},
		{"a note twice", `{"task_id":"a","note":1,"passed":true,"note":2}`, []string{"a/true"}, ""},
		{"two tasks", `{"task_id":"a","task_id":"b","passed":true}`, nil, `task_id is there twice, with different values: "a" and "b"`},
		{"two verdicts", `{"task_id":"a","passed":true,"passed":false}`, nil, `passed is there twice, with different values: "true" and "false"`},
		{"two trials", `{"task_id":"a","trial":0,"passed":true,"trial":1}`, nil, `trial is there twice`},
		{"an element of a list", `{"task_id":"a","runs":[{"ok":true,"ok":false}]}`, nil, "ok is there twice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := read(t, "x.jsonl", "jsonl", []byte(tt.raw+"\n"), ingest.Options{}, nil)
			if r.err != nil || !slices.Equal(shorts(r.trials), tt.want) {
				t.Errorf("trials %q %v, want %q", shorts(r.trials), r.err, tt.want)
			}
			if got := strings.Join(r.rejects, "; "); tt.reject == "" && got != "" || !strings.Contains(got, tt.reject) {
				t.Errorf("rejects %q, want %q", got, tt.reject)
			}
		})
	}
	t.Run("a document's field is overridden by its rows", func(t *testing.T) {
		r := read(t, "x.json", "json", []byte(`{"suite":"s","results":[{"task":"a","ok":1,"suite":"z"}]}`), ingest.Options{}, nil)
		if len(r.trials) != 1 || r.trials[0].Suite != "z" || len(r.rejects) > 0 {
			t.Errorf("%+v %q", r.trials, r.rejects)
		}
	})
}

// TestNamesAreText: names that would become one by replacing what is wrong in
// them reject their row; elsewhere such text is mended.
func TestNamesAreText(t *testing.T) {
	raw := "{\"task_id\":\"a\xff\",\"ok\":1}\n{\"task_id\":\"a\\ud800\",\"ok\":1}\n{\"suite\":\"x\xfe\",\"task_id\":\"b\",\"ok\":1}\n" +
		"{\"benchmark\":\"x\xfe\",\"task_id\":\"b\",\"ok\":1}\n" +
		"{\"task_id\":\"c\",\"ok\":1,\"model\":\"m\xff\"}\n{\"task_id\":\"d\\ud83d\\ude00\\ufffd\\n\",\"ok\":1}\n"
	r := read(t, "x.jsonl", "", []byte(raw), ingest.Options{}, nil)
	if got := shorts(r.trials); !slices.Equal(got, []string{"c/true", "d\U0001F600\uFFFD\n/true"}) {
		t.Errorf("trials %q", got)
	}
	if len(r.rejects) != 4 {
		t.Fatalf("rejects %q", r.rejects)
	}
	for _, s := range r.rejects {
		if !strings.Contains(s, "two names could become one") {
			t.Errorf("reject %q", s)
		}
	}
}

// TestKeysThatAreNames: keys are told apart whatever they hold, also where one is
// empty or holds what others are joined by.
func TestKeysThatAreNames(t *testing.T) {
	d := newDesk(t)
	d.one(ingest.Options{MaxRejects: "100%"}, d.write("a.jsonl", strings.Join([]string{
		`{"task_id":"a","passed":true}`, `{"task_id\u0000passed":"b"}`, `{"passed":true,"task_id":"c"}`, `{"passed\u0000task_id":1}`,
		`{}`, `{"":""}`, `{"":"","":""}`, `{"task_id":"d","passed":false}`,
	}, "\n")+"\n"))
	d.wantRows("a/0 true", "c/0 true", "d/0 false")
}
