package reports

import (
	"bufio"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

const (
	parquetGroupRows  = 1 << 17
	parquetGroupBytes = 64 << 20
)

// writeParquet writes one section as a Parquet file, with stamp, notes and
// warnings as metadata (keys passhat.…). The file bears no time of its making.
func writeParquet(w *bufio.Writer, res *Result, opts WriteOptions) error {
	for _, sec := range wanted(res, opts, true) {
		if err := writeParquetSection(w, res, sec); err != nil {
			return fmt.Errorf("writing parquet: %w", err)
		}
	}
	return nil
}

func writeParquetSection(w *bufio.Writer, res *Result, sec *Section) error {
	c := newColumnar(res, sec)
	props := parquet.NewWriterProperties(
		parquet.WithCreatedBy("passhat"),
		parquet.WithCompression(compress.Codecs.Snappy),
		parquet.WithVersion(parquet.V2_LATEST),
		parquet.WithMaxRowGroupLength(parquetGroupRows),
		parquet.WithMaxStatsSize(256),
	)
	// The schema goes to pqarrow without metadata, which it would write twice.
	fw, err := pqarrow.NewFileWriter(arrow.NewSchema(c.schema.Fields(), nil), w, props, pqarrow.DefaultWriterProps())
	if err != nil {
		return err
	}
	for _, kv := range columnarMetadata(res, sec) {
		if err := fw.AppendKeyValueMetadata(kv[0], kv[1]); err != nil {
			return err
		}
	}
	err = c.batches(func(rec arrow.RecordBatch) error {
		if fw.RowGroupTotalBytesWritten() > parquetGroupBytes {
			if err := fw.NewBufferedRowGroupChecked(); err != nil {
				return err
			}
		}
		return fw.WriteBuffered(rec)
	})
	if err != nil {
		return err
	}
	return fw.Close()
}
