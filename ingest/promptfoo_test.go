package ingest_test

import (
	"passhat/ingest"
)

// promptfooTask is how the oracle calls a task: by two of its vars.
const promptfooTask = `concat_ws('/', extra->>'$.vars.task_id', extra->>'$.vars.lang')`

// promptfooCases compares each series of a file under both policies.
func promptfooCases(file string, opt ingest.Options, models ...string) (cases []realCase) {
	for _, model := range models {
		cases = append(cases, promptfooCase(file, "model = '"+model+"' AND variant = 'terse'", opt, "series", model+" | terse"))
	}
	return cases
}

func promptfooCase(file, where string, opt ingest.Options, path ...string) realCase {
	at := func(policy string) []string { return append(append([]string{}, path...), policy) }
	return realCase{sources: []string{file}, opt: opt, where: where, task: promptfooTask,
		truth: at("errors_counted_as_fail"), exclude: at("errors_excluded")}
}

func init() {
	for _, file := range []string{"support_repeat5.json", "support_repeat5.jsonl", "support_repeat5_rate_limited.json"} {
		realCases["promptfoo/"+file] = promptfooCases("promptfoo/"+file, ingest.Options{}, "model-a", "model-b")
	}
	realCases["promptfoo/retry_before.json"] = promptfooCases("promptfoo/retry_before.json", ingest.Options{}, "model-a")
	realCases["promptfoo/http_cache_run1.json"] = promptfooCases("promptfoo/http_cache_run1.json", ingest.Options{}, "local-http")
	// The oracle counts answers from the cache as trials, which they are not.
	realCases["promptfoo/http_cache_run2_cached.json"] = promptfooCases("promptfoo/http_cache_run2_cached.json", ingest.Options{AllowDependent: true}, "local-http")
	for _, model := range []string{"model-a", "model-b"} {
		realCases["promptfoo/support_repeat5.csv"] = append(realCases["promptfoo/support_repeat5.csv"],
			promptfooCase("promptfoo/support_repeat5.csv", "model = '"+model+"'", ingest.Options{}, "series", "["+model+"] terse"))
	}
	const db = "promptfoo/promptfoo.db"
	for _, eval := range []struct {
		id        string
		series    []string
		dependent bool
	}{
		{"eval-78i-2026-11-30T01:02:27", []string{"model-a | terse", "model-b | terse"}, false},
		{"eval-NLs-2026-11-30T01:02:32", []string{"model-a | terse", "model-a | verbose", "model-b | terse", "model-b | verbose"}, false},
		{"eval-T57-2026-11-30T01:02:39", []string{"model-a | terse"}, false},
		{"eval-kNv-2026-11-30T01:03:28", []string{"local-http | terse"}, false},
		{"eval-xkf-2026-11-30T01:03:32", []string{"local-http | terse"}, true},
	} {
		for _, series := range eval.series {
			where := "run_id = '" + eval.id + "' AND model || ' | ' || variant = '" + series + "'"
			realCases[db] = append(realCases[db], promptfooCase(db, where, ingest.Options{AllowDependent: eval.dependent}, "evals", eval.id, "series", series))
		}
	}
}
