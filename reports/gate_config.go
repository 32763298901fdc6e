package reports

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Rules of a gate, by the names they have in gate.yaml and in every output.
const (
	RuleBaseline     = "baseline"
	RuleMinPassHatK  = "min_pass_hat_k"
	RuleMaxFlakiness = "max_flakiness"
	RuleMinPass      = "min_pass"
	RuleHard         = "hard"
	RuleMinCoverage  = "min_coverage"
	RuleMaxCost      = "max_cost_usd"
	RuleMaxTurns     = "max_turns"
	RuleMaxToolCalls = "max_tool_calls"
	RuleQuarantine   = "quarantine"
)

// GateConfig is what a gate asks: the content of gate.yaml and of the flags
// that say the same. The zero GateConfig has no rule.
type GateConfig struct {
	File string // where it was read, "" for flags alone

	Profile      string // "", pr or nightly
	Inconclusive string // what an inconclusive verdict ends as: pass, fail or exit3; "": by the profile
	Policy       string // ungraded trials: fail, exclude or bounds; "": fail
	K            int64  // attempts asked about; 0: by the profile and the data
	KMax         bool   // the largest k that every task supports
	Conf         float64
	Strict       bool // settings declared fixed that differ are a fault of the data
	Quarantine   []QuarantineEntry

	Baseline     *GateBaselineRule
	MinPassHatK  *float64
	MaxFlakiness *FlakinessRule
	MinPass      *MinPassRule
	Hard         []string
	MinCoverage  *float64
	MaxCost      *float64
	MaxTurns     *float64
	MaxToolCalls *float64
	Track        []string
}

// GateBaselineRule compares the new run with runs of a baseline (statistics,
// "Gate against a baseline").
type GateBaselineRule struct {
	From   string  // a run, last, last~1, last:COLUMN=VALUE, last-passing; "": last
	Of     string  // both, mean or pass_hat_k
	Alpha  float64 // one-sided chance that an unchanged run is called a regression
	Margin float64 // the drop that matters, in units of a rate
	Runs   int64   // at most so many runs of the baseline's configuration
}

// FlakinessRule bounds 4·p·(1-p) of every task: by the plain comparison
// (point), or by the exact test with Holm's adjustment (exact).
type FlakinessRule struct {
	Limit float64
	Rule  string
}

// MinPassRule wants at least M of N trials of a task to pass, in at least Share
// of the tasks.
type MinPassRule struct {
	M, N  int64
	Share float64
}

// Words that the settings of a gate may have.
var (
	gateProfiles     = []string{"pr", "nightly"}
	gateInconclusive = []string{"pass", "fail", "exit3"}
	gateTracks       = []string{"turns", "tool_calls", "tokens", "cost", "latency"}
	gateOf           = []string{"both", "mean", PassHatK}
)

// PassHatK is the name of the statistic pass^k in gate.yaml.
const PassHatK = "pass_hat_k"

// gateKey is one setting: its path in gate.yaml, with what fills it.
type gateKey struct {
	path string
	list bool // takes several words
	set  func(c *GateConfig, words []string) error
}

