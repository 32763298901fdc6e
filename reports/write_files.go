package reports

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"passhat/ingest/store"
)

// Output is one place that a result goes to.
type Output struct {
	Form string    // see Forms
	W    io.Writer // a stream; or
	Path string    // a file, written beside its place and renamed
}

// WriteOutputs writes one result to several outputs at once: each row is read
// once and handed to all. It returns the files written, stamp files included.
//
// A file appears whole or not at all. Where the form holds one table, a result
// of several sections makes several files, NAME.SECTION.csv for NAME.csv; its
// stamp goes to NAME.csv.stamp.json.
func WriteOutputs(res *Result, outs []Output, opts WriteOptions) (written []string, err error) {
	if err := res.CheckSection(opts.Section); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var found []string
	opts.warn = func(s string) {
		mu.Lock()
		defer mu.Unlock()
		found = append(found, "warning: "+s)
	}
	messages := opts.Messages
	opts.Messages = nil
	sinks, files, err := openSinks(res, outs, opts)
	defer func() {
		for _, f := range files {
			f.discard()
		}
	}()
	if err != nil {
		return nil, err
	}
	if err := fanOut(res, sinks, opts); err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := f.commit(); err != nil {
			return written, err
		}
		written = append(written, f.name)
	}
	opts.Messages = messages
	for _, s := range found {
		message(messages, s)
	}
	single, bare := false, false // of those on a stream
	for _, s := range sinks {
		single, bare = single || s.stream && s.form.single, bare || s.stream && s.form.bare
	}
	writeMessages(res, single, bare, opts)
	return written, nil
}

// sink is one stream of one form, of one section or all.
type sink struct {
	form    *form
	w       io.Writer
	section string
	stream  bool // no file of the user's naming
}

func openSinks(res *Result, outs []Output, opts WriteOptions) (sinks []sink, files []*outFile, err error) {
	for _, out := range outs {
		f, err := lookForm(out.Form)
		if err != nil {
			return nil, files, err
		}
		if f.picture {
			if _, err := charted(res, opts); err != nil {
				return nil, files, err
			}
		}
		if out.Path == "" {
			sinks = append(sinks, sink{f, out.W, opts.Section, true})
			continue
		}
		paths := map[string]string{opts.Section: out.Path}
		order := []string{opts.Section}
		if f.single && opts.Section == "" && len(res.Sections) > 1 {
			order = nil
			for i := range res.Sections {
				name := res.Sections[i].Name
				order = append(order, name)
				paths[name] = sectionPath(out.Path, name)
			}
		}
		for _, name := range order {
			file, err := createFile(paths[name])
			if err != nil {
				return nil, files, err
			}
			files = append(files, file)
			sinks = append(sinks, sink{f, file, name, false})
		}
		if f.bare && res.Stamp != nil {
			file, err := stampFile(out.Path, res)
			if err != nil {
				return nil, files, err
			}
			files = append(files, file)
		}
	}
	return sinks, files, nil
}

// sectionPath puts a section's name before a path's suffix.
func sectionPath(path, section string) string {
	ext := filepath.Ext(path)
	return strings.TrimSuffix(path, ext) + "." + section + ext
}

// stampFile holds what the form has no place for: the stamp, and the sentences
// and warnings that belong to the figures.
func stampFile(path string, res *Result) (*outFile, error) {
	notes := map[string][]string{}
	for _, s := range res.Sections {
		if len(s.Notes) > 0 {
			notes[s.Name] = s.Notes
		}
	}
	st := struct {
		*Stamp
		Head     []string            `json:"head,omitempty"`
		Notes    map[string][]string `json:"notes,omitempty"`
		Warnings []string            `json:"warnings"`
	}{res.Stamp, res.Head, notes, append([]string{}, res.Warnings...)}

	f, err := createFile(path + ".stamp.json")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(st); err != nil {
		f.discard()
		return nil, fmt.Errorf("writing the stamp of %s: %w", path, err)
	}
	if _, err := f.Write(b.Bytes()); err != nil {
		f.discard()
		return nil, fmt.Errorf("writing the stamp of %s: %w", path, reason(err))
	}
	return f, nil
}

// fanOut reads each row once and gives it to every sink. A sink that fails
// stops alone; the first error is returned.
func fanOut(res *Result, sinks []sink, opts WriteOptions) error {
	if len(sinks) == 1 {
		o := opts
		o.Section = sinks[0].section
		return Write(sinks[0].w, sinks[0].form.name, res, o)
	}
	feeds := make([]*feed, len(sinks))
	var wg sync.WaitGroup
	for i, s := range sinks {
		feeds[i] = newFeed(len(res.Sections))
		wg.Go(func() {
			defer close(feeds[i].done)
			o := opts
			o.Section = s.section
			feeds[i].err = store.Caught(func() error { return Write(s.w, s.form.name, feeds[i].result(res), o) })
		})
	}
	srcErr := distribute(res, sinks, feeds)
	wg.Wait()
	errs := []error{srcErr}
	for _, f := range feeds {
		if srcErr == nil && f.err != nil {
			errs = append(errs, f.err)
		}
	}
	return errors.Join(errs...)
}

