package ingest

import (
	"fmt"
	"strconv"
	"strings"

	"passhat/ingest/store"
)

// Rule is a compiled --pass-when: a boolean expression over one trial.
//
//	expr   = or ; or = and {"or" and} ; and = not {"and" not}
//	not    = ["not"] cmp ; cmp = term [("<"|"<="|">"|">="|"="|"=="|"!="|"<>") term]
//	term   = number | "true" | "false" | name | "(" expr ")" | "abs" "(" expr ")" | "-" term
//	         {("+"|"-") term}
//
// Names are score, scores.NAME (or scores["NAME"]), passed (the log's verdict)
// and the numeric columns turns, tool_calls, retries, duration_s, cost_usd,
// input_tokens and output_tokens. What a trial lacks is unknown, as NULL in SQL:
// a rule whose outcome hangs on it leaves the trial as it is.
type Rule struct {
	text string
	root node
}

// answer is a number or a truth value (1, 0); unknown if not known.
type answer struct {
	v     float64
	known bool
}

type node interface{ eval(*store.Trial) answer }

// ParseRule compiles a --pass-when. Errors are of kind *UsageError.
func ParseRule(text string) (*Rule, error) {
	p := ruleParser{text: text}
	err := p.lex()
	var root node
	var isBool bool
	if err == nil {
		root, isBool, err = p.or(0)
	}
	if err == nil && p.at < len(p.tokens) {
		err = fmt.Errorf("%q was not expected", p.tokens[p.at])
	}
	if err == nil && !isBool {
		err = fmt.Errorf("it is a number; wanted a condition such as score >= 0.5")
	}
	if err != nil {
		return nil, usagef("--pass-when", "%s: %v", text, err)
	}
	return &Rule{strings.TrimSpace(text), root}, nil
}

// Judge returns whether the trial passes by the rule; ok is false where what the
// trial lacks leaves that open.
func (r *Rule) Judge(t *store.Trial) (passed, ok bool) {
	a := r.root.eval(t)
	return a.v != 0, a.known
}

type constant float64

func (c constant) eval(*store.Trial) answer { return answer{float64(c), true} }

type variable func(*store.Trial) answer

func (v variable) eval(t *store.Trial) answer { return v(t) }

type binaryNode struct {
	op   string
	a, b node
}

func (n binaryNode) eval(t *store.Trial) answer {
	a, b := n.a.eval(t), n.b.eval(t)
	switch n.op {
	case "and":
		if a.known && a.v == 0 || b.known && b.v == 0 {
			return answer{0, true}
		}
		return answer{1, a.known && b.known}
	case "or":
		if a.known && a.v != 0 || b.known && b.v != 0 {
			return answer{1, true}
		}
		return answer{0, a.known && b.known}
	}
	if !a.known || !b.known {
		return answer{}
	}
	switch n.op {
	case "+":
		return answer{a.v + b.v, true}
	case "-":
		return answer{a.v - b.v, true}
	case "*":
		return answer{a.v * b.v, true}
	}
	return truth(compare(n.op, a.v, b.v))
}

func truth(b bool) answer {
	if b {
		return answer{1, true}
	}
	return answer{0, true}
}

func compare(op string, a, b float64) bool {
	switch op {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "!=", "<>":
		return a != b
	}
	return a == b
}

type unaryNode struct {
	op string
	a  node
}

func (n unaryNode) eval(t *store.Trial) answer {
	a := n.a.eval(t)
	switch {
	case !a.known:
		return a
	case n.op == "not":
		return truth(a.v == 0)
	case n.op == "abs" && a.v >= 0:
		return a
	}
	return answer{-a.v, true}
}

func optional[T int32 | int64 | float64](o store.Opt[T]) answer { return answer{float64(o.V), o.OK} }

