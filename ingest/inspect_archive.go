package ingest

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// maxInspectHeader is the longest header of an archive, in bytes; it lists the
// ids of the dataset.
const maxInspectHeader = 256 << 20

// inspectArchive is an .eval archive while it is read.
type inspectArchive struct {
	*inspectLog
	a    *archive
	last map[string]*zip.File // the valid member of each name
	// keep is the number of the summary that counts for each sample.
	keep    map[uint64]int
	invalid map[uint64]bool
}

// archive reads header and summaries; of several members of one name the last
// one is valid.
func (l *inspectLog) archive() error {
	a, err := l.in.openZip()
	if err != nil {
		if a = l.in.openCutZip(); a == nil {
			return err
		}
		l.in.Note("the archive is cut off: %s of it could be read; what was behind them is missing, not failed", plural(int64(len(a.File)), "member"))
	}
	defer a.Close()
	z := &inspectArchive{inspectLog: l, a: a, last: map[string]*zip.File{}, keep: map[uint64]int{}, invalid: map[uint64]bool{}}
	for _, f := range a.File {
		if !strings.HasSuffix(f.Name, "/") {
			z.last[f.Name] = f
		}
	}
	if err := z.readHeader(); err != nil {
		return err
	}
	l.reductions = z.last["reductions.json"] != nil
	lists := z.summaryLists()
	if err := z.survey(lists); err != nil {
		return err
	}
	if l.invalidated {
		if err := z.findInvalid(); err != nil {
			return err
		}
	}
	number := 0
	for _, f := range lists {
		if err := z.summaries(f, &number); err != nil {
			return err
		}
	}
	return z.orphans()
}

func (z *inspectArchive) readHeader() error {
	f := z.last[inspectHeader]
	if f == nil {
		f, z.unfinished = z.last[inspectStart], true
	}
	if f == nil {
		return fmt.Errorf("%s: the archive has neither %s nor %s, which an Inspect log has", z.in.Name, inspectHeader, inspectStart)
	}
	b, err := z.a.read(f, maxInspectHeader)
	if err != nil {
		return err
	}
	h, ok := JSONValue(b)
	if !ok {
		return fmt.Errorf("%s: %s: it is no JSON: an object with version, status and eval is wanted", z.in.Name, f.Name)
	}
	return z.header(h, f.Name)
}

// summaryLists are the members that hold the summaries: one of a finished log,
// those of the journal, by their numbers, of another.
func (z *inspectArchive) summaryLists() []*zip.File {
	if f := z.last[inspectSummaries]; f != nil {
		return []*zip.File{f}
	}
	type numbered struct {
		n int
		f *zip.File
	}
	var lists []numbered
	for name, f := range z.last {
		if base, ok := strings.CutPrefix(name, inspectJournal); ok {
			if n, err := strconv.Atoi(strings.TrimSuffix(base, ".json")); err == nil {
				lists = append(lists, numbered{n, f})
			}
		}
	}
	slices.SortFunc(lists, func(a, b numbered) int {
		if a.n != b.n {
			return a.n - b.n
		}
		return strings.Compare(a.f.Name, b.f.Name)
	})
	out := make([]*zip.File, len(lists))
	for i, n := range lists {
		out[i] = n.f
	}
	return out
}

