package reports

import (
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Policies for ungraded trials (statistics, "The unit").
const (
	PolicyFail    = "fail"    // an ungraded trial failed
	PolicyExclude = "exclude" // an ungraded trial leaves n
	PolicyBounds  = "bounds"  // as fail, and the other end beside it
)

// Request is what the user asked for: the common flags of every report and the
// report's own parameters. The zero Request asks for every default. Set fills
// it from words; Run checks it against the report and the data.
type Request struct {
	K        KSpec
	By       []string // grouping columns; nil: suite, model, agent, effort
	Runs     string   // latest, a number, all, or a run_id; "": latest, or all when Named
	Since    string   // date, time, 7d, 4w or 2026-W48; inclusive
	Until    string   // same forms; a day or a week is inclusive
	Where    string   // condition on trials
	Policy   string   // fail (default), exclude, bounds
	Weights  string   // CSV file: task_id, [suite,] weight
	Labels   string   // CSV file: [suite,] task_id, shape, risk, …
	Pool     string   // run (default) or trial
	Tasks    string   // all (default) or common
	Conf     float64  // level of intervals in (0, 1); 0: 0.95
	Interval string   // auto (default) or bootstrap
	Seed     int64    // 0 stands for 1 unless SeedSet
	SeedSet  bool
	TopSet   bool  // whether Top was given: 0 is all, whatever the report's own
	Top      int64 // rows of a table of tasks; 0: all
	ShowSQL  bool
	Params   map[string]string // the report's own parameters, as written

	Contract string // YAML file with a declared trial contract

	// Old and New name the two sides of a comparison: a run_id, last, last~1,
	// last:COLUMN=VALUE or COLUMN=VALUE. Both or none are given.
	Old, New string
	// OldRuns and NewRuns, where given, are what a side consists of: the runs
	// that a file brought. Old and New are then only shown.
	OldRuns, NewRuns []RunRef

	// Named says that the trials come from logs named on the command line
	// rather than from a store: then every run of them is read.
	Named bool
	// Sources are those logs as the user named them, for the commands that a
	// result says to type next.
	Sources []string
	// Version is passhat's own, for the stamp.
	Version string
	// Now is the moment that "7d" counts back from and that the stamp
	// carries; zero: SOURCE_DATE_EPOCH, else the clock.
	Now time.Time

	describing bool   // only the columns are wanted: no trial is read
	weeks      *weeks // set by Run
}

// RunRef names a run; the empty string stands for a suite or run without name.
type RunRef struct{ Suite, RunID string }

// KSpec is the value of -k: a list, the largest k that every task supports, or
// every k up to that.
type KSpec struct {
	List []int32
	Word string // "", "max" or "all"
}

// commonParams are the names that -p and a report's SQL share with the flags.
var commonParams = map[string]bool{
	"k": true, "conf": true, "seed": true, "top": true, "interval": true,
	"policy": true, "pool": true, "resamples": true, "now": true,
}

// flagNames are the flags that a report may set to values of its own.
var flagNames = []string{
	"k", "by", "runs", "since", "until", "where", "policy", "pool", "tasks", "conf", "interval", "seed", "top", "old", "new",
}

// defaultResamples is the number of bootstrap resamples where resampling is
// asked for.
const defaultResamples = 10000

// Set fills the flag called name ("k", "by", "runs", …) from its text, or else
// the report's own parameter of that name. A bad value is a *UsageError.
func (q *Request) Set(name, value string) error {
	var err error
	switch name {
	case "k":
		q.K, err = ParseK(value)
	case "by":
		q.By, err = parseBy(value)
	case "runs":
		q.Runs = value
	case "since":
		q.Since = value
	case "until":
		q.Until = value
	case "where":
		q.Where = value
	case "policy":
		q.Policy = value
	case "weights":
		q.Weights = value
	case "labels":
		q.Labels = value
	case "pool":
		q.Pool = value
	case "tasks":
		q.Tasks = value
	case "interval":
		q.Interval = value
	case "conf":
		q.Conf, err = parseConf(value)
	case "seed":
		q.Seed, err = strconv.ParseInt(value, 10, 64)
		q.SeedSet = true
		if err != nil || q.Seed < 0 {
			err = usagef("seed %q: a whole number ≥ 0 is wanted", value)
		}
	case "top":
		q.Top, err = strconv.ParseInt(value, 10, 64)
		q.TopSet = true
		if err != nil || q.Top < 0 {
			err = usagef("top %q: a whole number ≥ 0 is wanted", value)
		}
	case "contract":
		q.Contract = value
	case "old":
		q.Old = value
	case "new":
		q.New = value
	case "show-sql", "show_sql":
		if q.ShowSQL, err = strconv.ParseBool(value); err != nil {
			err = usagef("show-sql %q: true or false is wanted", value)
		}
	default:
		if q.Params == nil {
			q.Params = map[string]string{}
		}
		q.Params[name] = value
	}
	return err
}

// ParseK reads a value of -k: "1,3", "1-5", "max" or "all". Each k is at least
// 1; the list comes back sorted, each k once.
func ParseK(value string) (KSpec, error) {
	word := strings.TrimSpace(strings.ToLower(value))
	if word == "max" || word == "all" {
		return KSpec{Word: word}, nil
	}
	bad := func() (KSpec, error) {
		return KSpec{}, usagef("k %q: whole numbers ≥ 1 such as 1,3, or max, or all are wanted", value)
	}
	var list []int32
	for _, part := range strings.Split(value, ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(part), "-")
		a, err := strconv.ParseInt(strings.TrimSpace(lo), 10, 32)
		if err != nil || a < 1 {
			return bad()
		}
		b := a
		if isRange {
			if b, err = strconv.ParseInt(strings.TrimSpace(hi), 10, 32); err != nil || b < a {
				return bad()
			}
		}
		if int(b-a)+len(list) >= maxK {
			return KSpec{}, usagef("k %q: names more than %d values of k", value, maxK)
		}
		for k := a; k <= b; k++ {
			list = append(list, int32(k))
		}
	}
	slices.Sort(list)
	return KSpec{List: slices.Compact(list)}, nil
}

