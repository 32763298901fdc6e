package store

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/zeebo/xxh3"
)

// Report is what Verify found.
type Report struct {
	Records  int64
	Files    int64
	Rows     int64 // of trials
	Bytes    int64
	Problems []Problem
	Cause    error // why the records can't be read, nil if they can
	// Orphans are files that no live record names, relative to the store:
	// dead or never committed, harmless, swept by a later writer.
	Orphans []string
}

// Problem is one fault of a store.
type Problem struct {
	File string // relative to the store
	What string
}

// Verify checks that every file of a live batch is there, has its recorded
// size and checksum, and is readable with its recorded number of rows. Faults
// are in the Report; the error is for not being able to look.
func (s *Store) Verify(ctx context.Context) (Report, error) {
	var rep Report
	lease, err := s.lease(ctx)
	if err != nil {
		return rep, fmt.Errorf("verify store %s: %w", s.dir, err)
	}
	if lease != nil {
		defer lease.Close()
	}
	st, err := s.load()
	if err != nil {
		// What can't be read as records is a fault of the store.
		rep.Problems = append(rep.Problems, Problem{dirRecords, damage(err).Error()})
		rep.Cause = err
		return rep, nil
	}
	rep.Records = st.last() - max(st.base-1, 0)
	shared := st.sharedRows()
	for _, r := range st.records {
		if r.Kind == KindDrop || st.dead[r.Batch] {
			continue
		}
		if what := r.fault(shared[r.Batch]); what != "" {
			rep.problem(dirRecords+"/"+recordName(r.Number, r.Batch), "%s", what)
		}
		if r.Kind == KindTrials {
			rep.Rows += r.Rows
		}
	}
	st.files(func(f File) {
		if ctx.Err() != nil {
			return
		}
		rep.Files++
		rep.Bytes += f.Bytes
		if what := s.verifyFile(f); what != "" {
			rep.problem(f.Path, "%s", what)
		}
	})
	if ctx.Err() != nil {
		return rep, context.Cause(ctx)
	}
	rep.Orphans = s.orphans(st)
	slices.Sort(rep.Orphans)
	return rep, nil
}

// fault says in what a record does not agree with itself, or with the shared files,
// which hold so many of its rows; "" if in nothing.
func (r *Record) fault(shared int64) string {
	rows := int64(0)
	for _, f := range r.Files {
		rows += f.Rows
	}
	if rows != r.Rows {
		return fmt.Sprintf("its files hold %d rows and the batch %d", rows, r.Rows)
	}
	if moved := r.movedRows(); moved != shared {
		return fmt.Sprintf("%d of its rows lie in shared files; those hold %d", moved, shared)
	}
	return ""
}

func (rep *Report) problem(file, format string, args ...any) {
	rep.Problems = append(rep.Problems, Problem{file, fmt.Sprintf(format, args...)})
}

// verifyFile says what is wrong with a file, "" if nothing is.
func (s *Store) verifyFile(f File) string {
	path := s.path(filepath.FromSlash(f.Path))
	in, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "it is missing"
	}
	if err != nil {
		return fmt.Sprintf("it can't be read: %s", plain(err))
	}
	defer in.Close()
	h := xxh3.New()
	lines := lineCounter(0)
	n, err := io.Copy(io.MultiWriter(h, &lines), bufio.NewReaderSize(in, 1<<18))
	switch {
	case err != nil:
		return fmt.Sprintf("it can't be read: %s", plain(err))
	case n != f.Bytes:
		return fmt.Sprintf("it has %d bytes; %d were written", n, f.Bytes)
	case checksum(h) != f.Checksum:
		return fmt.Sprintf("its checksum is %s; %s was written", checksum(h), f.Checksum)
	}
	rows := int64(lines)
	switch {
	case strings.HasSuffix(path, ".parquet"):
		if rows, err = parquetRows(path); err != nil {
			return err.Error()
		}
	case strings.HasSuffix(path, extPrints):
		if rows, err = printRows(path); err != nil {
			return fmt.Sprintf("its row hashes can't be read: %s", plain(err))
		}
	case strings.HasSuffix(path, extHashes):
		rows = n / 16
	}
	if rows != f.Rows {
		return fmt.Sprintf("it holds %d rows; %d were written", rows, f.Rows)
	}
	return ""
}

type lineCounter int64

// Write implements io.Writer.
func (c *lineCounter) Write(p []byte) (int, error) {
	*c += lineCounter(bytes.Count(p, []byte{'\n'}))
	return len(p), nil
}

func parquetRows(path string) (n int64, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("it is no readable Parquet file")
		}
	}()
	in, err := file.OpenParquetFile(path, false)
	if err != nil {
		return 0, errors.New("it is no readable Parquet file")
	}
	defer in.Close()
	return in.NumRows(), nil
}
