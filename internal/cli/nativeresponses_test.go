package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
)

// nativeUpstream has OpenAI's Responses API and chat completions.
type nativeUpstream struct {
	mu     sync.Mutex
	bodies map[string][]string // by path
	output string              // the items that it answers with
	status int                 // of /responses, if it is an error
	plain  bool                // the model does not reason
}

const (
	nativeReasoning = `{"id":"rs_up","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA-up"}`
	nativeSearch    = `{"id":"ws_up","type":"web_search_call","status":"completed","action":{"type":"search","query":"x"}}`
	nativeMessage   = `{"id":"msg_up","type":"message","status":"completed","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"one two","annotations":[{"type":"url_citation","start_index":0,"end_index":3,"url":"https://x.example","title":"X"}],"logprobs":[]}]}`
	nativeCall      = `{"id":"fc_up","type":"function_call","status":"completed","call_id":"call_up","name":"get_time","arguments":"{\"a\": 1.0}"}`
	nativeCustom    = `{"id":"ctc_up","type":"custom_tool_call","status":"completed","call_id":"call_patch","name":"patch","input":"a \"b\"\nc"}`
)

func (u *nativeUpstream) serve(w http.ResponseWriter, r received) {
	u.mu.Lock()
	u.bodies[r.URL.Path] = append(u.bodies[r.URL.Path], r.body)
	u.mu.Unlock()
	switch {
	case r.URL.Path == "/v1/chat/completions":
		answerWith(w, r, "by chat")
		return
	case u.status != 0:
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(u.status)
		io.WriteString(w, `{"error":{"message":"No such thing.","type":"invalid_request_error","param":null,"code":null}}`)
		return
	}
	if u.plain && strings.Contains(r.body, "reasoning.encrypted_content") {
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include","code":null}}`)
		return
	}
	whole := func(status, output, usage string) string {
		return `{"id":"resp_up","object":"response","created_at":7,"status":"` + status + `","model":"gpt-x","output":[` + output + `],"service_tier":"default","usage":` + usage + `}`
	}
	const usage = `{"input_tokens":11,"input_tokens_details":{"cached_tokens":5},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":20}`
	if !r.wantsStream() {
		w.Header().Set("content-type", "application/json")
		io.WriteString(w, whole("completed", u.output, usage))
		return
	}
	w.Header().Set("content-type", events)
	n := 0
	event := func(kind, members string) {
		fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", kind, kind, n, members)
		n++
	}
	event("response.created", `"response":`+whole("in_progress", "", "null"))
	event("response.in_progress", `"response":`+whole("in_progress", "", "null"))
	var items []json.RawMessage
	_ = json.Unmarshal([]byte("["+u.output+"]"), &items)
	for i, item := range items {
		var it struct {
			ID, Type, Name, Arguments, Input string
			CallID                           string `json:"call_id"`
			Phase                            json.RawMessage
		}
		_ = json.Unmarshal(item, &it)
		at := fmt.Sprintf(`"item_id":%q,"output_index":%d`, it.ID, i)
		phase := ""
		if it.Phase != nil {
			phase = `,"phase":` + string(it.Phase)
		}
		added := map[string]string{
			"reasoning":        `,"summary":[]}`,
			"web_search_call":  `,"status":"in_progress"}`,
			"message":          `,"status":"in_progress","role":"assistant","content":[]` + phase + `}`,
			"function_call":    fmt.Sprintf(`,"status":"in_progress","call_id":%q,"name":%q,"arguments":""}`, it.CallID, it.Name),
			"custom_tool_call": fmt.Sprintf(`,"status":"in_progress","call_id":%q,"name":%q,"input":""}`, it.CallID, it.Name),
		}[it.Type]
		event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":{"id":%q,"type":%q%s`, i, it.ID, it.Type, added))
		switch it.Type {
		case "reasoning":
			event("response.reasoning_summary_part.added", at+`,"summary_index":0,"part":{"type":"summary_text","text":""}`)
			event("response.reasoning_summary_text.delta", at+`,"summary_index":0,"delta":"hm"`)
			event("response.reasoning_summary_text.done", at+`,"summary_index":0,"text":"hm"`)
		case "web_search_call":
			event("response.web_search_call.in_progress", at)
			event("response.web_search_call.searching", at)
			event("response.web_search_call.completed", at)
		case "message":
			event("response.content_part.added", at+`,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`)
			event("response.output_text.delta", at+`,"content_index":0,"delta":"one ","logprobs":[]`)
			event("response.output_text.delta", at+`,"content_index":0,"delta":"two","logprobs":[]`)
			if strings.Contains(string(item), "url_citation") {
				event("response.output_text.annotation.added", at+`,"content_index":0,"annotation_index":0,"annotation":{"type":"url_citation","start_index":0,"end_index":3,"url":"https://x.example","title":"X"}`)
			}
			event("response.output_text.done", at+`,"content_index":0,"text":"one two"`)
		case "function_call":
			event("response.function_call_arguments.delta", at+`,"delta":"{\"a\":"`)
			event("response.function_call_arguments.delta", at+`,"delta":" 1.0}"`)
			event("response.function_call_arguments.done", at+`,"arguments":"{\"a\": 1.0}"`)
		case "custom_tool_call":
			event("response.custom_tool_call_input.delta", at+`,"delta":"a \"b"`)
			event("response.custom_tool_call_input.delta", at+`,"delta":"\"\nc"`)
			event("response.custom_tool_call_input.done", at+`,"input":"a \"b\"\nc"`)
		}
		event("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, i, item))
	}
	event("response.completed", `"response":`+whole("completed", u.output, usage))
}

func newNative(t *testing.T, keys string) (*nativeUpstream, *gate) {
	u := &nativeUpstream{bodies: map[string][]string{}, output: strings.Join([]string{nativeReasoning, nativeSearch, nativeMessage, nativeCall, nativeCustom}, ",")}
	url := upstream(t, u.serve)
	return u, serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q, responses: native, retry: {max_retries: 0}}, other: {type: openai, base_url: %q}}\n"+
		"models: {m: {%stargets: [{provider: up, model: gpt-x}]}, both: {targets: [{provider: up, model: gpt-x}, {provider: other, model: other}]}, chat: {targets: [{provider: other, model: other}]}}", url, url, keys))
}

