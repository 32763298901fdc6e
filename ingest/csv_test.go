package ingest_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"passhat/ingest"
	"passhat/ingest/store"
)

// short is a trial in a few words: task/trial/verdict/score.
func short(t store.Trial) string {
	s := t.TaskID
	if t.Trial.OK {
		s += fmt.Sprintf("/%d", t.Trial.V)
	}
	if t.Passed.OK {
		s += fmt.Sprintf("/%t", t.Passed.V)
	}
	if t.Score.OK {
		s += fmt.Sprintf("/%g", t.Score.V)
	}
	return s
}

func shorts(trials []store.Trial) []string {
	var out []string
	for _, t := range trials {
		out = append(out, short(t))
	}
	return out
}

func TestCSV(t *testing.T) {
	tests := []struct {
		name, format, raw string
		want              []string
		rejects           []string // beginnings
	}{
		{"comma", "csv", "task_id,passed\na,true\nb,no\n", []string{"a/true", "b/false"}, nil},
		{"semicolon", "csv", "task;ok;note\na;1;\"x;y\"\nb;0;z,z\n", []string{"a/true", "b/false"}, nil},
		{"bar", "csv", "task|ok\na|pass\n", []string{"a/true"}, nil},
		{"tab", "tsv", "task\tok\na b\tpass\n", []string{"a b/true"}, nil},
		{"sep line", "csv", "sep=;\ntask;a,b,c;ok\nx;1;1\n", []string{"x/true"}, nil},
		{"CRLF, byte order mark, blank lines", "csv", "\xEF\xBB\xBFtask_id,passed\r\n\r\na,true\r\n\r\n\"b\",false\r\n", []string{"a/true", "b/false"}, nil},
		{"no last line end", "csv", "task_id,passed\na,true\nb,false", []string{"a/true", "b/false"}, nil},
		{"quotes", "csv", "\"task_id\",\"passed\",score\n\"a \"\"1\"\"\",\"true\",\"0.5\"\n\"b\n,c\",false,\"\"\n", []string{`a "1"/true/0.5`, "b\n,c/false"}, nil},
		{"a quote inside an unquoted cell", "csv", "task_id,passed\n5\" disk,true\n", []string{`5" disk/true`}, nil},
		{"empty cells are NULL", "csv", "task_id,passed,score\na,,1\nb,null,\nc,None,NaN\n", []string{"a/1", "b", "c"}, nil},
		{"numeric identifiers keep their text", "csv", "task_id,trial,passed\n007,0,1\n1e5,1.0,0\n", []string{"007/0/true", "1e5/1/false"}, nil},
		{"counts", "csv", "task_id,n,c\na,3,2\n", []string{"a/true", "a/true", "a/false"}, nil},
		{"a list of trials", "csv", "task_id,runs\na,\"[true,{\"\"ok\"\":false}]\"\n", []string{"a/true", "a/false"}, nil},
		{"stray quote", "csv", "task_id,passed,note\na,true,\"x\nb,true,y\nc,false,z\n", []string{"b/true", "c/false"}, []string{"line 2: a quote is not closed"}},
		{"stray quote, closed further on", "csv", "task_id,passed,note\na,true,\"x\nb,true,y\nc,false,z\"\nd,true,w\n", []string{"a/true", "d/true"}, nil},
		{"stray quote, closed by another", "csv", "task_id,passed,note\na,true,\"x\nb,true,\"y\"\nc,false,z\n", []string{"b/true", "c/false"}, []string{"line 2: a closing quote is followed by text"}},
		{"stray quote, cells that don't add up", "csv", "task_id,passed,note\na,\"true,x\nb,true,\",1,2\nc,false,z\n", []string{"c/false"}, []string{"line 2: a quote is closed only on a later line", "line 3: "}},
		{"wrong number of cells", "csv", "task_id,passed\na,true,1\nb\nc,true\n", []string{"c/true"}, []string{"line 2: found 3 cells where the header has 2 columns", "line 3: found 1 cells"}},
		{"invalid UTF-8 in a name", "csv", "task_id,passed\na\xff,true\nb,true\n", []string{"b/true"}, []string{"line 2: task_id: it holds bytes"}},
		{"invalid UTF-8 elsewhere", "csv", "task_id,passed,note\na,true,\xff\n", []string{"a/true"}, nil},
		{"UTF-16, little endian", "csv", utf16Text("task_id,passed\r\na\u00e9,true\r\n", false), []string{"a\u00e9/true"}, nil},
		{"UTF-16, big endian", "csv", utf16Text("task_id,passed\nb,false\n", true), []string{"b/false"}, nil},
		{"carriage returns only", "csv", "task_id,passed\ra,true\rb,false\r", []string{"a/true", "b/false"}, nil},
		{"carriage returns only, no last one", "csv", "task_id,passed,note\ra,true,\"x,y\"\rb,false,z", []string{"a/true", "b/false"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := read(t, "x.txt", "", []byte(tt.raw), ingest.Options{}, nil)
			if r.err != nil {
				t.Fatal(r.err)
			}
			if got := shorts(r.trials); !slices.Equal(got, tt.want) {
				t.Errorf("trials %q, want %q", got, tt.want)
			}
			if len(r.rejects) != len(tt.rejects) {
				t.Fatalf("rejects %q, want %q", r.rejects, tt.rejects)
			}
			for i, want := range tt.rejects {
				if !strings.HasPrefix(r.rejects[i], want) {
					t.Errorf("reject %q, want %q", r.rejects[i], want)
				}
			}
		})
	}
}

