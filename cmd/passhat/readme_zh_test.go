package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fence = regexp.MustCompile("(?ms)^```[a-z]*\n.*?^```\n")
	code  = regexp.MustCompile("`[^`\n]+`")
	link  = regexp.MustCompile(`\]\(([^)]+)\)`)
)

// The Chinese README says what the English one does: the same commands and
// outputs, the same headings, flags, columns and links. -update writes the
// commands and outputs; words must be translated by hand.
func TestReadmeChinese(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	english, chinese := read("README.md"), read("README.zh-CN.md")
	want, have := fence.FindAllString(english, -1), fence.FindAllString(chinese, -1)
	if len(want) != len(have) {
		t.Fatalf("the Chinese README has %d blocks of commands, the English one %d", len(have), len(want))
	}
	if !slices.Equal(want, have) {
		if !*update {
			t.Error("the commands of the Chinese README are not those of the English one (-update writes them)")
		}
		i := -1
		chinese = fence.ReplaceAllStringFunc(chinese, func(string) string { i++; return want[i] })
		if *update {
			if err := os.WriteFile(filepath.Join("..", "..", "README.zh-CN.md"), []byte(chinese), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	prose := [2]string{fence.ReplaceAllString(english, ""), fence.ReplaceAllString(chinese, "")}
	if a, b := strings.Count(prose[0], "\n## "), strings.Count(prose[1], "\n## "); a != b {
		t.Errorf("the Chinese README has %d sections, the English one %d", b, a)
	}
	for i := range prose { // a span may go over the end of a line
		prose[i] = strings.ReplaceAll(prose[i], "\n", " ")
	}
	for what, pattern := range map[string]*regexp.Regexp{"code": code, "links": link} {
		missing := func(in, of string) {
			other := map[string]int{}
			for _, m := range pattern.FindAllString(of, -1) {
				other[m]++
			}
			for _, m := range pattern.FindAllString(in, -1) {
				if other[m]--; other[m] < 0 && !strings.Contains(m, "README") {
					t.Errorf("%s: %s stands in one README and not in the other", what, m)
				}
			}
		}
		missing(prose[0], prose[1])
		missing(prose[1], prose[0])
	}
}