// feedBatch is how many rows pass from the reader to a writer at once.
const feedBatch = 256

// feed carries rows to one writer, a channel a section.
type feed struct {
	rows []chan feedRows
	done chan struct{} // closed when the writer has returned
	err  error
}

type feedRows struct {
	rows [][]any
	err  error
}

func newFeed(sections int) *feed {
	f := &feed{done: make(chan struct{})}
	for range sections {
		f.rows = append(f.rows, make(chan feedRows, 1))
	}
	return f
}

// result is res with rows that come from the feed; those that are all there every
// writer reads for itself, as often as it likes.
func (f *feed) result(res *Result) *Result {
	r := *res
	r.Sections = append([]Section(nil), res.Sections...)
	for i := range r.Sections {
		if !r.Sections[i].Buffered {
			r.Sections[i].Rows = f.section(i)
		}
	}
	return &r
}

func (f *feed) section(i int) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for batch := range f.rows[i] {
			for _, row := range batch.rows {
				if !yield(row, nil) {
					return
				}
			}
			if batch.err != nil {
				yield(nil, batch.err)
				return
			}
		}
	}
}

func distribute(res *Result, sinks []sink, feeds []*feed) error {
	var failed error
	for i := range res.Sections {
		var to []*feed
		for j, s := range sinks {
			if res.Sections[i].Buffered {
				break
			}
			if s.section == res.Sections[i].Name || s.section == "" && (i == 0 || !s.form.single) {
				to = append(to, feeds[j])
			}
		}
		if len(to) > 0 && failed == nil {
			failed = pump(&res.Sections[i], i, to)
		} else if failed != nil {
			send(to, i, feedRows{err: failed})
		}
		for _, f := range feeds {
			close(f.rows[i])
		}
	}
	return failed
}

func pump(sec *Section, i int, to []*feed) error {
	var batch [][]any
	for row, err := range sec.Rows {
		if err != nil {
			send(to, i, feedRows{rows: batch, err: err})
			return err
		}
		batch = append(batch, append([]any(nil), row...))
		if len(batch) == feedBatch {
			if send(to, i, feedRows{rows: batch}) == 0 {
				return nil // every writer has stopped; their errors tell
			}
			batch = nil
		}
	}
	send(to, i, feedRows{rows: batch})
	return nil
}

// send hands a batch to the writers that still run and says how many do.
func send(to []*feed, i int, batch feedRows) (alive int) {
	for _, f := range to {
		select {
		case f.rows[i] <- batch:
			alive++
		case <-f.done:
		}
	}
	return alive
}

// outFile is a file that appears under its name only when it is complete.
type outFile struct {
	*os.File
	name       string // as the user gave it
	path, temp string // temp is "" for what cannot be renamed, such as a pipe
	finished   bool
}

func createFile(path string) (*outFile, error) {
	mode := os.FileMode(0o666)
	target := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real
	}
	if info, err := os.Stat(target); err == nil {
		if info.IsDir() {
			return nil, fmt.Errorf("writing %s: it is a folder, want a file", path)
		}
		if !info.Mode().IsRegular() {
			f, err := os.OpenFile(target, os.O_WRONLY, 0)
			if err != nil {
				return nil, fmt.Errorf("writing %s: %w", path, reason(err))
			}
			return &outFile{File: f, name: path, path: target}, nil
		}
		mode = info.Mode().Perm()
	}
	for n := os.Getpid(); ; n++ {
		temp := filepath.Join(filepath.Dir(target), fmt.Sprintf(".%s.%d.tmp", filepath.Base(target), n))
		f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", path, reason(err))
		}
		return &outFile{File: f, name: path, path: target, temp: temp}, nil
	}
}

// reason is what the system says without the path, which our own text names.
func reason(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func (f *outFile) commit() error {
	f.finished = true
	if f.temp == "" {
		return f.Close()
	}
	err := errors.Join(f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.temp, f.path)
	}
	if err != nil {
		os.Remove(f.temp)
		return fmt.Errorf("writing %s: %w", f.name, reason(err))
	}
	return nil
}

func (f *outFile) discard() {
	if f.finished {
		return
	}
	f.finished = true
	f.Close()
	if f.temp != "" {
		os.Remove(f.temp)
	}
}
