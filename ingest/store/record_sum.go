package store

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/zeebo/xxh3"
)

// A record ends with its own checksum, which is of the bytes before that member:
//
//	…,"checksum":"xxh3:0123…"}
//
// Records written before there was one have none and are believed.
const (
	sumBefore = `,"checksum":"`
	sumAfter  = "\"}\n"
	sumSize   = len("xxh3:") + 32
)

// seal ends the JSON object text with its checksum and a line end.
func seal(text []byte) []byte {
	body := bytes.TrimRight(bytes.TrimSuffix(bytes.TrimRight(text, "\n"), []byte("}")), " \n")
	out := append(body[:len(body):len(body)], sumBefore...)
	return append(append(out, recordSum(body)...), sumAfter...)
}

// unsealed reports that a record, which says r if it could be read, is not what was
// written.
func unsealed(text []byte, r *Record) error {
	at := len(text) - len(sumBefore) - sumSize - len(sumAfter)
	if at < 0 || !bytes.HasPrefix(text[at:], []byte(sumBefore)) || !bytes.HasSuffix(text, []byte(sumAfter)) {
		if r != nil && r.Checksum != "" {
			return errors.New("it was edited or damaged: it does not end with its checksum")
		}
		return nil
	}
	said := string(text[at+len(sumBefore):][:sumSize])
	if sum := recordSum(text[:at]); sum != said {
		return fmt.Errorf("it was edited or damaged: its checksum is %s and it says %s", sum, said)
	}
	return nil
}

func recordSum(b []byte) string {
	sum := xxh3.Hash128(b).Bytes()
	return fmt.Sprintf("xxh3:%x", sum)
}
