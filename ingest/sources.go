package ingest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Stdin is the source argument that stands for standard input.
const Stdin = "-"

// Found is one thing to read that a SOURCE argument led to.
type Found struct {
	// Path is what to open; Stdin for standard input.
	Path string
	// Root is the folder argument in which Path was found, "" when the file
	// was named by itself or by a glob. An unknown format is an error for a
	// file that was named, and only counted for one that was found.
	Root string
	// Size in bytes, -1 when unknown (standard input, pipes).
	Size int64
	// Name is what messages and the store call it, where that is not Path: a
	// file of an archive.
	Name string
	// Format, Files and Folder are set for a folder that a format claims as one
	// source: its name, the files that it reads, and Left, the number of others.
	Format string
	Files  []string
	Folder *Folder
	Left   int

	err error // an archive that cannot be unpacked
}

// name is what messages call it.
func (f *Found) name() string {
	if f.Name != "" {
		return f.Name
	}
	return f.Path
}

// Named tells whether the user pointed at this very file.
func (f Found) Named() bool { return f.Root == "" }

// Expand turns SOURCE arguments into the files to read: a file stands for
// itself, a folder for all files in it and below, sorted by path, a glob
// (with `**` for any depth) for its matches, "-" for standard input. Hidden
// files and folders, and folders that are a passhat store, are left out of
// folders and globs. Symbolic links below a folder are followed within it only,
// as others may have put them there; nothing is visited twice, so that a loop
// ends. A file that several arguments lead to comes once, at its first place.
//
// A path that does not exist, a glob without a match, a folder without a file
// and a second "-" are errors that name the argument.
func Expand(args []string) ([]Found, error) {
	found, _, err := expand(args)
	return found, err
}

// expand also returns the links that lead out of a folder.
func expand(args []string) (found []Found, links []PassedOver, err error) {
	e := expander{seen: map[string]bool{}}
	for _, arg := range args {
		if err := e.add(arg); err != nil {
			return nil, nil, err
		}
	}
	return e.out, e.links, nil
}

type expander struct {
	out   []Found
	links []PassedOver
	seen  map[string]bool // real paths taken
}

func (e *expander) add(arg string) error {
	if arg == "" {
		return errors.New("an empty source was named: name a file, a folder, a glob or - for standard input")
	}
	if arg == Stdin {
		if e.seen[Stdin] {
			return errors.New("standard input (-) was named twice: it can be read only once")
		}
		e.seen[Stdin] = true
		e.out = append(e.out, Found{Path: Stdin, Size: -1})
		return nil
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && info.IsDir():
		return e.addFolder(arg)
	case err == nil:
		e.take(Found{Path: filepath.Clean(arg), Size: sizeOf(info)})
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: opening the source: %w", arg, plainPathError(err))
	case hasMeta(arg):
		return e.addGlob(arg)
	}
	return fmt.Errorf("%s: no such file or folder%s", arg, nearHint(arg))
}

// take keeps f unless the same file was taken before.
func (e *expander) take(f Found) {
	real := realPath(f.Path)
	if e.seen[real] {
		return
	}
	e.seen[real] = true
	e.out = append(e.out, f)
}

func (e *expander) addFolder(dir string) error {
	w, err := walkFolder(dir)
	if err != nil {
		return err
	}
	if len(w.found) == 0 {
		what := "hidden ones are left out"
		if len(w.away) > 0 {
			what += "; " + w.away[0].Source + " is " + w.away[0].Reason
		}
		return fmt.Errorf("%s: the folder holds no files to read (%s)", dir, what)
	}
	e.links = append(e.links, w.away...)
	for _, f := range w.found {
		e.take(f)
	}
	return nil
}