// gateKeys are all settings, in the order in which they are documented.
var gateKeys = []gateKey{
	{"profile", false, gateWord(gateProfiles, func(c *GateConfig) *string { return &c.Profile })},
	{"inconclusive", false, gateWord(gateInconclusive, func(c *GateConfig) *string { return &c.Inconclusive })},
	{"policy", false, gateWord([]string{PolicyFail, PolicyExclude, PolicyBounds}, func(c *GateConfig) *string { return &c.Policy })},
	{"k", false, setGateK},
	{"conf", false, gateNumber("a level between 0 and 1", open01, func(c *GateConfig, v float64) { c.Conf = v })},
	{"strict_contract", false, func(c *GateConfig, w []string) (err error) {
		if c.Strict, err = strconv.ParseBool(w[0]); err != nil {
			err = fmt.Errorf("%q: true or false is wanted", w[0])
		}
		return err
	}},
	{"baseline.from", false, func(c *GateConfig, w []string) error {
		if strings.TrimSpace(w[0]) == "" {
			return fmt.Errorf("a run, last, last:COLUMN=VALUE or last-passing is wanted")
		}
		c.baseline().From = strings.TrimSpace(w[0])
		return nil
	}},
	{"baseline.of", false, gateWord(gateOf, func(c *GateConfig) *string { return &c.baseline().Of })},
	{"baseline.alpha", false, gateNumber("a level above 0 and below 0.5", func(v float64) bool { return v > 0 && v < 0.5 },
		func(c *GateConfig, v float64) { c.baseline().Alpha = v })},
	{"baseline.margin", false, gateNumber("a drop above 0 and at most 1", func(v float64) bool { return v > 0 && v <= 1 },
		func(c *GateConfig, v float64) { c.baseline().Margin = v })},
	{"baseline.runs", false, gateWhole(1, 1000, func(c *GateConfig, v int64) { c.baseline().Runs = v })},
	{RuleMinPassHatK, false, gateNumber("a rate from 0 to 1", in01, func(c *GateConfig, v float64) { c.MinPassHatK = &v })},
	{RuleMaxFlakiness + ".limit", false, gateNumber("a flakiness from 0 to 1", in01, func(c *GateConfig, v float64) { c.flakiness().Limit = v })},
	{RuleMaxFlakiness + ".rule", false, gateWord([]string{"point", "exact"}, func(c *GateConfig) *string { return &c.flakiness().Rule })},
	{RuleMinPass + ".m", false, gateWhole(1, 1_000_000, func(c *GateConfig, v int64) { c.minPass().M = v })},
	{RuleMinPass + ".n", false, gateWhole(1, 1_000_000, func(c *GateConfig, v int64) { c.minPass().N = v })},
	{RuleMinPass + ".share", false, gateNumber("a share above 0 and at most 1", func(v float64) bool { return v > 0 && v <= 1 }, func(c *GateConfig, v float64) { c.minPass().Share = v })},
	{RuleHard, true, func(c *GateConfig, w []string) error { c.Hard = w; return noBlank(w) }},
	{RuleMinCoverage, false, gateNumber("a share from 0 to 1", in01, func(c *GateConfig, v float64) { c.MinCoverage = &v })},
	{RuleMaxCost, false, gateNumber("an amount of at least 0", atLeast0, func(c *GateConfig, v float64) { c.MaxCost = &v })},
	{RuleMaxTurns, false, gateWhole(0, 1_000_000_000, func(c *GateConfig, v int64) { c.MaxTurns = wholeBound(v) })},
	{RuleMaxToolCalls, false, gateWhole(0, 1_000_000_000, func(c *GateConfig, v int64) { c.MaxToolCalls = wholeBound(v) })},
	{"track", true, func(c *GateConfig, w []string) error {
		for _, name := range w {
			if !slices.Contains(gateTracks, name) {
				return fmt.Errorf("%q: %s are wanted%s", name, strings.Join(gateTracks, ", "), suggest(name, gateTracks))
			}
		}
		c.Track = w
		return nil
	}},
}

// GateKeys lists the paths of the settings as gate.yaml writes them.
func GateKeys() []string {
	var out []string
	for _, k := range gateKeys {
		out = append(out, k.path)
	}
	return out
}

// Set fills one setting by its path in gate.yaml. The short forms
// max_flakiness 0.2, min_pass 2/3 and baseline last:git_branch=main are taken
// too. Errors are *UsageError and name the setting.
func (c *GateConfig) Set(path string, words ...string) error {
	path, words = gateShort(path, words)
	i := slices.IndexFunc(gateKeys, func(k gateKey) bool { return k.path == path })
	if i < 0 {
		return usagef("there is no setting %q of a gate%s", path, suggest(path, GateKeys()))
	}
	key := gateKeys[i]
	if len(words) == 0 || !key.list && len(words) != 1 {
		return usagef("%s: %s is wanted", path, map[bool]string{true: "at least one word", false: "one value"}[key.list])
	}
	if err := key.set(c, words); err != nil {
		return usagef("%s: %v", path, err)
	}
	return nil
}

// gateShort turns a scalar where a mapping is usual into its chief key.
func gateShort(path string, words []string) (string, []string) {
	if len(words) != 1 {
		return path, words
	}
	switch path {
	case RuleBaseline:
		return path + ".from", words
	case RuleMaxFlakiness:
		return path + ".limit", words
	}
	return path, words
}

func (c *GateConfig) baseline() *GateBaselineRule {
	if c.Baseline == nil {
		c.Baseline = &GateBaselineRule{}
	}
	return c.Baseline
}

func (c *GateConfig) flakiness() *FlakinessRule {
	if c.MaxFlakiness == nil {
		c.MaxFlakiness = &FlakinessRule{Limit: math.NaN()}
	}
	return c.MaxFlakiness
}

func (c *GateConfig) minPass() *MinPassRule {
	if c.MinPass == nil {
		c.MinPass = &MinPassRule{M: -1, Share: 1}
	}
	return c.MinPass
}

// SetMinPass reads the short form "2/3" or "2/3@0.9".
func (c *GateConfig) SetMinPass(text string) error {
	rule, share, hasShare := strings.Cut(text, "@")
	m, n, ok := strings.Cut(rule, "/")
	if !ok {
		return usagef("%s %q: M/N such as 2/3, or M/N@SHARE such as 2/3@0.9, is wanted", RuleMinPass, text)
	}
	for _, part := range [][2]string{{"m", m}, {"n", n}, {"share", share}} {
		if part[0] == "share" && !hasShare {
			continue
		}
		if err := c.Set(RuleMinPass+"."+part[0], strings.TrimSpace(part[1])); err != nil {
			return err
		}
	}
	return nil
}

