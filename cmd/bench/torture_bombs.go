package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// bomb is a file made to hurt. Ingesting it must end with one of the codes,
// within patience and hostileMemory.
type bomb struct {
	name  string // the file's name
	write func(w io.Writer) error
	codes []int
	flags []string
}

const goodRow = `{"task_id":"a","trial":0,"run_id":"r","passed":true}` + "\n"

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

// repeated writes a text so often that it has size bytes, between two others.
func repeated(before, piece, after string, size int64) func(io.Writer) error {
	return func(w io.Writer) error {
		if _, err := io.WriteString(w, before); err != nil {
			return err
		}
		block := []byte(strings.Repeat(piece, max(1, 1<<20/len(piece))))
		for left := size; left > 0; left -= int64(len(block)) {
			if _, err := w.Write(block[:min(left, int64(len(block)))]); err != nil {
				return err
			}
		}
		_, err := io.WriteString(w, after)
		return err
	}
}

func inGzip(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		z := gzip.NewWriter(w)
		if err := write(z); err != nil {
			return err
		}
		return z.Close()
	}
}

func inZstd(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		z, err := zstd.NewWriter(w)
		if err != nil {
			return err
		}
		if err := write(z); err != nil {
			return err
		}
		return z.Close()
	}
}

// zipOf makes an archive of members, in order.
func zipOf(members ...zipMember) func(io.Writer) error {
	return func(w io.Writer) error {
		z := zip.NewWriter(w)
		for _, m := range members {
			h := &zip.FileHeader{Name: m.name, Method: zip.Deflate}
			h.SetMode(m.mode)
			f, err := z.CreateHeader(h)
			if err != nil {
				return err
			}
			if err := m.write(f); err != nil {
				return err
			}
		}
		return z.Close()
	}
}

type zipMember struct {
	name  string
	mode  os.FileMode
	write func(io.Writer) error
}

func member(name, s string) zipMember { return zipMember{name, 0o644, text(s)} }

// lying is an archive whose table of contents gives every member's size as n.
func lying(write func(io.Writer) error, n uint32) func(io.Writer) error {
	return func(w io.Writer) error {
		var buf bytes.Buffer
		if err := write(&buf); err != nil {
			return err
		}
		b := buf.Bytes()
		for at := 0; ; {
			i := bytes.Index(b[at:], []byte("PK\x01\x02"))
			if i < 0 {
				break
			}
			at += i + 4
			binary.LittleEndian.PutUint32(b[at+20:], n) // uncompressed size
		}
		_, err := w.Write(b)
		return err
	}
}

func nested(open, shut string, n int) string {
	return strings.Repeat(open, n) + "1" + strings.Repeat(shut, n)
}

const mega = 1 << 20

