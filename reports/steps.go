package reports

import (
	"context"
	"maps"
	"slices"

	"passhat/sql"
)

// step is a statement of the report, or of one that it uses, with its values.
type step struct {
	rep    *Report
	st     Statement
	params map[string]any
	makes  string // the table that it makes, if it makes one
	answer bool   // its rows are wanted

	cols []sql.Column
	rows [][]any
}

// statements runs the used reports and then every statement of the report.
func (r *runner) statements(ctx context.Context, res *Result) error {
	steps, err := r.steps()
	if err != nil {
		return err
	}
	base := res.Head
	res.Head = nil
	defer func() { res.Head = append(res.Head, base...) }()
	done, err := r.together(ctx, steps)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if !done {
			if err := r.do(ctx, r.d, s); err != nil {
				return err
			}
		}
		if s.answer {
			r.take(res, s)
		}
	}
	return nil
}

// steps are the statements that are to be run, in order.
func (r *runner) steps() ([]*step, error) {
	var steps []*step
	useAfter := r.lastOverride()
	if useAfter < 0 {
		used, err := r.usedSteps()
		if err != nil {
			return nil, err
		}
		steps = used
	}
	for i, st := range r.rep.Statements {
		if slices.ContainsFunc(slices.Collect(maps.Keys(st.When)), func(cond string) bool {
			return slices.Contains(st.When[cond], "*") && !r.holds(cond)
		}) {
			continue
		}
		params, err := r.params(r.rep, st) // also of parts that are left out: a wrong value is an error all the same
		if err != nil {
			return nil, err
		}
		s := &step{rep: r.rep, st: r.trimmed(r.rep, st), params: params, answer: st.Kind != TableStatement}
		maps.DeleteFunc(params, func(name string, _ any) bool { return !slices.Contains(s.st.Params, name) })
		if r.readLater(st, r.rep.Statements[i+1:]) {
			s.makes = st.Name
		}
		steps = append(steps, s)
		if i == useAfter {
			used, err := r.usedSteps()
			if err != nil {
				return nil, err
			}
			steps = append(steps, used...)
		}
	}
	return steps, nil
}

// usedSteps make the tables of the used reports, but for those that this report makes
// itself, and their first sections, under the reports' names.
func (r *runner) usedSteps() ([]*step, error) {
	var steps []*step
	for _, u := range r.rep.used {
		for _, st := range u.Statements {
			first := st.Kind == SectionStatement
			if !first && (st.Kind != TableStatement || r.rep.makes(st.Name)) {
				continue
			}
			params, err := r.params(u, st)
			if err != nil {
				return nil, err
			}
			s := &step{rep: u, st: st, params: params, makes: st.Name}
			if first {
				s.makes = u.Name
			}
			steps = append(steps, s)
			if first {
				break
			}
		}
	}
	return steps, nil
}

// do runs a step.
func (r *runner) do(ctx context.Context, d *db, s *step) error {
	if err := r.ready(ctx, d, s.st); err != nil {
		return err
	}
	text, params := s.st.SQL, s.params
	if s.makes != "" {
		if err := d.execParams(ctx, "CREATE OR REPLACE TEMP TABLE "+quoteName(s.makes)+" AS\n"+text, params); err != nil {
			return located(s.rep, s.st, 1, err)
		}
		text, params = "SELECT * FROM "+quoteName(s.makes), nil
	}
	if s.st.Kind == TableStatement {
		if err := r.made(ctx, s.st.Name); err != nil {
			return located(s.rep, s.st, 0, err)
		}
	}
	if !s.answer {
		return nil
	}
	var err error
	if s.cols, s.rows, err = d.table(ctx, text, params); err != nil {
		return located(s.rep, s.st, 0, err)
	}
	if s.st.Kind == RefuseStatement && len(s.rows) > 0 && len(s.rows[0]) > 0 && !r.sel.req.describing {
		return usagef("report %s: %s", r.rep.Name, record(s.rows[0]).text(0))
	}
	return nil
}

// take puts the answer of a step into the result.
func (r *runner) take(res *Result, s *step) {
	st, rows := s.st, s.rows
	if st.Kind == SectionStatement && len(rows) == 0 && slices.Contains(st.Quiet, "*") && !r.sel.req.describing {
		return // it says nothing when empty
	}
	if st.Kind == SectionStatement {
		res.Sections = append(res.Sections, r.section(st, s.cols, rows))
		return
	}
	r.lines(res, st.Kind, rows)
}
