package ingest

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"passhat/ingest/store"
)

// tau2Decoder makes trials of simulations; each goroutine has its own.
type tau2Decoder struct {
	in   *Input
	opt  *Options
	loc  *time.Location
	base store.Trial
	sep  string // between a trial's place and one within it

	fields, usage []field
}

// tau2Sim is one simulation while it is read.
type tau2Sim struct {
	t             store.Trial
	bad           *SyntaxError // it is no trial
	scores, extra jsonObject
	reward        store.Opt[float64]
	named         store.Opt[float64] // the score of --score
	reason, fault string             // why it ended
	talk          tau2Talk
	scored        int   // scores called as --score says
	naive         int64 // times without a zone
}

// tau2Shape is the kind in brackets with which telecom tasks begin.
var tau2Shape = regexp.MustCompile(`^\[([a-z][a-z0-9_]{0,63})\]`)

// decode reads one simulation; at is its place. What it leaves to the reader is
// what depends on other simulations.
func (d *tau2Decoder) decode(at string, raw []byte, s *tau2Sim) {
	where, reason := d.read(at, raw, s)
	if reason != "" {
		s.bad = NewSyntaxError(d.in, 0, at+where, reason, raw)
		return
	}
	d.finish(s)
}

func (d *tau2Decoder) read(at string, raw []byte, s *tau2Sim) (where, reason string) {
	end, err := d.scan(raw, s)
	if err != nil {
		return "", err.Error()
	}
	if skipSpace(raw, end) != len(raw) {
		return "", "found text behind the simulation"
	}
	s.t = newTrial(d.base, at, raw)
	for _, f := range d.fields {
		if reason := d.field(s, f); reason != "" {
			return d.sep + string(f.key), reason
		}
	}
	if s.t.TaskID == "" {
		return d.sep + "task_id", "missing: a trial needs its task"
	}
	return "", ""
}

func isTau2Talk(f field) bool { return string(f.key) == "messages" && f.val.Kind == Array }

// scan keeps the members of the simulation in d.fields; those of the
// conversation, most of its text, are counted on the way.
func (d *tau2Decoder) scan(raw []byte, s *tau2Sim) (end int, err *scanError) {
	d.fields = d.fields[:0]
	return walkObject(raw, skipSpace(raw, 0), func(key []byte, escaped bool, at int) (int, *scanError) {
		if string(key) == "messages" && at < len(raw) && raw[at] == '[' {
			if !slices.ContainsFunc(d.fields, isTau2Talk) {
				d.fields = append(d.fields, field{key, escaped, Value{Kind: Array}})
			}
			s.talk = tau2Talk{}
			end, err := d.messages(&s.talk, raw, at)
			if err == nil {
				return end, nil
			}
			err.at -= at
			s.talk.fault = err.Error()
			return skipNested(raw, at)
		}
		v, end, err := scanValue(raw, at)
		if err == nil {
			d.fields = append(d.fields, field{key, escaped, v})
		}
		return end, err
	})
}

// field takes one member of a simulation and returns what is wrong with it.
func (d *tau2Decoder) field(s *tau2Sim, f field) (reason string) {
	t, v := &s.t, f.val
	switch key := string(f.key); key {
	case "id":
		t.TrialUID = v.words()
	case "task_id":
		t.TaskID, reason = scalarText(v)
	case "trial":
		if n, ok := v.integer(); ok && n >= 0 && n <= math.MaxInt32 {
			t.Trial, t.TrialFrom = store.Some(int32(n)), store.TrialExplicit
		} else if v.Kind != Null {
			reason = "found " + quoteShort(v.Text) + ", a trial number from 0 on is wanted"
		}
	case "seed":
		if n, ok := v.integer(); ok && v.Kind == Number {
			t.Seed = store.Some(n)
		}
	case "reward_info":
		reason = d.rewardInfo(s, v)
	case "reward": // of an entry of the index
		reason = d.reward(s, v)
	case "termination_reason":
		s.reason = v.words()
	case "info":
		s.fault = v.get("error").words()
		if kind := v.get("error_type").words(); kind != "" && s.fault != "" {
			s.fault = kind + ": " + s.fault
		}
		s.extra.keep("failed_after_attempts", v.get("failed_after_attempts"))
	case "start_time":
		var naive bool
		t.StartedAt, naive = timeOf(v, d.loc)
		s.naive += int64(boolInt(naive))
	case "duration":
		if n := v.number(); n.V > 0 {
			t.DurationS = n
		}
	case "agent_cost":
		t.CostUSD = v.number()
	case "hallucination_retries_used":
		t.Retries = v.small()
	case "agent_usage":
		tau2Usage(t, v)
	case "ticks":
		d.ticks(s, v)
	case "messages":
		if v.Kind == Array {
			reason = s.talk.tell(s)
		}
	case "end_time", "timestamp", "policy", "effect_timeline": // said by other fields, or too long
	default:
		s.extra.keep(strings.ToValidUTF8(key, "\uFFFD"), v)
	}
	return reason
}

// reward takes the harness's number; what is no number leaves it ungraded.
func (d *tau2Decoder) reward(s *tau2Sim, v Value) string {
	if v.Kind == Null {
		return ""
	}
	if v.Kind != Number {
		return "reward: found " + v.Kind.String() + ", a number is wanted"
	}
	if s.reward = v.number(); s.reward.OK {
		d.score(s, "reward", s.reward.V)
	}
	return ""
}

func (d *tau2Decoder) score(s *tau2Sim, name string, x float64) {
	s.scores.raw(name, appendJSONFloat(nil, x, 64))
	if name == d.opt.Score {
		s.named = store.Some(x)
		s.scored++
	}
}

// tau2Checks are lists of checks, each with the key that says whether it was met.
var tau2Checks = map[string]string{
	"action_checks": "action_match", "env_assertions": "met", "communicate_checks": "met", "nl_assertions": "met",
}

// rewardInfo reads the reward and what decided it.
func (d *tau2Decoder) rewardInfo(s *tau2Sim, v Value) (reason string) {
	if v.Kind == Null {
		return ""
	}
	if v.Kind != Object {
		return "found " + v.Kind.String() + ", an object is wanted"
	}
	v.eachMember(func(key string, v Value) bool {
		switch met := tau2Checks[key]; {
		case key == "reward":
			reason = d.reward(s, v)
		case key == "reward_breakdown":
			v.eachMember(func(name string, x Value) bool {
				if n := x.number(); n.OK {
					d.score(s, name, n.V)
				}
				return true
			})
		case key == "db_check":
			if n := v.get("db_reward").number(); n.OK {
				d.score(s, key, n.V)
			}
		case met != "":
			n, hits := 0, 0
			v.eachElement(func(_ int, e Value) bool {
				n++
				hits += boolInt(e.get(met).truth().V)
				return true
			})
			if n > 0 {
				d.score(s, key, float64(hits)/float64(n))
			}
		case key == "reward_basis":
			s.extra.keep(key, v)
		}
		return reason == ""
	})
	return reason
}