func bombList() []bomb {
	ok, bad := []int{0}, []int{4}
	either := []int{0, 4}
	return []bomb{
		{name: "zeros.jsonl.gz", write: inGzip(repeated("", "\x00", "", 320*mega)), codes: bad},
		{name: "spaces.jsonl.gz", write: inGzip(repeated(goodRow, " ", "\n", 320*mega)), codes: bad},
		{name: "rows.jsonl.zst", write: inZstd(repeated(goodRow, "\n", "", 320*mega)), codes: bad},
		{name: "one-string.jsonl.zst", write: inZstd(repeated(`{"task_id":"a","passed":true,"x":"`, "a", `"}`+"\n", 320*mega)), codes: bad},
		{name: "gz-in-gz.jsonl.gz", write: inGzip(inGzip(repeated(goodRow, "\n", "", 300*mega))), codes: bad},
		{name: "member.zip", write: zipOf(zipMember{"a.jsonl", 0o644, repeated(goodRow, "\n", "", 320*mega)}), codes: bad},
		{name: "zip-in-zip.zip", write: zipOf(zipMember{"a.zip", 0o644, zipOf(zipMember{"b.jsonl", 0o644, repeated(goodRow, "\n", "", 100*mega)})}), codes: bad},
		{name: "short-lie.zip", write: lying(zipOf(zipMember{"a.jsonl", 0o644, repeated(goodRow, "\n", "", 5*mega)}), 10), codes: bad},
		{name: "long-lie.zip", write: lying(zipOf(member("a.jsonl", goodRow)), 0xFFFFFFF0), codes: bad},
		{name: "parent.zip", write: zipOf(member("../../evil.jsonl", goodRow)), codes: bad},
		{name: "absolute.zip", write: zipOf(member("/tmp/passhat-evil.jsonl", goodRow)), codes: bad},
		{name: "backslash.zip", write: zipOf(member(`..\..\evil.jsonl`, goodRow)), codes: bad},
		{name: "link.zip", write: zipOf(zipMember{"a.jsonl", 0o777 | os.ModeSymlink, text("/etc/passwd")}), codes: bad},
		{name: "device.zip", write: zipOf(zipMember{"a.jsonl", 0o666 | os.ModeDevice, text("")}), codes: bad},
		{name: "names.zip", write: zipOf(member("a\x00b.jsonl", goodRow), member("c\x1b[2J.jsonl", goodRow)), codes: either},
		{name: "cut.zip", write: text("PK\x03\x04" + strings.Repeat("\x00", 40)), codes: bad},
		{name: "empty.zip", write: zipOf(), codes: bad},
		{name: "deep-list.jsonl", write: text(`{"task_id":"b","passed":true,"x":` + nested("[", "]", 100_000) + "}\n" + goodRow), codes: either, flags: []string{"--max-rejects", "1"}},
		{name: "deep-object.jsonl", write: text(goodRow + `{"task_id":"b","passed":true,"x":` + nested(`{"a":`, "}", 100_000) + "}\n"), codes: either},
		{name: "deep.json", write: text(`[{"task_id":"a","passed":true},{"task_id":"b","passed":true,"x":` + nested("[", "]", 100_000) + `},{"task_id":"c","passed":false}]`), codes: either},
		{name: "deep-top.json", write: text(nested("[", "]", 100_000)), codes: bad},
		{name: "deep-inspect.json", write: text(`{"version":2,"status":"success","eval":{"task":"t","model":"m"},"samples":[{"id":1,"epoch":1,"scores":{"s":{"value":"C"}},"metadata":` + nested(`{"a":`, "}", 100_000) + `}]}`), codes: either},
		{name: "gigabyte-string.jsonl", write: repeated(goodRow+`{"task_id":"b","passed":true,"x":"`, "abcdefgh", `"}`+"\n"+strings.ReplaceAll(goodRow, `"a"`, `"c"`), 1024*mega), codes: either},
		{name: "gigabyte-string.json", write: repeated(`[{"task_id":"b","passed":true,"x":"`, "abcdefgh", `"},{"task_id":"c","passed":true}]`, 1024*mega), codes: either},
		{name: "no-line-end.jsonl", write: repeated("", "a", "", 300*mega), codes: bad},
		{name: "gigabyte-cell.csv", write: repeated("task_id,passed,x\na,true,\"", "abcdefgh", "\"\nb,true,y\n", 512*mega), codes: either},
		{name: "many-keys.jsonl", write: manyKeys, codes: either},
		{name: "many-columns.csv", write: manyColumns, codes: bad},
		{name: "duplicate-keys.jsonl", write: text(`{"task_id":"a","task_id":"b","passed":true,"passed":false,"trial":0,"run_id":"r"}` + "\n"), codes: either},
		{name: "invalid.jsonl", write: text("{\"task_id\":\"\xff\xfe\xc3\x28\",\"passed\":true,\"run_id\":\"\xed\xa0\x80\"}\n"), codes: either},
		{name: "utf16le.jsonl", write: text(string(toUTF16([]byte(goodRow), false, true))), codes: ok},
		{name: "utf16be.csv", write: text(string(toUTF16([]byte("task_id,passed\na,true\n"), true, true))), codes: ok},
		{name: "utf16-unmarked.jsonl", write: text(string(toUTF16([]byte(goodRow), false, false))), codes: bad},
		{name: "marked.jsonl", write: text("\xef\xbb\xbf" + goodRow), codes: ok},
		{name: "cr.csv", write: text("task_id,passed\ra,true\rb,false\r"), codes: ok},
		{name: "quotes.csv", write: text("task_id,passed,x\na,true,\"it \"\"is\"\"\nb,false,\"\"\nc,true,a\"b\nd,true,\"x\"y\n"), codes: either},
		{name: "open-quote.csv", write: text("task_id,passed,x\na,true,\"never closed\nb,false,y\nc,true,z\n"), codes: either},
		{name: "doubled-heading.csv", write: text("task_id,passed\na,true\ntask_id,passed\nb,false\n"), codes: either},
		{name: "nul.csv", write: text("task_id,passed\na\x00b,true\n"), codes: either},
		{name: "xml-entities.xml", write: text(`<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><testsuites><testsuite name="&c;"><testcase name="t"/></testsuite></testsuites>`), codes: either},
		{name: "xml-external.xml", write: text(`<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><testsuite name="s"><testcase name="&e;"/></testsuite>`), codes: either},
		{name: "xml-deep.xml", write: text("<testsuites>" + strings.Repeat("<testsuite>", 100_000)), codes: bad},
		{name: "anchors.yaml", write: text("results: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"), codes: bad},
		{name: "footer.parquet", write: text("PAR1" + strings.Repeat("\x00", 100) + "\xff\xff\xff\x7fPAR1"), codes: bad},
		{name: "empty.parquet", write: text("PAR1PAR1"), codes: bad},
		{name: "no-footer.arrow", write: text("ARROW1\x00\x00" + strings.Repeat("\xff", 64)), codes: bad},
		{name: "long-length.arrows", write: text("\xff\xff\xff\xff\xf0\xff\xff\x7f" + strings.Repeat("\x00", 64)), codes: bad},
		{name: "pages.db", write: text("SQLite format 3\x00\x10\x00\x01\x01\x00\x40\x20\x20" + strings.Repeat("\xff", 4096)), codes: bad},
		{name: "empty.jsonl", write: text(""), codes: bad},
		{name: "blank.jsonl", write: text("\n\n   \n"), codes: bad},
	}
}

