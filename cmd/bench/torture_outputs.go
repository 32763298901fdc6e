package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

	"passhat/reports"
)

// payloads are names and texts of a log that want to be more than text in some
// form of output. Each holds pwned, but for those that are harmful as they are.
var payloads = []string{
	`=HYPERLINK("http://pwned","x")`, `@SUM(pwned)`, `+pwned|' /C calc'!A0`, `-1+pwned`, "\t=pwned", "\r=pwned", "|=pwned",
	`<pwned onload=alert(1)>`, `"><pwned>`, `'><pwned>`, `</script><pwned>`, `</style><pwned>`, `--><pwned>`, `]]><pwned>`, `<svg/onload=pwned>`,
	`[x](javascript:pwned)`, `![x](http://pwned)`, "`pwned` | a | b", "a\nb\r\n# pwned", "\x1b[2J\x1b]0;pwned\x07", "\u009b31mpwned", "\u202epwned\u2066",
	"../../../pwned", "/etc/pwned", `C:\pwned`, "CON", "a\x00pwned", "'; DROP VIEW trials; -- pwned", "$(touch pwned)", "`touch pwned`", "%s%n pwned", "{{pwned}}", "&lt;pwned&gt;",
	"javascript:pwned", "pwned\u2028\u2029", "\ufeffpwned",
}

// escapedForms are the forms that a name can hurt.
var escapedForms = []string{"csv", "json", "ndjson", "md", "html", "xlsx", "chart.svg"}

func (t *torture) outputs(ctx context.Context, until time.Time) error {
	if err := t.injections(ctx); err != nil {
		return err
	}
	samples, err := readSamples(t.samples)
	if err != nil {
		return err
	}
	if err := t.overwrites(ctx); err != nil {
		return err
	}
	for round := 0; round < 1 || time.Now().Before(until); round++ {
		if err := t.secrets(ctx, samples); err != nil {
			return err
		}
	}
	return nil
}

// hostileNames is a log in which every name is a payload.
func hostileNames() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	n := len(payloads)
	for run := range 2 {
		for i, p := range payloads {
			for trial := range 3 {
				_ = enc.Encode(map[string]any{ // a buffer takes everything
					"suite": "<pwned>" + payloads[0], "run_id": fmt.Sprint(payloads[(run*7+8)%n], run), "run_at": fmt.Sprintf("2026-11-%02dT02:00:00Z", 2+run), "task_id": p,
					"trial": trial, "passed": (i+trial+run)%3 > 0, "model": payloads[9], "agent": payloads[15], "shape": payloads[(i+1)%n], "risk": payloads[(i+2)%n],
					"error_type": payloads[(i+3)%n], "error_message": p, "trace": payloads[(i*5)%n], "harness": payloads[7], "turns": 2 + i%5, "cost_usd": 0.01,
					"duration_s": 1.5, "extra": map[string]any{p: p},
				})
			}
		}
	}
	return b.Bytes()
}

// injections writes every report in every form and looks for what got out.
func (t *torture) injections(ctx context.Context) error {
	dir, err := t.fresh("outputs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	log, target := filepath.Join(dir, "=cmd()<pwned>.jsonl"), filepath.Join(dir, "store")
	if err := os.WriteFile(log, hostileNames(), 0o666); err != nil {
		return err
	}
	if err := t.run(ctx, "--store", target, "ingest", log).wants(0); err != nil {
		return err
	}
	all, err := reports.Load()
	if err != nil {
		return err
	}
	commands := [][]string{{"runs"}, {"sources"}, {"rejects"}, {"query", "SELECT * FROM trials ORDER BY ALL"}, {"query", "SELECT * FROM fields ORDER BY ALL"}}
	for _, r := range all {
		commands = append(commands, []string{"report", r.Name, "--runs", "all", "--by", "run_id,model"})
	}
	commands = append(commands, []string{"compare", "last~1", "last"}, []string{"report", "tasks", "--by", "suite,shape,error_type"})
	for i, command := range commands {
		out := filepath.Join(dir, fmt.Sprintf("out-%d", i))
		if err := t.everyForm(ctx, target, out, command); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(command, " "), err)
		}
	}
	return t.gateOutputs(ctx, target, dir)
}

