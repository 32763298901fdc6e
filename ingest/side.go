package ingest

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"passhat/ingest/store"
)

// What --as takes besides the formats: tables that stand beside the trials.
const (
	asLabels = "labels"
	asPrices = "prices"
)

// maxSide is the longest file of labels or prices, in bytes.
const maxSide = 64 << 20

var labelNames = []string{"suite", "task_id", "shape", "risk", "difficulty", "weight", "kind", "owner"}

var priceNames = []string{"model", "from", "input", "output"}

// sideAlso maps other headings, in the form of normalName, to columns.
var sideAlso = map[string]string{
	"task": "task_id", "taskid": "task_id", "inputpermillion": "input", "inputusdpermillion": "input", "inputprice": "input",
	"outputpermillion": "output", "outputusdpermillion": "output", "outputprice": "output", "validfrom": "from", "since": "from",
}

// ingestSide reads a CSV file of labels or prices. It is small and written by
// hand, so any bad row fails all of it.
func ingestSide(ctx context.Context, st *store.Store, in *Input, hash string, opt *Options, s *SourceSummary) error {
	s.Format, s.Kind = opt.As, store.KindLabels
	names := labelNames
	if opt.As == asPrices {
		s.Kind, names = store.KindPrices, priceNames
	}
	t, err := readSide(in, names)
	if err != nil {
		return err
	}
	src := store.Source{
		Path: in.Path, Kind: s.Kind, Format: opt.As, FormatVersion: 1, Hash: hash, Size: in.limit,
		OptionsHash: optionsHash(opt.given()), Options: opt.given(), Passhat: opt.Version, Replace: opt.Replace,
	}
	if in.Path == "" {
		src.Path = store.Stdin
	}
	for try := 0; ; try++ {
		err = commitSide(ctx, st, in, src, opt, t, s)
		if !errors.Is(err, store.ErrChanged) || try == 5 {
			return err
		}
	}
}

func commitSide(ctx context.Context, st *store.Store, in *Input, src store.Source, opt *Options, t *sideTable, s *SourceSummary) error {
	var labels []store.Label
	var prices []store.Price
	var err error
	if s.Kind == store.KindLabels {
		labels, err = t.labels(opt)
	} else {
		prices, err = t.prices()
	}
	if err != nil {
		return err
	}
	if s.Plan, err = st.Plan(ctx, src); err != nil || s.Plan.Action == store.Skip {
		s.Store.Action = s.Plan.Action
		return err
	}
	if len(t.unknown) > 0 {
		s.Notes = []string{"columns that are not used: " + strings.Join(t.unknown, ", ")}
	}
	if opt.DryRun {
		s.Store.Read = int64(len(t.rows))
		return nil
	}
	b, err := st.Begin(ctx, src, s.Plan)
	if err != nil {
		return err
	}
	defer b.Abort()
	if s.Kind == store.KindLabels {
		err = b.Labels(labels)
	} else {
		err = b.Prices(prices)
	}
	if err != nil {
		return err
	}
	s.Store, err = b.Commit(ctx)
	return err
}

// sideTable is a small table with known columns.
type sideTable struct {
	in      *Input
	at      map[string]int // column → index in rows
	rows    [][]string
	lines   []int
	unknown []string
}

