package store

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// joinRows appends row hashes to each other.
func (c *compaction) joinRows(ctx context.Context, st *state, j *job) error {
	out, err := createSum(filepath.Join(c.dir, j.staged))
	if err != nil {
		return err
	}
	for _, in := range j.inputs {
		if ctx.Err() != nil || !st.alive(in.batch) {
			continue
		}
		if err := appendRows(out, c.s.path(filepath.FromSlash(in.path)), in); err != nil {
			out.f.Close()
			return err
		}
		j.skips[in.key()] = j.out.Rows
		j.out.share(in.batch, in.rows)
		j.out.Rows += in.rows
	}
	f, err := out.finish()
	f.Path, f.Rows = j.out.Path, j.out.Rows
	j.out.File = f
	return err
}

func appendRows(out io.Writer, path string, in *input) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, plain(err))
	}
	defer f.Close()
	n, err := io.Copy(out, bufio.NewReaderSize(io.NewSectionReader(f, 16*in.skip, 16*in.rows), 1<<16))
	if err == nil && n != 16*in.rows {
		err = fmt.Errorf("it holds %d row hashes; %d were written", n/16, in.rows)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, plain(err))
	}
	return nil
}
