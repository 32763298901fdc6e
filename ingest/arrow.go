package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"passhat/ingest/store"
)

// arrowFormat reads Arrow IPC, files and streams.
var arrowFormat = Format{
	Name:       "arrow",
	Doc:        "table in Arrow's IPC format, file (Feather V2) or stream",
	Version:    1,
	Recognised: "the signature ARROW1 of a file, or the schema message with which a stream begins",
	Match:      matchArrow,
	Read:       readArrow,
	Fields:     ColumnFields(),
	Notes: []string{
		"one row is one trial, or the counts of one task (columns for successes and trials), which become that many trials",
		"structs, maps and lists are read as JSON, dictionaries as their values, durations as seconds, bytes as text (in hex where they are none); a timestamp without a zone is read in --tz",
		"buffers compressed by LZ4 or ZSTD are read; a record batch may take up to 512 MiB of memory",
		"a damaged file is one error, and nothing of it is stored; Feather V1 is not read",
	},
}

var arrowFileMagic = []byte("ARROW1\x00\x00")

const (
	maxArrowMetadata = 4 << 20
	featherV1Magic   = "FEA1"
)

func matchArrow(p *Probe) Match {
	if bytes.HasPrefix(p.Head, arrowFileMagic) || bytes.HasPrefix(p.Head, []byte(featherV1Magic)) || isArrowStream(p.Head) {
		return Magic
	}
	return NoMatch
}

// isArrowStream looks for the continuation marker and a plausible length of
// the schema message behind it.
func isArrowStream(b []byte) bool {
	if len(b) < 16 || binary.LittleEndian.Uint32(b) != 0xFFFFFFFF {
		return false
	}
	n := binary.LittleEndian.Uint32(b[4:])
	return n >= 8 && n <= maxArrowMetadata
}

// arrowBatches yields record batches, in file or stream.
type arrowBatches interface {
	Schema() *arrow.Schema
	next() (arrow.RecordBatch, error) // io.EOF at the end
	close()
}

type arrowStream struct{ *ipc.Reader }

func (s arrowStream) next() (arrow.RecordBatch, error) {
	if s.Next() {
		return s.RecordBatch(), nil
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	return nil, io.EOF
}

func (s arrowStream) close() { s.Release() }

type arrowFile struct {
	*ipc.FileReader
	i int
}

func (f *arrowFile) next() (arrow.RecordBatch, error) {
	if f.i >= f.NumRecords() {
		return nil, io.EOF
	}
	f.i++
	return f.RecordBatch(f.i - 1)
}

func (f *arrowFile) close() { f.Close() }

func openArrow(f *tableFile) (arrowBatches, error) {
	opts := []ipc.Option{ipc.WithAllocator(newBoundedMemory()), ipc.WithMetadataSizeLimit(maxArrowMetadata), ipc.WithBodySizeLimit(maxTableMemory)}
	head := make([]byte, len(arrowFileMagic))
	if _, err := f.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	if bytes.HasPrefix(head, []byte(featherV1Magic)) {
		return nil, errors.New("it is in the Feather V1 format, which is not read: write it as Feather V2 or Parquet")
	}
	if !bytes.Equal(head, arrowFileMagic) {
		r, err := ipc.NewReader(&arrowGuard{r: f}, opts...)
		if err != nil {
			return nil, err
		}
		return arrowStream{r}, nil
	}
	if err := checkArrowFile(f); err != nil {
		return nil, err
	}
	r, err := ipc.NewFileReader(f, opts...)
	if err != nil {
		return nil, err
	}
	return &arrowFile{FileReader: r}, nil
}

func readArrow(ctx context.Context, in *Input, opts *Options) iter.Seq2[*store.Trial, error] {
	return func(yield func(*store.Trial, error) bool) {
		f, err := openTable(in)
		if err != nil {
			yield(nil, err)
			return
		}
		defer f.Close()
		if err := arrowTrials(ctx, in, opts, f, yield); err != nil && err != errStopped {
			yield(nil, err)
		}
	}
}

func arrowTrials(ctx context.Context, in *Input, opts *Options, f *tableFile, yield func(*store.Trial, error) bool) error {
	var batches arrowBatches
	err := safely(func() (err error) { batches, err = openArrow(f); return err })
	if err != nil {
		return damaged(in, "Arrow", "", err)
	}
	defer func() { _ = safely(func() error { batches.close(); return nil }) }()
	t, err := newTableReader(in, opts, batches.Schema())
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		where := fmt.Sprintf("record batch %d", n)
		var rec arrow.RecordBatch
		err := safely(func() (err error) { rec, err = batches.next(); return err })
		if err == io.EOF {
			return t.finish()
		}
		if err != nil {
			return damaged(in, "Arrow", where, err)
		}
		if err := t.batch(ctx, rec, yield); err != nil {
			if err == errStopped {
				return err
			}
			return damaged(in, "Arrow", fmt.Sprintf("%s, row %d", where, t.n), err)
		}
	}
}
