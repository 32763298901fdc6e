package main

import (
	"strings"

	"github.com/spf13/cobra"
	"passhat/ingest"
)

// readFlags say how logs are to be read; ingest has them, and every command
// that takes named logs.
type readFlags struct {
	opts      ingest.Options
	set, maps []string
}

func (r *readFlags) add(cmd *cobra.Command) {
	f, o := cmd.Flags(), &r.opts
	f.StringVar(&o.As, "as", "", "the `FORMAT` of the logs (default by their content; see passhat formats)")
	f.StringVar(&o.Suite, "suite", "", "the suite, whatever the log says")
	f.StringVar(&o.Run, "run", "", "the run_id, whatever the log says")
	f.StringArrayVar(&r.set, "set", nil, "`COLUMN=VALUE`: a fixed value, such as effort=high or extra.team=x (repeatable)")
	f.StringArrayVar(&r.maps, "map", nil, "`COLUMN=JSONPATH`: where a column is in the log, such as task_id=$.case.name (repeatable)")
	f.StringVar(&o.PassWhen, "pass-when", "", "how a score becomes passed, such as 'score >= 0.5'")
	f.StringVar(&o.Score, "score", "", "which of several scores becomes the score")
	f.StringVar(&o.Filter, "filter", "", "which filter of an lm-eval log holds the scores")
	f.StringVar(&o.Attempts, "attempts", "", "which attempt of a retried test is its trial: first (default) or final")
	f.BoolVar(&o.AllowDependent, "allow-dependent", false, "count retries, cached answers and re-runs of failures as trials")
	f.StringVar(&o.FolderAs, "folder-as", "", "what several run folders in one are: trial (of one run) or run (default: the format's way)")
	f.StringVar(&o.Tasks, "tasks-file", "", "a `FILE` with the tasks of the suite, one a line, for logs that name only some of them")
	f.StringVar(&o.Preset, "preset", "", "a `FILE` with a preset of your own (see passhat formats)")
	f.StringVar(&o.TZ, "tz", "", "the zone of times that carry none (default UTC)")
	f.BoolVar(&o.Strict, "strict", false, "any row that cannot be read fails its source")
	f.StringVar(&o.MaxRejects, "max-rejects", "", "`N` or N% rows that may be unreadable (default 0.1%, at least 1)")
	f.IntVar(&o.Jobs, "jobs", 0, "parsing goroutines (default one per core)")
	cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions(append(ingest.FormatNames(), "labels", "prices"), cobra.ShellCompDirectiveNoFileComp))
}

// options checks the flags' form; package ingest checks their meaning.
func (r *readFlags) options(a *app) (ingest.Options, error) {
	if r == nil {
		return ingest.Options{Version: version(), Stdin: a.stdin}, nil
	}
	o := r.opts
	o.Version, o.Stdin = version(), a.stdin
	for _, list := range []struct {
		flag string
		from []string
		to   *[]ingest.Pair
	}{{"--set", r.set, &o.Set}, {"--map", r.maps, &o.Map}} {
		for _, s := range list.from {
			name, value, err := pair(list.flag, s)
			if err != nil {
				return o, err
			}
			*list.to = append(*list.to, ingest.Pair{Name: strings.TrimSpace(name), Value: value})
		}
	}
	if o.Jobs < 0 {
		return o, usagef("--jobs %d: want a number of at least 1", o.Jobs)
	}
	return o, nil
}