// everyForm writes what a command answers in all forms and inspects them.
func (t *torture) everyForm(ctx context.Context, target, out string, command []string) error {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	args := append([]string{"--store", target}, command...)
	o := t.run(ctx, args...)
	if err := o.wants(0, 2, 4); err != nil { // attribute, contract: not with this data
		return err
	}
	if o.code != 0 {
		return nil
	}
	if err := plainText(o.stdout); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	t.count("outputs inspected: table", 1)
	args = append(args, "--csv-safe")
	for _, form := range escapedForms {
		if form == "chart.svg" && command[0] != "report" {
			continue
		}
		args = append(args, "-o", filepath.Join(out, "x."+form))
	}
	if err := t.run(ctx, args...).wants(0, 2, 4); err != nil {
		return err
	}
	return filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		t.count("outputs inspected: "+strings.TrimPrefix(filepath.Ext(path), "."), 1)
		if err := inspect(path, b); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		return nil
	})
}

func (t *torture) gateOutputs(ctx context.Context, target, dir string) error {
	args := []string{"--store", target, "gate", "--baseline", "last", "--min-pass-hat-k", "0.9", "--max-flakiness", "0.1"}
	for _, suffix := range []string{"md", "xml", "json", "html"} {
		args = append(args, "-o", filepath.Join(dir, "gate."+suffix))
	}
	o := t.run(ctx, args...)
	if err := o.wants(0, 1, 3); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	if err := plainText(o.stdout); err != nil {
		return fmt.Errorf("gate: %w", err)
	}
	for _, suffix := range []string{"md", "xml", "json", "html"} {
		path := filepath.Join(dir, "gate."+suffix)
		b, err := os.ReadFile(path)
		if err == nil {
			err = inspect(path, b)
		}
		if err != nil {
			return fmt.Errorf("gate.%s: %w", suffix, err)
		}
		t.count("outputs inspected: gate."+suffix, 1)
	}
	return nil
}

// inspect looks into a file for a payload that became more than text.
func inspect(path string, b []byte) error {
	switch ext := filepath.Ext(path); ext {
	case ".csv":
		return inspectCSV(b)
	case ".json":
		if !json.Valid(b) {
			return fmt.Errorf("it is no JSON")
		}
	case ".ndjson":
		for line := range bytes.Lines(b) {
			if !json.Valid(line) {
				return fmt.Errorf("a line is no JSON: %q", line)
			}
		}
	case ".md":
		return inspectMarkdown(string(b))
	case ".html":
		return inspectHTML(b)
	case ".svg", ".xml":
		return inspectXML(b)
	case ".xlsx":
		return inspectXLSX(b)
	}
	return nil
}

// plainText wants no control character, and nothing that turns text around.
func plainText(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("it is no UTF-8")
	}
	for _, r := range s {
		if r < ' ' && r != '\n' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return fmt.Errorf("it holds the control character %U", r)
		}
	}
	return nil
}

// inspectCSV wants no cell that a spreadsheet would run; numbers may be below
// zero.
func inspectCSV(b []byte) error {
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		return fmt.Errorf("it is no CSV: %w", err)
	}
	for _, row := range rows {
		for _, cell := range row {
			if cell == "" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				continue
			}
			if _, err := strconv.ParseFloat(cell, 64); err != nil {
				return fmt.Errorf("a spreadsheet would run the cell %q", cutTo(cell, 80))
			}
		}
	}
	return nil
}

// liveMarkdown finds, without a backslash before it, what Markdown would take
// for HTML, a link, a picture or a heading.
var liveMarkdown = regexp.MustCompile(`(?m)(?:^|[^\\])(?:<(?:pwned|svg|/script|/style)|\]\(javascript:|!\[x\]\()|^# pwned|\x1b`)

