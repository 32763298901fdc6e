package store

import (
	"cmp"
	"fmt"
	"path"
	"slices"
)

// job is one file to be made of several.
type job struct {
	kind   sharedKind
	inputs []*input
	out    SharedFile // Path: where it is to lie
	staged string
	skips  map[input]int64 // sharedRows: where a batch's piece begins in out, by path, batch and place
	purged map[purgeKey]int64
}

// purgeKey is a batch's part of a file, by its path in the store.
type purgeKey struct{ path, batch string }

// input is a file to be merged. Of row hashes it is one batch's piece of one.
type input struct {
	path   string // in the store
	batch  string // sharedRows only
	skip   int64
	rows   int64
	bytes  int64
	number int64 // of the first record it has rows of
	dead   bool  // some of its rows are of batches that ended, or of runs taken out
}

// jobs says what there is to merge: files of one folder, small or partly dead.
func jobs(st *state, id string) []*job {
	var out []*job
	for _, group := range candidates(st) {
		slices.SortStableFunc(group.inputs, func(a, b *input) int { return cmp.Compare(a.number, b.number) })
		var cur *job
		size := int64(0)
		flush := func() {
			if cur != nil && (cur.files() > 1 || cur.inputs[0].dead) {
				name := fmt.Sprintf("%s-%d", id, len(out))
				cur.staged = name
				cur.out.Path = path.Join(group.folder, name+group.kind.ext(cur.inputs[0].path))
				out = append(out, cur)
			}
			cur, size = nil, 0
		}
		for _, in := range group.inputs {
			if size > 0 && size+in.bytes > mergedFile {
				flush()
			}
			if cur == nil {
				cur = &job{kind: group.kind, skips: map[input]int64{}, purged: map[purgeKey]int64{}}
				cur.out.Kind = group.kind
			}
			cur.inputs = append(cur.inputs, in)
			size += in.bytes
		}
		flush()
	}
	return out
}

// files is how many files the job reads.
func (j *job) files() int {
	paths := map[string]bool{}
	for _, in := range j.inputs {
		paths[in.path] = true
	}
	return len(paths)
}

func (k sharedKind) ext(like string) string {
	if k == sharedRows {
		return path.Ext(like) // prints go to prints, hashes to hashes
	}
	return ".parquet"
}

// group is what may be merged with each other.
type group struct {
	kind   sharedKind
	folder string
	inputs []*input
}

// candidates lists the files to be merged by folder.
func candidates(st *state) []*group {
	g := grouping{by: map[string]*group{}, whole: map[string]*SharedFile{}, seen: map[string]bool{}, st: st}
	for i := range st.shared {
		g.whole[st.shared[i].Path] = &st.shared[i]
	}
	for _, r := range st.live(KindTrials) {
		for _, f := range r.Files {
			g.add(sharedTrials, path.Dir(f.Path), f, r)
		}
		for _, f := range r.RowHashes {
			g.add(sharedRows, dirRows, f, r)
		}
		if r.TaskRuns != nil {
			g.add(sharedTaskRuns, dirTaskRuns, *r.TaskRuns, r)
		}
	}
	return g.list
}

type grouping struct {
	st    *state
	by    map[string]*group
	list  []*group
	whole map[string]*SharedFile // by path
	seen  map[string]bool        // paths of shared files that are in
}

func (g *grouping) add(kind sharedKind, folder string, f File, r *Record) {
	in := &input{path: f.Path, rows: f.Rows, bytes: f.Bytes, number: r.Number}
	if kind == sharedRows {
		in.batch, in.skip, in.bytes = r.Batch, f.Skip, 4*f.Rows
		if path.Ext(f.Path) == extHashes {
			in.bytes = 16 * f.Rows
		}
	}
	size := f.Bytes
	if f.Moved {
		file := g.whole[f.Path]
		if file == nil || kind != sharedRows && g.seen[f.Path] {
			return // what is wrong with it is for Verify to say
		}
		g.seen[f.Path] = true
		size = file.Bytes
		if kind != sharedRows {
			in.rows, in.bytes = file.Rows, file.Bytes
		}
		in.dead = slices.ContainsFunc(file.Shares, func(s Share) bool { return !g.st.alive(s.Batch) || kind != sharedRows && g.st.unpurged(s.Batch) })
	} else if kind != sharedRows {
		in.dead = g.st.unpurged(r.Batch)
	}
	if size >= smallFile && !in.dead {
		return
	}
	key := string(kind) + "/" + folder
	if kind == sharedRows {
		key += path.Ext(f.Path)
	}
	if g.by[key] == nil {
		g.by[key] = &group{kind: kind, folder: folder}
		g.list = append(g.list, g.by[key])
	}
	g.by[key].inputs = append(g.by[key].inputs, in)
}