// manyKeys is one row of 200,000 keys that no other row has.
func manyKeys(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString(goodRow[:len(goodRow)-2])
	for i := range 200_000 {
		fmt.Fprintf(b, `,"key%d":%d`, i, i)
	}
	b.WriteString("}\n")
	return b.Flush()
}

func manyColumns(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString("task_id,passed")
	for i := range 1_000_000 {
		fmt.Fprintf(b, ",c%d", i)
	}
	b.WriteString("\na,true\n")
	return b.Flush()
}

// bombs offers each file to a process of its own.
func (t *torture) bombs(ctx context.Context) error {
	dir, err := t.fresh("bombs")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for i, b := range bombList() {
		path := filepath.Join(dir, b.name)
		if err := writeTo(path, b.write); err != nil {
			return err
		}
		target := filepath.Join(dir, fmt.Sprintf("store-%d", i))
		args := append([]string{"--store", target, "ingest", "--quiet"}, b.flags...)
		o := t.run(ctx, append(args, path)...)
		if err := o.wants(b.codes...); err != nil {
			t.fault("%s: %v", b.name, err)
		}
		if o.memory > hostileMemory {
			t.fault("%s: it took %d bytes of memory", b.name, o.memory)
		}
		if o.code == 0 {
			if err := t.readable(ctx, target); err != nil {
				t.fault("%s: %v", b.name, err)
			}
		}
		t.count("bombs and odd files, each within 1 GiB and two minutes", 1)
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	left, err := os.ReadDir(t.temp())
	if err != nil || len(left) > 0 {
		return fmt.Errorf("left in the temporary directory: %v %v", left, err)
	}
	for _, evil := range []string{"/tmp/passhat-evil.jsonl", filepath.Join(dir, "evil.jsonl"), filepath.Join(filepath.Dir(dir), "evil.jsonl")} {
		if _, err := os.Lstat(evil); err == nil {
			return fmt.Errorf("an archive wrote %s", evil)
		}
	}
	return nil
}

func writeTo(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	b := bufio.NewWriterSize(f, 1<<20)
	if err := write(b); err != nil {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// folderTricks lays things into a folder that are no logs, and names that are
// no words.
func (t *torture) folderTricks(ctx context.Context) error {
	dir, err := t.fresh("tricks")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	logs := filepath.Join(dir, "logs")
	if err := os.MkdirAll(filepath.Join(logs, "loop"), 0o777); err != nil {
		return err
	}
	row := func(run string) string { return strings.ReplaceAll(goodRow, `"r"`, `"`+run+`"`) }
	for i, name := range []string{"good.jsonl", "-rf.jsonl", "new\nline.jsonl", "esc\x1b[31m.jsonl", "quote'\".jsonl", "\u202eunder.jsonl", "$(touch evil).jsonl", "a;b|c.jsonl", "[x]*?.jsonl"} {
		if err := os.WriteFile(filepath.Join(logs, name), []byte(row(fmt.Sprint("r", i))), 0o666); err != nil {
			return err
		}
	}
	tricks := 0
	for name, target := range map[string]string{"loop/up": "..", "self": "self", "nowhere": "/no/such/file", "zero": "/dev/zero", "passwd.jsonl": "/etc/passwd"} {
		if os.Symlink(target, filepath.Join(logs, filepath.FromSlash(name))) == nil {
			tricks++
		}
	}
	if makeFifo(filepath.Join(logs, "fifo.jsonl")) == nil {
		tricks++
	}
	target := filepath.Join(dir, "store")
	if err := t.run(ctx, "--store", target, "ingest", logs).wants(0, 4); err != nil {
		return fmt.Errorf("a folder of tricks: %w", err)
	}
	o := t.run(ctx, "--store", target, "query", "--output", "csv", "SELECT count(*) FROM trials")
	if err := o.wants(0); err != nil {
		return err
	}
	if !strings.Contains(o.stdout, "\n9\n") {
		return fmt.Errorf("a folder of nine good logs and tricks gave %q", o.stdout)
	}
	for _, path := range []string{"/dev/zero", "/dev/null", "/proc/self/mem", filepath.Join(logs, "self"), filepath.Join(logs, "nowhere")} {
		if err := t.run(ctx, "--store", target, "ingest", "--quiet", path).wants(2, 4); err != nil {
			return fmt.Errorf("ingest %s: %w", path, err)
		}
		tricks++
	}
	t.count("links, loops, pipes, devices and odd names in folders", int64(tricks))
	return t.readable(ctx, target)
}
