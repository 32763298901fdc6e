package reports

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // the page's parts
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
	"sync"
)

var (
	//go:embed page/page.css
	pageCSS string
	//go:embed page/sort.js
	pageJS string
	//go:embed page/page.gohtml
	pageHTML string
)

var pageTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageHTML))
})

// htmlHead is what stands above the first section.
type htmlHead struct {
	Title, Kicker         string
	StyleHash, ScriptHash template.HTMLAttr
	Style                 template.HTML
	Lead                  []string
	Cover                 []htmlSection // charts beside the lead
	Chips                 [][]string
	Warnings              []string
	Sections              []htmlSection
}

// htmlSection is what stands above a section's rows.
type htmlSection struct {
	ID, Heading string
	Notes       []string
	Chart       template.HTML
	ChartNotes  []string
	Columns     []htmlColumn
	More        string // label of the switch that shows the wide columns
}

type htmlColumn struct {
	Parts  []string // the name, to be broken between
	Class  string
	Number bool
}

type htmlFoot struct {
	Foot, Commands []string
	Stamp          [][2]string
	Script         template.HTML
}

// writeHTML writes one page that needs no network: sentences and warnings
// first, then every section with its chart and its table, the stamp last.
// Numbers are rounded as on the terminal and keep every digit in data-v.
// Everything from a log is escaped; a policy lets no script run but the page's
// own, which sorts tables and without which all can be read.
func writeHTML(w *bufio.Writer, res *Result, opts WriteOptions) error {
	secs := wanted(res, opts, false)
	head := htmlHead{
		Title: visible(res.Title), Kicker: htmlKicker(res), Warnings: visibleAll(res.Warnings),
		StyleHash: cspHash(pageCSS), ScriptHash: cspHash(pageJS),
		Style: template.HTML("<style>" + pageCSS + "</style>"), // our own text, and no other
	}
	if head.Title == "" {
		head.Title = "Result"
	}
	head.Lead, head.Chips = htmlLead(res)
	tables := make([]*htmlTable, len(secs))
	var first []*htmlTable // tables that stand before all others
	for i, sec := range secs {
		t := &htmlTable{w: w, sec: sec, opts: opts, head: htmlSection{ID: fmt.Sprintf("s%d", i+1), Heading: htmlHeading(res, sec)}, stamp: res.Stamp}
		tables[i] = t
		head.Sections = append(head.Sections, t.head)
		if !sec.Cover || !sec.Buffered || len(secs) == 1 || len(head.Lead) == 0 {
			continue
		}
		if sec.Chart == nil {
			tables[i], first = nil, append(first, t)
			continue
		}
		if err := t.chart(nil); err != nil {
			return err
		}
		if t.head.Chart != "" {
			head.Cover = append(head.Cover, t.head)
			t.head.Chart, t.covered = "", true
		}
	}
	if err := pageTemplate().ExecuteTemplate(w, "head", head); err != nil {
		return fmt.Errorf("writing the page's head: %w", err)
	}
	for _, t := range append(first, tables...) {
		if t == nil {
			continue
		}
		if err := t.write(); err != nil {
			return err
		}
	}
	foot := htmlFoot{Script: template.HTML("<script>" + pageJS + "</script>")}
	for _, s := range res.Foot {
		if isCommand(s) {
			foot.Commands = append(foot.Commands, visible(strings.TrimSpace(s)))
		} else {
			foot.Foot = append(foot.Foot, visible(s))
		}
	}
	if res.Stamp != nil {
		for _, kv := range stampLines(res.Stamp) {
			foot.Stamp = append(foot.Stamp, [2]string{visible(kv[0]), visible(kv[1])})
		}
	}
	if err := pageTemplate().ExecuteTemplate(w, "foot", foot); err != nil {
		return fmt.Errorf("writing the page's foot: %w", err)
	}
	return nil
}

// isCommand says whether a line is one to copy.
func isCommand(s string) bool { return strings.HasPrefix(s, " ") || strings.HasPrefix(s, "passhat ") }

// cspHash names text that a content security policy lets run.
func cspHash(text string) template.HTMLAttr {
	sum := sha256.Sum256([]byte(text))
	return template.HTMLAttr("sha256-" + base64.StdEncoding.EncodeToString(sum[:]))
}

func htmlKicker(res *Result) string {
	parts := []string{"passhat"}
	if res.Stamp != nil {
		parts = append(parts, "report "+visible(res.Stamp.Report), res.Stamp.Made.UTC().Format("2006-01-02 15:04 UTC"))
	}
	return strings.Join(parts, " · ")
}

func htmlHeading(res *Result, sec *Section) string {
	for _, s := range []string{sec.Heading, sec.Name, res.Name} {
		if s != "" {
			return visible(s)
		}
	}
	return "Rows"
}

// htmlLead parts the lines above the tables into a report's own sentences and
// the lines of configuration and counts, which are cut at their dots.
func htmlLead(res *Result) (lead []string, chips [][]string) {
	config := len(res.Head)
	if res.Stamp != nil {
		line := configLine(res.Stamp.Configuration)
		for i, s := range res.Head {
			if s == line {
				config = i
				break
			}
		}
	}
	for _, s := range res.Head[:config] {
		lead = append(lead, visible(s))
	}
	for _, s := range res.Head[config:] {
		if s != "" {
			chips = append(chips, strings.Split(visible(s), " · "))
		}
	}
	return lead, chips
}

func visibleAll(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, visible(s))
	}
	return out
}
