package ingest

import (
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
		{"-----BEGIN PRIVATE KEY-----MIIEvQIBADANBgkq+hkiG9w0/BAQEFAASC/x+y/z+1 cut", "[redacted]"},
		{`{"k":"-----BEGIN EC PRIVATE KEY-----\nMIIEvQIBADANBgkq+hkiG9w0\/BAQ\n-----END EC PRIVATE KEY-----\n","b":1}`, `{"k":"[redacted]\n","b":1}`},
		{`{"a":"-----BEGIN x","n":{"b":"PRIVATE KEY-----AAAABBBBCCCCDDDDEEEEFFFFGGGG"}}`, `{"a":"-----BEGIN x","n":{"b":"PRIVATE KEY-----AAAABBBBCCCCDDDDEEEEFFFFGGGG"}}`},
		{"sent Basic dXNlcjpwYXNzd29yZA== to it", "sent Basic [redacted] to it"},
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

func TestNamedSecretsAreRedacted(t *testing.T) {
	const hide = redacted
	for _, tt := range []struct{ text, want string }{
		// in text
		{"login: password=hunter2, user=bob", "login: password=[redacted], user=bob"},
		{"export DB_PASSWORD=x9; run", "export DB_PASSWORD=[redacted]; run"},
		{"password: hunter2", "password: [redacted]"},
		{"bad\npassword: swordfish\nnext", "bad\npassword: [redacted]\nnext"},
		{"X-Auth-Token: abc", "X-Auth-Token: [redacted]"},
		{"Authorization: Token abc/def", "Authorization: Token [redacted]"},
		{"Cookie: sid=1; theme=dark\nHost: h", "Cookie: [redacted]\nHost: h"},
		{"API key: zz81 was refused", "API key: [redacted] was refused"},
		{"DefaultEndpointsProtocol=https;AccountName=n;AccountKey=ab+c/d==;EndpointSuffix=s", "DefaultEndpointsProtocol=https;AccountName=n;AccountKey=[redacted];EndpointSuffix=s"},
		{"Client(api_key='abc', timeout=3)", "Client(api_key='[redacted]', timeout=3)"},
		{`secret_key = "abc"`, `secret_key = "[redacted]"`},
		{"tool --api-key abc --n 3", "tool --api-key [redacted] --n 3"},
		{"tool --api-key=abc --n 3", "tool --api-key=[redacted] --n 3"},
		{"curl -s -u bob:pa:ss https://h", "curl -s -u bob:[redacted] https://h"},
		{"curl -H 'X-Api-Key: abc' h", "curl -H 'X-Api-Key: [redacted]' h"},
		{"{'headers': {'A': 'b'}, 'n': 1}", "{'headers': '[redacted]', 'n': 1}"},
		{`args ["--token","ab12ab12ab12ab12"]`, `args ["--token","[redacted]"]`},
		{"[('X-Api-Key', 'abc-12')]", "[('X-Api-Key', '[redacted]')]"},
		{`sent {"api_key": "abc", "n": 1} and`, `sent {"api_key": "[redacted]", "n": 1} and`},
		{`{"name": "X-Api-Key", "value": "abc"}`, `{"name": "X-Api-Key", "value": "[redacted]"}`},
		{`cut {"api_key": "abc`, `cut {"api_key": "[redacted]"`},
		{"<c><api_key>a1b</api_key><n>1</n></c>", "<c><api_key>[redacted]</api_key><n>1</n></c>"},
		{`<add key="ApiKey" value="a1b"/> <add key="n" value="x"/>`, `<add key="ApiKey" value="[redacted]"/> <add key="n" value="x"/>`},
		{"{ :api_key => 'a1b', :n => 1 }", "{ :api_key => '[redacted]', :n => 1 }"},
		{"set-cookie: a1b2c3d4e5f6g7", "set-cookie: [redacted]"},
		{`Cookie: "sid=abc123"`, `Cookie: "[redacted]"`},
		{"curl -ubob:s3c h; curl --user=bob:s3c h", "curl -ubob:[redacted] h; curl --user=bob:[redacted] h"},
		{`{"x":"<password>a\\b</password>"}`, `{"x":"<password>[redacted]</password>"}`},
		// JSON
		{`{"h":[{"name":"X-Api-Key","value":"abc"}]}`, `{"h":[{"name":"X-Api-Key","value":"[redacted]"}]}`},
		{`{"h":[{"value":"abc","type":"s","Name":"DB_PASSWORD"},{"value":"v","name":"n"}]}`, `{"h":[{"value":"[redacted]","type":"s","Name":"DB_PASSWORD"},{"value":"v","name":"n"}]}`},
		{`{"key":"secret","value":{"a":"b"},"n":1}`, `{"key":"secret","value":"[redacted]","n":1}`},
		{`{"argv":["tool","--api-key","abc","-v"]}`, `{"argv":["tool","--api-key","[redacted]","-v"]}`},
		{`{"env":["HOME=/h","DB_PASSWORD=a\\b","A=b"]}`, `{"env":["HOME=/h","DB_PASSWORD=[redacted]","A=b"]}`},
		{`{"body":"{\"api_key\":\"abc\",\"n\":1}"}`, `{"body":"{\"api_key\":\"[redacted]\",\"n\":1}"}`},
		{`{"body":"{\"name\":\"api_key\",\"value\":\"abc\"}"}`, `{"body":"{\"name\":\"api_key\",\"value\":\"[redacted]\"}"}`},
		{`{"body":"{'api_key': 'abc","n":"'x'"}`, `{"body":"{'api_key': '[redacted]'","n":"'x'"}`},
		{`{"log":"a\npassword=abc\nb"}`, `{"log":"a\npassword=[redacted]\nb"}`},
		{`{"cmd":"f(api_key=\"a b\")"}`, `{"cmd":"f(api_key=\"[redacted]\")"}`},
		{`{"h":[["X-Api-Key","abc-12"]]}`, `{"h":[["X-Api-Key","[redacted]"]]}`},
	} {
		got, n := withoutNamed(tt.text, json.Valid([]byte(tt.text)))
		if got != tt.want || n != strings.Count(tt.want, hide) {
			t.Errorf("%q\n gives %q (%d)\n  want %q", tt.text, got, n, tt.want)
		}
		if again, n := withoutNamed(got, json.Valid([]byte(got))); n != 0 {
			t.Errorf("%q again gives %q", got, again)
		}
	}
}

func TestPlainTextIsNotRedacted(t *testing.T) {
	for _, text := range []string{
		"", "sk-learn", "sk-learn__scikit-learn-10297-of-many", "scikit-learn__scikit-learn-10297", "task-sk-0123456789-0123456789",
		"6f1e0a52-7a0c-4e6e-9b1d-0123456789ab", "d41d8cd98f00b204e9800998ecf8427e", "hf_model_of_a_very_long_name_that_goes_on_and_on", "ghp_short",
		"Bearer authentication-is-required here", "the bearer of good-news-everyone arrived", "gpt-4o-2024-05-13-preview-of-something-1", "AKIA_is_no_key_of_anything",
		"Basic principles of something", "a Basic AbstractFactoryBeanProvider", "-----BEGIN PRIVATE KEY----- is how it begins", "ASIA-PACIFIC-REGION-2026", "AIzaBella", "claude-sonnet-4-5-20250929", "sk-SK-locale-of-slovakia", "eyJust-a-word-that-begins-so", "-----BEGIN PUBLIC KEY-----",
		"instance_ansible__ansible-0ea40e09d1b35bcb69ff4d9cecf3d0defa4b36e8", "samples/1_epoch_1.json/0123456789abcdef0123456789abcdef",
	} {
		if got, n := withoutTokens(text); got != text || n != 0 {
			t.Errorf("%q gives %q", text, got)
		}
	}
	for _, text := range []string{
		"password=", "password: must have 8 characters", "password: incorrect", "unexpected token: 'foo'", "login() got an unexpected keyword argument 'password'",
		"if token == \"abc\"", "token = tokens[0]", "self.token = token", "password = getpass()", "api_key=os.environ['K']", "api_key=None", "api_key=$KEY", "max_tokens=500", "n_token=12",
		"secret: the answer", "authorization: required", "Authorization: Bearer required", "headers: 3", "tool --auth basic", "--token --next",
		`{"name":"max_tokens","value":500}`, `{"name":"password","value":0.5}`, `{"name":"accuracy","value":"abc"}`, `{"required":["token","password"]}`,
		`{"text":"{\"api_key\":null,\"token\":12}"}`, `{"text":"key: value"}`, `{"text":"{'headers': {}}"}`, `{"key":"k","value":"v"}`, "a password -> b", "unexpected token: '/usr/lib/python3.11/x'", "last_token: 1234567890123", "KeyError at password: line 33", "cut -users: 3", "<token>", "if api_key >= 5", "cookie: monster is blue", `name="a" value="b"`, `{"value":"v","name":{"password":1}}`,
	} {
		if got, n := withoutNamed(text, json.Valid([]byte(text))); got != text || n != 0 {
			t.Errorf("%q gives %q", text, got)
		}
	}
}

// TestRedactionIsLinear: text that was made to be looked at again and again takes a time that
// grows with its length.
func TestRedactionIsLinear(t *testing.T) {
	const size = 1 << 18
	for _, piece := range []string{"[", ":", "=", "--", `"`, "'", `\\`, "':", "pwd=;", "pwd= ", "pwd: ;", "pwd='", "cookie: ", `\"a\":`, `\"pwd\":`, `\"name\":[`, "'name':[", "'name':{", `"value":[`, `\"value\":"`,
		`"name":"pwd",`, "<pwd>", "-u ", "curl -u a ", "PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----AAAA", "token: '", "key=\"pwd\" ", "://a:", "bearer "} {
		s := strings.Repeat(piece, size/len(piece))
		for _, isJSON := range []bool{false, true} {
			begin := time.Now()
			text, _ := withoutNamed(s, isJSON)
			text, _ = withoutCredentials(text)
			withoutTokens(text)
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("%q, %d bytes, JSON %v: %s", piece, size, isJSON, took)
			}
		}
	}
}