// survey notes which summary of each sample is the last one: a sample that was
// taken up again is there several times.
func (z *inspectArchive) survey(lists []*zip.File) error {
	number := 0
	var fields []field
	for _, f := range lists {
		err := z.each(f, func(_ string, raw []byte) error {
			number++
			row, err := z.summary(raw, fields)
			fields = row.fields
			if err != nil {
				return nil // it becomes a reject when it is read
			}
			if key, ok := sampleKey(&row); ok {
				h := hashText(key)
				if _, twice := z.keep[h]; twice {
					z.tally.superseded++
				}
				z.keep[h] = number
			}
			return nil
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// each calls row with the elements of the list that a member is, and bad, if
// set, with those that can't be read.
func (z *inspectArchive) each(f *zip.File, row func(pos string, raw []byte) error, bad func(pos, reason string, raw []byte) error) error {
	rc, err := z.a.open(f)
	if err != nil {
		return err
	}
	defer rc.Close()
	if bad == nil {
		bad = func(string, string, []byte) error { return nil }
	}
	s := newArrayStream(rc, z.opt.maxRow())
	for {
		if err := z.ctx.Err(); err != nil {
			return err
		}
		raw, err := s.next()
		pos := fmt.Sprintf("%s[%d]", oneLine(f.Name), max(s.index, 0))
		var long *elementTooLong
		switch {
		case err == io.EOF:
			return nil
		case err == nil:
			err = row(pos, raw)
		case s.rerr != nil:
			return s.rerr
		case errors.Is(err, errArrayCut):
			return bad(pos, "the list of summaries ends early: it was cut while being written", raw)
		case errors.As(err, &long):
			err = bad(pos, err.Error(), long.head)
		default:
			return fmt.Errorf("%s: %s: %w", z.in.Name, oneLine(f.Name), err)
		}
		if err != nil {
			return err
		}
	}
}

// summaries yields the trials of a list of summaries; number counts through all
// lists as survey did.
func (z *inspectArchive) summaries(f *zip.File, number *int) error {
	var fields []field
	reject := func(pos, reason string, raw []byte) error {
		if !z.yield(nil, NewSyntaxError(z.in, 0, pos, reason, raw)) {
			return errStopped
		}
		return nil
	}
	return z.each(f, func(pos string, raw []byte) error {
		*number++
		row, err := z.summary(raw, fields)
		fields = row.fields
		if err != nil {
			return reject(pos, err.Error(), raw)
		}
		key, ok := sampleKey(&row)
		if ok && z.keep[hashText(key)] != *number {
			return nil
		}
		if ok && z.invalid[hashText(key)] {
			z.tally.invalid++
			return nil
		}
		return z.trial(&row, pos, z.trace(key))
	}, reject)
}

// trace is where the transcript of a sample lies.
func (z *inspectArchive) trace(key string) string {
	for _, name := range []string{key + ".json", key + "/sample.json"} {
		if z.last[name] != nil {
			return cutText(z.file+"/"+name, maxMessage)
		}
	}
	return ""
}

// sampleMembers lists the members that are a whole sample, or the first part of
// one in chunks, with the sample's key. The key is compared, never taken apart.
func (z *inspectArchive) sampleMembers(each func(key string, f *zip.File) error) error {
	for _, name := range slices.Sorted(maps.Keys(z.last)) {
		key, ok := strings.CutSuffix(name, "/sample.json")
		if !ok {
			key, ok = strings.CutSuffix(name, ".json")
		}
		at := strings.LastIndex(key, "_epoch_")
		if !ok || at < 0 || !strings.HasPrefix(key, inspectSamples) {
			continue
		}
		if _, err := strconv.ParseInt(key[at+len("_epoch_"):], 10, 64); err != nil {
			continue
		}
		if err := each(key, z.last[name]); err != nil {
			return err
		}
	}
	return nil
}

// orphans reads the samples that no summary lists, as after a crash between
// the two.
func (z *inspectArchive) orphans() error {
	return z.sampleMembers(func(key string, f *zip.File) error {
		if _, listed := z.keep[hashText(key)]; listed {
			return nil
		}
		return z.sampleMember(f, func(row *inspectRow) error {
			return z.trial(row, cutText(oneLine(f.Name), maxMessage), z.trace(key))
		})
	})
}

// findInvalid looks into the samples of a log whose header says that some were
// invalidated: the summaries do not say which.
func (z *inspectArchive) findInvalid() error {
	return z.sampleMembers(func(_ string, f *zip.File) error {
		return z.sampleMember(f, func(row *inspectRow) error {
			if v := row.get("invalidation"); v.Kind != Null {
				if key, ok := sampleKey(row); ok {
					z.invalid[hashText(key)] = true
				}
			}
			return nil
		})
	})
}

// sampleMember streams the sample that a member holds.
func (z *inspectArchive) sampleMember(f *zip.File, use func(*inspectRow) error) error {
	rc, err := z.a.open(f)
	if err != nil {
		return err
	}
	defer rc.Close()
	d := &document{ctx: z.ctx, in: z.in, s: newArrayStream(rc, z.opt.maxRow()), yield: z.yield}
	if c := d.s.begin(); c != '{' {
		return z.badMember(f, "found no object, a sample is wanted")
	}
	row, err := readSample(d)
	switch {
	case d.s.rerr != nil:
		return d.s.rerr
	case errors.Is(err, errArrayCut):
		return z.badMember(f, "the sample ends early: it was cut while being written")
	case err != nil:
		return z.badMember(f, err.Error())
	}
	return use(&row)
}

func (z *inspectArchive) badMember(f *zip.File, reason string) error {
	if !z.yield(nil, NewSyntaxError(z.in, 0, cutText(oneLine(f.Name), maxMessage), reason, nil)) {
		return errStopped
	}
	return nil
}
