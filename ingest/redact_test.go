package ingest

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTokensAreRedacted(t *testing.T) {
	const b32 = "Zq3Xv7Lm2Kp9Rt4Wd8Yh1Nc6Jb5Gf0Se"
	for _, tt := range []struct{ text, want string }{
		{"failed: Bearer " + b32 + ".x-y", "failed: Bearer [redacted]"},
		{"authorization: Basic dXNlcjpwYXNzd29yZDE=, then", "authorization: Basic [redacted], then"},
		{"key sk-" + b32 + " is wrong", "key [redacted] is wrong"},
		{"OPENAI_API_KEY=sk-proj-ab_cd-" + b32, "OPENAI_API_KEY=[redacted]"},
		{"(sk-ant-api03-" + b32 + ")", "([redacted])"},
		{"ghp_" + b32 + " and github_pat_11AA_" + b32, "[redacted] and [redacted]"},
		{"glpat-abcdefghijklmnopqrst, glpat-short", "[redacted], glpat-short"}, // no digit
		{"AKIAQ3EXAMPLE7KEY2ZZ.", "[redacted]."},
		{"xoxb-1234567890-" + b32, "[redacted]"},
		{"AIza" + b32 + "abc", "[redacted]"},
		{"hf_" + b32, "[redacted]"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P", "[redacted]"},
		{"ya29." + b32, "[redacted]"},
		{"SG." + b32[:22] + "." + b32 + "9, SG.short", "[redacted], SG.short"},
		{"xai-" + b32 + b32, "[redacted]"},
		{"a -----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("MIIEpAIB", 8) + "\n" + strings.Repeat("Ab3dEf7h", 8) + "\n-----END RSA PRIVATE KEY----- z", "a [redacted] z"},
		{`{"note":"line\nsk-` + b32 + `","a":"\u00e9ghp_` + b32 + `"}`, `{"note":"line\n[redacted]","a":"\u00e9[redacted]"}`},
	} {
		got, n := withoutTokens(tt.text)
		if got != tt.want || n != strings.Count(tt.want, redacted) {
			t.Errorf("%q\n gives %q (%d)\n  want %q", tt.text, got, n, tt.want)
		}
	}
}

func TestAddressesAreRedacted(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://bob:pa55@h/db":                             "postgres://bob:[redacted]@h/db",
		"a https://u:p:q@r@h:8080/x?y=1, b":                    "a https://u:[redacted]@h:8080/x?y=1, b",
		"https://h/v1?api_key=Qs1&n=2&access_token=z#t":        "https://h/v1?api_key=[redacted]&n=2&access_token=[redacted]#t",
		`{"u":"https://h/b?sv=1&sig=a%2Fb","v":"ftp://a:b@c"}`: `{"u":"https://h/b?sv=1&sig=[redacted]","v":"ftp://a:[redacted]@c"}`,
		"https://h/a:b@c?q=1&max_tokens=5":                     "https://h/a:b@c?q=1&max_tokens=5",
		"mailto: a@b, see http://h and x://":                   "mailto: a@b, see http://h and x://",
		"https://u:[redacted]@h":                               "https://u:[redacted]@h",
		"https://u@h/?token=":                                  "https://u@h/?token=",
	} {
		got, n := withoutCredentials(text)
		if changed := got != text; got != want || (n > 0) != changed {
			t.Errorf("%q\n gives %q (%d)\n  want %q", text, got, n, want)
		}
	}
}

func TestPlainTextIsNotRedacted(t *testing.T) {
	for _, text := range []string{
		"", "sk-learn", "sk-learn__scikit-learn-10297-of-many", "scikit-learn__scikit-learn-10297", "task-sk-0123456789-0123456789",
		"6f1e0a52-7a0c-4e6e-9b1d-0123456789ab", "d41d8cd98f00b204e9800998ecf8427e", "hf_model_of_a_very_long_name_that_goes_on_and_on", "ghp_short",
		"Bearer authentication-is-required here", "the bearer of good-news-everyone arrived", "gpt-4o-2024-05-13-preview-of-something-1", "AKIA_is_no_key_of_anything",
		"ASIA-PACIFIC-REGION-2026", "AIzaBella", "claude-sonnet-4-5-20250929", "sk-SK-locale-of-slovakia", "eyJust-a-word-that-begins-so", "-----BEGIN PUBLIC KEY-----",
		"instance_ansible__ansible-0ea40e09d1b35bcb69ff4d9cecf3d0defa4b36e8", "samples/1_epoch_1.json/0123456789abcdef0123456789abcdef",
	} {
		if got, n := withoutTokens(text); got != text || n != 0 {
			t.Errorf("%q gives %q", text, got)
		}
	}
}

// FuzzTokens holds redaction to leaving JSON what it was: JSON.
func FuzzTokens(f *testing.F) {
	f.Add(`{"a":"x\nsk-Zq3Xv7Lm2Kp9Rt4Wd8Yh1Nc6Jb5Gf0Se","\u00e9Bearer ab12ab12ab12ab12ab12":[1]}`)
	f.Add(`{"a":"https://u:p\u0040x@h/?sig=\"1&key=\n2"}`)
	f.Add("-----BEGIN PRIVATE KEY-----" + strings.Repeat("A", 50))
	f.Add(`"Authorization: Basic \"eyJ0123456789abcdef.eyJ01234567"`)
	f.Fuzz(func(t *testing.T, s string) {
		if out, _ := withoutCredentials(s); json.Valid([]byte(s)) && !json.Valid([]byte(out)) {
			t.Fatalf("JSON %q became %q", s, out)
		}
		out, n := withoutTokens(s)
		if n == 0 && out != s {
			t.Fatalf("%q became %q, uncounted", s, out)
		}
		if json.Valid([]byte(s)) && !json.Valid([]byte(out)) {
			t.Fatalf("JSON %q became %q", s, out)
		}
		if again, m := withoutTokens(out); m > 0 && len(again) > len(out)+m*len(redacted) {
			t.Fatalf("%q became %q", out, again)
		}
	})
}

// TestRedactionOfRealLogs counts what the shapes find in logs that were
// published, in which nothing should be a secret. It needs the shared data.
func TestRedactionOfRealLogs(t *testing.T) {
	root := filepath.Join("..", "..", "shared", "data")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("no shared data beside the repository: %v", err)
	}
	if testing.Short() {
		t.Skip("reads all of the shared data")
	}
	var bytes, found int
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch filepath.Ext(path) {
		case ".json", ".jsonl", ".csv", ".xml", ".yaml", ".log", ".txt", ".md":
		default:
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		bytes += len(b)
		text := string(b)
		for at := 0; at < len(text); at += 1 << 20 {
			piece := text[at:min(len(text), at+1<<20)]
			if out, n := withoutTokens(piece); n > 0 {
				found += n
				i := strings.Index(out, redacted)
				t.Logf("%s: %d, the first: %q", path, n, piece[max(0, i-60):min(len(piece), i+60)])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %d tokens", bytes, found)
}