func inspectMarkdown(s string) error {
	if bad := liveMarkdown.FindString(s); bad != "" {
		return fmt.Errorf("it holds %q", bad)
	}
	return nil
}

func inspectHTML(b []byte) error {
	z := html.NewTokenizer(bytes.NewReader(b))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if z.Err() != io.EOF {
				return z.Err()
			}
			return nil
		case html.StartTagToken, html.SelfClosingTagToken:
			tok := z.Token()
			if tok.Data == "pwned" {
				return fmt.Errorf("a name became an element")
			}
			for _, a := range tok.Attr {
				if strings.HasPrefix(a.Key, "on") && strings.Contains(a.Val, "pwned") || strings.HasPrefix(strings.TrimSpace(strings.ToLower(a.Val)), "javascript:") || a.Key == "pwned" {
					return fmt.Errorf("a name became the attribute %s=%q", a.Key, cutTo(a.Val, 60))
				}
			}
		}
	}
}

func inspectXML(b []byte) error {
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("it is no XML: %w", err)
		}
		if e, ok := tok.(xml.StartElement); ok && (e.Name.Local == "pwned" || e.Name.Local == "script") {
			return fmt.Errorf("a name became the element %s", e.Name.Local)
		}
	}
}

// inspectXLSX wants sheets without formulas made of names, and no links but to
// web pages and sheets.
func inspectXLSX(b []byte) error {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return fmt.Errorf("it is no workbook: %w", err)
	}
	for _, f := range z.File {
		rc, err := f.Open()
		if err != nil {
			return err
		}
		part, err := io.ReadAll(rc)
		rc.Close()
		if err != nil {
			return err
		}
		if err := inspectXML(part); err != nil && strings.HasSuffix(f.Name, ".xml") {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		for _, piece := range bytes.Split(part, []byte("<f>"))[1:] {
			formula, _, _ := bytes.Cut(piece, []byte("</f>"))
			if bytes.Contains(formula, []byte("pwned")) {
				return fmt.Errorf("%s: a name became the formula %q", f.Name, cutTo(string(formula), 80))
			}
		}
		if bytes.Contains(part, []byte(`Target="javascript:`)) || bytes.Contains(part, []byte(`Target="/etc/pwned`)) {
			return fmt.Errorf("%s: a name became a link", f.Name)
		}
	}
	return nil
}

// overwrites points -o at what must not be overwritten.
func (t *torture) overwrites(ctx context.Context) error {
	dir, err := t.fresh("overwrites")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	target, log := filepath.Join(dir, "store"), filepath.Join(dir, "log.csv")
	if err := os.WriteFile(log, []byte("suite,run_id,task_id,trial,passed\ns,night,task-000000,0,true\n"), 0o666); err != nil {
		return err
	}
	if err := t.run(ctx, "--store", target, "ingest", log).wants(0); err != nil {
		return err
	}
	var inside []string
	err = filepath.WalkDir(target, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			inside = append(inside, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	link := filepath.Join(dir, "link.csv")
	if err := os.Symlink(log, link); err == nil {
		inside = append(inside, link)
	}
	before := digests(append(inside, log))
	for _, path := range append(slices.Clone(inside), log, dir, filepath.Join(dir, "no", "such", "folder.csv"), filepath.Join(log, "below.csv"), filepath.Join(target, "batches", "0000000002-x.json")) {
		if err := t.run(ctx, "--store", target, "query", "SELECT 1 AS x", "--output", "csv", "-o", path).wants(2, 4); err != nil {
			t.fault("-o %s: %v", path, err)
		}
		t.count("places that -o must not overwrite", 1)
	}
	if after := digests(append(inside, log)); after != before {
		return fmt.Errorf("-o changed a file of the store or a log")
	}
	return nil
}

func digests(paths []string) string {
	var b strings.Builder
	for _, p := range paths {
		text, err := os.ReadFile(p)
		fmt.Fprintln(&b, p, len(text), string(text), err)
	}
	return b.String()
}
