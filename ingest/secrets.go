package ingest

import "strings"

// secretWords are keys, in the form of normalName, whose values may be secrets
// or hold them; they are never stored, at any depth.
var secretWords = map[string]bool{
	"apikey": true, "apikeys": true, "xapikey": true, "authorization": true, "proxyauthorization": true,
	"auth": true, "authheader": true, "headers": true, "extraheaders": true, "defaultheaders": true,
	"httpheaders": true, "requestheaders": true, "password": true, "passwords": true, "passwd": true,
	"pwd": true, "passphrase": true, "secret": true, "secrets": true, "credential": true, "credentials": true,
	"cookie": true, "cookies": true, "setcookie": true, "privatekey": true, "token": true,
	"bearer": true, "environ": true, "envvars": true, "dsn": true, "connectionstring": true,
	"awssecretaccesskey": true, "awsaccesskeyid": true, "accesskey": true, "secretkey": true, "sshkey": true,
}

// secretEnds are ends of such keys: openai_api_key, hf_token, db_password.
var secretEnds = []string{"apikey", "password", "passwd", "secret", "secretkey", "accesstoken", "authtoken",
	"accesskeyid", "signingkey", "encryptionkey", "masterkey", "accountkey", "subscriptionkey", "sharedkey", "openaikey", "anthropickey",
	"azurekey", "googlekey", "geminikey", "mistralkey", "coherekey", "groqkey", "awskey", "hfkey",
	"bearertoken", "refreshtoken", "apitoken", "idtoken", "sessiontoken", "privatekey", "accesskey", "credentials", "passphrase"}

// samplingOnly are keys of objects that are handed to a model's client whole,
// often with its key: only sampling settings are taken out of them.
var samplingOnly = map[string]bool{
	"llmargs": true, "agentllmargs": true, "userllmargs": true, "llmargsagent": true, "llmargsuser": true,
	"modelargs": true, "modelkwargs": true, "llmkwargs": true, "clientargs": true, "clientkwargs": true,
	"extrabody": true, "generationkwargs": true, "genkwargs": true, "completionkwargs": true, "litellmparams": true,
}

// samplingFields are the settings that may leave such an object.
var samplingFields = map[string]bool{
	"temperature": true, "topp": true, "topk": true, "minp": true, "seed": true, "maxtokens": true,
	"maxcompletiontokens": true, "maxoutputtokens": true, "reasoningeffort": true, "effort": true,
	"presencepenalty": true, "frequencypenalty": true, "repetitionpenalty": true, "n": true, "bestof": true,
}

// isSecret reports whether a key, in the form of normalName, can hold a secret.
func isSecret(norm string) bool {
	if secretWords[norm] {
		return true
	}
	for _, end := range secretEnds {
		if strings.HasSuffix(norm, end) {
			return true
		}
	}
	// hf_token, github_token; not max_tokens, which counts, nor costPerInputToken.
	return strings.HasSuffix(norm, "token") && !strings.HasSuffix(norm, "firsttoken") && !strings.Contains(norm, "per")
}

// tailSet knows the last two letters of some keys in the form of normalName, as bits:
// by the letter before the last, one for each last. Most keys have others, which
// costs little to see.
type tailSet [26]uint32

func (t *tailSet) add(word string) { t[word[len(word)-2]-'a'] |= 1 << (word[len(word)-1] - 'a') }

// mayHold reports whether a key in any form can be one of the set.
func (t *tailSet) mayHold(key []byte) bool {
	n := len(key)
	if n < 3 {
		return false
	}
	before, last := key[n-2]|0x20-'a', key[n-1]|0x20-'a'
	if last >= 26 || before >= 26 {
		return last < 26 // a sign between: api_ke_y
	}
	return t[before]>>last&1 != 0
}

// secretTail is of the keys of neverStored.
var secretTail = func() (t tailSet) {
	t.add("token")
	for word := range secretWords {
		t.add(word)
	}
	for word := range samplingOnly {
		t.add(word)
	}
	for _, word := range secretEnds {
		t.add(word)
	}
	return t
}()

// appendNormal appends a name in lower case without '_', '-', ' ' and '.', so
// that task_id, taskId and "Task ID" are one name.
func appendNormal(dst, name []byte) []byte {
	for _, c := range name {
		switch {
		case c >= 'A' && c <= 'Z':
			dst = append(dst, c+'a'-'A')
		case c == '_' || c == '-' || c == ' ' || c == '.':
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

func normalName(name string) string { return string(appendNormal(nil, []byte(name))) }

// neverStored also knows the objects of which only sampling settings are taken.
func neverStored(norm string) bool { return isSecret(norm) || samplingOnly[norm] }
