package reports

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxSideFile bounds a weights or labels file: a line for each task of a suite.
const maxSideFile = 256 << 20

// sideFile is a CSV file that says something about each task: --weights or
// --labels. It is keyed by task_id and, where a column suite is there, by both.
type sideFile struct {
	kind    string // weights or labels
	path    string
	hash    string // sha256, hex
	date    time.Time
	columns []string // value columns that the file has, of those that were asked for
	rows    []sideRow
}

type sideRow struct {
	suite, task string
	anySuite    bool
	values      []string
}

// readSideFile reads a side file with the value columns wanted. Weights need
// theirs; of labels one is enough. Faults name file and line.
func readSideFile(kind, path string, wanted ...string) (*sideFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, usagef("%s %s: %v", kind, path, rootCause(err))
	}
	if info.IsDir() || info.Size() > maxSideFile {
		return nil, usagef("%s %s: a CSV file of at most %d MB is wanted", kind, path, maxSideFile>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("%s %s: %v", kind, path, rootCause(err))
	}
	sum := sha256.Sum256(data)
	f := &sideFile{kind: kind, path: path, hash: hex.EncodeToString(sum[:]), date: info.ModTime().UTC()}
	return f, f.parse(data, wanted)
}

func rootCause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func (f *sideFile) parse(data []byte, wanted []string) error {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	r.TrimLeadingSpace = true
	head, err := r.Read()
	if err != nil {
		return usagef("%s %s: line 1: a header with task_id and %s is wanted", f.kind, f.path, strings.Join(wanted, ", "))
	}
	at := map[string]int{}
	for i, h := range head {
		at[strings.ToLower(strings.TrimSpace(h))] = i
	}
	var cols []int
	for _, w := range wanted {
		if i, ok := at[w]; ok {
			f.columns = append(f.columns, w)
			cols = append(cols, i)
		}
	}
	taskAt, ok := at["task_id"]
	if !ok || len(cols) == 0 {
		return usagef("%s %s: line 1: the header has %s; task_id and %s are wanted", f.kind, f.path, strings.Join(head, ", "), strings.Join(wanted, " or "))
	}
	suiteAt, hasSuite := at["suite"]
	seen := map[[2]string]int{}
	for {
		rec, err := r.Read()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return usagef("%s %s: %v", f.kind, f.path, err)
		}
		line, _ := r.FieldPos(0)
		row := sideRow{task: rec[taskAt], anySuite: true}
		if hasSuite && rec[suiteAt] != "" {
			row.suite, row.anySuite = rec[suiteAt], false
		}
		key := [2]string{row.suite, row.task}
		if before, dup := seen[key]; dup {
			return usagef("%s %s: line %d: task %s stands twice, first on line %d", f.kind, f.path, line, row.task, before)
		}
		seen[key] = line
		for j, i := range cols {
			v := strings.TrimSpace(rec[i])
			if f.columns[j] == "weight" && (v != "" || f.kind == "weights") {
				w, err := strconv.ParseFloat(v, 64)
				if err != nil || !(w >= 0) || math.IsInf(w, 0) {
					return usagef("%s %s: line %d: weight %q of task %s: a number ≥ 0 is wanted", f.kind, f.path, line, rec[i], row.task)
				}
			}
			row.values = append(row.values, v)
		}
		f.rows = append(f.rows, row)
	}
}

// load makes a temporary table of the file.
func (f *sideFile) load(ctx context.Context, d *db, table string) error {
	cols := "suite VARCHAR, task_id VARCHAR"
	for _, c := range f.columns {
		typ := "VARCHAR"
		if c == "weight" {
			typ = "DOUBLE"
		}
		cols += ", " + c + " " + typ
	}
	if err := d.exec(ctx, "CREATE OR REPLACE TEMP TABLE "+table+" ("+cols+")"); err != nil {
		return err
	}
	for part := range slices.Chunk(f.rows, 1000) {
		var b strings.Builder
		for i, r := range part {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString("(")
			if r.anySuite {
				b.WriteString("NULL")
			} else {
				b.WriteString(quoteText(r.suite))
			}
			b.WriteString(", " + quoteText(r.task))
			for _, v := range r.values {
				if v == "" {
					b.WriteString(", NULL")
				} else {
					b.WriteString(", " + quoteText(v))
				}
			}
			b.WriteString(")")
		}
		if err := d.exec(ctx, "INSERT INTO "+table+" VALUES "+b.String()); err != nil {
			return err
		}
	}
	return nil
}

// storedWeights are the weights of the labels in the store, nil when no label
// has one.
func storedWeights(ctx context.Context, d *db) (*sideFile, error) {
	row, err := d.row(ctx, "SELECT count(weight) FROM labels")
	if err != nil || row.int(0) == 0 {
		return nil, err
	}
	err = d.exec(ctx, "CREATE OR REPLACE TEMP TABLE request_weights AS SELECT suite, task_id, weight FROM labels WHERE weight >= 0")
	return &sideFile{kind: "labels"}, err
}

// stamp says which file it was: name, hash and date.
func (f *sideFile) stamp() string {
	if f.path == "" {
		return "labels of the store"
	}
	return fmt.Sprintf("%s sha256:%s of %s", filepath.Base(f.path), f.hash[:16], f.date.Format("2006-01-02"))
}
