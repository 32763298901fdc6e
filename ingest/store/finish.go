package store

import (
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// staged is a file on its way from staging to its place.
type staged struct {
	from string
	File
}

// finish writes what the Parts still hold and closes all files. The record it
// returns lacks what depends on the other batches.
func (b *Batch) finish(ctx context.Context) (*Record, []staged, error) {
	src := &b.src
	r := &Record{
		Version: plainVersion, Batch: b.id, Kind: src.Kind, Source: src.Path, Format: src.Format,
		FormatVersion: src.FormatVersion, Hash: src.Hash, Size: src.Size, LineFormat: src.LineFormat,
		Offset: b.plan.Offset, OptionsHash: src.OptionsHash, Options: src.Options,
		Warnings: b.warnings, IngestedAt: b.now, Passhat: src.Passhat,
	}
	if src.LineFormat && src.Path != Stdin {
		if err := b.prefix(ctx, r); err != nil {
			return nil, nil, err
		}
	}
	done, err := b.finishParts(ctx)
	if err != nil {
		return nil, nil, err
	}
	var files []staged
	for i := range b.parts {
		files = append(files, done[i]...)
	}
	if b.side != nil {
		f, err := b.finishSide()
		if err != nil {
			return nil, nil, err
		}
		files = append(files, f)
	}
	b.nameFiles(r, files)
	rej, err := b.rejects.finish()
	if err != nil {
		return nil, nil, err
	}
	if rej != nil {
		rej.Path = path.Join(dirRejects, b.id+".ndjson")
		r.Rejected, r.Rejects = rej, rej.Rows
		files = append(files, staged{b.rejects.path, *rej})
	}
	for _, run := range b.runs {
		r.Runs = append(r.Runs, *run)
	}
	slices.SortFunc(r.Runs, func(a, b Run) int { return a.RunKey.compare(b.RunKey) })
	return r, files, nil
}

// nameFiles gives the files, whose Path is only a folder yet, their names and
// enters them in the record.
func (b *Batch) nameFiles(r *Record, files []staged) {
	number := 0
	for i := range files {
		f := &files[i]
		if f.Path == dirRows {
			f.Path = path.Join(dirRows, fmt.Sprintf("%s-%d%s", b.id, len(r.RowHashes), extPrints))
			r.Version = printsVersion
			r.RowHashes = append(r.RowHashes, f.File)
			continue
		}
		f.Path = path.Join(f.Path, fmt.Sprintf("%s-%d.parquet", b.id, number))
		number++
		r.Rows += f.Rows
		r.Files = append(r.Files, f.File)
	}
}

// finishParts closes the Parts.
func (b *Batch) finishParts(ctx context.Context) ([][]staged, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	files := make([][]staged, len(b.parts))
	err := eachPart(b.parts, func(p *Part) (err error) {
		files[p.n], err = p.finish()
		return err
	})
	return files, err
}

// eachPart calls f with the Parts side by side, since each may still hold a whole
// row group.
func eachPart(parts []*Part, f func(*Part) error) error {
	errs := make([]error, len(parts))
	var wg sync.WaitGroup
	for i, p := range parts {
		wg.Go(func() { errs[i] = Caught(func() error { return f(p) }) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// tallyHeld puts the rows that a Part still holds into the roll-up, which then
// can be written beside them.
func (p *Part) tallyHeld() error {
	for _, o := range p.outlets {
		if p.err == nil && o.group != nil {
			p.err = p.tally.add(o.group, p.b.roll)
			o.tallied = true
		}
	}
	return p.err
}

// prefix notes how far the source was read.
func (b *Batch) prefix(ctx context.Context, r *Record) error {
	if b.consumed < b.plan.Offset || b.consumed > b.src.Size {
		return fmt.Errorf("%s: read up to byte %d, of %d, from byte %d", b.src.Path, b.consumed, b.src.Size, b.plan.Offset)
	}
	r.Prefix = b.consumed
	switch {
	case r.Prefix == b.src.Size:
		r.PrefixHash = b.src.Hash
	case r.Prefix == 0:
	case b.src.HashPrefix == nil:
		return fmt.Errorf("%s: read up to byte %d of %d, but its beginning can't be hashed", b.src.Path, b.consumed, b.src.Size)
	default:
		hash, err := b.src.HashPrefix(ctx, r.Prefix)
		if err != nil {
			return fmt.Errorf("%s: %w", b.src.Path, err)
		}
		r.PrefixHash = hash
	}
	return nil
}

// finish closes a Part's files; their Path is still only a folder.
func (p *Part) finish() ([]staged, error) {
	if p.err != nil {
		return nil, p.err
	}
	rows := p.finishPrints()
	defer func() { _, _ = rows() }()
	var out []staged
	for _, folder := range slices.Sorted(maps.Keys(p.outlets)) {
		o := p.outlets[folder]
		if o.group != nil {
			if err := p.flush(o); err != nil {
				return nil, err
			}
			trialGroups.Put(o.group)
			o.group = nil
		}
		f, err := o.enc.close(trialColumns[:])
		if err != nil {
			return nil, err
		}
		f.Path = path.Join(dirTrials, o.folder)
		f.RunAtMin, f.RunAtMax = micros(o.runAtMin), micros(o.runMax)
		if len(o.suites) <= maxSuites {
			slices.Sort(o.suites)
			f.Suites = o.suites
		}
		out = append(out, staged{o.staged, f})
	}
	if p.prints == nil {
		return out, nil
	}
	f, err := rows()
	if err != nil {
		return nil, err
	}
	f.Path = dirRows
	return append(out, staged{p.prints.out.f.Name(), f}), nil
}

// finishPrints closes the row prints in the background, so that the disk is not
// waited for twice, until the function it returns is called.
func (p *Part) finishPrints() func() (File, error) {
	var f File
	var err error
	var wg sync.WaitGroup
	if p.prints != nil {
		wg.Go(func() {
			err = Caught(func() (err error) {
				f, err = p.prints.finish()
				return err
			})
		})
	}
	return func() (File, error) { wg.Wait(); return f, err }
}

func micros(us int64) time.Time { return time.UnixMicro(us).UTC() }

func (b *Batch) mergeRuns(p *Part) {
	for key, r := range p.runs {
		r.RunAtMin, r.RunAtMax = micros(r.from), micros(r.to)
		have := b.runs[key]
		if have == nil {
			run := r.Run
			b.runs[key] = &run
			continue
		}
		have.Rows += r.Rows
		have.Made = have.Made && r.Made
		if r.RunAtMin.Before(have.RunAtMin) {
			have.RunAtMin = r.RunAtMin
		}
		if r.RunAtMax.After(have.RunAtMax) {
			have.RunAtMax = r.RunAtMax
		}
	}
}

// finishSide writes a side table.
func (b *Batch) finishSide() (staged, error) {
	e := encoder{path: filepath.Join(b.dir, "side.parquet"), cols: b.side.cols}
	if err := e.write(b.side); err != nil {
		e.abandon()
		return staged{}, err
	}
	f, err := e.close(b.side.cols)
	f.Path = dirLabels
	if b.src.Kind == KindPrices {
		f.Path = dirPrices
	}
	return staged{e.path, f}, err
}