// utf16Text is a text in UTF-16 with a byte order mark.
func utf16Text(s string, big bool) string {
	var b []byte
	for _, u := range utf16.Encode([]rune("\uFEFF" + s)) {
		if big {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return string(b)
}

func TestCSVMap(t *testing.T) {
	raw := []byte("Case No.,Result,sec\nA 1,won,3\nA 1,lost,4\n")
	r := read(t, "x.csv", "csv", raw, ingest.Options{Map: []ingest.Pair{{Name: "task_id", Value: "Case No."}, {Name: "duration_s", Value: "sec"}}}, nil)
	if r.err != nil || len(r.trials) != 2 || r.trials[1].TaskID != "A 1" || r.trials[1].DurationS != store.Some(4.0) || r.trials[1].Extra != `{"Result":"lost"}` {
		t.Errorf("%+v %q %v", r.trials, r.rejects, r.err)
	}
}

func TestCSVErrors(t *testing.T) {
	tests := []struct{ name, raw, want string }{
		{"nothing", "\n\n", "x.csv: line 1: there is no header line"},
		{"header without end", "\"task_id,passed\na,true\n", "x.csv: line 1: the header cannot be read: a quote is not closed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkError(t, read(t, "x.csv", "csv", []byte(tt.raw), ingest.Options{}, nil), tt.want)
		})
	}
}

func TestCSVDetection(t *testing.T) {
	tests := []struct{ name, raw, want string }{
		{"prose", "Dear all, the task is done, and it passed.\nYours, me\n", ""},
		{"labels", "suite,task_id,shape\ns,a,lookup\n", ""},
		{"no verdict", "task_id,model\na,m\n", ""},
		{"JSON lines", "{\"task_id\":\"a\",\"passed\":true}\n{\"task_id\":\"b\",\"passed\":true}\n", "jsonl"},
		{"one column", "task_id\na\n", ""},
		{"tabs", "task_id\tscore\na\t1\n", "tsv"},
		{"commas", "id,reward\na,1\n", "csv"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, f := range []string{"csv", "tsv", "jsonl"} {
				format, _ := ingest.FormatNamed(f)
				m := format.Match(&ingest.Probe{Name: "x.csv", Head: []byte(tt.raw), Whole: true})
				if (m != ingest.NoMatch) != (f == tt.want) {
					t.Errorf("%s matches with %d, want %q only", f, m, tt.want)
				}
			}
		})
	}
}

