package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
)

// passItems are items as OpenAI gives them, each with its events, and with members that nobody knows yet.
// AT stands for the members that say where an event belongs.
var passItems = []struct{ item, events string }{
	{`{"id":"rs_none","type":"reasoning","summary":[],"new":{"a":1.50}}`,
		`response.output_item.added "item":{"id":"rs_none","type":"reasoning","summary":[]}`},
	{`{"id":"rs_up","type":"reasoning","encrypted_content":"gAAA-up","summary":[{"type":"summary_text","text":"first \u00e9"},{"type":"summary_text","text":"second"}]}`,
		`response.output_item.added "item":{"id":"rs_up","type":"reasoning","encrypted_content":"gAAA-begin","summary":[]}
response.reasoning_summary_part.added AT,"summary_index":0,"part":{"type":"summary_text","text":""}
response.reasoning_summary_text.delta AT,"summary_index":0,"delta":"first ","obfuscation":"xYz"
response.reasoning_summary_text.delta AT,"summary_index":0,"delta":"\u00e9","obfuscation":"x"
response.reasoning_summary_text.done AT,"summary_index":0,"text":"first \u00e9"
response.reasoning_summary_part.done AT,"summary_index":0,"part":{"type":"summary_text","text":"first \u00e9"}
response.reasoning_summary_part.added AT,"summary_index":1,"part":{"type":"summary_text","text":""}
response.reasoning_summary_text.delta AT,"summary_index":1,"delta":"second","obfuscation":""
response.reasoning_summary_text.done AT,"summary_index":1,"text":"second"
response.reasoning_summary_part.done AT,"summary_index":1,"part":{"type":"summary_text","text":"second"}`},
	{`{"id":"ws_up","type":"web_search_call","status":"completed","action":{"type":"search","query":"x"}}`,
		`response.output_item.added "item":{"id":"ws_up","type":"web_search_call","status":"in_progress"}
response.web_search_call.in_progress AT
response.web_search_call.searching AT
response.web_search_call.completed AT`},
	{`{"id":"msg_up","type":"message","status":"completed","content":[{"type":"output_text","annotations":[{"type":"url_citation","url":"https://x.example"}],"logprobs":[],"text":"one two"}],"phase":"final_answer","role":"assistant","new":null}`,
		`response.output_item.added "item":{"id":"msg_up","type":"message","status":"in_progress","content":[],"phase":"final_answer","role":"assistant"}
response.content_part.added AT,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}
response.output_text.delta AT,"content_index":0,"delta":"one ","logprobs":[],"obfuscation":"abcd"
response.output_text.delta AT,"content_index":0,"delta":"two","logprobs":[],"obfuscation":"abcde"
response.output_text.annotation.added AT,"content_index":0,"annotation_index":0,"annotation":{"type":"url_citation","url":"https://x.example"}
response.output_text.done AT,"content_index":0,"logprobs":[],"text":"one two"
response.content_part.done AT,"content_index":0,"part":{"type":"output_text","annotations":[{"type":"url_citation","url":"https://x.example"}],"logprobs":[],"text":"one two"}`},
	{`{"id":"fc_up","type":"function_call","status":"completed","arguments":"{\"a\": 1.0}","call_id":"call_up","name":"get_time","new":[1.0]}`,
		`response.output_item.added "item":{"id":"fc_up","type":"function_call","status":"in_progress","arguments":"","call_id":"call_up","name":"get_time"}
response.function_call_arguments.delta AT,"delta":"{\"a\":","obfuscation":"q"
response.function_call_arguments.delta AT,"delta":" 1.0}","obfuscation":"qq"
response.function_call_arguments.done AT,"arguments":"{\"a\": 1.0}"`},
	{`{"id":"ctc_up","type":"custom_tool_call","status":"completed","call_id":"call_patch","name":"patch","input":"a \"b\"\nc"}`,
		`response.output_item.added "item":{"id":"ctc_up","type":"custom_tool_call","status":"in_progress","call_id":"call_patch","name":"patch","input":""}
response.custom_tool_call_input.delta AT,"delta":"a \"b","obfuscation":"q"
response.custom_tool_call_input.delta AT,"delta":"\"\nc"
response.custom_tool_call_input.done AT,"input":"a \"b\"\nc"`},
}

// passEcho are the members of a response that the request decides, and one that nobody knows yet.
const passEcho = `"background":false,"error":null,"incomplete_details":null,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"model":"gpt-x-2027","parallel_tool_calls":true,` +
	`"previous_response_id":null,"prompt_cache_key":null,"safety_identifier":null,"presence_penalty":0,"frequency_penalty":0.0,"billing":{"payer":"developer"},"reasoning":{"effort":"low","summary":"detailed"},"service_tier":"default","store":false,` +
	`"temperature":1.0,"text":{"format":{"type":"text"},"verbosity":"medium"},"tool_choice":"auto","tools":[],"top_logprobs":0,"top_p":0.98,"truncation":"disabled","user":null,"metadata":{}`

