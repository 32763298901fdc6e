package ingest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// formValues are what fields of random logs hold, by what they are called: first what is
// usual.
var formValues = map[string][]string{
	"suite":   {`"a"`, `"b c"`, `""`, `null`, "\"a\x00\"", "\"\xff\""},
	"run_id":  {`"r1"`, `"r2"`, `7`, `"r\"3"`, "\"r\t1\"", `"r\u0000"`, `"\ud800"`},
	"task_id": {`"t1"`, `"t2"`, `"t3"`, `"\u0074"`, `""`, `null`, `"` + strings.Repeat("t", 80) + `"`, "\"\x00\x00\"", "\"t\xc3\"", `"é"`, `"\q"`},
	"variant": {`"v"`, `null`, "\"\x01\""}, "model": {`"m"`, `"m2"`, `{"a":1}`, `"https://u:pw@h/m"`, "\"m\r\""}, "agent": {`"A"`, `"sk-Zq3Xv7Lm2Kp9Rt4Wd8Yh1Nc6Jb5Gf0Se"`},
	"effort": {`"Low"`, `"high"`, `1`}, "shape": {`"s"`, `null`},
	"trace": {`"x/1"`, `"x/2"`, `"x/12"`, `null`, "\"x\x7f\"", "\"\x1b[31m\""}, "trial": {`0`, `1`, `12`, `1.0`, `-1`, `-0`, `1e0`, `"3"`, `12345678901`, `99999999999999999999`, `null`},
	"trial_from": {`"order"`, `""`, `null`},
	"passed":     {`true`, `false`, `null`, `"pass"`, `0`, `"error"`, `"skipped"`, `truex`, `"t\u0072ue"`}, "ok": {`true`, `false`},
	"score": {`0.5`, `1`, `true`, `-1`, `1e3`, `"0.25"`, `NaN`, `-Infinity`, `null`, `0.`, `007`, `.5`, `1E400`, `123456789012345.5`, `0.1000000000000000055511151231257827`}, "score_name": {`"s"`, `""`},
	"started_at": {`"2026-11-30T12:00:00Z"`, `"2026-11-30T12:00:01.250Z"`, `"2026-11-30T12:00:02+00:00"`, `"2026-11-30T12:00:03+02:00"`, `"2026-02-30T12:00:00Z"`, `"2026-02-30T12:00:60Z"`, `"2026-11-30T12:00:00"`,
		`"2026-11-30T12:00:00.Z"`, `"2026-11-30T12:00:00.1234567890123Z"`, `1780000000`, `"1889-11-30T12:00:00Z"`, `null`, "\"" + noDay + "T12:00:00Z\"", `"2026-11-30\u0054"`, `"2026-11-30t12:00:00Z"`, `"0000-00-00T00:00:00Z"`},
	"run_at": {`"2026-11-30T00:00:00Z"`, `"2026-12-01T00:00:00Z"`, `"2026-12-01 00:00"`, "\"" + noDay + "T00:00:00Z\""}, "duration_s": {`1.5`, `2`, `-3`, `"4"`, `1e400`, `null`, `Infinity`}, "duration_ms": {`1500`, `null`},
	"cost_usd": {`0.25`, `0`, `0.123456789012`, `1.2.3`}, "input_tokens": {`1`, `999999999`, `9999999999`, `9223372036854775808`, `1.5`, `null`}, "turns": {`1`, `3`, `[1,2]`, `-1`, `0`},
	"temperature": {`0.7`, `null`}, "seed": {`42`, `-42`}, "planned_trials": {`8`, `null`}, "region": {`"eu"`, `{"a":[1,2]}`, `null`, `5`, "\"e\x00\"", `{"a":{"b":{"c":"\ud83d\ude00"}}}`, `[[[]]]`, `{"a":`},
	"api_key": {`"sk-1"`, `null`}, "error": {`null`, `"it broke"`, `{"type":"timeout","message":"m"}`}, "usage": {`{"input":1}`, `null`, `{"input":1,"input":2}`}, "config": {`{"temperature":0.2}`, `null`, `{"model":"c","seed":1}`},
	"runs": {`[true,false]`, `3`}, "n": {`3`, `null`}, "trace_url": {`"y"`}, "cached": {`false`, `true`},
	// Other spellings of names.
	`task\u005fid`: {`"t1"`, `"t9"`}, "taskId": {`"t1"`, `"t8"`}, `sc\u006fre`: {`0.5`, `0.75`}, "\xffx": {`1`, `"2"`}, "a\x00b": {`1`, `null`}, "": {`1`, `{}`}, `{"`: {`1`},
}

// noDay is what a memory that holds no day yet looks like.
const noDay = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// formOptions makes options of the bits of a number.
func formOptions(bits uint8) *Options {
	opt := &Options{Env: func(string) string { return "" }}
	for i, set := range []func(){
		func() { opt.Map = append(opt.Map, Pair{"task_id", "$.region"}) },
		func() {
			opt.Map = append(opt.Map, Pair{"input_tokens", "$.usage.input"}, Pair{"model", "$.config.model"})
		},
		func() { opt.Score = "score" },
		func() { opt.Set = []Pair{{"effort", "max"}, {"extra.team", "x"}, {"trial", "3"}} },
		func() { opt.TZ = "Europe/Berlin" },
		func() { opt.PassWhen = "score >= 0.5" },
		func() { opt.Suite, opt.Run, opt.AllowDependent = "s", "r", true },
		func() { opt.Renames, opt.Set = map[string]string{"r1": "one"}, append(opt.Set, Pair{"task_id", "set"}) },
	} {
		if bits>>i&1 == 1 {
			set()
		}
	}
	return opt
}

// formLog makes lines of a few shapes in which values stay for a while.
func formLog(rng *rand.Rand, lines int) (log []string) {
	names := slices.Sorted(maps.Keys(formValues))
	var shapes [][]string
	for range 1 + rng.IntN(4) {
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		shapes = append(shapes, append([]string{"task_id"}, names[:1+rng.IntN(14)]...))
	}
	if rng.IntN(8) == 0 { // a key that is there twice
		shapes[0] = append(shapes[0], shapes[0][rng.IntN(len(shapes[0]))])
	}
	if rng.IntN(2) == 0 { // the usual fields
		shapes = append(shapes[:0], strings.Fields("suite run_id task_id trial passed score model effort started_at duration_s input_tokens cost_usd trace"))
	}
	last, stay := map[string]string{}, []int{1, 1 + rng.IntN(20), 80 + rng.IntN(200)}
	rare := rng.IntN(5)
	end := []string{"}", "}\r", "} "}[rng.IntN(3)]
	shape := shapes[0]
	for range lines {
		if rng.IntN(4) == 0 {
			shape = shapes[rng.IntN(len(shapes))]
		}
		var b strings.Builder
		for i, name := range shape {
			values := formValues[name]
			if rare > 0 && rng.IntN(200) > 0 {
				values = values[:min(len(values), 2)]
			}
			if v := values[rng.IntN(len(values))]; last[name] == "" || rng.IntN(stay[len(name)%len(stay)]) == 0 {
				last[name] = v
			}
			b.WriteString([]string{"{", ",", ", "}[min(i, 1+rng.IntN(400)/399)])
			fmt.Fprintf(&b, `"%s":%s%s`, name, []string{"", " "}[rng.IntN(300)/299], last[name])
		}
		log = append(log, b.String()+[]string{end, " }", "\t}", "} x", "", "}\x00"}[max(0, rng.IntN(400)-394)])
	}
	return log
}
