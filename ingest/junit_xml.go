package ingest

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"
)

// maxXMLText is how much of one attribute or run of text is kept, in bytes: test
// reports hold whole console logs.
const maxXMLText = 64 << 10

var xmlEncodingName = regexp.MustCompile(`^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._-]{1,40})["']`)

// newXML makes a decoder of an XML document in any usual encoding. Documents
// that declare entities are refused; characters that XML does not allow, which
// test runners do write, become U+FFFD; comments and what is too long of a text
// are left out.
func newXML(r io.Reader) (*xml.Decoder, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	head, _ := br.Peek(512)
	var enc encoding.Encoding
	switch m := xmlEncodingName.FindSubmatch(bytes.TrimPrefix(head, []byte(utf8BOM))); {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), bytes.HasPrefix(head, []byte("\xfe\xff")):
		enc = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM)
	case bytes.HasPrefix(head, []byte("<\x00")):
		enc = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case bytes.HasPrefix(head, []byte("\x00<")):
		enc = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case m != nil:
		switch name := strings.ToLower(string(m[1])); name {
		case "utf-8", "utf8", "us-ascii", "ascii", "utf-16", "utf-16le", "utf-16be": // UTF-16 was unfolded before
		case "iso-8859-1", "latin1":
			enc = charmap.ISO8859_1
		case "iso-8859-15":
			enc = charmap.ISO8859_15
		case "windows-1252", "cp1252":
			enc = charmap.Windows1252
		default:
			return nil, fmt.Errorf("its encoding is %s: wanted UTF-8, UTF-16, ISO-8859-1 or windows-1252", m[1])
		}
	}
	if enc != nil {
		br = bufio.NewReaderSize(enc.NewDecoder().Reader(br), 64<<10)
	}
	d := xml.NewDecoder(&xmlFilter{r: br})
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	return d, nil
}

// xmlFilter passes an XML document on as newXML describes.
type xmlFilter struct {
	r    *bufio.Reader
	out  []byte
	err  error
	size int // bytes of the run passed on
	// shut is the quote of the attribute being read, '>' in a tag, 0 in text.
	shut  byte
	last  rune // the rune before
	tag   int  // bytes of the tag passed on
	depth int
}

const (
	maxXMLDepth = 10_000
	maxXMLTag   = 16 << 20
)

var errXMLEntities = errors.New("it declares a document type with entities or the like, which no test report has: refused")

func (f *xmlFilter) Read(p []byte) (int, error) {
	for len(f.out) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		f.out = f.out[:0]
		f.err = f.step()
	}
	n := copy(p, f.out)
	f.out = f.out[n:]
	return n, nil
}

// step passes on at least one rune, tag or reference.
func (f *xmlFilter) step() error {
	f.out = nil
	for len(f.out) < 4<<10 {
		r, n, err := f.r.ReadRune()
		if err != nil {
			return err
		}
		last := f.last
		f.last = r
		if f.tag += n; f.shut == 0 {
			f.tag = 0
		} else if f.tag > maxXMLTag {
			return fmt.Errorf("a tag is longer than %d bytes", maxXMLTag)
		}
		switch {
		case r == utf8.RuneError && n == 1, r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0xFFFE, r == 0xFFFF:
			f.put("\uFFFD")
		case f.shut == 0 && r == '<':
			if err := f.open(); err != nil {
				return err
			}
		case f.shut == '>' && (r == '"' || r == '\''):
			f.shut, f.size = byte(r), 0
			f.out = append(f.out, byte(r))
		case f.shut == '>' && r == '>':
			f.shut, f.size = 0, 0
			if last == '/' {
				f.depth--
			}
			f.out = append(f.out, '>')
		case f.shut > 0 && f.shut != '>' && r == rune(f.shut):
			f.shut, f.size = '>', 0
			f.out = append(f.out, byte(r))
		case r == '&':
			f.reference()
		default:
			f.put(string(r))
		}
	}
	return nil
}

// put passes text on as long as its run is not too long.
func (f *xmlFilter) put(s string) {
	if f.size += len(s); f.size <= maxXMLText {
		f.out = append(f.out, s...)
	}
}

// reference passes a reference on whole, one to a character that XML does not
// allow as U+FFFD.
func (f *xmlFilter) reference() {
	head, _ := f.r.Peek(12)
	end := bytes.IndexByte(head, ';')
	if end < 0 {
		f.put("&amp;")
		return
	}
	text := string(head[:end+1])
	_, _ = f.r.Discard(end + 1)
	if name, ok := strings.CutPrefix(text, "#"); ok {
		base := 10
		if hex, ok := strings.CutPrefix(strings.ToLower(name), "x"); ok {
			name, base = hex, 16
		}
		n, err := strconv.ParseUint(strings.TrimSuffix(name, ";"), base, 32)
		if err != nil || n < ' ' && n != '\t' && n != '\n' && n != '\r' || n >= 0xD800 && n < 0xE000 || n == 0xFFFE || n == 0xFFFF || n > utf8.MaxRune {
			f.put("\uFFFD")
			return
		}
	}
	f.put("&" + text)
}

// open takes what begins with '<'.
func (f *xmlFilter) open() error {
	head, _ := f.r.Peek(8)
	f.size = 0
	switch {
	case bytes.HasPrefix(head, []byte("!--")):
		return f.skip("-->", nil)
	case bytes.HasPrefix(head, []byte("![CDATA[")):
		_, _ = f.r.Discard(8)
		return f.skip("]]>", f.escape)
	case bytes.HasPrefix(bytes.ToUpper(head), []byte("!DOCTYPE")):
		return f.doctype()
	case bytes.HasPrefix(head, []byte("?")):
		return f.skip("?>", nil) // also the declaration: the text is UTF-8 by now
	}
	f.shut = '>'
	f.out = append(f.out, '<')
	if bytes.HasPrefix(head, []byte("/")) {
		f.depth--
	} else if f.depth++; f.depth > maxXMLDepth {
		return fmt.Errorf("its elements are nested deeper than %d levels", maxXMLDepth)
	}
	return nil
}

// escape passes one rune of a CDATA section on as plain text.
func (f *xmlFilter) escape(r rune) {
	switch {
	case r == '<':
		f.put("&lt;")
	case r == '&':
		f.put("&amp;")
	case r == '>':
		f.put("&gt;")
	case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0xFFFE, r == 0xFFFF:
		f.put("\uFFFD")
	default:
		f.put(string(r))
	}
}

// skip reads up to end and gives what lies before it to each.
func (f *xmlFilter) skip(end string, each func(rune)) error {
	for {
		head, err := f.r.Peek(len(end))
		if string(head) == end {
			_, err = f.r.Discard(len(end))
			return err
		}
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		r, _, err := f.r.ReadRune()
		if err != nil {
			return err
		}
		if each != nil {
			each(r)
		}
	}
}

// doctype passes over a plain document type.
func (f *xmlFilter) doctype() error {
	for range 4096 {
		c, err := f.r.ReadByte()
		switch {
		case err != nil:
			return io.ErrUnexpectedEOF
		case c == '[':
			return errXMLEntities
		case c == '>':
			return nil
		}
	}
	return errXMLEntities
}

// xmlReason is what is wrong with a document, without the decoder's own words
// about itself.
func xmlReason(err error) string {
	var s *xml.SyntaxError
	if errors.As(err, &s) {
		return s.Msg
	}
	return err.Error()
}
