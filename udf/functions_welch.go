package udf

import "passhat/udf/stats"

// welchFunctions compare several runs with several others.
var welchFunctions = []Function{
	{
		Name:    "welch_diff",
		Params:  []Param{{"a", Reals, false}, {"b", Reals, false}, {"conf", Real, false}},
		Returns: "STRUCT",
		Fields: []Field{
			{"diff", "DOUBLE"}, {"se", "DOUBLE"}, {"df", "DOUBLE"}, {"lower", "DOUBLE"}, {"upper", "DOUBLE"}, {"p_two", "DOUBLE"},
			{"runs_a", "BIGINT"}, {"runs_b", "BIGINT"}, {"flag", "VARCHAR"},
		},
		Doc: "Mean of a minus mean of b, lists with one value for each run, whose spreads may differ. A NULL in a list is left out. " +
			"No interval and no P value for fewer than 2 runs on a side, or where no side has any spread (degenerate).",
		Formula: "t = diff / sqrt(s_a²/R_a + s_b²/R_b), df by Satterthwaite",
		Source:  "Welch 1947",
		Example: "SELECT round(welch_diff([0.61, 0.58, 0.63], [0.49, 0.52, 0.56], 0.95).p_two, 6)",
		Shows:   "0.033433",
		call: func(a *call) (any, error) {
			x, _, _ := a.lists([]int{0}, -1)
			y, _, _ := a.lists([]int{1}, -1)
			conf := a.real(2)
			if a.stopped() {
				return nil, nil
			}
			w, err := stats.WelchTest(x[0], y[0], conf)
			return row{w.Diff, w.SE, w.DF, w.Lower, w.Upper, w.PTwo, w.RunsA, w.RunsB, w.Flag}, err
		},
	},
}
