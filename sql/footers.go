package sql

import (
	"context"

	"github.com/apache/arrow-go/v18/parquet/file"

	"passhat/ingest/store"
)

// HaveValues says of each of the columns whether some trial of the runs, nil for all, can
// have a value in it, as the footers of their files tell: a look that does not grow with the trials.
func (s *Session) HaveValues(ctx context.Context, runs map[store.RunKey]bool, columns ...string) ([]bool, error) {
	out := make([]bool, len(columns))
	for _, f := range s.filesWith(s.have.trials, runs) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		missing := false
		for _, there := range out {
			missing = missing || !there
		}
		if !missing {
			break
		}
		footerValues(f.Path, columns, out)
	}
	return out, nil
}

// footerValues sets those of out whose column may have a value in the file, all of them
// where the footer does not say.
func footerValues(path string, columns []string, out []bool) {
	known := false
	defer func() {
		_ = recover() // of a footer that makes no sense
		if !known {
			for i := range out {
				out[i] = true
			}
		}
	}()
	in, err := file.OpenParquetFile(path, false)
	if err != nil {
		return
	}
	defer in.Close()
	place := map[string]int{}
	for i := range in.MetaData().Schema.NumColumns() {
		place[in.MetaData().Schema.Column(i).Name()] = i
	}
	for g := range in.NumRowGroups() {
		rg := in.MetaData().RowGroup(g)
		for i, name := range columns {
			at, ok := place[name]
			if out[i] || !ok {
				continue
			}
			chunk, err := rg.ColumnChunk(at)
			if err != nil {
				return
			}
			st, err := chunk.Statistics()
			out[i] = err != nil || st == nil || !st.HasNullCount() || st.NullCount() < rg.NumRows()
		}
	}
	known = true
}
