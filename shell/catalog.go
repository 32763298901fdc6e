package shell

import (
	"context"
	"strings"
	"sync"
	"time"

	"passhat/sql"
)

// lookTime bounds what one completion may spend on the database.
const lookTime = time.Second

// catalog is what names there are, looked up when first asked for. It may be
// used from several goroutines.
type catalog struct {
	session *sql.Session

	mu        sync.Mutex
	relations []sql.Relation
	functions []string
	keywords  []string
	values    map[string][]string // of a column
}

// forget drops what statements can change.
func (c *catalog) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.relations = nil
}

// warm looks up what the first completion will want.
func (c *catalog) warm() {
	c.rels()
	c.words()
	c.funcs()
}

// changed drops it where a statement makes a table.
func (c *catalog) changed(statement string) {
	if toks := sql.Tokens(statement); len(toks) > 0 && !readsOnly[toks[0].Text] {
		c.forget()
	}
}

var readsOnly = map[string]bool{"select": true, "from": true, "with": true, "values": true, "explain": true, "show": true, "describe": true, "summarize": true}

// lookup gives f a short while. A completion that can't be made is none.
func lookup[T any](f func(context.Context) (T, error)) T {
	ctx, stop := context.WithTimeout(context.Background(), lookTime)
	defer stop()
	v, err := f(ctx)
	if err != nil {
		var zero T
		return zero
	}
	return v
}

func (c *catalog) rels() []sql.Relation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.relations == nil {
		c.relations = lookup(c.session.Relations)
	}
	return c.relations
}

func (c *catalog) funcs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.functions == nil {
		c.functions = lookup(c.session.FunctionNames)
	}
	return c.functions
}

func (c *catalog) words() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keywords == nil {
		c.keywords = lookup(func(ctx context.Context) ([]string, error) {
			all, _, err := c.session.Keywords(ctx)
			return all, err
		})
	}
	return c.keywords
}

// wordsNow are the keywords as far as they are known yet: typing does not wait.
func (c *catalog) wordsNow() []string {
	if !c.mu.TryLock() {
		return nil
	}
	defer c.mu.Unlock()
	return c.keywords
}

// listedColumns are the columns whose values are few and worth completing.
var listedColumns = []string{"suite", "run_id", "task_id", "shape", "risk", "model", "agent", "effort", "harness", "harness_version", "git_branch"}

// valuesOf are the values of a column of task_runs, newest runs first.
func (c *catalog) valuesOf(column string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.values[column]; ok {
		return v
	}
	if c.values == nil {
		c.values = map[string][]string{}
	}
	c.values[column] = lookup(func(ctx context.Context) ([]string, error) {
		name := sql.Ident(column)
		rows, err := c.session.Query(ctx, "SELECT "+name+"::VARCHAR FROM task_runs WHERE "+name+" IS NOT NULL GROUP BY "+name+
			" ORDER BY max(run_at) DESC, "+name+" LIMIT 300", nil)
		if err != nil {
			return nil, err
		}
		var out []string
		for row, err := range rows.All() {
			if err != nil {
				return nil, err
			}
			if text, _ := row[0].(string); text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
				out = append(out, text)
			}
		}
		return out, nil
	})
	return c.values[column]
}
