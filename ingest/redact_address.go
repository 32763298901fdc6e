package ingest

import "strings"

// withoutCredentials takes out of the addresses in s (scheme://…), which may be JSON,
// the password before the host and the values of parameters that are named like
// secrets, and counts them.
func withoutCredentials(s string) (out string, n int) {
	if !strings.Contains(s, "://") {
		return s, 0
	}
	var b strings.Builder
	kept := 0
	cut := func(from, to int) {
		if from < to && s[from:to] != redacted {
			b.WriteString(s[kept:from])
			b.WriteString(redacted)
			kept = to
			n++
		}
	}
	for at := 0; ; {
		i := strings.Index(s[at:], "://")
		if i < 0 {
			break
		}
		from := at + i + len("://")
		end := from + upTo(s[from:], "\"'\\<> \t\r\n`")
		host := from + upTo(s[from:end], "/?#")
		if user := strings.LastIndexByte(s[from:host], '@'); user >= 0 {
			if colon := strings.IndexByte(s[from:from+user], ':'); colon >= 0 {
				cut(from+colon+1, from+user)
			}
		}
		for p := host; p < end; {
			sep := strings.IndexAny(s[p:end], "?&;#")
			if sep < 0 {
				break
			}
			p += sep + 1
			stop := p + upTo(s[p:end], "&;#")
			if name, _, ok := strings.Cut(s[p:stop], "="); ok && secretParameter(name) {
				cut(p+len(name)+1, stop)
			}
			p = stop
		}
		at = end
	}
	if n == 0 {
		return s, 0
	}
	b.WriteString(s[kept:])
	return b.String(), n
}

// secretParameter also knows what signs an address.
func secretParameter(name string) bool {
	norm := normalName(name)
	return isSecret(norm) || norm == "sig" || norm == "key" || strings.HasSuffix(norm, "signature") || strings.HasSuffix(norm, "apikey")
}

// upTo is the place of the first of some bytes, the length of s if there is none.
func upTo(s, of string) int {
	if i := strings.IndexAny(s, of); i >= 0 {
		return i
	}
	return len(s)
}
