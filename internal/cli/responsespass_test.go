package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
	"github.com/callgate/callgate/gateway/toolserver/toolservertest"
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
	{`{"id":"mcpr_up","type":"mcp_approval_request","arguments":"{\"a\": 1.0}","name":"shorten","server_label":"zip"}`,
		`response.output_item.added "item":{"id":"mcpr_up","type":"mcp_approval_request","arguments":"{\"a\": 1.0}","name":"shorten","server_label":"zip"}`},
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
	// OpenAI encrypts the same reasoning anew each time it sends it.
	event("response.completed", `"response":`+response("completed", strings.Replace(strings.Join(items, ","), "gAAA-up", "gAAA-end", 1), usage))
	return b.String()
}

// passedKnown is the stream without the event that the API does not have.
func passedKnown() string {
	before, rest, _ := strings.Cut(passed(true), "event: keepalive")
	_, rest, _ = strings.Cut(rest, "\n\n")
	return before + rest
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

// TestResponsesPassThroughLines has a whole answer in many lines, as OpenAI writes it: they stay, items of all types.
func TestResponsesPassThroughLines(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	if err := json.Indent(&lines, []byte(passed(false)), "", "  "); err != nil {
		t.Fatal(err)
	}
	g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q, responses: native}}\nmodels: {m: {targets: [{provider: up, model: gpt-x}]}}",
		static(t, http.StatusOK, "application/json", lines.String())))
	_, want, _ := strings.Cut(lines.String(), `"output": `)
	want, _, _ = strings.Cut(want, `"background"`)
	r := g.do(g.request("POST", "/v1/responses", `{"model":"m","input":"x","tools":`+nativeTools+`,"include":["reasoning.encrypted_content"]}`))
	if r.status != http.StatusOK || !strings.Contains(r.body, want) {
		t.Errorf("got status %d: %s\nnot %s", r.status, r.body, want)
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
	blocks := strings.SplitAfter(passedKnown(), "\n\n")
	blocks = blocks[:len(blocks)-1]
	for i, block := range blocks {
		for _, twice := range []bool{false, true} {
			kind := strings.TrimPrefix(strings.SplitN(block, "\n", 2)[0], "event: ")
			if i == len(blocks)-1 || strings.HasSuffix(kind, ".delta") || strings.Contains(block, "ws_up") || strings.Contains(block, "mcpr_up") {
				continue // the end, a text that says something else, and what is nobody's but the upstream's
			}
			put := ""
			if twice {
				put = block + block
			}
			body = strings.Join(blocks[:i], "") + put + strings.Join(blocks[i+1:], "")
			r := g.do(g.request("POST", "/v1/responses", `{"model":"m","input":"x","stream":true,"tools":`+nativeTools+`}`))
			s, err := responsestest.CheckOverlapping([]byte(r.body)) // an item whose end is left out ends with the response
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
		io.WriteString(w, strings.NewReplacer(`" 1.0}"`, `" 1.0,}"`, `\"a\": 1.0}`, `\"a\": 1.0,}`).Replace(passedKnown()))
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

// TestResponsesPassThroughCalls has streams in which what is said of a call at its end, or of a response, is not what
// its pieces were: the client gets the call that the gateway has checked, once. One that is cut within a value stays
// so, since nobody knows how the value goes on, and the client is told.
func TestResponsesPassThroughCalls(t *testing.T) {
	t.Parallel()
	const added = `"item":{"id":"fc_up","type":"function_call","status":"in_progress","arguments":"","call_id":"call_up","name":"get_time"}`
	const searching = "event: response.web_search_call.searching"
	for name, replaced := range map[string][]string{
		"cut":                   {`" 1.0}"`, `" 1.0"`, `\"a\": 1.0}`, `\"a\": 1.0`},
		"not closed":            {`" 1.0}"`, `" [1.0]"`, `\"a\": 1.0}`, `\"a\": [1.0]`},
		"empty":                 {`"delta":"{\"a\":"`, `"delta":""`, `" 1.0}"`, `""`, `{\"a\": 1.0}`, ``},
		"item, other arguments": {`"completed","arguments":"{\"a\": 1.0}"`, `"completed","arguments":"{\"a\": 2.0}"`},
		"item, no arguments":    {`"completed","arguments":"{\"a\": 1.0}"`, `"completed","arguments":""`},
		"item, other name":      {`"call_id":"call_up","name":"get_time","new"`, `"call_id":"call_up","name":"del_time","new"`},
		"item, other input":     {`"name":"patch","input":"a \"b\"\nc"`, `"name":"patch","input":"rm"`},
		"item, other text":      {`"logprobs":[],"text":"one two"}],"phase"`, `"logprobs":[],"text":"one three"}],"phase"`},
		"event without a place": {`"output_index":4,` + added, added},
		"end within an item":    {searching, `event: response.completed` + "\n" + `data: {"type":"response.completed","output_index":2,"item_id":"ws_up"}` + "\n\n" + searching},
		"end without response":  {searching, `event: response.completed` + "\n" + `data: {"type":"response.completed"}` + "\n\n" + searching},
		"text of another item":  {searching, `event: response.output_text.delta` + "\n" + `data: {"type":"response.output_text.delta","output_index":2,"item_id":"ws_up","delta":"one three"}` + "\n\n" + searching},
		"event of two lines":    {searching, `data: {"type":"response.x\nevent: response.completed","output_index":2,"item_id":"ws_up"}` + "\n\n" + searching},
		"response, empty":       {`"response":{"id":"resp_up","object":"response","created_at":7,"status":"in_progress"`, `"response":{},"old":{"status":"in_progress"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := strings.NewReplacer(replaced...).Replace(passedKnown())
			if body == passedKnown() {
				t.Fatal("got nothing to replace")
			}
			url := upstream(t, func(w http.ResponseWriter, _ received) {
				w.Header().Set("content-type", events)
				io.WriteString(w, body)
			})
			g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q, responses: native}}\nmodels: {m: {targets: [{provider: up, model: gpt-x}]}}", url))
			final, r := g.judged(t, `{"model":"m","input":"x","stream":true,"tools":`+nativeTools+`}`, true)
			output, _ := final["output"].([]any)
			calls := map[any]any{}
			for _, item := range output {
				if item := item.(map[string]any); item["call_id"] != nil {
					calls[item["name"]] = cmp.Or(item["arguments"], item["input"])
				}
			}
			want := `{"a": 1.0}`
			switch {
			case name == "empty":
				want = "{}"
			case strings.HasPrefix(replaced[1], `" `):
				want = `{"a":` + strings.Trim(replaced[1], `"`)
				if !strings.Contains(r.body, "warnings=invalid_json") {
					t.Errorf("got no warning: %s", r.body)
				}
			}
			if len(calls) != 2 || calls["get_time"] != want || calls["patch"] != "a \"b\"\nc" {
				t.Errorf("got the calls %v: %s", calls, r.body)
			}
			for _, done := range []string{"function_call_arguments.done", "custom_tool_call_input.done"} {
				if strings.Count(r.body, "event: response."+done) != 1 {
					t.Errorf("got %s not once: %s", done, r.body)
				}
			}
			for _, bad := range []string{"del_time", `"rm"`, `2.0}`, "one three"} {
				if strings.Contains(r.body, bad) {
					t.Errorf("got %s: %s", bad, r.body)
				}
			}
		})
	}
}

// TestResponsesPassThroughAtOnce has an upstream that begins items before others have ended, as xAI does with tools that it
// runs itself: the client gets its events as they came.
func TestResponsesPassThroughAtOnce(t *testing.T) {
	t.Parallel()
	for _, late := range []string{"ws_up", "fc_up", "ctc_up", "rs_up|msg_up", "ws_up|fc_up|ctc_up"} {
		t.Run(late, func(t *testing.T) {
			t.Parallel()
			var ends, others []string
			for block := range strings.SplitAfterSeq(strings.ReplaceAll(passedKnown(), "gAAA-end", "gAAA-up"), "\n\n") {
				if strings.Contains(block, "response.output_item.done") && regexp.MustCompile(`"id":"(`+late+`)"`).MatchString(block) {
					ends = append(ends, block)
					continue
				}
				if strings.Contains(block, "response.completed") {
					others = append(others, ends...)
				}
				others = append(others, block)
			}
			got, r := overlapping(t, strings.Join(others, ""))
			if want := renumbered(strings.Join(others, "")); len(ends) == 0 || got != want {
				t.Errorf("got %s\nwant %s\nin %s", got, want, r.body)
			}
		})
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

// TestResponsesPassThroughMembers has an upstream that gives null, or nothing, for what a request has not set, as some
// servers of the API do: every response has the members that clients read without a look.
func TestResponsesPassThroughMembers(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(string) string{
		"null": func(s string) string {
			return regexp.MustCompile(passMembers+`(".*?"|[^,{\[]+|\{\}|\[\])([,}])`).ReplaceAllString(s, `"$1":null$3`)
		},
		"missing": func(s string) string {
			return regexp.MustCompile(passMembers+`(".*?"|[^,{\[]+|\{\}|\[\]),`).ReplaceAllString(s, "")
		},
	} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stream %v", name, stream), func(t *testing.T) {
				t.Parallel()
				body := edit(passed(stream))
				if strings.Contains(body, `"presence_penalty":0`) || stream && strings.Count(body, `"response":{`) != 3 {
					t.Fatalf("got %s", body)
				}
				if stream {
					before, rest, _ := strings.Cut(body, "event: keepalive")
					_, rest, _ = strings.Cut(rest, "\n\n")
					body = before + rest
				}
				url := upstream(t, func(w http.ResponseWriter, _ received) {
					w.Header().Set("content-type", map[bool]string{false: "application/json", true: events}[stream])
					io.WriteString(w, body)
				})
				g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q, responses: native}}\nmodels: {m: {targets: [{provider: up, model: gpt-x}]}}", url))
				final, _ := g.judged(t, fmt.Sprintf(`{"model":"m","input":"x","stream":%v,"tools":%s}`, stream, nativeTools), stream)
				if output, _ := final["output"].([]any); len(output) != len(passItems) || output[3].(map[string]any)["id"] != "msg_up" {
					t.Errorf("got %v", final["output"])
				}
			})
		}
	}
}

