package ingest

import (
	"errors"
	"fmt"
	"strings"
)

// jsonDocument streams the document that -o FILE.json and export write.
func (r *promptfooReader) jsonDocument() error {
	w, err := r.in.walk(r.ctx, "", r.opt, r.yield)
	if err != nil {
		return err
	}
	defer w.Close()
	var found bool
	version := false
	err = w.object(func(key string, c byte) error {
		if key == "results" && c == '{' {
			return w.members(func(key string, c byte) error {
				if key == "results" && c == '[' {
					found = true
					return w.list("results.results", r.jsonRow(w))
				}
				v, err := w.whole(c)
				if err == nil && key == "version" {
					version = true
					err = r.run.takeVersion(r.in, v)
				}
				if err == nil && !r.second {
					r.takeResults(key, v)
				}
				return err
			})
		}
		v, err := w.whole(c)
		if err == nil && !r.second {
			r.takeTop(key, v)
		}
		return err
	})
	if err == nil && !found && r.second {
		err = fmt.Errorf("%s: results holds no list results: it is no eval that promptfoo wrote", r.in.Name)
	}
	if err == nil && !version && r.second {
		err = fmt.Errorf("%s: results has no version: versions 2 and 3 are known", r.in.Name)
	}
	return err
}

func (r *promptfooReader) jsonRow(w *jsonWalk) func(at string, raw []byte) error {
	return func(at string, raw []byte) error {
		row, below, reason := newPFRow(at, raw)
		if reason != "" {
			r.run.complete = false
			return w.reject(below, reason, raw)
		}
		if !r.row(row) {
			return errStopped
		}
		return nil
	}
}

// takeTop keeps a member of the document that describes the run. Its text goes
// with the stream's buffer, so what is kept is copied.
func (r *promptfooReader) takeTop(key string, v Value) {
	run := r.run
	switch key {
	case "evalId":
		run.id = v.words()
	case "config":
		run.takeConfig(v)
	case "metadata":
		run.version = v.get("promptfooVersion").words()
		if at := r.in.time(v.get("evaluationCreatedAt"), r.opt); run.base.RunAt.IsZero() {
			run.base.RunAt = at
		}
	case "runtimeOptions":
		run.takeOptions(v)
		if run.repeat == 0 && v.Kind == Object {
			run.repeat = 1
		}
	}
}

func (r *promptfooReader) takeResults(key string, v Value) {
	switch key {
	case "timestamp":
		if at := r.in.time(v, r.opt); !at.IsZero() {
			r.run.base.RunAt = at
		}
	case "stats":
		r.run.takeStats(v)
	}
}

// jsonLines reads the rows that -o FILE.jsonl streams.
func (r *promptfooReader) jsonLines() error {
	rc, err := r.in.Open()
	if err != nil {
		return err
	}
	defer rc.Close()
	r.in.Note("promptfoo's JSON lines have no eval id, settings or --repeat: ingest the eval's .json or promptfoo.db instead of them, not beside them, or its trials count twice")
	s := newArrayStream(rc, r.opt.maxRow())
	for n := int64(1); ; n++ {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		raw, err := s.line()
		var long *elementTooLong
		switch {
		case errors.As(err, &long):
			if !r.reject(n, "", err.Error(), long.head) {
				return errStopped
			}
			continue
		case err != nil:
			return err
		case raw == nil:
			return nil
		}
		text := strings.TrimSpace(strings.TrimPrefix(view(raw), utf8BOM))
		if text == "" {
			continue
		}
		row, below, reason := newPFRow(fmt.Sprint(n), []byte(text))
		if reason != "" {
			if !r.reject(n, strings.TrimPrefix(below, "."), reason, raw) {
				return errStopped
			}
			continue
		}
		if !r.row(row) {
			return errStopped
		}
	}
}

// line returns the next line without its end, nil at the end of the text; one
// longer than the stream may hold is passed over and an *elementTooLong.
func (s *arrayStream) line() ([]byte, error) {
	var dropped int64
	var head []byte
	for i := 0; ; {
		for ; s.start+i < s.end; i++ {
			if s.buf[s.start+i] != '\n' {
				continue
			}
			text := s.buf[s.start : s.start+i : s.start+i]
			s.advance(i + 1)
			if dropped > 0 || i > s.max {
				return nil, &elementTooLong{size: dropped + int64(i), head: headOf(head, text)}
			}
			return text, nil
		}
		if i > s.max {
			head = headOf(head, s.buf[s.start:s.start+i])
			dropped += int64(i)
			s.advance(i)
			i = 0
		}
		if s.fill() {
			continue
		}
		text := s.buf[s.start:s.end:s.end]
		s.advance(len(text))
		switch {
		case s.rerr != nil:
			return nil, s.rerr
		case dropped > 0:
			return nil, &elementTooLong{size: dropped + int64(len(text)), head: head}
		case len(text) == 0:
			return nil, nil
		}
		return text, nil
	}
}

// headOf keeps the beginning of a long text that is passed over.
func headOf(head, text []byte) []byte {
	if head != nil {
		return head
	}
	return append([]byte{}, text[:min(len(text), RawLimit)]...)
}