// TestHarmlessText: where isHarmless says so, nothing is found by those who look closer.
func TestHarmlessText(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	pieces := []string{"a", "trace", "/", ".", "-", "--", "-p", "-u", "7", "_", ",", ";", "@", "password", "token", "curl", "bob", "\n", "\"", "{", "]", "\t", "é", "\xff",
		"sk-", "ghp_", "AKIA", "eyJ", "ya29.", "SG.", "PRIVATE", "KEY-----", "-----BEGIN", "Bearer", "Basic", "Zq3Xv7Lm2Kp9Rt4", "Zq3Xv7Lm2Kp9R", "://", "=", ":", " "}
	harmless, seen := 0, [256]bool{}
	for range 200_000 {
		var b strings.Builder
		for range 1 + rng.IntN(9) {
			if rng.IntN(4) == 0 {
				b.WriteByte(byte(rng.IntN(256)))
				continue
			}
			b.WriteString(pieces[rng.IntN(len(pieces)-rng.IntN(2)*4)])
		}
		s := b.String()
		if !isHarmless(s) {
			continue
		}
		harmless++
		for i := range len(s) {
			seen[s[i]] = true
		}
		for _, isJSON := range []bool{false, true} {
			named, n := withoutNamed(s, isJSON)
			addressed, m := withoutCredentials(s)
			tokens, k := withoutTokens(s)
			if n+m+k > 0 || named != s || addressed != s || tokens != s {
				t.Fatalf("%q: %q, %q, %q", s, named, addressed, tokens)
			}
		}
	}
	for c := range 256 {
		if alone := isHarmless(string([]byte{'a', byte(c)})); alone != seen[c] {
			t.Errorf("%q: in a harmless text %v, alone %v", byte(c), seen[c], alone)
		}
	}
	if harmless < 20_000 || !isHarmless("traces/night-0/123.json") {
		t.Errorf("%d texts are harmless", harmless)
	}
}

