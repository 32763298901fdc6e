package ingest

import "strings"

// ErrorType normalises what a log calls an error to one of timeout, rate_limit,
// context_length, infra, model, tool, scorer, agent and other, by its type and,
// failing that, by its message.
func ErrorType(kind, message string) string {
	if kind != "" {
		norm := normalName(kind)
		for _, known := range errorTypes {
			if norm == normalName(known) {
				return known
			}
		}
		if k := errorKind(kind); k != "" {
			return k
		}
	}
	if len(message) > 2048 {
		message = message[:2048]
	}
	if k := errorKind(message); k != "" {
		return k
	}
	if kind != "" && len(kind) <= 64 && kind != "other" {
		return strings.ToLower(kind)
	}
	return "other"
}

var errorTypes = []string{"timeout", "rate_limit", "context_length", "infra", "model", "tool", "scorer", "agent", "other"}

var errorWords = []struct {
	kind  string
	words []string
}{
	{"context_length", []string{"context length", "context_length", "contextlength", "context window", "maximum context", "too many tokens", "prompt is too long", "input is too long"}},
	{"timeout", []string{"timeout", "timed out", "time limit", "time_limit", "deadline exceeded"}},
	{"rate_limit", []string{"rate limit", "rate_limit", "ratelimit", "too many requests", "error 429", "status 429", "code: 429", "http 429", "quota"}},
	{"scorer", []string{"scorer", "grader", "grading", "judge", "verifier", "evaluation harness"}},
	{"infra", []string{"connection", "docker", "container", "sandbox", "network", "unavailable", "bad gateway", "out of memory", "oom", "no space left", "dns", "ssl", "environment setup", "infra"}},
	{"tool", []string{"tool"}},
	{"model", []string{"content filter", "content_filter", "model", "refus", "api error", "apierror", "internal server error", "overloaded"}},
	{"agent", []string{"agent", "max turns", "max_turns", "max steps", "max_steps", "step limit", "parse"}},
}

func errorKind(s string) string {
	s = strings.ToLower(s)
	for _, e := range errorWords {
		for _, w := range e.words {
			if hasWord(s, w) {
				return e.kind
			}
		}
	}
	return ""
}

// hasWord reports whether s holds w; a short one must stand by itself, since
// oom is in room, and dns in many a name.
func hasWord(s, w string) bool {
	const short = 3
	for from := 0; ; {
		i := strings.Index(s[from:], w)
		if i < 0 {
			return false
		}
		start, end := from+i, from+i+len(w)
		if len(w) > short || (start == 0 || !isLetter(s[start-1])) && (end == len(s) || !isLetter(s[end]) || strings.HasPrefix(s[end:], "killed")) {
			return true
		}
		from = end
	}
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' }
