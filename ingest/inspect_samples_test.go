package ingest_test

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// The archives among Inspect's samples are made here; -update writes them.
var inspectArchives = map[string][]member{
	"sample.eval":         inspectNew,
	"sample-old.eval":     inspectOld,
	"sample-chunked.eval": inspectChunked,
	"sample-crashed.eval": inspectCrashed,
	"bad-summaries.eval":  inspectBad,
}

const inspectNewEval = `{"eval_set_id":"set7Qa","eval_id":"evA11","run_id":"runB22","created":"2026-08-31T22:15:00+00:00","task":"acme_evals/ledger",
 "task_id":"tkC33","task_version":"2-A","task_file":"evals/ledger.py","task_registry_name":"acme_evals/ledger","task_attribs":{},
 "task_args":{"split":"dev","hub_token":"not-to-be-kept"},"task_args_passed":{"split":"dev"},"solver":"ledger_agent","solver_args":{"attempts":1},"tags":["nightly"],
 "dataset":{"name":"ledger","location":"ledger.jsonl","samples":40,"sample_ids":["close-books","refund/17"],"shuffled":false},
 "sandbox":{"type":"docker","config":"compose.yaml"},"model":"acme/large-2","model_generate_config":{"temperature":0.2,"reasoning_effort":"high","max_connections":20},
 "model_args":{"api_key":"not-to-be-kept"},"model_base_url":"https://user:not-to-be-kept@models.example","model_roles":{"grader":{"model":"acme/small-1","config":{"temperature":0},"base_url":"https://models.example","args":{}}},
 "config":{"limit":2,"epochs":3,"epochs_reducer":["mean","pass_k_3"],"fail_on_error":false,"retry_on_error":2,"message_limit":40,"log_samples":true},
 "revision":{"type":"git","origin":"https://user:not-to-be-kept@git.example/evals.git","commit":"0ab1c2d","dirty":true},
 "packages":{"inspect_ai":"0.3.258"},"scorers":[{"name":"balance","options":{},"metrics":[{"name":"inspect_ai/accuracy","options":{}}]},{"name":"style","options":{}}],
 "headline_metric":{"scorer":"balance","metric":"accuracy"}}`

const inspectPlan = `{"name":"plan","steps":[{"solver":"ledger_agent","params":{"attempts":1,"hook":"<function check at 0x7f00aa12>"}}],"config":{"temperature":0.6,"top_p":0.95,"seed":7}}`

const inspectNewSummaries = `[
 {"id":"close-books","epoch":1,"input":"Close the books of May.","target":"ok","metadata":{"domain":"finance","steps":4},
  "scores":{"balance":{"value":"C","answer":"1,204.50","explanation":"equal","history":[]},"style":{"value":{"tone":1,"length":0.5},"history":[]}},
  "model_usage":{"acme/large-2":{"input_tokens":900,"output_tokens":210,"total_tokens":6310,"input_tokens_cache_write":1200,"input_tokens_cache_read":4000,"reasoning_tokens":64,"total_cost":0.0421},
   "acme/small-1":{"input_tokens":300,"output_tokens":20,"total_tokens":320,"total_cost":0.0004}},
  "role_usage":{"grader":{"input_tokens":300,"output_tokens":20,"total_tokens":320,"total_cost":0.0004}},
  "started_at":"2026-08-31T22:15:02.250000+00:00","completed_at":"2026-08-31T22:16:32+00:00","total_time":89.75,"working_time":71.5,"uuid":"uuA1","retries":0,"completed":true,"message_count":12},
 {"id":"close-books","epoch":2,"input":"Close the books of May.","target":"ok","metadata":{"domain":"finance","steps":4},
  "scores":{"balance":{"value":"P","history":[]},"style":{"value":{"tone":0,"length":NaN},"history":[]}},"total_time":40.5,"working_time":40,"uuid":"uuA2","limit":"message","retries":1,"completed":true,"message_count":40},
 {"id":"close-books","epoch":3,"input":"Close the books of May.","target":"ok","metadata":{"domain":"finance","steps":4},
  "uuid":"uuA3","error":"RuntimeError('sandbox: connection reset by peer')","retries":2,"completed":true},
 {"id":"refund/17","epoch":1,"input":[{"role":"user","content":"Refund order 17."}],"target":["done","refunded"],"metadata":{"domain":"support"},
  "scores":{"balance":{"value":NaN,"explanation":"could not read the answer","history":[]}},"uuid":"uuB1","retries":0,"completed":true},
 {"id":"refund/17","epoch":3,"input":"Refund order 17.","target":"done","metadata":{"domain":"support"},
  "scores":{"balance":{"value":"I","answer":"\ud800 broken","history":[]},"style":{"value":{"tone":1,"length":1},"history":[]}},"limit":"time","uuid":"uuB3","retries":0,"completed":true}
]`

