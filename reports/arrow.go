package reports

import (
	"bufio"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// writeArrow writes one section as an Arrow IPC file (Feather, version 2),
// uncompressed, with stamp, notes and warnings as metadata of the schema.
func writeArrow(w *bufio.Writer, res *Result, opts WriteOptions) error {
	for _, sec := range wanted(res, opts, true) {
		c := newColumnar(res, sec)
		fw, err := ipc.NewFileWriter(w, ipc.WithSchema(c.schema))
		if err != nil {
			return fmt.Errorf("writing arrow: %w", err)
		}
		if err := c.batches(func(rec arrow.RecordBatch) error { return fw.Write(rec) }); err != nil {
			return fmt.Errorf("writing arrow: %w", err)
		}
		if err := fw.Close(); err != nil {
			return fmt.Errorf("writing arrow: %w", err)
		}
	}
	return nil
}
