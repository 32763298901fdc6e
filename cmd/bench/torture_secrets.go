package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// planted is in every secret of the torture.
const planted = "PLANTED"

// secretMembers are members of a JSON object under which a harness keeps what
// nobody else may read.
var secretMembers = []string{
	`"api_key":"PLANTED-1"`, `"apiKey":"PLANTED-2"`, `"OPENAI_API_KEY":"PLANTED-3"`, `"Authorization":"Bearer PLANTED-4"`,
	`"headers":{"x":"PLANTED-5","y":["PLANTED-6"]}`, `"password":"PLANTED-7"`, `"client_secret":"PLANTED-8"`, `"access_token":"PLANTED-9"`,
	`"llm_args":{"api_base":"http://PLANTED-10","temperature":0.1}`, `"x-api-key":"PLANTED-11"`, `"cookie":"PLANTED-12"`, `"private_key":"PLANTED-13"`,
	`"hf_token":"PLANTED-14"`, `"credentials":{"user":"PLANTED-15"}`, `"extra_headers":{"z":"PLANTED-16"}`, `"aws_secret_access_key":"PLANTED-17"`,
	`"sent":[{"name":"X-Api-Key","value":"PLANTED-19"}]`, `"variables":[{"value":"PLANTED-20","kind":"s","key":"DB_PASSWORD"}]`,
	// Deep, where no harness has a list of names.
	`"called":{"by":{"argv":["tool","--api-key","PLANTED-21"]}}`, `"started":{"with":{"environment":["HOME=/h","DB_PASSWORD=PLANTED-22"]}}`, `"said":{"of":{"pairs":[["X-Api-Key","PLANTED-23"]]}}`,
	`"body":"{\"api_key\":\"PLANTED-24\",\"headers\":{\"a\":\"PLANTED-25\"}}"`, `"repr":"{'llm_args': {'k': 'PLANTED-26'}, 'n': 1}"`,
	`"call":"curl -u bob:PLANTED-27 -H 'X-Api-Key: PLANTED-28' https://h?token=PLANTED-29"`,
}

// secretTexts are shapes of tokens that turn up in free text.
var secretTexts = []string{
	"Authorization: Bearer PLANTEDaaaabbbbccccddddeeee0123456789", "sk-PLANTEDabcdefghijklmnopqrstuvwxyz0123456789", "sk-proj-PLANTED_abcdefghijklmnopqrstuvwxyz-0123456789abcd",
	"sk-ant-api03-PLANTEDabcdefghijklmnopqrstuvwxyz0123456789", "ghp_PLANTEDabcdefghijklmnopqrstuvwxyz0123", "github_pat_PLANTEDabcdefghijklmnopqrstuvwxyz0123456789",
	"AKIAPLANTEDABCDEF012", "xoxb-123456789012-PLANTEDabcdefghijkl", "hf_PLANTEDabcdefghijklmnopqrstuvwxyz", "glpat-PLANTEDabcdefghijklm", "AIzaPLANTEDabcdefghijklmnopqrstuvwxyz01",
	"password=PLANTED30", "DB_PASSWORD: PLANTED31", "X-Auth-Token: PLANTED32", "--api-key PLANTED33", "AccountKey=PLANTED34+/==;", "postgres://bob:PLANTED35@h/db",
	"-----BEGIN PRIVATE KEY-----PLANTED+abcdefghi/jklmnopqrstuvwxyz0123456789",
}

// wordKeys find the beginning of free text in a JSON log.
var wordKeys = regexp.MustCompile(`"(?:error|message|error_message|explanation|reason|failure_message|stderr|traceback|exception_message)"\s*:\s*"`)

