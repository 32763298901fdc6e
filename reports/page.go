package reports

import (
	"context"
	"fmt"
	"strings"

	"passhat/sql"
)

// Page returns the manual page of a report in Markdown, made from its header
// and the columns that DuckDB says it has: what it answers, its parameters, its
// sections. example, if any, is put at the end as it stands.
func Page(ctx context.Context, s *sql.Session, rep *Report, example string) (string, error) {
	columns, err := sectionColumns(ctx, s, rep)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n%s\n", rep.Name, rep.Title, rep.Description)
	rep.pageParams(&b)
	rep.pageSections(&b, columns)
	if example != "" {
		b.WriteString("\n## Example\n\n" + example)
	}
	fmt.Fprintf(&b, "\nThe SQL: `passhat report --describe %s`, or [%s.sql](../../reports/%[1]s.sql).\n", rep.Name, rep.Name)
	return b.String(), nil
}

func (r *Report) pageParams(b *strings.Builder) {
	if len(r.Params) > 0 {
		b.WriteString("\n## Parameters\n\n| flag | default | meaning |\n|---|---|---|\n")
	}
	for _, p := range r.Params {
		flag := "--" + strings.ReplaceAll(p.Name, "_", "-")
		if p.Name == "k" {
			flag = "-k"
		}
		if p.Name == "now" || p.Name == "resamples" {
			flag = "-p " + p.Name
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", flag, strings.TrimPrefix(p.defaultShown(), "= "), strings.ReplaceAll(p.Meaning, "|", `\|`))
	}
	if len(r.Flags) == 0 {
		return
	}
	b.WriteString("\nUnless given:")
	for _, f := range r.Flags {
		switch f[0] {
		case "old", "new":
			fmt.Fprintf(b, " `-p %s=%s`", f[0], f[1])
		default:
			fmt.Fprintf(b, " `--%s %s`", f[0], f[1])
		}
	}
	b.WriteString(".\n")
}

func (r *Report) pageSections(b *strings.Builder, columns map[string][]string) {
	b.WriteString("\n## Sections\n")
	for _, st := range r.Sections() {
		fmt.Fprintf(b, "\n**%s**: %s\n\n", st.Name, st.Heading)
		if cols := columns[st.Name]; len(cols) > 0 {
			fmt.Fprintf(b, "`%s`\n", strings.Join(cols, "`, `"))
		} else {
			b.WriteString("Left out when it has no row.\n")
		}
		for _, cond := range conditions {
			if cols := st.When[cond]; len(cols) > 0 {
				fmt.Fprintf(b, "\nOnly %s: `%s`.\n", conditionWords[cond], strings.Join(cols, "`, `"))
			}
		}
	}
}
