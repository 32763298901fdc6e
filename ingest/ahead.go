package ingest

import (
	"context"
	"path/filepath"
	"time"
)

// opened is a source that is open, hashed and recognised, or the error in that.
type opened struct {
	found  Found
	opt    *Options // for this source
	in     *Input
	hash   string
	format Format
	err    error
	took   time.Duration
}

// ahead opens sources in parallel and hands them out in their order, so that a
// folder of thousands of files is not hashed one by one.
type ahead struct {
	queue chan chan *opened
	stop  context.CancelFunc
}

func openAhead(ctx context.Context, found []Found, opt *Options) *ahead {
	ctx, stop := context.WithCancel(ctx)
	a := &ahead{queue: make(chan chan *opened, opt.jobs()), stop: stop}
	shared := sharedFolder(found)
	go func() {
		defer close(a.queue)
		for i, f := range found {
			slot := make(chan *opened, 1)
			select {
			case a.queue <- slot:
			case <-ctx.Done():
				return
			}
			go func() {
				o := &opened{found: f, opt: opt}
				start := time.Now()
				o.err = caught(f.name(), func() error {
					o.opt = optionsFor(f, i, opt, shared)
					return o.open(ctx)
				})
				o.took = time.Since(start)
				slot <- o
			}()
		}
	}()
	return a
}

// next waits for the next source; nil when ctx has ended.
func (a *ahead) next() *opened {
	slot, ok := <-a.queue
	if !ok {
		return nil
	}
	return <-slot
}

// close ends what is under way; temporary files go.
func (a *ahead) close() {
	a.stop()
	for slot := range a.queue {
		if o := <-slot; o.in != nil {
			o.in.close()
		}
	}
}

func (o *opened) open(ctx context.Context) (err error) {
	f, opt := o.found, o.opt
	if f.err != nil {
		if !f.Named() {
			return &UnknownFormatError{Source: f.name(), Reason: reasonOf(f.err, f.name())}
		}
		return f.err
	}
	if o.in, o.hash, err = openInput(ctx, f, opt); err == nil && opt.As != asLabels && opt.As != asPrices {
		o.format, err = chooseFormat(o.in, f, opt)
	}
	if err == nil && o.hash == "" && o.format.chunks == nil {
		o.hash, err = o.in.contentHash(ctx) // it is not read by lines
	}
	return err
}

// optionsFor is opt for the i-th source: under --folder-as trial the files found
// in a folder are the trials of one run, called after the folder; files that
// were named one by one or by a glob are those of the folder they share.
func optionsFor(f Found, i int, opt *Options, shared string) *Options {
	root := f.Root
	if root == "" && f.Path != Stdin {
		root = shared
	}
	if opt.FolderAs != "trial" || root == "" || f.Folder != nil {
		return opt
	}
	one := *opt
	if one.Run == "" {
		abs, err := filepath.Abs(root)
		if err != nil {
			abs = root
		}
		one.Run = filepath.Base(abs)
	}
	one.rank = int32(i) + 1
	return &one
}

// sharedFolder is the innermost folder that holds all files that were not found
// in a folder; "" where there are not several.
func sharedFolder(found []Found) string {
	shared, n := "", 0
	for _, f := range found {
		if f.Root != "" || f.Path == Stdin {
			continue
		}
		dir, err := filepath.Abs(filepath.Dir(f.Path))
		if err != nil {
			return ""
		}
		if n++; n == 1 {
			shared = dir
		}
		for rel, err := filepath.Rel(shared, dir); err != nil || !filepath.IsLocal(rel); rel, err = filepath.Rel(shared, dir) {
			if shared == filepath.Dir(shared) {
				return ""
			}
			shared = filepath.Dir(shared)
		}
	}
	if n < 2 {
		return ""
	}
	return shared
}
