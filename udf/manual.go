package udf

import (
	"fmt"
	"strings"
)

// Markdown is the page of all functions, as it stands in docs/functions.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# SQL functions

Counts come successes first, then trials, then k; they may be of any number type but must be whole. A NULL among the
single arguments makes the result NULL. In parallel lists a NULL count or value leaves out its task with weight and
cluster; other NULLs in lists, unequal lengths, and weights that are negative or not finite are errors. NULL instead of a
list of weights means equal weights. Lists are best made with an order, so that sums come out alike on any number of
threads: ` + "`list(x ORDER BY task_id)`" + `.

`)
	for _, f := range Functions {
		fmt.Fprintf(&b, "## %s\n\n```\n%s\n```\n\n%s\n\n", f.Name, f.Signature(), f.Doc)
		fmt.Fprintf(&b, "* Formula: %s\n* Source: %s\n\n", f.Formula, f.Source)
		fmt.Fprintf(&b, "```sql\n%s;  -- %s\n```\n\n", f.Example, f.Shows)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}