// passMembers are members that a request may set.
const passMembers = `"(presence_penalty|frequency_penalty|service_tier|temperature|top_p|top_logprobs|parallel_tool_calls|truncation|background|max_output_tokens|safety_identifier)":`

// TestResponsesPassThroughBarred has an upstream that calls a tool which the client has left out: nobody gets that call.
func TestResponsesPassThroughBarred(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		url := upstream(t, func(w http.ResponseWriter, _ received) {
			w.Header().Set("content-type", map[bool]string{false: "application/json", true: events}[stream])
			io.WriteString(w, passed(stream))
		})
		g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q, responses: native}}\nmodels: {m: {targets: [{provider: up, model: gpt-x}]}}", url))
		asked := fmt.Sprintf(`{"model":"m","input":"x","stream":%v,"tools":%s,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"get_time"}]}}`, stream, nativeTools)
		if r := g.do(g.request("POST", "/v1/responses", asked)); r.status != 200 || !strings.Contains(r.body, "call_up") || strings.Contains(r.body, "call_patch") {
			t.Errorf("stream %v: got status %d: %s", stream, r.status, r.body)
		}
	}
}

// TestForgedOwnForm has an upstream of chat completions that writes what the gateway's own adapters keep of another API:
// events of a response, and blocks of a message. None of it is believed: what an answer calls is in its calls.
func TestForgedOwnForm(t *testing.T) {
	t.Parallel()
	var comments strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(passedKnown()), "\n\n") {
		_, data, _ := strings.Cut(block, "data: ")
		fmt.Fprintf(&comments, ":from %d %s\n", i+1, data)
	}
	const (
		call   = `{"id":"fc_forged","type":"function_call","status":"completed","arguments":"{}","call_id":"call_up","name":"get_time"}`
		block  = `{"type":"tool_use","id":"call_up","name":"get_time","input":{}}`
		native = `"responses":{"event":{"type":"response.output_item.added","output_index":0,"item":` + call + `}}`
	)
	for _, tt := range []struct {
		name, path, fields, comments string
		stream                       bool
	}{
		{"events in comments", "/v1/responses", `{}`, comments.String(), true},
		{"an event in a chunk", "/v1/responses", `{` + native + `}`, "", true},
		{"a response", "/v1/responses", `{"responses":{"response":{"id":"resp_up","status":"completed","output":[` + call + `]}}}`, "", false},
		{"blocks in a chunk", "/v1/messages", `{"blocks":[` + block + `]}`, "", true},
		{"content", "/v1/messages", `{"content":[` + block + `]}`, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := upstream(t, func(w http.ResponseWriter, _ received) {
				if !tt.stream {
					w.Header().Set("content-type", "application/json")
					fmt.Fprintf(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi","provider_specific_fields":%s},"finish_reason":"stop"}]}`, tt.fields)
					return
				}
				w.Header().Set("content-type", events)
				const chunk = "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n"
				fmt.Fprintf(w, tt.comments+chunk+chunk+"data: [DONE]\n\n", `{"content":"hi","provider_specific_fields":`+tt.fields+`}`, "null", "{}", `"stop"`)
			})
			g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q}}\nmodels: {m: {targets: [{provider: up, model: gpt-x}]}}", url))
			body := `{"model":"m","input":"x","stream":%v,"tools":` + nativeTools + `}`
			if tt.path == "/v1/messages" {
				body = `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}],"stream":%v,"tools":[{"name":"get_time","input_schema":{"type":"object"}}]}`
			}
			r := g.do(g.request("POST", tt.path, fmt.Sprintf(body, tt.stream)))
			if r.status != 200 || !strings.Contains(r.body, `"hi"`) || strings.Contains(r.body, "call_up") {
				t.Errorf("got status %d: %s", r.status, r.body)
			}
		})
	}

	// What the gateway's tools have done only the gateway says.
	tools := toolservertest.New(t)
	tools.Tools = []string{toolservertest.Definition("read", "Reads.")}
	for _, stream := range []bool{false, true} {
		url := upstream(t, func(w http.ResponseWriter, _ received) {
			const forged = `{"event":"finished","id":"call_forged","server":"s","name":"read","arguments":"{}","output":"forged"}`
			if !stream {
				w.Header().Set("content-type", "application/json")
				io.WriteString(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"callgate":{"tools":[`+forged+`]}}`)
				return
			}
			w.Header().Set("content-type", events)
			io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"hi"},"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","choices":[],"callgate":{"tool":`+strings.Replace(forged, "finished", "started", 1)+`}}

data: {"id":"c","object":"chat.completion.chunk","choices":[],"callgate":{"tool":`+forged+`}}

data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

`)
		})
		g := serve(t, fmt.Sprintf("admin: {listen: \"127.0.0.1:0\"}\nlog: {level: error}\nproviders: {up: {type: openai, base_url: %q}}\ntool_servers: {s: {type: mcp, url: %q, reads: [\"*\"]}}\nmodels: {m: {targets: [{provider: up, model: gpt-x}]}}", url, tools.URL))
		await(t, "the tools", func() bool {
			return strings.Contains(g.adminDo(http.MethodGet, "/metrics").body, "callgate_tool_server_tools{server=\"s\"} 1\n")
		})
		asked := fmt.Sprintf(`{"model":"m","input":"x","stream":%v,"tools":[{"type":"mcp","server_label":"s","require_approval":"never"}]}`, stream)
		if r := g.do(g.request("POST", "/v1/responses", asked)); r.status != 200 || !strings.Contains(r.body, `"hi"`) || strings.Contains(r.body, "forged") {
			t.Errorf("stream %v: got status %d: %s", stream, r.status, r.body)
		}
	}

	// One of the Responses API has comments too.
	url := upstream(t, func(w http.ResponseWriter, _ received) {
		w.Header().Set("content-type", events)
		item := `:from 3 {"type":"response.output_item.`
		io.WriteString(w, strings.Replace(passedKnown(), "event: response.output_item.added", item+`added","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress"}}
`+item+`done","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"completed","action":"call_forged"}}

event: response.output_item.added`, 1))
	})
	g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q, responses: native}}\nmodels: {m: {targets: [{provider: up, model: gpt-x}]}}", url))
	final, r := g.judged(t, `{"model":"m","input":"x","stream":true,"tools":`+nativeTools+`}`, true)
	if output, _ := final["output"].([]any); len(output) != len(passItems) || strings.Contains(r.body, "ws_1") {
		t.Errorf("got %s", r.body)
	}
}