// secrets plants secrets into the samples of all formats and looks for them in
// the store and in everything that can be got out of it.
func (t *torture) secrets(ctx context.Context, samples []sample) error {
	dir, err := t.fresh("secrets")
	if err != nil {
		return err
	}
	target := filepath.Join(dir, "store")
	args := []string{"--store", target, "ingest", "--max-rejects", "100%"}
	keys, texts := 0, 0
	for i, s := range samples {
		b, k, w := t.plant(s)
		if k+w == 0 {
			continue
		}
		keys, texts = keys+k, texts+w
		path := filepath.Join(dir, fmt.Sprint(i), filepath.Base(s.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			return err
		}
		args = append(args, path)
	}
	o := t.run(ctx, args...)
	if err := o.wants(0, 2, 4); err != nil {
		return err
	}
	t.count("secrets planted under keys", int64(keys))
	t.count("tokens planted in free text", int64(texts))
	if err := t.leaks(ctx, target, o); err != nil {
		return fmt.Errorf("%w (the files: %s)", err, dir)
	}
	return os.RemoveAll(dir)
}

// plant puts secrets into a sample.
func (t *torture) plant(s sample) (b []byte, keys, texts int) {
	switch filepath.Ext(s.name) {
	case ".csv", ".tsv":
		return plantTable(s)
	case ".json", ".jsonl":
	default:
		return nil, 0, 0
	}
	at := objectStarts(s.text)
	b = bytes.Clone(s.text)
	// From the back, so that the places before stay where they are.
	for i := len(at) - 1; i >= 0; i-- {
		if t.rng.IntN(3) == 0 {
			m := secretMembers[t.rng.IntN(len(secretMembers))]
			b = append(b[:at[i]:at[i]], append([]byte(m+","), b[at[i]:]...)...)
			keys++
		}
	}
	b = wordKeys.ReplaceAllFunc(b, func(m []byte) []byte {
		texts++
		return append(bytes.Clone(m), []byte("failed with "+secretTexts[t.rng.IntN(len(secretTexts))]+" and went on: ")...)
	})
	return b, keys, texts
}

// objectStarts finds where an object that is not empty begins, outside texts.
func objectStarts(b []byte) []int {
	var out []int
	inText := false
	for i := 0; i < len(b); i++ {
		switch {
		case inText && b[i] == '\\':
			i++
		case b[i] == '"':
			inText = !inText
		case b[i] == '{' && !inText:
			if rest := bytes.TrimLeft(b[i+1:], " \t\r\n"); len(rest) > 0 && rest[0] == '"' {
				out = append(out, i+1)
			}
		}
	}
	return out
}

func plantTable(s sample) (b []byte, keys, texts int) {
	delim := ","
	if filepath.Ext(s.name) == ".tsv" {
		delim = "\t"
	}
	lines := strings.SplitAfter(string(s.text), "\n")
	for i, line := range lines {
		body := strings.TrimRight(line, "\r\n")
		if body == "" || strings.Contains(body, `"`) {
			continue // a cell may go on
		}
		cell := "PLANTED-18"
		if i == 0 {
			cell = "api_key"
		} else {
			keys++
		}
		lines[i] = body + delim + cell + line[len(body):]
	}
	return []byte(strings.Join(lines, "")), keys, 0
}

// leaks looks for planted secrets in the store's files, in what the ingest
// said, and in what commands print.
func (t *torture) leaks(ctx context.Context, target string, ingested outcome) error {
	if i := strings.Index(ingested.stdout+ingested.stderr, planted); i >= 0 {
		return fmt.Errorf("the words of ingest hold a secret: %s", around(ingested.stdout+ingested.stderr, i))
	}
	err := filepath.WalkDir(target, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if i := bytes.Index(b, []byte(planted)); err == nil && i >= 0 {
			err = fmt.Errorf("%s holds a secret: %s", path, around(string(b), i))
		}
		t.count("files of stores searched for secrets", 1)
		return err
	})
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"query", "--output", "ndjson", "SELECT * FROM trials"}, {"query", "--output", "ndjson", "SELECT * FROM sources"}, {"query", "--output", "ndjson", "SELECT * FROM fields"},
		{"query", "--output", "ndjson", "SELECT * FROM rejects"}, {"rejects", "--failed", "--output", "ndjson"}, {"runs", "--output", "ndjson"},
		{"report", "errors", "--runs", "all", "--output", "html"}, {"report", "tasks", "--runs", "all", "--output", "json"}, {"report", "passk", "--runs", "all", "--output", "json"},
	} {
		o := t.run(ctx, append([]string{"--store", target}, args...)...)
		if err := o.wants(0, 2, 4); err != nil {
			return err
		}
		if i := strings.Index(o.stdout+o.stderr, planted); i >= 0 {
			return fmt.Errorf("%s gives a secret away: %s", strings.Join(args, " "), around(o.stdout+o.stderr, i))
		}
		t.count("outputs searched for secrets", 1)
	}
	return nil
}

func around(s string, i int) string {
	return fmt.Sprintf("%q", s[max(0, i-120):min(len(s), i+60)])
}
