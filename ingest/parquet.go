package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"passhat/ingest/store"
)

// parquetFormat reads Parquet files, row group by row group.
var parquetFormat = Format{
	Name:       "parquet",
	Doc:        "table in a Parquet file, among them those that passhat exports",
	Version:    1,
	Recognised: "the signature PAR1 at the beginning",
	Match:      matchParquet,
	Read:       readParquet,
	Fields:     ColumnFields(),
	Notes: []string{
		"one row is one trial, or the counts of one task (columns for successes and trials), which become that many trials",
		"structs, maps and lists are read as JSON, dictionaries as their values, bytes as text (in hex where they are none); a timestamp without a zone is read in --tz",
		"a file that passhat exported comes back as it went out; its source, source_row, batch and ingested_at are those of the new ingest",
		"from standard input or compressed from outside, the file is first copied to a temporary one",
		"a damaged file is one error, and nothing of it is stored; encrypted files are not read",
	},
}

func matchParquet(p *Probe) Match {
	if bytes.HasPrefix(p.Head, []byte("PAR1")) || bytes.HasPrefix(p.Head, []byte("PARE")) {
		return Magic
	}
	return NoMatch
}

const (
	// maxParquetBatch is how many rows are unfolded at a time, at most, and
	// parquetBatchBytes about how many bytes.
	maxParquetBatch   = 8192
	parquetBatchBytes = 32 << 20
	maxParquetPage    = 128 << 20
)

func readParquet(ctx context.Context, in *Input, opts *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		f, err := openTable(in)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		if err := parquetTrials(ctx, in, opts, f, yield); err != nil && err != errStopped {
			yield(nil, err)
		}
	}
}

// parquetFile is an open file with its schema.
type parquetFile struct {
	raw    *file.Reader
	rows   *pqarrow.FileReader
	schema *arrow.Schema
}

func openParquet(f *tableFile) (*parquetFile, error) {
	head := make([]byte, 4)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, errors.New("it is too short")
	}
	if string(head) == "PARE" {
		return nil, errors.New("it is encrypted, which is not read")
	}
	tail := make([]byte, 4)
	if _, err := f.ReadAt(tail, f.Size()-4); err != nil || string(tail) != "PAR1" {
		return nil, errors.New("it ends without its footer: it was cut, copy it again or finish writing it")
	}
	mem := newBoundedMemory()
	props := parquet.NewReaderProperties(mem)
	props.BufferedStreamEnabled = true // page by page, not a whole column chunk
	props.MaxCompressedPageSize, props.MaxUncompressedPageSize = maxParquetPage, maxParquetPage
	raw, err := file.NewParquetReader(f.SectionReader, file.WithReadProps(props))
	if err != nil {
		return nil, err
	}
	rows, err := pqarrow.NewFileReader(raw, pqarrow.ArrowReadProperties{BatchSize: maxParquetBatch}, mem)
	if err != nil {
		return nil, err
	}
	schema, err := rows.Schema()
	if err != nil {
		return nil, err
	}
	return &parquetFile{raw: raw, rows: rows, schema: schema}, nil
}

func parquetTrials(ctx context.Context, in *Input, opts *Options, f *tableFile, yield func(*store.Trial, error) bool) error {
	var p *parquetFile
	if err := safely(func() (err error) { p, err = openParquet(f); return err }); err != nil {
		return damaged(in, "Parquet", "", err)
	}
	t, err := newTableReader(in, opts, p.schema)
	if err != nil {
		return err
	}
	for g := range p.raw.NumRowGroups() {
		if err := p.group(ctx, t, g, yield); err != nil {
			if err == errStopped {
				return err
			}
			return damaged(in, "Parquet", fmt.Sprintf("row group %d, row %d", g+1, t.n), err)
		}
	}
	return t.finish()
}

// group yields the trials of one row group.
func (p *parquetFile) group(ctx context.Context, t *tableReader, g int, yield func(*store.Trial, error) bool) error {
	var r pqarrow.RecordReader
	var want int64
	err := safely(func() (err error) {
		if want, err = p.prepare(g); err != nil || want == 0 {
			return err
		}
		r, err = p.rows.GetRecordReader(ctx, nil, []int{g})
		return err
	})
	if err != nil || want == 0 {
		return err
	}
	defer func() { _ = safely(func() error { r.Release(); return nil }) }()
	for from := t.n; ; {
		var rec arrow.RecordBatch
		err := safely(func() (err error) { rec, err = r.Read(); return err })
		if err == io.EOF {
			if t.n-from != want {
				return fmt.Errorf("it claims %d rows, %d were found", want, t.n-from)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if t.n+rec.NumRows()-from > want {
			return fmt.Errorf("it claims %d rows, more were found", want)
		}
		if err := t.batch(ctx, rec, yield); err != nil {
			return err
		}
	}
}

// prepare checks the group's columns and sets the number of rows to unfold at
// a time by their size. The checks matter: for structs, the library opens
// columns in goroutines of its own, where a panic could not be caught, so what
// can go wrong there must go wrong here first.
func (p *parquetFile) prepare(g int) (rows int64, err error) {
	meta := p.raw.MetaData().RowGroup(g)
	rows = meta.NumRows()
	if rows < 0 {
		return 0, fmt.Errorf("it claims %d rows", rows)
	}
	group := p.raw.RowGroup(g)
	var size int64
	for c := range group.NumColumns() {
		chunk, err := meta.ColumnChunk(c)
		if err != nil {
			return 0, err
		}
		if n := chunk.TotalUncompressedSize(); n > 0 {
			size += n
		}
		pages, err := group.GetColumnPageReader(c)
		if err != nil {
			return 0, err
		}
		if err := pages.Close(); err != nil {
			return 0, err
		}
	}
	batch := int64(maxParquetBatch)
	if rows > 0 && size > 0 {
		batch = max(1, min(batch, parquetBatchBytes/max(1, size/rows)))
	}
	p.rows.Props.BatchSize = batch
	return rows, nil
}
