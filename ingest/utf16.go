package ingest

import (
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// UTF16 is text in UTF-16 with a byte order mark, as spreadsheets and some
// shells write it. It is unfolded like a compression, into UTF-8.
const UTF16 = "UTF-16"

// isUTF16 tells from the byte order mark; that of UTF-32 begins alike.
func isUTF16(head []byte) bool {
	if len(head) < 4 || head[0]^head[1] != 0xFF^0xFE || head[0] != 0xFF && head[0] != 0xFE {
		return false
	}
	return head[2] != 0 || head[3] != 0
}

func fromUTF16(r io.Reader) io.Reader {
	return transform.NewReader(r, unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder())
}

// crReader makes line ends of carriage returns, for tables whose lines end with
// nothing else. The number of bytes stays, and so do offsets.
type crReader struct{ io.Reader }

func (c crReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	crToLF(p[:n])
	return n, err
}

func crToLF(b []byte) {
	for i, c := range b {
		if c == '\r' {
			b[i] = '\n'
		}
	}
}