// FuzzTokens holds redaction to leaving JSON what it was: JSON.
func FuzzTokens(f *testing.F) {
	f.Add(`{"a":"x\nsk-Zq3Xv7Lm2Kp9Rt4Wd8Yh1Nc6Jb5Gf0Se","\u00e9Bearer ab12ab12ab12ab12ab12":[1]}`)
	f.Add(`{"a":"https://u:p\u0040x@h/?sig=\"1&key=\n2"}`)
	f.Add("-----BEGIN PRIVATE KEY-----" + strings.Repeat("A", 50))
	f.Add(`"Authorization: Basic \"eyJ0123456789abcdef.eyJ01234567"`)
	f.Add(`{"h":[{"value":"a\\","name":"api_key"}],"b":"{\"api_key\": [\"x\"}, '","c":"pwd=\\","d":["--password","y\\"]}`)
	f.Add(`{"b":"{'headers': {\"a\": 'x","c":"(\"token\", 'u"}`)
	f.Fuzz(func(t *testing.T, s string) {
		isJSON := json.Valid([]byte(s))
		named, _ := withoutNamed(s, isJSON)
		if isJSON && !json.Valid([]byte(named)) {
			t.Fatalf("JSON %q became %q", s, named)
		}
		if all, _ := withoutTokens(named); isJSON && !json.Valid([]byte(all)) {
			t.Fatalf("JSON %q became %q, then %q", s, named, all)
		}
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
	var bytes, found, named int
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
			if out, n := withoutNamed(piece, false); n > 0 {
				named += n
				i := strings.Index(out, redacted)
				t.Logf("%s: %d named, the first: %q", path, n, piece[max(0, i-60):min(len(piece), i+60)])
			}
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
	t.Logf("%d bytes, %d tokens, %d named", bytes, found, named)
}