// inspectNew is a log as of 2026: zstd, several scorers, a sample taken up
// again, whose earlier record stands under the same name.
var inspectNew = []member{
	{name: "_journal/start.json", text: `{"version":2,"eval":` + inspectNewEval + `,"plan":` + inspectPlan + `}`, method: zstd.ZipMethodWinZip},
	{name: "samples/close-books_epoch_1.json", text: `{"id":"close-books","epoch":1,"error":{"message":"first try"}}`, method: zstd.ZipMethodWinZip},
	{name: "samples/close-books_epoch_1.json", text: `{"id":"close-books","epoch":1,"scores":{"balance":{"value":"C"}}}`, method: zstd.ZipMethodWinZip},
	{name: "samples/close-books_epoch_2.json", text: `{"id":"close-books","epoch":2}`, method: zstd.ZipMethodWinZip},
	{name: "samples/close-books_epoch_3.json", text: `{"id":"close-books","epoch":3}`, method: zstd.ZipMethodWinZip},
	{name: "samples/refund/17_epoch_1.json", text: `{"id":"refund/17","epoch":1}`, method: zstd.ZipMethodWinZip},
	{name: "samples/refund/17_epoch_3.json", text: `{"id":"refund/17","epoch":3}`, method: zstd.ZipMethodWinZip},
	{name: "_journal/summaries/1.json", text: `[{"id":"close-books","epoch":1,"error":"first try"}]`, method: zstd.ZipMethodWinZip},
	{name: "summaries.json", text: inspectNewSummaries, method: zstd.ZipMethodWinZip},
	{name: "reductions.json", text: `[]`, method: zstd.ZipMethodWinZip},
	{name: "header.json", method: zstd.ZipMethodWinZip, text: `{"version":2,"status":"success","eval":` + inspectNewEval + `,"plan":` + inspectPlan + `,
 "results":{"total_samples":6,"completed_samples":5,"scores":[
  {"name":"tone","scorer":"style","reducer":"mean","metrics":{"mean":{"name":"mean","value":0.66}}},{"name":"length","scorer":"style","reducer":"mean","metrics":{}},
  {"name":"balance","scorer":"balance","reducer":"mean","metrics":{"accuracy":{"name":"accuracy","value":0.375}}},{"name":"balance","scorer":"balance","reducer":"pass_k_3","metrics":{}}]},
 "stats":{"started_at":"2026-08-31T22:15:00+00:00","completed_at":"2026-08-31T22:20:00+00:00"},"invalidated":false,"tags":["nightly","kept"],"metadata":{}}`},
}

// inspectOld is a log as of 2024: deflate, neither uuid nor times nor tokens.
var inspectOld = []member{
	{name: "_journal/start.json", text: `{"version":2,"eval":{"task":"trivia","task_id":"tkOld","model":"acme/first"}}`, method: zip.Deflate},
	{name: "samples/1_epoch_1.json", text: `{"id":1,"epoch":1}`, method: zip.Deflate},
	{name: "_journal/summaries/1.json", text: `[]`, method: zip.Deflate},
	{name: "summaries.json", text: `[{"id":1,"epoch":1,"input":"2 + 2","target":"4","scores":{"match":{"value":"C","answer":"4"}}},{"id":2,"epoch":1,"input":"3 + 3","target":"6","scores":{"match":{"value":"I"}}}]`, method: zip.Deflate},
	{name: "header.json", method: zip.Deflate, text: `{"version":2,"status":"success","eval":{"run_id":"runOld","created":"2024-11-05T20:04:20-05:00","task":"trivia","task_id":"tkOld",
 "task_version":0,"task_attribs":{},"task_args":{},"dataset":{"name":"trivia","samples":2},"sandbox":["docker","compose.yaml"],"model":"acme/first","model_args":{},"config":{"limit":2,"max_messages":10},
 "revision":{"type":"git","origin":"git@git.example:evals.git","commit":"33aa44bb"},"packages":{"inspect_ai":"0.3.42"}},
 "plan":{"name":"plan","steps":[{"solver":"system_message","params":{"template":"Be brief."}},{"solver":"generate","params":{}}],"config":{"temperature":1.0}},
 "results":{"total_samples":2,"completed_samples":2,"scores":[{"name":"match","scorer":"match","params":{},"metrics":{"accuracy":{"name":"accuracy","value":0.5,"options":{}}}}]},
 "stats":{"started_at":"2024-11-05T20:04:20-05:00","completed_at":"","model_usage":{}}}`},
}

