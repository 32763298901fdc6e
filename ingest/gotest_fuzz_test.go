package ingest

import "testing"

func FuzzGoTest(f *testing.F) {
	for _, s := range []string{
		`{"Time":"2026-11-02T08:00:00Z","Action":"run","Package":"p","Test":"TestA/b"}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestA/b","Elapsed":0.1}`,
		`{"Action":"start","Package":"p"}` + "\n" + `{"Action":"run","Package":"p","Test":"T"}` + "\n" + `{"Action":"fail","Package":"p"}`,
		"FAIL p\n{\"Action\":\"output\",\"Package\":\"p\",\"Test\":\"T\",\"Output\":\"panic: \xff\"}",
	} {
		for _, final := range []bool{false, true} {
			f.Add([]byte(s), final, !final)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, final, dependent bool) {
		opt := Options{AllowDependent: dependent}
		if final {
			opt.Attempts = "final"
		}
		fuzzFormat(t, goTest, "a.jsonl", b, opt)
	})
}