var ruleNames = map[string]variable{
	"score":         func(t *store.Trial) answer { return optional(t.Score) },
	"turns":         func(t *store.Trial) answer { return optional(t.Turns) },
	"tool_calls":    func(t *store.Trial) answer { return optional(t.ToolCalls) },
	"retries":       func(t *store.Trial) answer { return optional(t.Retries) },
	"duration_s":    func(t *store.Trial) answer { return optional(t.DurationS) },
	"cost_usd":      func(t *store.Trial) answer { return optional(t.CostUSD) },
	"input_tokens":  func(t *store.Trial) answer { return optional(t.InputTokens) },
	"output_tokens": func(t *store.Trial) answer { return optional(t.OutputTokens) },
}

func passedBefore(t *store.Trial) answer {
	a := truth(t.Passed.V)
	a.known = t.Passed.OK
	return a
}

// scoreNamed reads one of the trial's scores.
func scoreNamed(name string) variable {
	steps := []pathStep{{key: name}}
	return func(t *store.Trial) answer {
		if t.ScoreName == name && t.Score.OK {
			return optional(t.Score)
		}
		v, ok := JSONValue([]byte(t.Scores))
		if !ok {
			return answer{}
		}
		if v, ok = walkPath(v, steps); !ok {
			return answer{}
		}
		f, ok := scoreOf(v)
		return answer{f, ok}
	}
}

type ruleParser struct {
	text   string
	tokens []string
	at     int
}

func (p *ruleParser) lex() error {
	s := p.text
	for len(s) > 0 {
		n := 1
		switch c := s[0]; {
		case c == ' ' || c == '\t' || c == '\n':
			s = s[1:]
			continue
		case c == '"' || c == '\'':
			end := strings.IndexByte(s[1:], c)
			if end < 0 {
				return fmt.Errorf("%s has no closing quote", s)
			}
			n = end + 2
		case c >= '0' && c <= '9' || c == '.' && len(s) > 1 && s[1] >= '0' && s[1] <= '9':
			for n < len(s) && (isWordByte(s[n]) || s[n] == '.' || (s[n] == '-' || s[n] == '+') && (s[n-1] == 'e' || s[n-1] == 'E')) {
				n++
			}
		case isWordByte(c) || c >= 0x80:
			for n < len(s) && (isWordByte(s[n]) || s[n] >= 0x80) {
				n++
			}
		case strings.Contains("<>!=", s[:1]):
			if len(s) > 1 && (s[1] == '=' || c == '<' && s[1] == '>') {
				n = 2
			}
		case !strings.Contains("()[].+-*", s[:1]):
			return fmt.Errorf("%q was not expected", s[:1])
		}
		p.tokens = append(p.tokens, s[:n])
		s = s[n:]
		if len(p.tokens) > 1000 {
			return fmt.Errorf("it is too long")
		}
	}
	return nil
}

func (p *ruleParser) peek() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return ""
}

func (p *ruleParser) accept(words ...string) (string, bool) {
	for _, w := range words {
		if strings.EqualFold(p.peek(), w) {
			p.at++
			return w, true
		}
	}
	return "", false
}

func (p *ruleParser) or(depth int) (node, bool, error) {
	return p.logic(depth, "or", func() (node, bool, error) {
		return p.logic(depth, "and", func() (node, bool, error) { return p.not(depth) })
	})
}

// logic reads one level of and/or.
func (p *ruleParser) logic(depth int, op string, part func() (node, bool, error)) (node, bool, error) {
	a, isBool, err := part()
	for err == nil {
		if _, ok := p.accept(op); !ok {
			break
		}
		var b node
		var bBool bool
		if b, bBool, err = part(); err != nil {
			break
		}
		if !isBool || !bBool {
			return nil, false, fmt.Errorf("%s stands between conditions, not numbers", op)
		}
		a = binaryNode{op, a, b}
	}
	return a, isBool, err
}