// TestCSVGrowth cuts a table at every byte: what is read before the cut and
// from where that reading ended on must be the whole, row for row.
func TestCSVGrowth(t *testing.T) {
	const whole = "task_id,passed,note\na,true,\"two\nlines\"\nb,false,\"say \"\"hi\"\"\"\nc,true,plain\n"
	want := []string{"a/true", "b/false", "c/true"}
	header := strings.Index(whole, "\n") + 1
	for cut := header; cut <= len(whole); cut++ {
		var end int64
		first := read(t, "x.csv", "csv", []byte(whole[:cut]), ingest.Options{}, nil)
		if first.err != nil || len(first.rejects) > 0 {
			t.Fatalf("cut at %d: rejects %q, error %v", cut, first.rejects, first.err)
		}
		// A row counts as soon as it is whole, even before its line end.
		lines := 1 + strings.Count(whole[:header], "\n")
		for i, stop := range []string{"lines\"", "\"\"\"\n", "plain\n"} {
			if i < len(first.trials) {
				end = int64(strings.Index(whole, stop) + len(stop))
			}
		}
		if end == int64(strings.Index(whole, "lines\"")+6) {
			end++
		}
		if end > int64(cut) {
			end = int64(cut)
		}
		lines += strings.Count(whole[header:max(int(end), header)], "\n")
		second := read(t, "x.csv", "csv", []byte(whole), ingest.Options{}, func(in *ingest.Input) { in.Offset, in.FirstLine = end, int64(lines) })
		if second.err != nil {
			t.Fatalf("cut at %d: %v", cut, second.err)
		}
		if end == int64(cut) && cut < len(whole) && whole[cut-1] != '\n' {
			continue // an open end that parses: the frame reads such a file whole
		}
		if got := append(shorts(first.trials), shorts(second.trials)...); !slices.Equal(got, want) || len(second.rejects) > 0 {
			t.Errorf("cut at %d: %q and %q, rejects %q", cut, shorts(first.trials), shorts(second.trials), second.rejects)
		}
	}
}

func FuzzCSV(f *testing.F) {
	f.Add([]byte("task_id,passed,note\na,true,x\nb,false,\"y\nz\"\n"))
	f.Add([]byte("sep=;\ntask;ok\n\"a\"\"b\";1\n"))
	f.Add([]byte("task_id,n,c\na,3,2\n\"b,1,1\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := read(t, "x.csv", "csv", raw, ingest.Options{}, func(in *ingest.Input) { in.Path = "" })
		if r.err != nil && !strings.HasPrefix(r.err.Error(), "x.csv: ") {
			t.Errorf("error %q does not name the source", r.err)
		}
		for _, trial := range r.trials {
			if trial.TaskID == "" {
				t.Errorf("a trial without a task: %+v", trial)
			}
		}
	})
}

// TestCSVAgainstStandard compares the splitting of well-formed tables with that
// of encoding/csv.
func TestCSVAgainstStandard(t *testing.T) {
	cells := []string{"a", "", "x,y", "q\"q", "two\nlines", " lead", "\"", "é"}
	var buf bytes.Buffer
	w := csv.NewWriter(&buf)
	w.Write([]string{"task_id", "passed", "note", "more"})
	var want []string
	for i, a := range cells {
		for j, b := range cells {
			w.Write([]string{fmt.Sprint(i, "-", j), "true", a, b})
			want = append(want, fmt.Sprint(i, "-", j))
		}
	}
	w.Flush()
	r := read(t, "x.csv", "csv", buf.Bytes(), ingest.Options{}, nil)
	if r.err != nil || len(r.rejects) > 0 || len(r.trials) != len(want) {
		t.Fatalf("%d trials, want %d; rejects %q, error %v", len(r.trials), len(want), r.rejects, r.err)
	}
	for i, trial := range r.trials {
		a, b := cells[i/len(cells)], cells[i%len(cells)]
		for name, cell := range map[string]string{"note": a, "more": b} {
			if got := strings.Contains(trial.Extra, fmt.Sprintf("%q:%s", name, jsonText(cell))); got != (cell != "") || trial.TaskID != want[i] {
				t.Errorf("row %d: %s %q in %s", i, name, cell, trial.Extra)
			}
		}
	}
}

func jsonText(s string) string {
	r := strings.NewReplacer(`"`, `\"`, "\n", `\n`)
	return `"` + r.Replace(s) + `"`
}

func BenchmarkCSV(b *testing.B) {
	var buf bytes.Buffer
	buf.WriteString("task_id,trial,passed,score,model,effort,run_id,started_at,duration_s,cost_usd,input_tokens,output_tokens,note\n")
	for i := range 20000 {
		fmt.Fprintf(&buf, "task-%d,%d,true,0.75,vela-2,high,night-1,2026-11-02T01:00:00Z,12.5,0.0125,1200,340,\"ok, done\"\n", i%50, i/50)
	}
	path := filepath.Join(b.TempDir(), "x.csv")
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	in, err := ingest.NewTestInput(path)
	if err != nil {
		b.Fatal(err)
	}
	f, _ := ingest.FormatNamed("csv")
	b.SetBytes(int64(buf.Len()))
	for b.Loop() {
		n := 0
		for _, err := range f.Read(b.Context(), in, &ingest.Options{}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 20000 {
			b.Fatal(n)
		}
	}
}