func readSide(in *Input, names []string) (*sideTable, error) {
	rc, err := in.Open()
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	text, err := io.ReadAll(io.LimitReader(rc, maxSide+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSide {
		return nil, fmt.Errorf("%s: it is longer than %d bytes, the limit for such a table", in.Name, maxSide)
	}
	text = bytes.TrimPrefix(text, []byte(utf8BOM))
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.TrimLeadingSpace = sideComma(text), true
	t := &sideTable{in: in, at: map[string]int{}}
	head, err := r.Read()
	if err == io.EOF {
		return nil, &UnknownFormatError{Source: in.Name, Empty: true}
	}
	if err != nil {
		return nil, t.csvError(err)
	}
	for i, h := range head {
		name := strings.ToLower(strings.TrimSpace(h))
		if also, ok := sideAlso[normalName(name)]; ok {
			name = also
		}
		if _, twice := t.at[name]; twice {
			return nil, fmt.Errorf("%s: line 1: column %s stands there twice", in.Name, name)
		}
		if slices.Contains(names, name) {
			t.at[name] = i
		} else {
			t.unknown = append(t.unknown, h)
		}
	}
	key := names[0]
	if key == "suite" {
		key = "task_id"
	}
	if _, ok := t.at[key]; !ok {
		return nil, fmt.Errorf("%s: line 1: no column %s; wanted a heading with %s", in.Name, key, strings.Join(names, ", "))
	}
	for {
		row, err := r.Read()
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return nil, t.csvError(err)
		}
		line, _ := r.FieldPos(0)
		t.rows, t.lines = append(t.rows, row), append(t.lines, line)
	}
}

// sideComma is the separator that the heading has most of.
func sideComma(text []byte) rune {
	head, _, _ := bytes.Cut(text, []byte{'\n'})
	best, n := ',', bytes.Count(head, []byte{','})
	for _, c := range ";\t" {
		if m := bytes.Count(head, []byte(string(c))); m > n {
			best, n = c, m
		}
	}
	return best
}

func (t *sideTable) csvError(err error) error {
	var pe *csv.ParseError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: line %d: %v", t.in.Name, pe.Line, pe.Err)
	}
	return fmt.Errorf("%s: %w", t.in.Name, err)
}

func (t *sideTable) text(row int, name string) string {
	i, ok := t.at[name]
	if !ok {
		return ""
	}
	return strings.ToValidUTF8(strings.TrimSpace(t.rows[row][i]), "\uFFFD")
}

// number reads a number from 0 on; an empty cell is NULL.
func (t *sideTable) number(row int, name string) (store.Opt[float64], error) {
	s := t.text(row, name)
	if s == "" {
		return store.Opt[float64]{}, nil
	}
	f, ok := parseFloat([]byte(s))
	if !ok || !(f >= 0) || f-f != 0 {
		return store.Opt[float64]{}, fmt.Errorf("%s: line %d: %s: %q is not a number from 0 on", t.in.Name, t.lines[row], name, s)
	}
	return store.Some(f), nil
}

func (t *sideTable) labels(opt *Options) ([]store.Label, error) {
	out := make([]store.Label, 0, len(t.rows))
	for i := range t.rows {
		weight, err := t.number(i, "weight")
		if err != nil {
			return nil, err
		}
		l := store.Label{
			Suite: t.text(i, "suite"), TaskID: t.text(i, "task_id"), Shape: t.text(i, "shape"), Risk: t.text(i, "risk"),
			Difficulty: t.text(i, "difficulty"), Weight: weight, Kind: t.text(i, "kind"), Owner: t.text(i, "owner"),
		}
		if opt.Suite != "" {
			l.Suite = opt.Suite
		}
		if l.TaskID == "" {
			return nil, fmt.Errorf("%s: line %d: task_id is empty", t.in.Name, t.lines[i])
		}
		if l.Kind != "" && l.Kind != "regression" && l.Kind != "capability" {
			return nil, fmt.Errorf("%s: line %d: kind: %q, wanted regression or capability", t.in.Name, t.lines[i], l.Kind)
		}
		out = append(out, l)
	}
	return out, nil
}

func (t *sideTable) prices() ([]store.Price, error) {
	out := make([]store.Price, 0, len(t.rows))
	for i := range t.rows {
		p := store.Price{Model: t.text(i, "model")}
		if p.Model == "" {
			return nil, fmt.Errorf("%s: line %d: model is empty", t.in.Name, t.lines[i])
		}
		if s := t.text(i, "from"); s != "" {
			at, _, ok := parseTime([]byte(s), time.UTC)
			if !ok {
				return nil, fmt.Errorf("%s: line %d: from: %q is not a date such as 2026-11-30", t.in.Name, t.lines[i], s)
			}
			p.From = store.Some(int32(at.Unix() / 86400))
		}
		var err error
		if p.Input, err = t.number(i, "input"); err != nil {
			return nil, err
		}
		if p.Output, err = t.number(i, "output"); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}