func (p *ruleParser) not(depth int) (node, bool, error) {
	if depth > 100 {
		return nil, false, fmt.Errorf("it nests too deep")
	}
	if _, ok := p.accept("not"); ok {
		a, isBool, err := p.not(depth + 1)
		if err == nil && !isBool {
			err = fmt.Errorf("not stands before a condition, not a number")
		}
		return unaryNode{"not", a}, true, err
	}
	a, isBool, err := p.sum(depth)
	if err != nil {
		return nil, false, err
	}
	op, ok := p.accept("<=", ">=", "<>", "!=", "==", "<", ">", "=")
	if !ok {
		return a, isBool, nil
	}
	b, bBool, err := p.sum(depth)
	if err == nil && isBool != bBool {
		err = fmt.Errorf("%s compares a condition with a number", op)
	}
	return binaryNode{op, a, b}, true, err
}

func (p *ruleParser) sum(depth int) (node, bool, error) {
	a, isBool, err := p.term(depth)
	for err == nil {
		op, ok := p.accept("+", "-", "*")
		if !ok {
			break
		}
		b, bBool, err := p.term(depth)
		if err == nil && (isBool || bBool) {
			err = fmt.Errorf("%s stands between numbers", op)
		}
		if err == nil && op == "*" {
			err = p.times(&a, b)
		} else {
			a = binaryNode{op, a, b}
		}
		if err != nil {
			return nil, false, err
		}
	}
	return a, isBool, err
}

// times binds closer than the sum before it.
func (p *ruleParser) times(a *node, b node) error {
	if s, ok := (*a).(binaryNode); ok && (s.op == "+" || s.op == "-") {
		*a = binaryNode{s.op, s.a, binaryNode{"*", s.b, b}}
	} else {
		*a = binaryNode{"*", *a, b}
	}
	return nil
}

func (p *ruleParser) term(depth int) (node, bool, error) {
	if depth > 100 {
		return nil, false, fmt.Errorf("it nests too deep")
	}
	tok := p.peek()
	p.at++
	switch low := strings.ToLower(tok); {
	case tok == "":
		return nil, false, fmt.Errorf("it ends too early")
	case tok == "(":
		a, isBool, err := p.or(depth + 1)
		if _, ok := p.accept(")"); err == nil && !ok {
			err = fmt.Errorf("a ( has no )")
		}
		return a, isBool, err
	case tok == "-":
		a, isBool, err := p.term(depth + 1)
		if err == nil && isBool {
			err = fmt.Errorf("- stands before a condition")
		}
		return unaryNode{"-", a}, false, err
	case low == "abs" && p.peek() == "(":
		a, isBool, err := p.term(depth + 1)
		if err == nil && isBool {
			err = fmt.Errorf("abs of a condition")
		}
		return unaryNode{"abs", a}, false, err
	case low == "true" || low == "false":
		return constant(truth(low == "true").v), true, nil
	case low == "passed":
		return variable(passedBefore), true, nil
	case low == "scores":
		return p.scores()
	case tok[0] >= '0' && tok[0] <= '9' || tok[0] == '.':
		f, err := strconv.ParseFloat(tok, 64)
		if err != nil {
			return nil, false, fmt.Errorf("%q is not a number", tok)
		}
		return constant(f), false, nil
	case ruleNames[low] != nil:
		return ruleNames[low], false, nil
	}
	return nil, false, fmt.Errorf("%q is not known here: wanted score, scores.NAME, passed or a numeric column", tok)
}

func (p *ruleParser) scores() (node, bool, error) {
	if _, ok := p.accept("."); ok {
		if name := p.peek(); name != "" && (isWordByte(name[0]) || name[0] >= 0x80) {
			p.at++
			return scoreNamed(name), false, nil
		}
	} else if _, ok := p.accept("["); ok {
		name := p.peek()
		p.at++
		if _, ok := p.accept("]"); ok && len(name) > 2 && (name[0] == '"' || name[0] == '\'') {
			return scoreNamed(name[1 : len(name)-1]), false, nil
		}
	}
	return nil, false, fmt.Errorf(`scores wants a name: scores.accuracy or scores["exact match"]`)
}