func (e *expander) addGlob(pattern string) error {
	matches, err := expandGlob(pattern)
	if err != nil {
		return err
	}
	if len(matches) == 0 {
		return fmt.Errorf("%s: no file matches this pattern", pattern)
	}
	for _, m := range matches {
		info, err := os.Stat(m)
		if err != nil {
			return fmt.Errorf("%s: opening the source: %w", m, plainPathError(err))
		}
		if !info.IsDir() {
			e.take(Found{Path: m, Size: sizeOf(info)})
			continue
		}
		if err := e.addFolder(m); err != nil {
			return err
		}
	}
	return nil
}

// sizeOf is -1 for what has no size of its own, such as a pipe.
func sizeOf(info fs.FileInfo) int64 {
	if !info.Mode().IsRegular() {
		return -1
	}
	return info.Size()
}

// plainPathError strips the operation and the path, which the caller's own
// message already has.
func plainPathError(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func hasMeta(s string) bool { return strings.ContainsAny(s, "*?[") }

// expandGlob lists what matches the pattern, sorted. A segment `**` stands for
// any number of folders, none included. Hidden names match only a segment that
// itself begins with a dot.
func expandGlob(pattern string) ([]string, error) {
	clean := filepath.Clean(pattern)
	if _, err := filepath.Match(clean, ""); err != nil {
		return nil, fmt.Errorf("%s: this pattern is malformed: a [ needs its ]", pattern)
	}
	vol := filepath.VolumeName(clean)
	rest := clean[len(vol):]
	base := vol
	if strings.HasPrefix(rest, string(filepath.Separator)) {
		base += string(filepath.Separator)
		rest = rest[1:]
	}
	g := globber{out: map[string]bool{}}
	g.match(base, strings.Split(rest, string(filepath.Separator)), 0)
	out := make([]string, 0, len(g.out))
	for p := range g.out {
		out = append(out, p)
	}
	slices.Sort(out)
	return out, nil
}

type globber struct{ out map[string]bool }

// maxGlobDepth ends a `**` that runs into a loop of links.
const maxGlobDepth = 64

func (g *globber) match(dir string, segments []string, depth int) {
	if len(segments) == 0 {
		g.out[dir] = true
		return
	}
	seg, rest := segments[0], segments[1:]
	if !hasMeta(seg) {
		path := filepath.Join(dir, seg)
		if _, err := os.Stat(path); err == nil {
			g.match(path, rest, depth+1)
		}
		return
	}
	if seg == "**" && len(rest) > 0 {
		g.match(dir, rest, depth)
	}
	list := dir
	if list == "" {
		list = "."
	}
	entries, err := os.ReadDir(list)
	if err != nil || depth > maxGlobDepth {
		return
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasPrefix(name, ".") && !strings.HasPrefix(seg, ".") {
			continue
		}
		path := filepath.Join(dir, name)
		switch ok, _ := filepath.Match(seg, name); {
		case seg == "**" && entry.IsDir():
			g.match(path, segments, depth+1)
		case seg == "**" && len(rest) == 0:
			g.match(path, rest, depth+1)
		case seg != "**" && ok:
			g.match(path, rest, depth+1)
		}
	}
}

// nearHint looks for a name in the same folder that the user may have meant.
func nearHint(path string) string {
	dir, name := filepath.Split(path)
	list := dir
	if list == "" {
		list = "."
	}
	entries, err := os.ReadDir(list)
	if err != nil {
		if parent := filepath.Clean(list); parent != "." {
			return fmt.Sprintf(": the folder %s is not there either", parent)
		}
		return ""
	}
	best, bestDist := "", len(name)/3+1
	for _, entry := range entries {
		if d := editDistance(name, entry.Name(), bestDist); d < bestDist {
			best, bestDist = entry.Name(), d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", filepath.Join(dir, best))
}

// editDistance is the Levenshtein distance of a and b in bytes, or limit if it
// is at least that.
func editDistance(a, b string, limit int) int {
	if d := len(a) - len(b); d >= limit || -d >= limit {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diag
			if a[i-1] != b[j-1] {
				cost++
			}
			diag = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return min(row[len(b)], limit)
}