const nativeTools = `[{"type":"web_search"},{"type":"function","name":"get_time","parameters":{"type":"object"}},{"type":"custom","name":"patch"}]`

// judged asks for a response and judges it.
func (g *gate) judged(t *testing.T, body string, stream bool) (responsestest.Object, result) {
	t.Helper()
	r := g.do(g.request("POST", "/v1/responses", body))
	if r.status != http.StatusOK {
		t.Fatalf("got status %d: %s", r.status, r.body)
	}
	if !stream {
		response, err := responsestest.CheckResponse([]byte(r.body))
		if err != nil {
			t.Errorf("%v in %s", err, r.body)
		}
		return response, r
	}
	s, err := responsestest.CheckStream([]byte(r.body))
	if err != nil {
		t.Errorf("%v in\n%s", err, r.body)
	}
	return s.Final, r
}

// TestResponsesNative has an upstream that speaks the Responses API: the client's request reaches it but
// for the state, which is the gateway's, and the items of the answer reach the client.
func TestResponsesNative(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprint(stream), func(t *testing.T) {
			t.Parallel()
			u, g := newNative(t, "")
			body := fmt.Sprintf(`{ "model":"m","input":[{"role":"user","content":[{"type":"input_image","file_id":"file_1"}],"odd":1.50}],"tools":%s,"stream":%v,"reasoning":{"effort":"low","summary":"auto"},"unknown_field":{"a":1.0}}`, nativeTools, stream)
			first, r := g.judged(t, body, stream)
			for _, kept := range []string{`"input":[{"role":"user","content":[{"type":"input_image","file_id":"file_1"}],"odd":1.50}]`, `"tools":` + nativeTools, `"unknown_field":{"a":1.0}`,
				`"reasoning":{"effort":"low","summary":"auto"}`, `"store":false`, `"include":["reasoning.encrypted_content"]`, `"model":"gpt-x"`} {
				if sent := u.bodies["/v1/responses"][0]; !strings.Contains(sent, kept) {
					t.Errorf("got no %s in %s", kept, sent)
				}
			}
			if w := r.header.Get("x-callgate-warnings"); w != "" || strings.Contains(r.body, "warnings=") {
				t.Errorf("got the warnings %q: %s", w, r.body)
			}
			got := wordsOf(first)
			const want = "reasoning hm | web_search_call | message one two (1 notes, commentary) | function_call get_time {\"a\": 1.0} | custom_tool_call patch a \"b\"\nc"
			if got != want || strings.Contains(r.body, "gAAA") || first["store"] != true {
				t.Errorf("got  %s\nwant %s\n%s", got, want, r.body)
			}
			if u := first["usage"].(map[string]any); u["input_tokens"] != 11.0 || u["output_tokens"] != 9.0 || u["output_tokens_details"].(map[string]any)["reasoning_tokens"] != 4.0 {
				t.Errorf("got the usage %v", u)
			}
			if stream && !strings.Contains(r.body, "event: response.web_search_call.searching\n") {
				t.Errorf("got no event of the search:\n%s", r.body)
			}

			// The next turn brings what the upstream has encrypted back, and the items in their order.
			u.output = strings.Replace(nativeMessage, `"phase":"commentary",`, "", 1)
			next := fmt.Sprintf(`{"model":"m","previous_response_id":%q,"stream":%v,"input":[{"type":"function_call_output","call_id":"call_up","output":"noon"},{"type":"custom_tool_call_output","call_id":"call_patch","output":"done"}]}`, first["id"], stream)
			g.judged(t, next, stream)
			var sent struct {
				Previous string `json:"previous_response_id"`
				Input    []map[string]any
			}
			last := u.bodies["/v1/responses"][1]
			if err := json.Unmarshal([]byte(last), &sent); err != nil {
				t.Fatal(err)
			}
			kinds := ""
			for _, item := range sent.Input {
				kind, _ := item["type"].(string)
				kinds += kind + " "
			}
			if kinds != "message reasoning web_search_call message function_call custom_tool_call function_call_output custom_tool_call_output " ||
				sent.Input[1]["encrypted_content"] != "gAAA-up" || sent.Previous != "" || sent.Input[3]["phase"] != "commentary" || sent.Input[5]["input"] != "a \"b\"\nc" {
				t.Errorf("got %s: %s", kinds, last)
			}
			if n := len(u.bodies["/v1/chat/completions"]); n > 0 {
				t.Errorf("got %d chat completions", n)
			}

			// Another upstream gets what it can read of the same conversation.
			if r := g.do(g.request("POST", "/v1/responses", strings.Replace(next, `"m"`, `"chat"`, 1))); r.status != http.StatusBadRequest || !strings.Contains(r.body, "file_id") {
				t.Errorf("got status %d for a file that chat completions cannot have: %s", r.status, r.body)
			}
		})
	}
}

