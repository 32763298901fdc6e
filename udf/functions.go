package udf

import "slices"

// Functions is the table of all SQL functions, in the order of the manual.
var Functions = slices.Concat(taskFunctions, suiteFunctions, runFunctions, compareFunctions, gateFunctions, welchFunctions, powerFunctions, shorthands)

// The results that several functions share.
var (
	intervalFields = []Field{{"lower", "DOUBLE"}, {"upper", "DOUBLE"}}
	meanFields     = []Field{
		{"mean", "DOUBLE"}, {"se", "DOUBLE"}, {"df", "DOUBLE"}, {"lower", "DOUBLE"}, {"upper", "DOUBLE"},
		{"n", "BIGINT"}, {"clusters", "BIGINT"}, {"flag", "VARCHAR"},
	}
	bootstrapFields = []Field{
		{"estimate", "DOUBLE"}, {"lower", "DOUBLE"}, {"upper", "DOUBLE"}, {"se", "DOUBLE"}, {"bias", "DOUBLE"},
	}
)

// countsK are the arguments c, n, k.
var countsK = []Param{{"c", Count, false}, {"n", Count, false}, {"k", Count, false}}

// with is a list of arguments with more behind it.
func with(params []Param, more ...Param) []Param { return slices.Concat(params, more) }

// shorthands are macros, since no aggregate can be registered from Go.
var shorthands = []Function{
	{
		Name:    "pass_at",
		Params:  []Param{{"passed", Text, false}, {"k", Count, false}},
		Returns: "DOUBLE",
		Doc:     "Aggregate shorthand for pass_at_k over a group of trials; a NULL verdict counts as a failure.",
		Formula: "pass_at_k(passed trials, trials, k)",
		Source:  "as pass_at_k",
		Example: "SELECT pass_at(passed, 2) FROM (VALUES (true), (false), (false), (NULL)) AS t(passed)",
		Shows:   "0.5",
		Macro:   "pass_at_k(count(*) FILTER (WHERE CAST(passed AS BOOLEAN)), count(*), k)",
	},
	{
		Name:    "pass_hat",
		Params:  []Param{{"passed", Text, false}, {"k", Count, false}},
		Returns: "DOUBLE",
		Doc:     "Aggregate shorthand for pass_hat_k over a group of trials; a NULL verdict counts as a failure.",
		Formula: "pass_hat_k(passed trials, trials, k)",
		Source:  "as pass_hat_k",
		Example: "SELECT pass_hat(passed, 3) FROM (VALUES (true), (true), (true), (NULL)) AS t(passed)",
		Shows:   "0.25",
		Macro:   "pass_hat_k(count(*) FILTER (WHERE CAST(passed AS BOOLEAN)), count(*), k)",
	},
	{
		Name:    "flaky",
		Params:  []Param{{"passed", Text, false}},
		Returns: "DOUBLE",
		Doc:     "Aggregate shorthand for flakiness over a group of trials; a NULL verdict counts as a failure.",
		Formula: "flakiness(passed trials, trials)",
		Source:  "as flakiness",
		Example: "SELECT flaky(passed) FROM (VALUES (true), (true), (true), (NULL)) AS t(passed)",
		Shows:   "0.75",
		Macro:   "flakiness(count(*) FILTER (WHERE CAST(passed AS BOOLEAN)), count(*))",
	},
}