// passed is what the upstream says, whole or as events.
func passed(stream bool) string {
	response := func(status, output, rest string) string {
		return `{"id":"resp_up","object":"response","created_at":7,"status":"` + status + `",` + rest + `,"output":[` + output + `],` + passEcho + `}`
	}
	const usage = `"completed_at":9,"usage":{"input_tokens":11,"input_tokens_details":{"cached_tokens":5,"new_tokens":3},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":20}`
	var items []string
	for _, i := range passItems {
		items = append(items, i.item)
	}
	if !stream {
		return response("completed", strings.Join(items, ","), usage)
	}
	var b strings.Builder
	n := 0
	event := func(kind, members string) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", kind, kind, n, members)
		n++
	}
	event("response.created", `"response":`+response("in_progress", "", `"completed_at":null,"usage":null`))
	event("response.in_progress", `"response":`+response("in_progress", "", `"completed_at":null,"usage":null`))
	for i, it := range passItems {
		id := regexp.MustCompile(`"id":"(.*?)"`).FindStringSubmatch(it.item)[1]
		for line := range strings.Lines(it.events) {
			kind, members, _ := strings.Cut(strings.TrimSpace(line), " ")
			members = strings.Replace(members, "AT", fmt.Sprintf(`"item_id":%q,"output_index":%d`, id, i), 1)
			if kind == "response.output_item.added" {
				members = fmt.Sprintf(`"output_index":%d,%s`, i, members)
			}
			event(kind, members)
		}
		event("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, i, it.item))
		if i == 2 {
			event("keepalive", `"new":1.0`)
		}
	}
	event("response.completed", `"response":`+response("completed", strings.Join(items, ","), usage))
	return b.String()
}

// TestResponsesPassThrough holds that what an upstream of the Responses API says reaches the client byte
// for byte, whole and as a stream: ids of items, parts, spellings, events and members that nobody knows.
// The gateway's own are the response's id and whether it is stored, by which the next request goes on.
func TestResponsesPassThrough(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		for _, include := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v,%v", stream, include), func(t *testing.T) {
				t.Parallel()
				var last string
				url := upstream(t, func(w http.ResponseWriter, r received) {
					last = r.body
					w.Header().Set("content-type", map[bool]string{false: "application/json", true: events}[stream])
					io.WriteString(w, passed(stream))
				})
				g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q, responses: native}}\nmodels: {m: {targets: [{provider: up, model: gpt-x}]}}", url))
				asked := fmt.Sprintf(`{"model":"m","input":"x","tools":%s,"stream":%v`, nativeTools, stream)
				if include {
					asked += `,"include":["reasoning.encrypted_content"]`
				}
				r := g.do(g.request("POST", "/v1/responses", asked+"}"))
				want := passed(stream)
				if !include {
					want = regexp.MustCompile(`"encrypted_content":".*?",`).ReplaceAllString(want, "")
				}
				id := regexp.MustCompile(`"id":"(resp_[0-9a-f]{48})"`).FindStringSubmatch(r.body)
				if id == nil {
					t.Fatalf("got no id of a response in %s", r.body)
				}
				want = strings.NewReplacer("resp_up", id[1], `"store":false`, `"store":true`).Replace(want)
				got := regexp.MustCompile(`(?m)^: .*\n\n`).ReplaceAllString(r.body, "")
				if got = strings.TrimSuffix(got, "data: [DONE]\n\n"); got != withDefaults(want) {
					t.Errorf("got  %s\nwant %s", got, withDefaults(want))
				}

				// The items are stored as they came, and what was encrypted goes back.
				g.do(g.request("POST", "/v1/responses", fmt.Sprintf(`{"model":"m","previous_response_id":%q,"input":"go on"}`, id[1])))
				var sent struct{ Input []json.RawMessage }
				if err := json.Unmarshal([]byte(last), &sent); err != nil || len(sent.Input) != len(passItems)+2 {
					t.Fatalf("got %v in %s", err, last)
				}
				for i, it := range passItems {
					if string(sent.Input[i+1]) != it.item {
						t.Errorf("got the item %s, not %s", sent.Input[i+1], it.item)
					}
				}
				if body := g.do(g.request("GET", "/v1/responses/"+id[1], "")).body; !strings.Contains(body, `"billing":{"payer":"developer"}`) || !strings.Contains(body, passItems[3].item) {
					t.Errorf("got the stored response %s", body)
				}
			})
		}
	}
}

// withDefaults puts in what every response here has and the upstream's has not.
func withDefaults(body string) string {
	return strings.ReplaceAll(body, `"user":null,"metadata":{}}`, `"user":null,"metadata":{},"prompt_cache_retention":null}`)
}

