package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"passhat/reports"
	"passhat/sql"
)

// queryFlags are the flags of passhat query.
type queryFlags struct {
	file   string
	params []string
	tables []string
	limit  time.Duration
	unsafe bool
	read   readFlags
	out    outputFlags
}

func (a *app) queryCommand() *cobra.Command {
	var q queryFlags
	cmd := &cobra.Command{
		Use:   "query SQL [SOURCE...]",
		Short: "run one SQL statement with all functions, on the store or on named logs",
		Long: `query runs one statement in DuckDB's SQL. Tables: trials (one row a trial), task_runs (counts of a task in a run), runs, sources,
rejects, labels, prices, fields (every column with an example). passhat functions lists the functions for reliability;
passhat shell has the same with completion and help.`,
		Example: `  passhat query 'SELECT task_id, pass_hat(passed, 3) AS pass_hat_3 FROM trials GROUP BY task_id ORDER BY task_id'
  passhat query -f question.sql trials.jsonl -o answer.xlsx`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.query(cmd, &q, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&q.file, "file", "f", "", "read the SQL from this `FILE` (- is stdin)")
	f.StringArrayVarP(&q.params, "param", "p", nil, "`NAME=VALUE` of a $NAME in the SQL (repeatable)")
	f.StringArrayVar(&q.tables, "table", nil, "`NAME=FILE`: a CSV or Parquet file as the table NAME (repeatable)")
	f.DurationVar(&q.limit, "timeout", 0, "give up after this time, such as 30s (default no limit)")
	f.BoolVar(&q.unsafe, "unsafe", false, unsafeUsage)
	q.read.add(cmd)
	q.out.add(cmd)
	return cmd
}

func (a *app) query(cmd *cobra.Command, q *queryFlags, args []string) error {
	outs, err := q.out.outputs(a)
	if err != nil {
		return err
	}
	text, sources, err := a.queryText(q, args)
	if err != nil {
		return err
	}
	params, err := queryParams(q.params)
	if err != nil {
		return err
	}
	tables, err := tableFlags(q.tables)
	if err != nil {
		return err
	}
	d, err := a.open(cmd.Context(), sources, &q.read, sql.Config{Tables: tables, TimeLimit: q.limit, Locked: !q.unsafe})
	if err != nil {
		return err
	}
	defer d.close()
	if err := keepInputs(outs, d, sources, tables); err != nil {
		return err
	}
	if q.unsafe {
		a.sayUnsafe()
	}
	if err := a.noStore(d, text); err != nil {
		return err
	}
	bar := a.newProgress()
	bar.spin("query")
	res, err := reports.Query(cmd.Context(), d.session, "query", text, params)
	bar.done()
	if err != nil {
		return err
	}
	return q.out.print(a, res, outs)
}

// queryText finds the SQL: the first argument, a file, or stdin.
func (a *app) queryText(q *queryFlags, args []string) (text string, sources []string, err error) {
	from := q.file
	if from == "" {
		if len(args) == 0 {
			return "", nil, usagef("query: want an SQL statement, or -f FILE, or - for stdin")
		}
		text, sources = args[0], args[1:]
		if text == "-" {
			from = "-"
		}
	} else {
		sources = args
	}
	if from == "-" {
		for _, s := range sources {
			if s == "-" {
				return "", nil, usagef("query: stdin cannot be both the SQL and a log")
			}
		}
		b, err := io.ReadAll(a.stdin)
		if err != nil {
			return "", nil, fmt.Errorf("reading SQL from stdin: %w", err)
		}
		text = string(b)
	} else if from != "" {
		b, err := os.ReadFile(from)
		if err != nil {
			return "", nil, fmt.Errorf("reading SQL: %w", err)
		}
		text = string(b)
	}
	if strings.TrimSpace(text) == "" {
		return "", nil, usagef("query: the SQL is empty")
	}
	return text, sources, nil
}

// queryParams reads NAME=VALUE; a value that looks like a whole number, a
// number or a truth value is bound as one, everything else as text.
func queryParams(pairs []string) (map[string]any, error) {
	params := map[string]any{}
	for _, p := range pairs {
		name, value, err := pair("-p", p)
		if err != nil {
			return nil, err
		}
		if i, err := strconv.ParseInt(value, 10, 64); err == nil {
			params[name] = i
		} else if f, err := strconv.ParseFloat(value, 64); err == nil {
			params[name] = f
		} else if value == "true" || value == "false" {
			params[name] = value == "true"
		} else {
			params[name] = value
		}
	}
	return params, nil
}

// tableFlags reads --table NAME=FILE.
func tableFlags(pairs []string) (map[string]string, error) {
	tables := map[string]string{}
	for _, p := range pairs {
		name, file, err := pair("--table", p)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("--table %s: %w", name, err)
		}
		tables[name] = file
	}
	return tables, nil
}

// pair cuts NAME=VALUE.
func pair(flag, s string) (name, value string, err error) {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return "", "", usagef("%s %q: want NAME=VALUE", flag, s)
	}
	return name, value, nil
}
