package ingest_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"passhat/ingest"
)

func gz(t testing.TB, parts ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	for _, p := range parts {
		w := gzip.NewWriter(&buf)
		if _, err := io.WriteString(w, p); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return buf.Bytes()
}

func zst(t testing.TB, opts []zstd.EOption, parts ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	for _, p := range parts {
		w, err := zstd.NewWriter(&buf, opts...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, p); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return buf.Bytes()
}

// skippable is a zstd frame that decoders pass over.
func skippable(payload string) []byte {
	b := []byte{0x50, 0x2a, 0x4d, 0x18}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(payload)))
	return append(b, payload...)
}

func unfold(name string, raw []byte, lim ingest.Limits) (string, *ingest.Text, error) {
	text, err := ingest.Decompress(name, bytes.NewReader(raw), lim)
	if err != nil {
		return "", nil, err
	}
	defer text.Close()
	out, err := io.ReadAll(text)
	return string(out), text, err
}

func TestDecompress(t *testing.T) {
	long := strings.Repeat("{\"task_id\":\"a\",\"passed\":true}\n", 5000)
	tests := []struct {
		name, kind string
		raw        []byte
		want       string
	}{
		{"plain", ingest.Plain, []byte("abc\n"), "abc\n"},
		{"empty", ingest.Plain, nil, ""},
		{"one byte", ingest.Plain, []byte{0x1f}, "\x1f"},
		{"gzip", ingest.Gzip, gz(t, long), long},
		{"gzip of nothing", ingest.Gzip, gz(t, ""), ""},
		{"gzip, two members", ingest.Gzip, gz(t, "a\n", "b\n"), "a\nb\n"},
		{"zstd", ingest.Zstd, zst(t, nil, long), long},
		{"zstd, two frames", ingest.Zstd, zst(t, nil, "a\n", "b\n"), "a\nb\n"},
		{"zstd after a skippable frame", ingest.Zstd, append(skippable("xyz"), zst(t, nil, "a\n")...), "a\n"},
		{"gzip inside gzip is text", ingest.Gzip, gz(t, string(gz(t, "a"))), string(gz(t, "a"))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, text, err := unfold("x", tt.raw, ingest.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got %d bytes, want %d", len(got), len(tt.want))
			}
			if text.Compression() != tt.kind || text.Bytes() != int64(len(tt.want)) || text.RawBytes() != int64(len(tt.raw)) {
				t.Errorf("compression %q, %d bytes of text, %d raw", text.Compression(), text.Bytes(), text.RawBytes())
			}
		})
	}
}

func TestDecompressErrors(t *testing.T) {
	long := strings.Repeat("{\"task_id\":\"a\",\"passed\":true}\n", 5000)
	noise := make([]byte, 20000)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	flip := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		if at < 0 {
			at += len(b)
		}
		b[at] ^= 0x40
		return b
	}
	zeros := strings.Repeat("\x00", 4<<20)
	tests := []struct {
		name string
		raw  []byte
		lim  ingest.Limits
		want []string // parts of the message
	}{
		{"truncated gzip", gz(t, long)[:200], ingest.Limits{}, []string{"log: gzip stream ends early after ", " bytes of text: "}},
		{"truncated gzip header", gz(t, long)[:7], ingest.Limits{}, []string{"log: gzip stream ends early after 0 bytes of text"}},
		{"truncated second gzip member", gz(t, "ab", long)[:40], ingest.Limits{}, []string{"log: gzip stream ends early after "}},
		{"truncated zstd", zst(t, nil, string(noise))[:500], ingest.Limits{}, []string{"log: zstd stream ends early after "}},
		{"gzip checksum", flip(gz(t, long), -8), ingest.Limits{}, []string{"log: gzip stream is damaged after ", "checksum"}},
		{"gzip trailing bytes", append(gz(t, "a"), "more than a header"...), ingest.Limits{}, []string{"log: gzip stream is followed by other bytes after 1 bytes of text"}},
		{"zstd trailing bytes", append(zst(t, nil, "a"), "more"...), ingest.Limits{}, []string{"log: zstd stream is followed by other bytes after 1 bytes of text"}},
		{"zstd checksum", flip(zst(t, nil, long), -1), ingest.Limits{}, []string{"log: zstd stream is damaged after ", "checksum"}},
		{"gzip over the size limit", gz(t, long), ingest.Limits{MaxBytes: 1000}, []string{"log: the gzip stream unfolds into more than 1000 bytes"}},
		{"zstd over the size limit", zst(t, nil, long), ingest.Limits{MaxBytes: 1000}, []string{"log: the zstd stream unfolds into more than 1000 bytes"}},
		{"gzip bomb", gz(t, zeros), ingest.Limits{MaxRatio: 100, RatioFrom: 1 << 20}, []string{"log: ", "decompression bomb"}},
		{"zstd bomb", zst(t, nil, zeros), ingest.Limits{MaxRatio: 100, RatioFrom: 1 << 20}, []string{"log: ", "decompression bomb"}},
		{"zstd window", zst(t, []zstd.EOption{zstd.WithWindowSize(8 << 20)}, zeros+zeros+zeros), ingest.Limits{MaxWindow: 1 << 20}, []string{"log: zstd stream needs a window of more than 1 MiB"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := unfold("log", tt.raw, tt.lim)
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q lacks %q", err, w)
				}
			}
		})
	}
}

func TestDecompressKeepsTextBeforeError(t *testing.T) {
	long := strings.Repeat("0123456789", 30000)
	raw := gz(t, long)
	got, text, err := unfold("log", raw[:len(raw)-9], ingest.Limits{})
	if err == nil {
		t.Fatal("no error for a truncated stream")
	}
	if len(got) == 0 || !strings.HasPrefix(long, got) || text.Bytes() != int64(len(got)) {
		t.Errorf("%d bytes before the error, counted %d; want a prefix of the text", len(got), text.Bytes())
	}
}

func TestDecompressSourceError(t *testing.T) {
	broken := errors.New("disk on fire")
	raw := gz(t, strings.Repeat("abc", 1000))
	for _, head := range [][]byte{raw[:20], []byte("plain text")} {
		text, err := ingest.Decompress("log", io.MultiReader(bytes.NewReader(head), iotest.ErrReader(broken)), ingest.Limits{})
		if err == nil {
			_, err = io.ReadAll(text)
		}
		if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "log: reading") {
			t.Errorf("error %v does not pass on that of the source", err)
		}
	}
}

func FuzzDecompress(f *testing.F) {
	f.Add([]byte("plain"))
	f.Add(gz(f, "a\n", "b\n"))
	f.Add(zst(f, nil, "a\n", "b\n"))
	f.Add(append(skippable("xyz"), zst(f, nil, strings.Repeat("ab", 1000))...))
	f.Add(gz(f, strings.Repeat("ab", 1000))[:20])
	lim := ingest.Limits{MaxBytes: 1 << 20, MaxWindow: 1 << 20}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, text, err := unfold("log", raw, lim)
		if err != nil && !strings.HasPrefix(err.Error(), "log: ") {
			t.Errorf("error %q does not name the source", err)
		}
		if err == nil && text.Compression() == ingest.Plain && got != string(raw) {
			t.Error("plain bytes came out changed")
		}
		if text != nil && text.Compression() != ingest.Plain && len(got) > 2<<20 {
			t.Errorf("%d bytes came out despite the limit", len(got))
		}
	})
}
