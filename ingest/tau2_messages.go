package ingest

import (
	"math"

	"passhat/ingest/store"
)

// tau2Talk is what a conversation comes to.
type tau2Talk struct {
	messages, turns, calls, userCalls, toolErrors int64
	input, output                                 store.Opt[int64]
	fault                                         string // why it cannot be read
}

// messages counts turns, calls and tokens of the list at b[i] without building
// the messages, and returns where it ends.
func (d *tau2Decoder) messages(k *tau2Talk, b []byte, i int) (end int, err *scanError) {
	return walkArray(b, i, func(at int) (int, *scanError) {
		k.messages++
		if at < len(b) && b[at] == '{' {
			return d.message(k, b, at)
		}
		return skipValue(b, at)
	})
}

func (d *tau2Decoder) message(k *tau2Talk, b []byte, i int) (end int, err *scanError) {
	var role []byte
	var usage Value
	var made int32
	failed := false
	end, err = walkObject(b, i, func(key []byte, _ bool, at int) (end int, err *scanError) {
		var v Value
		switch string(key) {
		case "role":
			v, end, err = scanValue(b, at)
			role = v.Text
		case "tool_calls":
			made, end, err = countElements(b, at)
		case "usage":
			usage, end, err = scanValue(b, at)
		case "error":
			v, end, err = scanValue(b, at)
			failed = v.truth().V
		default:
			end, err = skipValue(b, at)
		}
		return end, err
	})
	if err != nil {
		return end, err
	}
	switch string(role) {
	case "assistant":
		k.turns++
		k.calls += int64(made)
		d.addUsage(k, usage)
	case "user":
		k.userCalls += int64(made)
	case "tool":
		k.toolErrors += int64(boolInt(failed))
	}
	return end, nil
}

// addUsage adds the tokens of one message.
func (d *tau2Decoder) addUsage(k *tau2Talk, usage Value) {
	if usage.Kind != Object {
		return
	}
	var err *scanError
	if d.usage, _, err = scanObject(usage.Text, 0, d.usage[:0]); err != nil {
		return
	}
	var in, out Value
	for _, f := range d.usage {
		switch string(f.key) {
		case "prompt_tokens":
			in = f.val
		case "completion_tokens":
			out = f.val
		}
	}
	addCount(&k.input, in)
	addCount(&k.output, out)
}

// addCount adds a whole number, if v is one and the sum can be held.
func addCount(o *store.Opt[int64], v Value) {
	if n := v.whole(); n.OK && n.V <= math.MaxInt64-o.V {
		*o = store.Some(o.V + n.V)
	}
}

// tell puts what was counted into the trial, or returns what is wrong.
func (k *tau2Talk) tell(s *tau2Sim) (reason string) {
	if k.fault != "" {
		return k.fault
	}
	t := &s.t
	addSum := func(o *store.Opt[int64], n store.Opt[int64]) {
		if n.OK && n.V <= math.MaxInt64-o.V {
			*o = store.Some(o.V + n.V)
		}
	}
	addSum(&t.InputTokens, k.input)
	addSum(&t.OutputTokens, k.output)
	if k.messages > 0 {
		s.extra.int("messages", k.messages)
	}
	if k.turns > 0 && k.turns <= math.MaxInt32 && k.calls <= math.MaxInt32 {
		t.Turns, t.ToolCalls = store.Some(int32(k.turns)), store.Some(int32(k.calls))
	}
	if k.userCalls > 0 {
		s.extra.int("user_tool_calls", k.userCalls)
	}
	if k.toolErrors > 0 {
		s.extra.int("tool_errors", k.toolErrors)
	}
	return ""
}

// tau2Usage reads the tokens of a voice run.
func tau2Usage(t *store.Trial, v Value) {
	v.get("records").eachElement(func(_ int, e Value) bool {
		addCount(&t.InputTokens, e.get("input_tokens"))
		addCount(&t.OutputTokens, e.get("output_tokens"))
		return true
	})
}

// ticks counts the agent's tool calls of a voice run.
func (d *tau2Decoder) ticks(s *tau2Sim, v Value) {
	n, calls, known := int64(0), int64(0), false
	v.eachElement(func(_ int, e Value) bool {
		n++
		if c := e.get("agent_tool_calls"); c.Kind == Array {
			known = true
			calls += int64(listLen(c))
		}
		return true
	})
	if n > 0 {
		s.extra.int("ticks", n)
	}
	if known && calls <= math.MaxInt32 {
		s.t.ToolCalls = store.Some(int32(calls))
	}
}