// inspectChunked mixes samples in chunks and whole ones; no summary lists the
// latter.
var inspectChunked = []member{
	{name: "header.json", method: zstd.ZipMethodWinZip, text: `{"version":3,"status":"error","eval":{"eval_id":"evCh","created":"2026-09-02T08:00:00+00:00","task":"notes","task_id":"tkCh","model":"acme/large-2",
 "dataset":{"sample_ids":[1,2]},"model_generate_config":{"reasoning_tokens":4096},"config":{"epochs":2},"packages":{"inspect_ai":"0.3.261"}},"plan":{"steps":[{"solver":"react","params":{}}]},
 "error":{"message":"too many samples\nfailed","traceback":"…"}}`},
	{name: "summaries.json", text: `[{"id":1,"epoch":1,"scores":{"pass":{"value":true}},"completed":true,"uuid":"uuC1"}]`, method: zstd.ZipMethodWinZip},
	{name: "samples/1_epoch_1/sample.json", text: `{"id":1,"epoch":1}`, method: zstd.ZipMethodWinZip},
	{name: "samples/1_epoch_1/messages/0.json", text: `[{"role":"user","content":"…"}]`, method: zstd.ZipMethodWinZip},
	{name: "samples/1_epoch_1/events/stats.json", text: `{}`, method: zstd.ZipMethodWinZip},
	{name: "samples/1_epoch_2/sample.json", text: `{"id":1,"epoch":2,"scores":{"pass":{"value":false}},"limit":{"type":"context","limit":8000.0},"uuid":"uuC2"}`, method: zstd.ZipMethodWinZip},
	{name: "samples/2_epoch_1.json", method: zstd.ZipMethodWinZip, text: `{"id":2,"epoch":1,"input":"…","messages":[{"role":"user","content":"sort my notes"},
 {"role":"assistant","content":"","tool_calls":[{"id":"c1","function":"list"},{"id":"c2","function":"read"}]},{"role":"tool","content":"…"},{"role":"assistant","content":"done"}],
 "output":{"choices":[]},"scores":{"pass":{"value":true}},"events":[{"event":"model"}],"error_retries":[{"message":"timeout","traceback":""}],"uuid":"uuC3","total_time":9.5}`},
}

// inspectCrashed has a journal only.
var inspectCrashed = []member{
	{name: "_journal/start.json", method: zip.Deflate, text: `{"version":2,"eval":{"eval_id":"evCr","run_id":"runCr","created":"2026-09-03T08:00:00+00:00","task":"notes","task_id":"tkCr","model":"acme/large-2",
 "dataset":{"sample_ids":["x","y"]},"config":{"epochs":2},"packages":{"inspect_ai":"0.3.261"},"scorers":[{"name":"acme/pass"}]},"plan":{"steps":[]}}`},
	{name: "_journal/summaries/1.json", text: `[{"id":"x","epoch":1,"scores":null,"error":"rate limit reached","completed":true,"uuid":"uuX0"},{"id":"y","epoch":1,"scores":{"pass":{"value":0}},"completed":true}]`, method: zip.Deflate},
	{name: "_journal/summaries/2.json", text: `[{"id":"x","epoch":1,"scores":{"pass":{"value":1}},"completed":true,"uuid":"uuX1"},{"id":"y","epoch":2,"completed":false}]`, method: zip.Deflate},
}

// inspectBad has summaries that can't be read, and a sample that was cut.
var inspectBad = []member{
	{name: "header.json", text: `{"version":2,"status":"success","eval":{"task":"notes","task_id":"tkBad","model":"m","dataset":{}}}`, method: zip.Deflate},
	{name: "summaries.json", text: `[{"id":"a","epoch":1,"scores":{"s":{"value":1}}},{"id":"b","epoch":0},{"epoch":1},{"id":["c"],"epoch":1},"words",{"id":"d","epoch":"2"},{"id":"e","epoch":1,"scores":{"s":{"value":}}},{"id":"f","epoch":1,`, method: zip.Deflate},
	{name: "samples/g_epoch_1.json", text: `{"id":"g","epoch":1,"messages":[{"role":"assi`, method: zip.Deflate},
	{name: "samples/h_epoch_1.json", text: `[]`, method: zip.Deflate},
}

// TestInspectSamples: the archives among the samples are what this file makes,
// member by member.
func TestInspectSamples(t *testing.T) {
	for name, members := range inspectArchives {
		path := filepath.Join(formatsDir, "inspect", name)
		made, err := os.ReadFile(writeZip(t, members...))
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(path, made, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		stored, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(tableOf(t, made), tableOf(t, stored)) {
			t.Errorf("%s is not what the test makes; -update writes it anew", name)
		}
	}
}

// tableOf lists the members of an archive with their checksums.
func tableOf(t *testing.T, archive []byte) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, f := range z.File {
		b.WriteString(f.Name)
		b.Write([]byte{byte(f.CRC32), byte(f.CRC32 >> 8), byte(f.CRC32 >> 16), byte(f.CRC32 >> 24), '\n'})
	}
	return b.Bytes()
}