// wordsOf are the items of a response in a few words.
func wordsOf(r responsestest.Object) string {
	var list []string
	output, _ := r["output"].([]any)
	for _, o := range output {
		item := o.(map[string]any)
		said := fmt.Sprint(item["type"])
		switch item["type"] {
		case "message":
			part := item["content"].([]any)[0].(map[string]any)
			said += fmt.Sprintf(" %v (%d notes, %v)", part["text"], len(part["annotations"].([]any)), item["phase"])
		case "reasoning":
			said += " " + item["summary"].([]any)[0].(map[string]any)["text"].(string)
		case "function_call":
			said += fmt.Sprintf(" %v %v", item["name"], item["arguments"])
		case "custom_tool_call":
			said += fmt.Sprintf(" %v %v", item["name"], item["input"])
		}
		list = append(list, said)
	}
	return strings.Join(list, " | ")
}

// TestResponsesNativeEdits has the gateway's own edits of such a request, and a target that takes chat
// completions alone behind one that fails.
func TestResponsesNativeEdits(t *testing.T) {
	t.Parallel()
	u, g := newNative(t, "date_context: UTC, guard: enforce, ")
	u.output = `{"id":"msg_up","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Done! I've deleted the task \"Buy milk\".","annotations":[]}]}`
	body := `{"model":"m","instructions":"Be brief.","input":"Delete the task Buy milk.","tools":[{"type":"function","name":"delete_task","parameters":{"type":"object","properties":{"title":{"type":"string"}}}},{"type":"web_search"}]}`
	g.do(g.request("POST", "/v1/responses", body))
	if len(u.bodies["/v1/responses"]) != 2 || len(u.bodies["/v1/chat/completions"]) != 0 {
		t.Fatalf("got the requests %v", u.bodies)
	}
	again := u.bodies["/v1/responses"][1]
	for _, want := range []string{`"instructions":"Be brief.\n\nToday's date is `, `"tool_choice":`, `{"role":"user","content":"Delete the task Buy milk."},{"role":"user","content":"`, `{"type":"web_search"}`} {
		if !strings.Contains(again, want) {
			t.Errorf("got no %s in %s", want, again)
		}
	}
	u.status = http.StatusServiceUnavailable
	response, r := g.judged(t, strings.Replace(body, `"m"`, `"both"`, 1), false)
	if !strings.HasPrefix(wordsOf(response), "message by chat") || r.header.Get("x-callgate-fallbacks") != "1" || !strings.Contains(r.header.Get("x-callgate-warnings"), "tool_dropped:web_search") {
		t.Errorf("got %s with the header %v", wordsOf(response), r.header)
	}
	u.status = http.StatusBadRequest
	if r := g.do(g.request("POST", "/v1/responses", body)); r.status != http.StatusBadRequest || !strings.Contains(r.body, "No such thing.") {
		t.Errorf("got status %d: %s", r.status, r.body)
	}
}

