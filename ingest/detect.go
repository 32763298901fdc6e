package ingest

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// probeBytes is how much of a source's beginning detection looks at.
const probeBytes = 256 << 10

// Probe is what a format's Match may look at.
type Probe struct {
	Name     string   // file name without folders, or "-"
	Siblings []string // names of the files beside it
	Head     []byte   // first decompressed bytes, at most 256 KiB
	Whole    bool     // Head is all there is
	// Members are the names in a zip archive, at most 10,000.
	Members []string
	// NamedTask: the user says where the task is (--map, --set), so that no
	// field needs to be recognised as it.
	NamedTask bool
	// NamedVerdict: likewise of the verdict (--map, --set, --pass-when).
	NamedVerdict bool

	seen *headView
}

// Detect finds the format of an input from its content. Formats that fit
// equally well, or none that fits, are an error.
func Detect(in *Input, opt *Options) (Format, error) {
	p, err := probe(in)
	if err != nil {
		return Format{}, err
	}
	named := func(columns ...string) bool {
		is := func(p Pair) bool { return slices.Contains(columns, p.Name) }
		return slices.ContainsFunc(opt.Map, is) || slices.ContainsFunc(opt.Set, is)
	}
	p.NamedTask = named("task_id")
	p.NamedVerdict = named("passed", "score", "scores") || opt.PassWhen != ""
	return detect(in.Name, p, Formats)
}

func probe(in *Input) (*Probe, error) {
	rc, err := in.Open()
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	size := int64(probeBytes)
	if in.Compression == Plain {
		size = min(size, 2*in.limit+16) // UTF-16 can grow when it is read
	}
	head := make([]byte, size)
	n, err := io.ReadFull(rc, head)
	if err != nil && n == 0 && err != io.EOF {
		return nil, err
	}
	name := in.Name
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	p := &Probe{Name: name, Siblings: in.Siblings, Head: head[:n], Whole: n < len(head)}
	if bytes.HasPrefix(p.Head, []byte(zipMagic)) {
		p.Members = in.zipMembers(maxMembers)
	}
	return p, nil
}

func detect(name string, p *Probe, formats []Format) (Format, error) {
	best := NoMatch
	var found []Format
	for _, f := range formats {
		switch m := f.Match(p); {
		case m == NoMatch || m < best:
		case m > best:
			best, found = m, []Format{f}
		default:
			found = append(found, f)
		}
	}
	switch len(found) {
	case 0:
		reason := p.whyUnknown()
		if reason == "" {
			reason = "no known log format fits its content: " + beginsWith(p.Head) + "; name one by --as (see passhat formats)"
		}
		return Format{}, &UnknownFormatError{Source: name, Empty: len(p.Head) == 0, Reason: reason}
	case 1:
		return found[0], nil
	}
	names := make([]string, len(found))
	for i, f := range found {
		names[i] = f.Name
	}
	return Format{}, fmt.Errorf("%s: its content fits several formats (%s); choose one by --as", name, strings.Join(names, ", "))
}
