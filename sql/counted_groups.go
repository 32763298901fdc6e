package sql

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet/file"

	"passhat/ingest/store"
)

// groupJob is a row group on its way.
type groupJob struct {
	path  string
	in    *file.Reader
	last  bool // of its file
	group int
	out   *countGroup
	err   error
	done  chan struct{}
}

// eachGroup decodes the row groups of files, several at once, and hands them to use in order.
func eachGroup(ctx context.Context, files []store.File, workers int, decode func(r *groupReader) (*countGroup, error), use func(*countGroup) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	todo, ordered := make(chan *groupJob), make(chan *groupJob, workers+1)
	var failed error
	go func() {
		defer close(ordered)
		defer close(todo)
		for _, f := range files {
			if failed = offerGroups(ctx, f.Path, todo, ordered); failed != nil {
				return
			}
		}
	}()
	for range workers {
		go func() {
			buf := decodeBufs.Get().(*decodeBuf)
			defer decodeBufs.Put(buf)
			for j := range todo {
				buf.reset()
				j.decode(buf, decode)
				close(j.done)
			}
		}()
	}
	var err error
	take := func(j *groupJob) {
		<-j.done
		if j.last {
			defer j.in.Close()
		}
		if err == nil {
			if err = j.err; err == nil {
				err = use(j.out)
				countGroups.Put(j.out)
			}
			if err != nil {
				stop()
			}
		}
	}
	defer func() { // where use panics what was begun must end too
		stop()
		err = context.Canceled
		for j := range ordered {
			take(j)
		}
	}()
	for j := range ordered {
		take(j)
	}
	if err == nil {
		err = failed
	}
	return err
}

// offerGroups opens a file and offers its row groups.
func offerGroups(ctx context.Context, path string, todo, ordered chan<- *groupJob) (err error) {
	var in *file.Reader
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("read %s: the file is damaged: %v", path, r)
		}
	}()
	if in, err = openParquet(path); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	n := in.NumRowGroups()
	if n == 0 {
		return in.Close()
	}
	for i := range n {
		if ctx.Err() != nil {
			j := &groupJob{in: in, last: true, err: context.Cause(ctx), done: make(chan struct{})}
			close(j.done)
			ordered <- j // whose receiver goes on to the end
			return context.Cause(ctx)
		}
		j := &groupJob{path: path, in: in, last: i == n-1, group: i, done: make(chan struct{})}
		ordered <- j
		todo <- j
	}
	return nil
}

func (j *groupJob) decode(buf *decodeBuf, decode func(r *groupReader) (*countGroup, error)) {
	defer func() {
		if r := recover(); r != nil {
			j.err = fmt.Errorf("read %s: the file is damaged: %v", j.path, r)
		}
	}()
	r, err := newGroupReader(j.in, j.group)
	if err == nil {
		r.buf = buf
	}
	if err == nil && r.rows == 0 {
		j.out = &countGroup{}
		return
	}
	if err == nil {
		j.out, err = decode(r)
	}
	if err != nil {
		j.err = fmt.Errorf("read %s: %w", j.path, err)
	}
}