// TestResponsesNativeTruncation has an upstream that speaks the Responses API refuse a request for its
// length: what is asked then, at once and in the background, has all that the client asked for, tools
// that chat completions do not have among it, and goes where its metadata leads.
func TestResponsesNativeTruncation(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var paths []string
	last := ""
	url := upstream(t, func(w http.ResponseWriter, r received) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("content-type", "application/json")
		paths = append(paths, r.URL.Path)
		if len(r.body) > 3000 {
			w.WriteHeader(http.StatusBadRequest)
			send(w, `{"error":{"message":"This model's maximum context length is 500 tokens. However, you requested 900 tokens.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`)
			return
		}
		last = r.body
		if r.URL.Path != "/v1/responses" {
			send(w, completion("by chat"))
			return
		}
		send(w, `{"id":"resp_up","object":"response","created_at":7,"status":"completed","model":"gpt-x","output":[`+nativeMessage+`]}`)
	})
	g := serve(t, fmt.Sprintf("log: {level: error}\nadmin: {listen: off}\nproviders: {up: {type: openai, base_url: %q, responses: native}, other: {type: openai, base_url: %q}}\n"+
		"models: {m: {rules: [{when: {metadata: {region: eu}}, targets: [{provider: up, model: gpt-x}]}], targets: [{provider: other, model: other}]}}\n", url, url))
	var items []string
	for i := range 12 {
		items = append(items, fmt.Sprintf(`{"role":"user","content":"turn %d %s"}`, i, strings.Repeat("word ", 60)))
	}
	body := `{"model":"m","input":[` + strings.Join(items, ",") + `],"tools":` + nativeTools + `,"truncation":"auto","metadata":{"region":"eu"},"background":%v}`
	for _, background := range []bool{false, true} {
		paths, last = nil, ""
		got := g.call(200, "POST", "/v1/responses", fmt.Sprintf(body, background))
		if background {
			g.until(text(got, "id"), "completed")
		}
		mu.Lock()
		if fmt.Sprint(paths) != "[/v1/responses /v1/responses]" || !strings.Contains(last, `{"type":"web_search"}`) || !strings.Contains(last, "turn 11 ") || strings.Contains(last, "turn 0 ") {
			t.Errorf("background %v: got the paths %v and last the request %s", background, paths, last)
		}
		mu.Unlock()
	}
}