// TestResponsesPassThroughBroken has streams that are not as the API has them, at every event: what is left out
// of one, or said twice. What the client gets is in order each time, and has the text.
func TestResponsesPassThroughBroken(t *testing.T) {
	t.Parallel()
	var body string
	url := upstream(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("content-type", events)
		io.WriteString(w, body)
	})
	g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q, responses: native, retry: {max_retries: 0}}}\nmodels: {m: {targets: [{provider: up, model: gpt-x}]}}", url))
	stream, _, _ := strings.Cut(passed(true), "event: keepalive")
	_, rest, _ := strings.Cut(passed(true), `"new":1.0}`+"\n\n")
	blocks := strings.SplitAfter(stream+rest, "\n\n")
	blocks = blocks[:len(blocks)-1]
	for i, block := range blocks {
		for _, twice := range []bool{false, true} {
			kind := strings.TrimPrefix(strings.SplitN(block, "\n", 2)[0], "event: ")
			if i == len(blocks)-1 || strings.HasSuffix(kind, ".delta") || strings.Contains(block, "ws_up") {
				continue // the end, a text that says something else, and what is nobody's but the upstream's
			}
			put := ""
			if twice {
				put = block + block
			}
			body = strings.Join(blocks[:i], "") + put + strings.Join(blocks[i+1:], "")
			r := g.do(g.request("POST", "/v1/responses", `{"model":"m","input":"x","stream":true,"tools":`+nativeTools+`}`))
			s, err := responsestest.CheckStream([]byte(r.body))
			if err != nil || s.Final == nil || !strings.Contains(r.body, `"one `) || !strings.Contains(r.body, `second`) {
				t.Errorf("%s twice %v: %v in %s", kind, twice, err, r.body)
			}
		}
	}
}

// TestResponsesPassThroughMended has a call that the gateway repairs in mid-stream: what came before is as the
// upstream said it, the call is whole and repaired, and all of it is one answer in order.
func TestResponsesPassThroughMended(t *testing.T) {
	t.Parallel()
	url := upstream(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("content-type", events)
		_, rest, _ := strings.Cut(passed(true), "event: keepalive")
		before, _, _ := strings.Cut(passed(true), "event: keepalive")
		_, rest, _ = strings.Cut(rest, "\n\n")
		io.WriteString(w, strings.NewReplacer(`" 1.0}"`, `" 1.0,}"`, `\"a\": 1.0}`, `\"a\": 1.0,}`).Replace(before+rest))
	})
	g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q, responses: native}}\nmodels: {m: {targets: [{provider: up, model: gpt-x}]}}", url))
	final, r := g.judged(t, `{"model":"m","input":"x","stream":true,"tools":`+nativeTools+`}`, true)
	output, _ := final["output"].([]any)
	if len(output) != len(passItems) {
		t.Fatalf("got %d items: %s", len(output), r.body)
	}
	call := output[4].(map[string]any)
	if call["arguments"] != `{"a": 1.0}` || call["call_id"] != "call_up" || output[3].(map[string]any)["id"] != "msg_up" || output[5].(map[string]any)["input"] != "a \"b\"\nc" {
		t.Errorf("got %v", output)
	}
	if !strings.Contains(r.body, `"delta":"first ","obfuscation":"xYz"`) {
		t.Errorf("got %s", r.body)
	}
}

// TestResponsesNativeAzure asks Azure for a response in each form of its address, with its own header for the key and
// the deployment as the model.
func TestResponsesNativeAzure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ path, version, want string }{
		{"", "v1", "/openai/v1/responses"},
		{"", "preview", "/openai/v1/responses?api-version=preview"},
		{"/openai/v1", "", "/openai/v1/responses"},
		{"", "2025-04-01-preview", "/openai/responses?api-version=2025-04-01-preview"},
	} {
		t.Run(tt.path+" "+tt.version, func(t *testing.T) {
			t.Parallel()
			asked, key, body := "", "", ""
			url := upstream(t, func(w http.ResponseWriter, r received) {
				asked, key, body = r.URL.String(), r.Header.Get("Api-Key")+r.Header.Get("Authorization"), r.body
				w.Header().Set("content-type", "application/json")
				io.WriteString(w, passed(false))
			})
			version := ""
			if tt.version != "" {
				version = ", api_version: " + tt.version
			}
			g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: azure, base_url: %q, api_key: azure-key, responses: native%s}}\nmodels: {m: {targets: [{provider: up, model: my-deployment}]}}",
				strings.TrimSuffix(url, "/v1")+tt.path, version))
			r := g.do(g.request("POST", "/v1/responses", `{"model":"m","input":"x","unknown_field":1.50}`))
			if r.status != 200 || !strings.Contains(r.body, `"id":"msg_up"`) || asked != tt.want || key != "azure-key" || !strings.Contains(body, `"model":"my-deployment"`) || !strings.Contains(body, `"unknown_field":1.50`) {
				t.Errorf("got status %d by %s with the key %q and the body %s, want %s", r.status, asked, key, body, tt.want)
			}
		})
	}
	config := "providers: {up: {type: azure, base_url: \"https://x.openai.azure.com\", api_key: k, responses: native}}\nmodels: {m: {targets: [{provider: up}]}}\n"
	if status, _, errs := command(t, "", "check", configFile(t, config)); status == 0 || !strings.Contains(errs, "has no Responses API; write api_version: v1") {
		t.Errorf("got status %d: %s", status, errs)
	}
}
