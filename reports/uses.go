package reports

import (
	"context"
	"slices"
)

// lastOverride is the place of the last table that the report makes in place of
// one of a report it uses, -1 without any. The used reports come after it.
func (r *runner) lastOverride() int {
	last := -1
	for i, st := range r.rep.Statements {
		if st.Kind == TableStatement && slices.ContainsFunc(r.rep.used, func(u *Report) bool { return u.makes(st.Name) }) {
			last = i
		}
	}
	return last
}

// makes says whether the report makes a table of a name for its own use.
func (r *Report) makes(table string) bool {
	return slices.ContainsFunc(r.Statements, func(st Statement) bool { return st.Kind == TableStatement && st.Name == table })
}

func (r *runner) useAll(ctx context.Context) error {
	for _, u := range r.rep.used {
		if err := r.use(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// use makes the tables of a used report, but for those that this report makes
// itself, and its first section, under the report's name.
func (r *runner) use(ctx context.Context, u *Report) error {
	for _, st := range u.Statements {
		first := st.Kind == SectionStatement
		if !first && (st.Kind != TableStatement || r.rep.makes(st.Name)) {
			continue
		}
		name := st.Name
		if first {
			name = u.Name
		}
		params, err := r.params(u, st)
		if err != nil {
			return err
		}
		if err := r.ready(ctx, st); err != nil {
			return err
		}
		if err := r.d.execParams(ctx, "CREATE OR REPLACE TEMP TABLE "+quoteName(name)+" AS\n"+st.SQL, params); err != nil {
			return located(u, st, 1, err)
		}
		if first {
			return nil
		}
		if r.makesSets(name) {
			if err := r.sel.makeSets(ctx, r.d, quoteName(name)); err != nil {
				return located(u, st, 0, err)
			}
		}
	}
	return nil
}