// TestReasoningAcrossProtocols has a conversation of which the Responses API's upstream gives the first turn, one of
// chat completions the second, since the first is away, and the first the third: what was thought in words goes to both,
// and what is encrypted comes back to who has encrypted it, as it was.
func TestReasoningAcrossProtocols(t *testing.T) {
	t.Parallel()
	const thought = `{"id":"rs_up","type":"reasoning","encrypted_content":"gAAA-up","summary":[{"type":"summary_text","text":"hm"}]}`
	for _, kept := range []bool{false, true} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("kept %v, stream %v", kept, stream), func(t *testing.T) {
				t.Parallel()
				var native, chat string
				away := false
				u := &nativeUpstream{bodies: map[string][]string{}, output: thought + "," + nativeCall}
				url := upstream(t, func(w http.ResponseWriter, r received) {
					switch {
					case r.URL.Path != "/v1/responses":
						chat = r.body
						w.Header().Set("content-type", map[bool]string{false: "application/json", true: events}[stream])
						if stream {
							send(w, "data: "+`{"choices":[{"index":0,"delta":{"role":"assistant","content":"by chat"},"finish_reason":null}]}`+"\n\ndata: "+`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
							return
						}
						send(w, completion("by chat"))
					case away:
						w.WriteHeader(http.StatusServiceUnavailable)
					default:
						native = r.body
						u.serve(w, r)
					}
				})
				g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q, responses: native, retry: {max_retries: 0}}, other: {type: openai, base_url: %q}}\n"+
					"models: {m: {targets: [{provider: up, model: gpt-x}, {provider: other, model: other}]}}", url, url))
				history := []json.RawMessage{json.RawMessage(`{"role":"user","content":"one"}`)}
				previous := ""
				turn := func(items ...string) {
					t.Helper()
					input := "[" + strings.Join(items, ",") + "]"
					for _, item := range items {
						history = append(history, json.RawMessage(item))
					}
					if !kept {
						all, _ := json.Marshal(history)
						input = string(all)
					}
					body := fmt.Sprintf(`{"model":"m","input":%s,"stream":%v,"store":%v,"include":["reasoning.encrypted_content"],"tools":%s%s}`, input, stream, kept, nativeTools, previous)
					final, _ := g.judged(t, body, stream)
					for _, item := range final["output"].([]any) {
						raw, _ := json.Marshal(item)
						history = append(history, raw)
					}
					if kept {
						previous = fmt.Sprintf(`,"previous_response_id":%q`, final["id"])
					}
				}
				turn(`{"role":"user","content":"go"}`)
				away = true
				turn(`{"type":"function_call_output","call_id":"call_up","output":"noon"}`)
				if !strings.Contains(chat, `"reasoning_content":"hm"`) || !strings.Contains(chat, `"call_up"`) || !strings.Contains(chat, "noon") {
					t.Errorf("got the chat completion %s", chat)
				}
				away, native = false, ""
				turn(`{"role":"user","content":"on"}`)
				if !strings.Contains(native, `"encrypted_content":"gAAA-up"`) || !strings.Contains(native, `"text":"hm"`) || !strings.Contains(native, "by chat") || !strings.Contains(native, "noon") {
					t.Errorf("got the request %s", native)
				}
			})
		}
	}
}

// TestResponsesNativeWithoutReasoning has a model that refuses what the gateway includes: it is asked again without,
// and the next time at once. What a client includes itself is the client's.
func TestResponsesNativeWithoutReasoning(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprint(stream), func(t *testing.T) {
			t.Parallel()
			u, g := newNative(t, "")
			u.plain = true
			const sent = `"input":"x"`
			for i, asked := range []int{2, 3} {
				body := fmt.Sprintf(`{"model":"m",%s,"stream":%v}`, sent, stream)
				_, r := g.judged(t, body, stream)
				if got, want := r.header.Get("x-callgate-attempts"), fmt.Sprint(2-i); got != want {
					t.Errorf("request %d: got %s attempts in the header, want %s", i, got, want)
				}
				if got := len(u.bodies["/v1/responses"]); got != asked {
					t.Errorf("request %d: got %d requests upstream so far, want %d", i, got, asked)
				}
				if said := r.header.Get("x-callgate-warnings") + r.body; !strings.Contains(said, "encrypted_reasoning_not_asked") {
					t.Errorf("got no warning in %s", said)
				}
			}
			r := g.do(g.request("POST", "/v1/responses", fmt.Sprintf(`{"model":"m",%s,"stream":%v,"include":["reasoning.encrypted_content"]}`, sent, stream)))
			if r.status != http.StatusBadRequest || !strings.Contains(r.body, "Encrypted content is not supported") {
				t.Errorf("got status %d: %s", r.status, r.body)
			}
		})
	}
}

// TestResponsesNativeRefusesAlways has an upstream that says the same of every request: it is asked once more, and no further.
func TestResponsesNativeRefusesAlways(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	url := upstream(t, func(w http.ResponseWriter, _ received) {
		asked.Add(1)
		w.Header().Set("content-type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":{"message":"Encrypted content is not supported with this model.","type":"invalid_request_error","param":"include","code":null}}`)
	})
	g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q, responses: native}}\nmodels: {m: {targets: [{provider: up, model: gpt-x}]}}", url))
	for i := range 3 {
		r := g.do(g.request("POST", "/v1/responses", `{"model":"m","input":"x"}`))
		if got := asked.Load(); r.status != http.StatusBadRequest || got != int64(2*(i+1)) || r.header.Get("x-callgate-attempts") != "2" {
			t.Errorf("request %d: got status %d after %d requests so far, %s attempts", i, r.status, got, r.header.Get("x-callgate-attempts"))
		}
	}
}
