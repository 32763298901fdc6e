package runner

import (
	"regexp"
	"slices"
	"strings"
)

// secrets hides what must not be recorded: values of the environment whose
// names say that they are secret, and texts that look like a secret wherever
// they come from.
type secrets struct{ replace *strings.Replacer }

// secretNames are parts of the names of variables that hold secrets, secretParts
// such names between underscores.
var (
	secretNames = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTH", "COOKIE", "DSN"}
	secretParts = []string{"PW", "PASS", "PAT", "CRED", "CREDS"}
)

// shortSecret is the length below which a value is taken for a word that stands
// everywhere.
const shortSecret = 8

// secretShapes are the forms of secrets that can be told by themselves: keys
// of services by their beginnings, tokens of three parts, keys in armour, and
// what stands for a password in an address. The first group stays.
var secretShapes = regexp.MustCompile(strings.Join([]string{
	`(://[^/\s:@"]*:)[^@\s/"]+@`,
	`(\b[Bb]earer\s+)[A-Za-z0-9._~+/=-]{16,}`,
	`()\b(?:sk|rk|pk)-[A-Za-z0-9_-]{16,}`,
	`()\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}`,
	`()\bgh[pousr]_[A-Za-z0-9]{20,}`,
	`()\bgithub_pat_[A-Za-z0-9_]{20,}`,
	`()\bglpat-[A-Za-z0-9_-]{16,}`,
	`()\bhf_[A-Za-z0-9]{20,}`,
	`()\bxox[a-z]-[A-Za-z0-9-]{10,}`,
	`()\b(?:AKIA|ASIA)[0-9A-Z]{16}\b`,
	`()\bAIza[0-9A-Za-z_-]{30,}`,
	`()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`,
	`()-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^"]*?-----END [A-Z ]*PRIVATE KEY-----)?`,
}, "|"))

// hidden stands for a secret whose variable is not known.
const hidden = "[secret]"

// secretsOf finds the secrets of an environment by the names of its variables.
func secretsOf(env []string) *secrets {
	var pairs []string
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		if len(value) < shortSecret || !secretVariable(name) {
			continue
		}
		pairs = append(pairs, value, "[$"+name+"]")
		// As it stands in JSON.
		if quoted := strings.Trim(string(encode(value)), `"`); quoted != value {
			pairs = append(pairs, quoted, "[$"+name+"]")
		}
	}
	return &secrets{strings.NewReplacer(pairs...)}
}

func secretVariable(name string) bool {
	name = strings.ToUpper(name)
	if strings.HasSuffix(name, "_SOCK") {
		return false
	}
	return slices.ContainsFunc(secretNames, func(word string) bool { return strings.Contains(name, word) }) ||
		slices.ContainsFunc(strings.Split(name, "_"), func(part string) bool { return slices.Contains(secretParts, part) })
}

// hide replaces what is secret in a text.
func (s *secrets) hide(text string) string {
	text = s.replace.Replace(text)
	return secretShapes.ReplaceAllStringFunc(text, func(found string) string {
		for _, kept := range secretShapes.FindStringSubmatch(found)[1:] {
			if kept == "" {
				continue
			}
			if strings.HasSuffix(found, "@") {
				return kept + hidden + "@"
			}
			return kept + hidden
		}
		return hidden
	})
}

// hideSet is the columns of --set as they are recorded: values that are secret
// are hidden, also such as stand under a name of a secret.
func (s *secrets) hideSet(set map[string]any) map[string]any {
	if set == nil {
		return nil
	}
	out := make(map[string]any, len(set))
	for name, v := range set {
		text, ok := v.(string)
		switch {
		case ok && isSecret(name):
			v = hidden
		case ok:
			v = s.hide(text)
		}
		out[name] = v
	}
	return out
}
