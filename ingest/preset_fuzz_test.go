package ingest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzPresets reads hostile bytes by every preset, as if --as named it.
func FuzzPresets(f *testing.F) {
	for i, p := range presets {
		files, _ := filepath.Glob("../testdata/formats/" + p.name + "/*")
		for _, file := range files {
			if b, err := os.ReadFile(file); err == nil && !strings.HasSuffix(file, ".golden") {
				f.Add(uint8(i), b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, b []byte) {
		p := presets[int(i)%len(presets)]
		fuzzFormat(t, p.format(), "samples_a_2026-10-05T08-00-00.jsonl", b, Options{As: p.name})
	})
}

// FuzzDetection asks every format of hostile bytes, and why none fits.
func FuzzDetection(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), "a.csv")
	}
	f.Fuzz(func(t *testing.T, b []byte, name string) {
		p := &Probe{Name: name, Head: b, Whole: true}
		for _, format := range Formats {
			format.Match(p)
		}
		p.whyUnknown()
	})
}

func FuzzPresetFile(f *testing.F) {
	f.Add([]byte("name: x\nform: [csv]\nfields: [a]\nrows: a.b\nmap:\n  task_id: {join: [a, b]}\n  trial: {from: c, base: 1}\nscores: [{at: s, name: n, value: v}, 's_*']\npass_when: score >= 1\nset: {harness: x}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parsePreset(b)
		if err != nil {
			return
		}
		p.format()
		_, _ = bindPreset(p, &Input{}, &Options{})
	})
}

func FuzzWide(f *testing.F) {
	f.Add([]byte("task,shape,t1,t2\na,lookup,1,0\nb,x,pass,\nc,,0.5,nan\n"))
	f.Fuzz(func(t *testing.T, b []byte) { fuzzFormat(t, wideFormat, "a.csv", b, Options{As: "wide"}) })
}

func FuzzBFCL(f *testing.F) {
	f.Add([]byte("{\"accuracy\":0.5,\"correct_count\":1,\"total_count\":2}\n{\"id\":1,\"valid\":false}\n"), []byte("{\"idx\":0,\"latency\":[[1]]}\n{\"idx\":1}\n"))
	f.Fuzz(func(t *testing.T, score, result []byte) {
		dir := fuzzDir(t)
		files := map[string][]byte{"score/m/a_score.json": score, "result/m/a_result.json": result}
		for name, b := range files {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d := &Folder{Path: dir, dir: dir, Files: []string{"result/m/a_result.json", "score/m/a_score.json"}}
		in, _, err := openFolder(Found{Name: dir, Folder: d, Files: claimBFCL(d, nil)}, &Options{})
		if err != nil {
			t.Fatal(err)
		}
		for tr, err := range bfclFormat.Read(t.Context(), in, &Options{MaxRow: 1 << 16}) {
			if err == nil {
				checkTrial(t, tr)
			}
		}
	})
}
