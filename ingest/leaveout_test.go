package ingest

import (
	"strings"
	"testing"
)

func TestWithoutSecrets(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"task_id":"a","api_key":"PLANT","trial":1}`, `{"task_id":"a","api_key":"(left out)","trial":1}`},
		{`[{"headers":{"x":"PLANT","y":["PLANT"]},"base_sta`, `[{"headers":"(left out)","base_sta`},
		{`{"headers" : {"x":{"y":"}PLANT`, `{"headers" : "(left out)"`},
		{`{"env_vars":["A=PLANT"], "b": [1]}`, `{"env_vars":"(left out)", "b": [1]}`},
		{`{"password":12345678,"b":2}`, `{"password":"(left out)","b":2}`},
		{`{"password":12345678`, `{"password":"(left out)"`},
		{`{"password":"PL\"ANT","b":2}`, `{"password":"(left out)","b":2}`},
		{`{"a":{"password":"PLANT\\"},"b":2}`, `{"a":{"password":"(left out)"},"b":2}`},
		{`{"api\u005fkey":"PLANT"}`, `{"api\u005fkey":"(left out)"}`},
		{`{"args":"{\"api_key\":\"PLANT\",\"n\":1}","b":2}`, `{"args":"{\"api_key\":\"(left out)\",\"n\":1}","b":2}`},
		{`{"args":"{\"headers\": {\"x\":\"PLANT`, `{"args":"{\"headers\": \"(left out)\"`},
		{`{"args":"{\"password\": 77","b":2}`, `{"args":"{\"password\": \"(left out)\"","b":2}`},
		{`{'api_key': 'PLANT', 'b': 2}`, `{'api_key': '(left out)', 'b': 2}`},
		// The text begins inside a string.
		{`lo", "llm_args": {"temperature": 0, "k": "PLANT"}, "c": "d"`, `lo", "llm_args": "(left out)", "c": "d"`},
		{`{"max_tokens":5,"note":"password: yes"}`, `{"max_tokens":5,"note":"password: yes"}`},
		{`{"headers":`, `{"headers":"(left out)"`},
		{`{"headers"`, `{"headers"`},
		{``, ``},
	} {
		if got := string(withoutSecrets([]byte(c.in))); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.in, got, c.want)
		}
	}
}

// The text of a value that stands under such a key is not kept at all.
func TestRejectUnderSecret(t *testing.T) {
	for path, want := range map[string]string{
		"eval.aws_secret_access_key": leftOut, "eval.headers": leftOut, `runs[2].llm_args["x"]`: leftOut,
		"eval.head": "PLANT", "tokens[1]": "PLANT", "": "PLANT",
	} {
		if got := string(NewSyntaxError(&Input{}, 0, path, "an object is wanted", []byte("PLANT")).Raw); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// A reason that quotes what was found is kept without secrets as well.
func TestReasonWithoutSecrets(t *testing.T) {
	e := NewSyntaxError(&Input{}, 2, "", `found "{\"client_secret\":\"PLANT\",\"promptIdx\"…", a result row {…} is wanted`, nil)
	if want := `found "{\"client_secret\":\"(left out)\",\"promptIdx\"…", a result row {…} is wanted`; e.Reason != want {
		t.Errorf("%s, want %s", e.Reason, want)
	}
}

// What a format says of a log is kept without secrets as well.
func TestNoteWithoutSecrets(t *testing.T) {
	var in Input
	in.Note("found %s and glpat-abcdefghijklmnopqrst", `{"headers":{"x":"PLANT"}}`)
	if want := `found {"headers":"(left out)"} and [redacted]`; len(in.notes) != 1 || in.notes[0] != want {
		t.Errorf("%q, want %q", in.notes, want)
	}
}

// FuzzWithoutSecrets plants a word under a key and looks for it.
func FuzzWithoutSecrets(f *testing.F) {
	f.Add(`{"a":"`, `","b":[{"c":1`, true)
	f.Add(`x' "\`, `}]`, false)
	f.Fuzz(func(t *testing.T, before, after string, object bool) {
		const plant = "PLANT7e3c"
		if strings.Contains(before+after, plant) {
			return
		}
		value := `"` + plant + `"`
		if object {
			value = `{"x":["` + plant + `"]}`
		}
		if got := string(withoutSecrets([]byte(before + `{"api_key": ` + value + after))); strings.Contains(got, plant) {
			t.Errorf("%q is left in %q", plant, got)
		}
	})
}
