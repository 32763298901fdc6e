package ingest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"passhat/ingest"
)

// tree makes the named files (a name ending in / is a folder) and links
// (name -> target) below a new folder, and enters it.
func tree(t *testing.T, names ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, name := range names {
		name, target, link := strings.Cut(name, " -> ")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch {
		case link:
			if err := os.Symlink(target, name); err != nil {
				t.Skipf("no symbolic links here: %v", err)
			}
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(name, 0o755)
		default:
			err = os.WriteFile(name, []byte(name), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestExpand(t *testing.T) {
	files := []string{
		"a.jsonl", "b.csv", "logs/2.jsonl", "logs/10.jsonl", "logs/sub/c.jsonl.gz", "logs/.hidden.jsonl",
		"logs/.git/x.jsonl", "logs/[odd].jsonl", "empty/", "st/batches/1.json", "st/trials/x.parquet", "st/logs/y.jsonl",
	}
	tests := []struct {
		name  string
		extra []string
		args  []string
		want  []string
	}{
		{"files in the order named", nil, []string{"b.csv", "./a.jsonl"}, []string{"b.csv", "a.jsonl"}},
		{"a file twice", nil, []string{"a.jsonl", "*.jsonl"}, []string{"a.jsonl"}},
		{"stdin", nil, []string{"-", "a.jsonl"}, []string{"-", "a.jsonl"}},
		{"folder", nil, []string{"logs"}, []string{"logs/10.jsonl", "logs/2.jsonl", "logs/[odd].jsonl", "logs/sub/c.jsonl.gz"}},
		{"store left out", []string{"st2/ok.jsonl", "st2/passhat-store/batches/1.json", "st2/passhat-store/trials/x"}, []string{"st2"}, []string{"st2/ok.jsonl"}},
		{"glob", nil, []string{"logs/*.jsonl"}, []string{"logs/10.jsonl", "logs/2.jsonl", "logs/[odd].jsonl"}},
		{"glob of folders", nil, []string{"log?"}, []string{"logs/10.jsonl", "logs/2.jsonl", "logs/[odd].jsonl", "logs/sub/c.jsonl.gz"}},
		{"glob of any depth", nil, []string{"logs/**/*.gz"}, []string{"logs/sub/c.jsonl.gz"}},
		{"glob of any depth, none", nil, []string{"logs/**/2.jsonl"}, []string{"logs/2.jsonl"}},
		{"glob for hidden files", nil, []string{"logs/.h*"}, []string{"logs/.hidden.jsonl"}},
		{"a name with a bracket is a name", nil, []string{"logs/[odd].jsonl"}, []string{"logs/[odd].jsonl"}},
		{"hidden file by name", nil, []string{"logs/.hidden.jsonl"}, []string{"logs/.hidden.jsonl"}},
		{"loop of links", []string{"logs/sub/self -> .", "logs/sub/up -> ../../logs"}, []string{"logs"}, []string{
			"logs/10.jsonl", "logs/2.jsonl", "logs/[odd].jsonl", "logs/sub/c.jsonl.gz",
		}},
		{"links out of the folder", []string{"runs3/up -> ../logs", "runs3/f.jsonl -> ../a.jsonl", "runs3/in.jsonl -> r.jsonl", "runs3/r.jsonl"}, []string{"runs3"},
			[]string{"runs3/in.jsonl"}},
		{"a link that is named", []string{"runs4 -> logs", "f4.jsonl -> a.jsonl"}, []string{"runs4", "f4.jsonl"}, []string{
			"runs4/10.jsonl", "runs4/2.jsonl", "runs4/[odd].jsonl", "runs4/sub/c.jsonl.gz", "f4.jsonl"}},
		{"latest is a link to a run", []string{"runs/latest -> night-2", "runs/night-2/r.jsonl"}, []string{"runs"}, []string{"runs/night-2/r.jsonl"}},
		{"dead link", []string{"runs2/dead -> nowhere", "runs2/r.jsonl"}, []string{"runs2"}, []string{"runs2/r.jsonl"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree(t, append(slices.Clone(files), tt.extra...)...)
			found, err := ingest.Expand(tt.args)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range found {
				got = append(got, filepath.ToSlash(f.Path))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestExpandRoot(t *testing.T) {
	tree(t, "a.jsonl", "logs/b.jsonl")
	found, err := ingest.Expand([]string{"a.jsonl", "logs"})
	if err != nil {
		t.Fatal(err)
	}
	if !found[0].Named() || found[0].Size != 7 || found[1].Named() || found[1].Root != "logs" {
		t.Errorf("found %+v", found)
	}
}

func TestExpandErrors(t *testing.T) {
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"near miss", []string{"logs/night-01.json"}, "logs/night-01.json: no such file or folder: did you mean logs/night-01.jsonl?"},
		{"nothing near", []string{"logs/qqqqqq"}, "logs/qqqqqq: no such file or folder"},
		{"missing folder", []string{"nope/x.jsonl"}, "nope/x.jsonl: no such file or folder: the folder nope is not there either"},
		{"empty folder", []string{"empty"}, "empty: the folder holds no files"},
		{"no match", []string{"logs/*.csv"}, "logs/*.csv: no file matches"},
		{"malformed pattern", []string{"logs/[x"}, "logs/[x: this pattern is malformed"},
		{"stdin twice", []string{"-", "-"}, "standard input (-) was named twice"},
		{"empty argument", []string{""}, "an empty source was named"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tree(t, "logs/night-01.jsonl", "empty/")
			_, err := ingest.Expand(tt.args)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

// A link out of a folder is named, with the way to read it.
func TestLinksOutOfAFolderAreSaid(t *testing.T) {
	d := newDesk(t)
	outside := d.write("private.jsonl", `{"task_id":"a","passed":true}`+"\n")
	d.write("logs/r.jsonl", `{"task_id":"b","passed":true}`+"\n")
	if err := os.Symlink(outside, d.path("logs/link.jsonl")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	sum, err := d.ingest(ingest.Options{}, d.path("logs"))
	if err != nil {
		t.Fatal(err)
	}
	if len(sum.Sources) != 1 || len(sum.PassedOver) != 1 || sum.PassedOver[0].Source != d.path("logs/link.jsonl") || !strings.Contains(sum.PassedOver[0].Reason, "name it as a source") {
		t.Errorf("%d sources read, passed over: %v", len(sum.Sources), sum.PassedOver)
	}
	if sum, err = d.ingest(ingest.Options{}, d.path("logs/link.jsonl")); err != nil || len(sum.Sources) != 1 {
		t.Errorf("the link by name: %+v, %v", sum, err)
	}
}

// Nor is such a link read where a format looks for a file beside its log.
func TestLinksBesideALogAreNotRead(t *testing.T) {
	d := newDesk(t)
	outside := d.write("private.json", `{"env_id":"e","model":"stranger","num_examples":1,"rollouts_per_example":1}`)
	row := `{"example_id":0,"prompt":[],"completion":[],"reward":1.0,"task":"walk","answer":"x"}` + "\n"
	d.write("logs/results.jsonl", row)
	d.write("plain/results.jsonl", row)
	d.write("plain/metadata.json", `{"env_id":"e","model":"own","num_examples":1,"rollouts_per_example":1}`)
	if err := os.Symlink(outside, d.path("logs/metadata.json")); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	for folder, want := range map[string]string{"logs": "", "plain": "own"} {
		trials, _, err := ingest.ReadTrialsBy(t.Context(), d.path(folder+"/results.jsonl"), ingest.Options{As: "verifiers"}, 1)
		if err != nil || len(trials) != 1 || trials[0].Model != want {
			t.Errorf("%s: %+v, %v, want one trial of the model %q", folder, trials, err, want)
		}
	}
}