// maxK is how many values of k one report shows at most.
const maxK = 1000

func parseBy(value string) ([]string, error) {
	by := []string{}
	for _, part := range strings.Split(value, ",") {
		part = strings.TrimSpace(part)
		if part == "" || part == "none" && len(by) == 0 {
			continue
		}
		if !slices.Contains(by, part) {
			by = append(by, part)
		}
	}
	return by, nil
}

func parseConf(value string) (float64, error) {
	text, percent := strings.CutSuffix(strings.TrimSpace(value), "%")
	c, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if percent {
		c /= 100
	}
	if err != nil || !(c > 0 && c < 1) {
		return 0, usagef("conf %q: a level between 0 and 1 such as 0.95 is wanted", value)
	}
	return c, nil
}

// withFlags fills in what the report says of flags that the user left open.
func (q Request) withFlags(flags [][2]string) (Request, error) {
	open := map[string]bool{
		"k": len(q.K.List) == 0 && q.K.Word == "", "by": q.By == nil, "runs": q.Runs == "", "since": q.Since == "",
		"until": q.Until == "", "where": q.Where == "", "policy": q.Policy == "", "pool": q.Pool == "", "tasks": q.Tasks == "",
		"conf": q.Conf == 0, "interval": q.Interval == "", "seed": q.Seed == 0 && !q.SeedSet, "top": q.Top == 0 && !q.TopSet,
		// Who groups otherwise wants other sides.
		"old": q.Old == "" && q.New == "" && q.By == nil, "new": q.Old == "" && q.New == "" && q.By == nil,
	}
	for _, f := range flags {
		if !open[f[0]] {
			continue
		}
		if err := q.Set(f[0], f[1]); err != nil {
			return q, err
		}
	}
	return q, nil
}

// normalise fills the defaults and checks the words.
func (q Request) normalise() (Request, error) {
	oneOf := func(name string, value *string, words ...string) error {
		if *value == "" {
			*value = words[0]
		}
		if !slices.Contains(words, *value) {
			return usagef("%s %q: %s is wanted%s", name, *value, orWords(words), suggest(*value, words))
		}
		return nil
	}
	for _, f := range []struct {
		name  string
		value *string
		words []string
	}{
		{"policy", &q.Policy, []string{PolicyFail, PolicyExclude, PolicyBounds}},
		{"pool", &q.Pool, []string{"run", "trial"}},
		{"tasks", &q.Tasks, []string{"all", "common"}},
		{"interval", &q.Interval, []string{"auto", "bootstrap"}},
	} {
		if err := oneOf(f.name, f.value, f.words...); err != nil {
			return q, err
		}
	}
	if q.Conf == 0 {
		q.Conf = 0.95
	}
	if !(q.Conf > 0 && q.Conf < 1) || math.IsNaN(q.Conf) {
		return q, usagef("conf %v: a level between 0 and 1 is wanted", q.Conf)
	}
	if q.Seed == 0 && !q.SeedSet {
		q.Seed = 1
	}
	if q.Runs == "" {
		q.Runs = "latest"
		if q.Named {
			q.Runs = "all"
		}
	}
	if q.Now.IsZero() {
		now, err := reportNow()
		if err != nil {
			return q, err
		}
		q.Now = now
	}
	q.Now = q.Now.UTC()
	return q, nil
}

// reportNow is SOURCE_DATE_EPOCH when set, so that outputs can be reproduced,
// else the clock to the second.
func reportNow() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Now().UTC().Truncate(time.Second), nil
	}
	sec, err := strconv.ParseInt(text, 10, 64)
	if err != nil || sec < 0 || sec > 253402300799 {
		return time.Time{}, usagef("SOURCE_DATE_EPOCH %q: seconds since 1970 are wanted", text)
	}
	return time.Unix(sec, 0).UTC(), nil
}
