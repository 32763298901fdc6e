package reports_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"
	"passhat/reports"
)

// page is a parsed HTML output.
type page struct {
	*html.Node
	raw string
}

func parsePage(t *testing.T, b []byte) page {
	t.Helper()
	n, err := html.Parse(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return page{n, string(b)}
}

// all gives the elements of a name.
func (p page) all(name string) []*html.Node {
	var out []*html.Node
	for n := range p.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			out = append(out, n)
		}
	}
	return out
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func content(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func TestHTMLGolden(t *testing.T) {
	checkGolden(t, "pictured.html", draw(t, "html", "", pictured()))
}

// The policy lets the page's own style and script run and nothing else, and
// nothing asks for anything.
func TestHTMLClosed(t *testing.T) {
	for _, out := range [][]byte{write(t, "html", reports.WriteOptions{}), draw(t, "html", "", pictured())} {
		p := parsePage(t, out)
		var policy string
		for _, m := range p.all("meta") {
			if attr(m, "http-equiv") == "Content-Security-Policy" {
				policy = attr(m, "content")
			}
		}
		for element, directive := range map[string]string{"script": "script-src", "style": "style-src"} {
			nodes := p.all(element)
			if len(nodes) != 1 {
				t.Fatalf("%d elements %s, want one", len(nodes), element)
			}
			sum := sha256.Sum256([]byte(content(nodes[0])))
			if want := fmt.Sprintf("%s 'sha256-%s'", directive, base64.StdEncoding.EncodeToString(sum[:])); !strings.Contains(policy, want) {
				t.Errorf("policy %q lacks %s", policy, want)
			}
		}
		if !strings.HasPrefix(policy, "default-src 'none'") {
			t.Errorf("policy %q does not begin by refusing all", policy)
		}
		for n := range p.Descendants() {
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "style" || a.Key == "href" && !strings.HasPrefix(a.Val, "#") {
					t.Errorf("<%s %s=%q>", n.Data, a.Key, a.Val)
				}
			}
		}
		for _, r := range p.raw {
			if r != '\n' && r < 0x20 || r == 0x202e || r == 0x7f {
				t.Errorf("U+%04X is in the page", r)
			}
		}
	}
}

// Every name is in the page as text, whole.
func TestHTMLHostile(t *testing.T) {
	p := parsePage(t, write(t, "html", reports.WriteOptions{}))
	var cells []string
	for _, n := range p.all("bdi") {
		cells = append(cells, content(n))
	}
	for _, name := range hostileNames {
		if strings.ContainsAny(name, "\x1b\x00\r\t\u202e\u2028") || !utf8.ValidString(name) {
			continue // shown as pictures
		}
		if !slices.Contains(cells, name) {
			t.Errorf("no cell says %.60q", name)
		}
	}
	for _, s := range []string{"␛[31mred␛[0m", "nul␀l", `bidi\u202eevil`} {
		if !slices.Contains(cells, s) {
			t.Errorf("no cell shows %q", s)
		}
	}
}

func TestHTMLTable(t *testing.T) {
	p := parsePage(t, write(t, "html", reports.WriteOptions{}))
	if lang := attr(p.all("html")[0], "lang"); lang != "en" {
		t.Errorf("lang %q", lang)
	}
	if n := len(p.all("caption")); n != 2 {
		t.Errorf("%d captions, want one a table", n)
	}
	for _, th := range p.all("th") {
		if attr(th, "scope") == "" {
			t.Errorf("a heading without scope: %q", content(th))
		}
	}
	var exact *html.Node
	nulls := 0
	for _, td := range p.all("td") {
		if attr(td, "data-v") == "0.2857142857142857" {
			exact = td
		}
		if strings.Contains(attr(td, "class"), " k") {
			nulls++
		}
	}
	if exact == nil || content(exact) != "0.2857" || attr(exact, "title") != "0.2857142857142857" || attr(exact, "class") != "n" {
		t.Errorf("2/7 is not shown rounded, right-aligned, with every digit beside it: %+v", exact)
	}
	if nulls != 8 { // seven of the row of NULLs, one of the second section
		t.Errorf("%d cells are marked NULL, want 8", nulls)
	}
	if n := len(p.all("svg")); n != 1 {
		t.Errorf("%d charts in the page, want 1", n)
	}
}

// Sentences and warnings stand before the first table.
func TestHTMLOrder(t *testing.T) {
	raw := string(draw(t, "html", "", pictured()))
	at := -1
	for _, s := range []string{"<h1", "pass^3 fell from 0.61 to 0.48", "model alpha-1", "differ in temperature", "k = 1 is the mean", "<svg", "<table", "passhat report tasks SOURCE", "<details class=\"stamp\"", "not in the log"} {
		next := strings.Index(raw[at+1:], s)
		if next < 0 {
			t.Fatalf("%q does not follow", s)
		}
		at += 1 + next
	}
	for _, s := range []string{`<span class="tag good"><bdi>better</bdi></span>`, `<span class="tag bad"><bdi>worse</bdi></span>`} {
		if !strings.Contains(raw, s) {
			t.Errorf("no verdict %s", s)
		}
	}
}

// Rows stream: a page does not wait for the last row to write the first.
func TestHTMLStreams(t *testing.T) {
	var b bytes.Buffer
	const rows = 30_000
	seen := 0
	res := &reports.Result{Name: "query", Sections: []reports.Section{{Name: "q", Columns: []reports.Column{intCol("i")},
		Rows: func(yield func([]any, error) bool) {
			row := make([]any, 1)
			for i := range int64(rows) {
				row[0] = i
				if !yield(row, nil) {
					return
				}
				if seen == 0 && b.Len() > 0 {
					seen = int(i)
				}
			}
		}}}}
	if err := reports.Write(&b, "html", res, reports.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if seen == 0 || seen > rows/2 {
		t.Errorf("the first bytes came at row %d", seen)
	}
	if n := strings.Count(b.String(), "<tr>"); n != rows+1 {
		t.Errorf("%d rows, want a heading and %d", n, rows)
	}
}
