package ingest_test

import (
	"testing"
	"time"

	"passhat/ingest"
	"passhat/ingest/store"
)

func TestRules(t *testing.T) {
	trial := &store.Trial{
		Score: store.Some(0.5), ScoreName: "reward", Turns: store.Some[int32](7), Passed: store.Some(true),
		Scores: `{"exact":1,"style":{"value":0.2},"exact match":true,"odd":"x"}`,
	}
	for _, c := range []struct{ rule, want string }{
		{"score >= 0.5", "true"},
		{"score > 0.5", "false"},
		{"abs(score - 1) <= 1e-6", "false"},
		{"score = 0.5 AND turns < 10", "true"},
		{"not passed or turns <> 7", "false"},
		{"1 + 2 * 3 = 7", "true"},
		{"-score < -0.4", "true"},
		{"scores.exact == 1 and scores.style < 0.3", "true"},
		{`scores["exact match"] = 1`, "true"},
		{"scores.reward = 0.5", "true"},
		{"scores.odd = 1", "unknown"},
		{"scores.missing > 0", "unknown"},
		{"scores.missing > 0 or score > 0", "true"},
		{"scores.missing > 0 and score < 0", "false"},
		{"scores.missing > 0 and score > 0", "unknown"},
		{"cost_usd < 1", "unknown"},
		{"passed = true", "true"},
		{"(score > 0) = (turns > 100)", "false"},
	} {
		r, err := ingest.ParseRule(c.rule)
		if err != nil {
			t.Errorf("%s: %v", c.rule, err)
			continue
		}
		got := "unknown"
		if passed, ok := r.Judge(trial); ok {
			got = map[bool]string{true: "true", false: "false"}[passed]
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.rule, got, c.want)
		}
	}
	for _, bad := range []string{"", "score", "score >= ", "score >= 0.5)", "(score >= 0.5", "score ; 1", "score and passed",
		"passed > 1", "scores > 1", "scores. > 1", "score >= 'x'", "1 < 2 < 3", "not 1", "0x10 > 1", "abs(passed) = 1"} {
		if _, err := ingest.ParseRule(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestErrorTypes(t *testing.T) {
	for _, c := range []struct{ kind, message, want string }{
		{"", "Request timed out after 600s", "timeout"},
		{"TimeoutError", "", "timeout"},
		{"agent_timeout", "", "timeout"},
		{"", "This model's maximum context length is 8192 tokens", "context_length"},
		{"RateLimitError", "", "rate_limit"},
		{"", "docker: connection refused", "infra"},
		{"", "tool call failed", "tool"},
		{"Infra", "timed out", "infra"},
		{"", "the meeting room is taken", "other"},
		{"", "container exit: OOMKilled", "infra"},
		{"", "killed by oom", "infra"},
		{"ToolError", "", "tool"},
		{"VeryOwnKind", "nothing known", "veryownkind"},
		{"", "something odd", "other"},
	} {
		if got := ingest.ErrorType(c.kind, c.message); got != c.want {
			t.Errorf("ErrorType(%q, %q) = %s, want %s", c.kind, c.message, got, c.want)
		}
	}
}

func TestParsePath(t *testing.T) {
	for path, ok := range map[string]bool{
		"$.a": true, "a": true, "$.a.b[0]": true, `$["a b"].c`: true, "a.b": true, "$['x'][3]": true,
		"": false, "$": false, "$.": false, "$.a.": false, "$[0]": false, "$.a[": false, "$.a[x]": false, "$.a[-1]": false, `$["a]`: false, "$.a]b": true,
	} {
		if _, err := ingest.ParsePath(path); (err == nil) != ok {
			t.Errorf("%q: error %v, want ok = %t", path, err, ok)
		}
	}
}

func TestTimeInName(t *testing.T) {
	for name, want := range map[string]string{
		"samples_gsm8k_2026-01-21T03-44-18.458309.jsonl": "2026-01-21T03:44:18Z",
		"run_2026-01-21_0344.jsonl":                      "2026-01-21T00:00:00Z",
		"20260121T034418Z-x.json":                        "2026-01-21T03:44:18Z",
		"gpt-4o-2024-05-13-airline.json":                 "",
		"claude-3-5-sonnet-20241022.json":                "",
		"20260121.jsonl":                                 "2026-01-21T00:00:00Z",
		"run-123456789012.jsonl":                         "",
		"v1.2.3.jsonl":                                   "",
	} {
		at, ok := ingest.TimeIn(name, time.UTC)
		if got := at.Format(time.RFC3339); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %s (%t), want %s", name, got, ok, want)
		}
	}
}

func TestSecretNames(t *testing.T) {
	for name, want := range map[string]bool{
		"apikey": true, "openaiapikey": true, "authorization": true, "hftoken": true, "dbpassword": true, "headers": true, "token": true,
		"openaikey": true, "accesskeyid": true, "signingkey": true, "mykey": false, "cachekey": false, "primarykey": false,
		"maxtokens": false, "tokens": false, "inputtokens": false, "costpertoken": false, "timetofirsttoken": false, "author": false, "key": false,
	} {
		if got := ingest.IsSecret(name); got != want {
			t.Errorf("%s: secret = %t, want %t", name, got, want)
		}
	}
}

func TestParseTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in, want string
		naive    bool
	}{
		{"2026-11-30T12:00:00Z", "2026-11-30T12:00:00Z", false},
		{"2026-11-30T12:00:00.123456789+05:30", "2026-11-30T06:30:00.123456789Z", false},
		{"2026-11-30 12:00", "2026-11-30T11:00:00Z", true},
		{"2026-07-30", "2026-07-29T22:00:00Z", true},
		{"2026-11-30T12-00-00", "2026-11-30T11:00:00Z", true},
		{"20261130T120000Z", "2026-11-30T12:00:00Z", false},
		{"2024-02-29T00:00:00-0100", "2024-02-29T01:00:00Z", false},
		{"2026-02-29", "", false},
		{"2026-13-01", "", false},
		{"2026-11-30T25:00:00Z", "", false},
		{"1026-11-30", "", false},
		{"yesterday", "", false},
	} {
		at, naive, ok := ingest.ParseTime([]byte(c.in), berlin)
		if got := at.Format(time.RFC3339Nano); ok != (c.want != "") || ok && (got != c.want || naive != c.naive) {
			t.Errorf("%s: %s naive %t ok %t, want %s naive %t", c.in, got, naive, ok, c.want, c.naive)
		}
	}
}