// Normalise fills the defaults and checks what settings must be together.
func (c *GateConfig) Normalise() error {
	if c.Conf == 0 {
		c.Conf = 0.95
	}
	if c.Policy == "" {
		c.Policy = PolicyFail
	}
	if c.Inconclusive == "" {
		c.Inconclusive = "exit3"
		if c.Profile == "pr" {
			c.Inconclusive = "pass"
		}
	}
	if b := c.Baseline; b != nil {
		b.From, b.Of = orText(b.From, "last"), orText(b.Of, "both")
		if b.Alpha == 0 {
			b.Alpha = 0.05
		}
		if b.Margin == 0 {
			b.Margin = 0.10
		}
		if b.Runs == 0 {
			b.Runs = 7
		}
	}
	if f := c.MaxFlakiness; f != nil {
		f.Rule = orText(f.Rule, "point")
		if math.IsNaN(f.Limit) {
			return usagef("%s: the limit is missing", RuleMaxFlakiness)
		}
	}
	if m := c.MinPass; m != nil {
		switch {
		case m.M < 0 || m.N == 0:
			return usagef("%s: both m and n are wanted: at least m of n trials are to pass", RuleMinPass)
		case m.M > m.N:
			return usagef("%s", m.conflict())
		}
	}
	if !c.hasRule() {
		return usagef("the gate has no rule: give --baseline RUN, a threshold such as --min-pass-hat-k 0.7, or a gate.yaml (passhat gate init writes one)")
	}
	return nil
}

// conflict is the error of more passes than trials.
func (m *MinPassRule) conflict() string {
	return fmt.Sprintf("%s: m = %d of n = %d: m of at most n is wanted", RuleMinPass, m.M, m.N)
}

func wholeBound(v int64) *float64 {
	f := float64(v)
	return &f
}

func (c *GateConfig) hasRule() bool {
	return c.Baseline != nil || c.MinPassHatK != nil || c.MaxFlakiness != nil || c.MinPass != nil || len(c.Hard) > 0 ||
		c.MinCoverage != nil || c.MaxCost != nil || c.MaxTurns != nil || c.MaxToolCalls != nil
}

// level is the α of tests that need one where no baseline rule says it.
func (c *GateConfig) level() float64 {
	if c.Baseline != nil {
		return c.Baseline.Alpha
	}
	return 1 - c.Conf
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func in01(v float64) bool     { return v >= 0 && v <= 1 }
func open01(v float64) bool   { return v > 0 && v < 1 }
func atLeast0(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

func gateWord(words []string, field func(*GateConfig) *string) func(*GateConfig, []string) error {
	return func(c *GateConfig, w []string) error {
		if !slices.Contains(words, w[0]) {
			return fmt.Errorf("%q: %s is wanted%s", w[0], orWords(words), suggest(w[0], words))
		}
		*field(c) = w[0]
		return nil
	}
}

func gateNumber(wanted string, ok func(float64) bool, set func(*GateConfig, float64)) func(*GateConfig, []string) error {
	return func(c *GateConfig, w []string) error {
		v, err := strconv.ParseFloat(strings.TrimSpace(w[0]), 64)
		if err != nil || !ok(v) {
			return fmt.Errorf("%q: %s is wanted", w[0], wanted)
		}
		set(c, v)
		return nil
	}
}

func gateWhole(low, high int64, set func(*GateConfig, int64)) func(*GateConfig, []string) error {
	return func(c *GateConfig, w []string) error {
		v, err := strconv.ParseInt(strings.TrimSpace(w[0]), 10, 64)
		if err != nil || v < low || v > high {
			return fmt.Errorf("%q: a whole number from %d to %d is wanted", w[0], low, high)
		}
		set(c, v)
		return nil
	}
}

func setGateK(c *GateConfig, w []string) error {
	if c.KMax = strings.TrimSpace(w[0]) == "max"; c.KMax {
		c.K = 0
		return nil
	}
	v, err := strconv.ParseInt(strings.TrimSpace(w[0]), 10, 32)
	if err != nil || v < 1 {
		return fmt.Errorf("%q: a whole number of at least 1, or max, is wanted", w[0])
	}
	c.K = v
	return nil
}

func noBlank(words []string) error {
	for _, w := range words {
		if strings.TrimSpace(w) == "" {
			return fmt.Errorf("crash or names of checks are wanted, not an empty word")
		}
	}
	return nil
}
