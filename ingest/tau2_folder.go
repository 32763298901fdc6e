package ingest

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"
)

// tau2Entry is what results.json of the folder form says of a simulation.
type tau2Entry struct {
	id, at string
	raw    []byte
}

// folder reads the folder form.
func (r *tau2Reader) folder() error {
	index, err := r.folderIndex()
	if err != nil {
		return err
	}
	listed, found := map[string]bool{}, map[string]bool{}
	for _, e := range index {
		listed[e.id] = true
	}
	var strange []string
	r.sep = ": "
	for _, name := range r.in.Files {
		if name == tau2Index {
			continue
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		id := strings.TrimSuffix(path.Base(name), ".json")
		if found[id] = true; index != nil && !listed[id] {
			strange = append(strange, id)
		}
		raw, err := r.in.ReadFile(name, int64(r.opt.maxRow()))
		if err != nil {
			return err
		}
		r.base.Trace = name
		if err := r.simulation(name, bytes.TrimPrefix(raw, []byte(utf8BOM))); err != nil {
			return err
		}
	}
	r.base.Trace = ""
	lost := 0
	for _, e := range index {
		if found[e.id] {
			continue
		}
		lost++
		if err := r.simulation(e.at, e.raw); err != nil {
			return err
		}
	}
	if lost > 0 {
		r.in.Note("%s of results.json without a file in simulations: only what the index says of them was read", plural(int64(lost), "simulation"))
	}
	if len(strange) > 0 {
		r.in.Note("%s in simulations that results.json does not list: %s", plural(int64(len(strange)), "file"), strings.Join(firstFew(strange), ", "))
	}
	r.notes()
	return nil
}

// folderIndex reads results.json and returns the entries of its index; nil
// where it has none.
func (r *tau2Reader) folderIndex() ([]tau2Entry, error) {
	rc, err := r.in.OpenFile(tau2Index)
	if err != nil {
		return nil, err
	}
	defer rc.Close()
	d := &document{ctx: r.ctx, in: r.in, s: newArrayStream(rc, r.opt.maxRow()), yield: r.yield}
	if c := d.s.begin(); c != '{' {
		return nil, fmt.Errorf("%s/%s: byte %d: a tau2-bench result begins with {, found %q", r.in.Name, tau2Index, d.s.offset+1, c)
	}
	var index []tau2Entry
	err = d.members(func(key string, c byte) error {
		if key != "simulation_index" || c != '[' {
			return r.metadata(d, key, c)
		}
		return d.elements(key, func(at string, raw []byte) error {
			if v, ok := JSONValue(raw); ok && len(index) < maxRuns {
				index = append(index, tau2Entry{v.get("id").words(), tau2Index + ": " + at, slices.Clone(raw)})
			}
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w", r.in.Name, tau2Index, err)
	}
	if !r.hasInfo {
		return nil, fmt.Errorf("%s/%s: info: missing: a tau2-bench result has an object with agent_info and environment_info there", r.in.Name, tau2Index)
	}
	return index, nil
}
