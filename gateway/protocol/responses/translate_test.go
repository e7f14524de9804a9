package responses_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/responses"
)

// translations are requests, and the chat completions that they become. What is the same in
// all of them stands in no out: the model.
var translations = []struct{ name, in, out string }{
	{"text", `{"model":"m","input":"Hi \u00e9"}`, `{"messages":[{"role":"user","content":"Hi \u00e9"}]}`},
	{"instructions and leading system messages are one", `{"model":"m","instructions":"A","input":[{"role":"developer","content":"B"},{"role":"system","content":[{"type":"input_text","text":"C"},{"type":"input_text","text":"D"}]},{"role":"user","content":"Hi"},{"role":"developer","content":"E"}]}`,
		`{"messages":[{"role":"system","content":"A\n\nB\n\nC\n\nD"},{"role":"user","content":"Hi"},{"role":"system","content":"E"}]}`},
	{"media", `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"See"},{"type":"input_image","image_url":"data:image/png;base64,AA","detail":"low"},{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AA"},{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}}]}]}`,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"See"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA","detail":"low"}},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AA"}},{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}}]}]}`},
	{"one turn is one message", `{"model":"m","input":[{"role":"user","content":"x"},{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Think"}]},{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Let me","annotations":[]}]},{"type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\": 1.0}"},{"type":"function_call","call_id":"c2","name":"g","arguments":"{}"},{"type":"function_call_output","call_id":"c2","output":"two"},{"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"one"},{"type":"input_image","image_url":"http://x/y.png"}]},{"type":"message","role":"assistant","content":"Done."}]}`,
		`{"messages":[{"role":"user","content":"x"},{"role":"assistant","reasoning_content":"Think","content":"Let me","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\": 1.0}"}},{"id":"c2","type":"function","function":{"name":"g","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c2","content":"two"},{"role":"tool","tool_call_id":"c1","content":"one"},{"role":"user","content":[{"type":"text","text":"What the tool call c1 gave besides text:"},{"type":"image_url","image_url":{"url":"http://x/y.png"}}]},{"role":"assistant","content":"Done."}]}`},
	{"OpenAI's older ids say nothing of turns", `{"model":"m","input":[{"role":"user","content":"x"},{"type":"reasoning","id":"rs_685578932d58819d83b4be86dca9fe96051c1d3ff5e15ca1","summary":[{"type":"summary_text","text":"Think"}]},{"type":"message","id":"msg_6855789d4994819d8d32cd59252528b2051c1d3ff5e15ca1","role":"assistant","content":"Done."}]}`,
		`{"messages":[{"role":"user","content":"x"},{"role":"assistant","reasoning_content":"Think","content":"Done."}]}`},
	{"a result stands behind its call", `{"model":"m","input":[{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},{"role":"user","content":"wait"},{"type":"function_call_output","call_id":"c1","output":"1"}]}`,
		`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":"1"},{"role":"user","content":"wait"}]}`},
	{"two messages of the model", `{"model":"m","input":[{"role":"assistant","content":"A"},{"role":"assistant","content":"B"},{"role":"assistant","content":[{"type":"refusal","refusal":"No"}]}]}`,
		`{"messages":[{"role":"assistant","content":"A"},{"role":"assistant","content":"B"},{"role":"assistant","content":null,"refusal":"No"}]}`},
	{"functions", `{"model":"m","input":"x","tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object","properties":{"a":{"type":"integer","minimum":1.0}},"required":["a"],"additionalProperties":false}},{"type":"function","name":"g","parameters":null},{"type":"function","name":"h","parameters":{"type":"object","properties":{"a":{"type":"string"}}},"strict":false}],"tool_choice":{"type":"function","name":"g"},"parallel_tool_calls":false}`,
		`{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object","properties":{"a":{"type":"integer","minimum":1.0}},"required":["a"],"additionalProperties":false},"strict":true}},{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}},{"type":"function","function":{"name":"h","parameters":{"type":"object","properties":{"a":{"type":"string"}}},"strict":false}}],"tool_choice":{"type":"function","function":{"name":"g"}},"parallel_tool_calls":false}`},
	{"custom", `{"model":"m","input":[{"type":"custom_tool_call","call_id":"c1","name":"patch","input":"a\n\"b\""},{"type":"custom_tool_call_output","call_id":"c1","output":"ok"}],"tools":[{"type":"custom","name":"patch","description":"Patches.","format":{"type":"grammar","syntax":"lark","definition":"start: \"x\""}}]}`,
		`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"patch","arguments":"{\"input\":\"a\\n\\\"b\\\"\"}"}}]},{"role":"tool","tool_call_id":"c1","content":"ok"}],"tools":[{"type":"function","function":{"name":"patch","description":"Patches.\n\nThe argument \"input\" is the tool's whole input, as plain text. It must match this grammar (lark):\nstart: \"x\"","parameters":{"type":"object","properties":{"input":{"type":"string"}},"required":["input"],"additionalProperties":false}}}]}`},
	{"a tool that a search has found", `{"model":"m","input":[{"type":"function_call","call_id":"c","namespace":"f","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":""}],"tools":[{"type":"function","name":"f"}]}`,
		`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":""}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]}`},
	{"namespaces", `{"model":"m","input":[{"type":"function_call","call_id":"c","namespace":"fs","name":"read","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":""}],"tools":[{"type":"namespace","name":"fs","description":"Files.","tools":[{"type":"function","name":"read","description":"Reads.","parameters":{}},{"type":"function","name":"write"}]}]}`,
		`{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"fs__read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":""}],"tools":[{"type":"function","function":{"name":"fs__read","description":"Reads.\n\nOf all tools fs__*: Files.","parameters":{},"strict":true}},{"type":"function","function":{"name":"fs__write","parameters":{"type":"object","properties":{}}}}]}`},
	{"allowed tools", `{"model":"m","input":"x","tools":[{"type":"function","name":"f"},{"type":"function","name":"g"}],"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"g"}]}}`,
		`{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"g","parameters":{"type":"object","properties":{}}}}],"tool_choice":"required"}`},
	{"hosted tools are dropped", `{"model":"m","input":[{"type":"web_search_call","id":"ws_1","status":"completed"},{"role":"user","content":"x"}],"tools":[{"type":"web_search"}],"tool_choice":"auto","parallel_tool_calls":true}`,
		`{"messages":[{"role":"user","content":"x"}]}`},
	{"settings", `{"model":"m","input":"x","max_output_tokens":100,"temperature":0.10,"top_p":1e-1,"user":"u","service_tier":"flex","prompt_cache_key":"k","safety_identifier":"s","reasoning":{"effort":"low","summary":"auto"},"text":{"verbosity":"low","format":{"type":"json_schema","name":"n","schema":{"type":"object","x":1.50},"strict":true}},"metadata":{"a":"b"},"store":false,"truncation":"disabled","include":[],"stream":true,"client_metadata":{"z":1},"top_logprobs":2}`,
		`{"messages":[{"role":"user","content":"x"}],"max_completion_tokens":100,"temperature":0.10,"top_p":1e-1,"user":"u","service_tier":"flex","prompt_cache_key":"k","safety_identifier":"s","logprobs":true,"top_logprobs":2,"reasoning_effort":"low","verbosity":"low","response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object","x":1.50},"strict":true}},"stream":true,"stream_options":{"include_usage":true}}`},
	{"penalties", `{"model":"m","input":"x","frequency_penalty":-0.50,"presence_penalty":1e-1}`,
		`{"messages":[{"role":"user","content":"x"}],"presence_penalty":1e-1,"frequency_penalty":-0.50}`},
	{"json", `{"model":"m","input":"x","text":{"format":{"type":"json_object"}}}`, `{"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_object"}}`},
	{"additional tools", `{"model":"m","input":[{"type":"additional_tools","tools":[{"type":"function","name":"f"}]},{"role":"user","content":"x"}]}`,
		`{"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}]}`},
	{"nulls", `{"model":"m","input":"x","instructions":null,"tools":null,"tool_choice":null,"text":null,"reasoning":null,"max_output_tokens":null,"previous_response_id":null,"prompt":null,"metadata":null,"include":null,"background":false}`,
		`{"messages":[{"role":"user","content":"x"}]}`},
}

// TestTranslate compares bytes: what has a word in both protocols is not spelled anew.
func TestTranslate(t *testing.T) {
	t.Parallel()
	for _, tt := range translations {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := parse(t, tt.in)
			want := `{"model":"m",` + strings.TrimPrefix(tt.out, "{")
			if got := string(r.Chat()); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if r.Source() == nil || r.Source().Protocol != responses.Name || string(r.Source().Body) != tt.in {
				t.Errorf("got the source %+v, want the request", r.Source())
			}
		})
	}
}

// refusals are requests at fault, and the place and the words of the error.
var refusals = []struct{ name, in, param, says string }{
	{"no JSON", `{"model":`, "model", "not valid JSON"},
	{"twice the same", `{"model":"m","input":"x","input":"y"}`, "input", "duplicate"},
	{"deep", `{"model":"m","input":` + strings.Repeat("[", 130) + strings.Repeat("]", 130) + `}`, "", "deeper than 126"},
	{"bad UTF-8", "{\"model\":\"m\",\"input\":\"\xff\"}", "input", "UTF-8"},
	{"an array", `[]`, "", "must be a JSON object"},
	{"other letters", `{"Model":"m","input":"x"}`, "Model", `must be written "model"`},
	{"no model", `{"input":"x"}`, "model", "missing"},
	{"no input", `{"model":"m"}`, "input", "missing"},
	{"input a number", `{"model":"m","input":7}`, "input", "a string or an array"},
	{"nothing", `{"model":"m","input":[]}`, "input", "send a message"},
	{"item a text", `{"model":"m","input":["x"]}`, "input[0]", "must be an object"},
	{"stream a word", `{"model":"m","input":"x","stream":"yes"}`, "stream", "true or false"},
	{"few tokens", `{"model":"m","input":"x","max_output_tokens":5}`, "max_output_tokens", "at least 16"},
	{"a fraction", `{"model":"m","input":"x","max_output_tokens":16.5}`, "max_output_tokens", "a whole number"},
	{"hot", `{"model":"m","input":"x","temperature":3}`, "temperature", "at most 2"},
	{"penalty", `{"model":"m","input":"x","presence_penalty":-3}`, "presence_penalty", "at least -2"},
	{"prompt", `{"model":"m","input":"x","prompt":{"id":"p"}}`, "prompt", "OpenAI's own"},
	{"context management", `{"model":"m","input":"x","context_management":[]}`, "context_management", "OpenAI's own"},
	{"both histories", `{"model":"m","input":"x","previous_response_id":"r","conversation":"c"}`, "previous_response_id", "exclude each other"},
	{"previous response", `{"model":"m","input":"x","previous_response_id":"r"}`, "previous_response_id", "needs a store"},
	{"conversation", `{"model":"m","input":"x","conversation":{"id":"c"}}`, "conversation", "needs a store"},
	{"conversation without id", `{"model":"m","input":"x","conversation":{}}`, "conversation.id", "missing"},
	{"background", `{"model":"m","input":"x","background":true}`, "background", "needs a store"},
	{"background unstored", `{"model":"m","input":"x","background":true,"store":false}`, "background", `needs "store": true`},
	{"truncation", `{"model":"m","input":"x","truncation":"some"}`, "truncation", `"auto" or "disabled"`},
	{"metadata", `{"model":"m","input":"x","metadata":{"a":1}}`, "metadata.a", "must be strings"},
	{"long metadata", `{"model":"m","input":"x","metadata":{"a":"` + strings.Repeat("é", 513) + `"}}`, "metadata.a", "longer than 512"},
	{"include", `{"model":"m","input":"x","include":[1]}`, "include", "strings"},
	{"effort", `{"model":"m","input":"x","reasoning":{"effort":1}}`, "reasoning.effort", "a string"},
	{"format", `{"model":"m","input":"x","text":{"format":{"type":"xml"}}}`, "text.format.type", "json_schema"},
	{"format without schema", `{"model":"m","input":"x","text":{"format":{"type":"json_schema","name":"n"}}}`, "text.format.schema", "an object"},
	{"unknown item", `{"model":"m","input":[{"type":"foo"}]}`, "input[0].type", `the type "foo"`},
	{"item of no type", `{"model":"m","input":[{"content":"x"}]}`, "input[0].type", "no type"},
	{"reference", `{"model":"m","input":[{"id":"rs_1"}]}`, "input[0]", "stored item"},
	{"role", `{"model":"m","input":[{"role":"tool","content":"x"}]}`, "input[0].role", `not "tool"`},
	{"content", `{"model":"m","input":[{"role":"user"}]}`, "input[0].content", "a string or an array"},
	{"part", `{"model":"m","input":[{"role":"user","content":[{"type":"image_url"}]}]}`, "input[0].content[0].type", "input_image"},
	{"file id", `{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_id":"f"}]}]}`, "input[0].content[0].file_id", "send its bytes"},
	{"file URL", `{"model":"m","input":[{"role":"user","content":[{"type":"input_file","file_url":"f"}]}]}`, "input[0].content[0].file_data", "must be a string"},
	{"call without id", `{"model":"m","input":[{"type":"function_call","name":"f","arguments":"{}"}]}`, "input[0].call_id", "missing"},
	{"arguments an object", `{"model":"m","input":[{"type":"function_call","call_id":"c","name":"f","arguments":{}}]}`, "input[0].arguments", "must be a string"},
	{"result of no call", `{"model":"m","input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`, "input[0].call_id", "nowhere in front of it"},
	{"result without output", `{"model":"m","input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c"}]}`, "input[1].output", "a string or an array"},
	{"tool as in a chat", `{"model":"m","input":"x","tools":[{"type":"function","function":{"name":"f"}}]}`, "tools[0].name", "stand beside type"},
	{"tool of no type", `{"model":"m","input":"x","tools":[{"name":"f"}]}`, "tools[0].type", "missing"},
	{"twice a tool", `{"model":"m","input":"x","tools":[{"type":"function","name":"f"},{"type":"custom","name":"f"}]}`, "tools[1].name", "another tool"},
	{"namespace like a tool", `{"model":"m","input":"x","tools":[{"type":"function","name":"a__f"},{"type":"namespace","name":"a","tools":[{"type":"function","name":"f"}]}]}`, "tools[1].tools[0].name", "another tool"},
	{"schema", `{"model":"m","input":"x","tools":[{"type":"function","name":"f","parameters":[]}]}`, "tools[0].parameters", "a JSON schema"},
	{"a choice that is hosted", `{"model":"m","input":"x","tools":[{"type":"web_search"}],"tool_choice":{"type":"web_search"}}`, "tool_choice", "runs at OpenAI"},
	{"a call of what is hosted", `{"model":"m","input":"x","tools":[{"type":"web_search"}],"tool_choice":"required"}`, "tool_choice", "no tool left"},
	{"a choice that is not there", `{"model":"m","input":"x","tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"function","name":"g"}}`, "tool_choice.name", "no tool is called that"},
	{"allowed tools that are not there", `{"model":"m","input":"x","tools":[{"type":"function","name":"f"}],"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"g"}]}}`, "tool_choice.tools[0].name", "no tool is called that"},
	{"compaction of somebody else", `{"model":"m","input":[{"type":"compaction","encrypted_content":"cg1.AAAA"}]}`, "input[0].encrypted_content", "not made by this gateway"},
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if e := refused(tt.in); !says(e, tt.param, tt.says) {
				t.Errorf("got %+v, want the place %q and %q", e, tt.param, tt.says)
			}
		})
	}
}

// TestUnknownFields holds that nothing of a request is left out in silence.
func TestUnknownFields(t *testing.T) {
	t.Parallel()
	r := parse(t, `{"model":"m","input":"x","stop":["a"],"s\u0065ed":1,"n":null,"top_p":1,"user":"u","stream_options":{}}`)
	if got, want := r.Warnings(), []string{"dropped:stop", "dropped:seed"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got the warnings %q, want %q", got, want)
	}
}

// TestUnknownFieldsDeeper holds the same of what stands in a request's objects.
func TestUnknownFieldsDeeper(t *testing.T) {
	t.Parallel()
	r := parse(t, `{"model":"m","stream":true,"stream_options":{"include_obfuscation":true},"reasoning":{"effort":"low","summary":"auto","pace":1},"text":{"tone":"dry","format":{"type":"text"}},`+
		`"tools":[{"type":"function","name":"f","parameters":{},"defer_loading":true,"allowed_callers":["direct"],"strict":false},{"type":"custom","name":"c","why":1}],`+
		`"input":[{"role":"user","content":[{"type":"input_text","text":"x","prompt_cache_breakpoint":{"mode":"explicit"}},{"type":"input_image","image_url":"https://x/y.png","detail":"low","crop":[1]}]},`+
		`{"type":"message","id":"msg_1","status":"completed","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"y","annotations":[],"logprobs":[]}]},`+
		`{"type":"function_call","id":"fc_1","status":"completed","call_id":"a","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"z","took":1}]}`)
	want := []string{"dropped:tools.defer_loading", "dropped:tools.why", "dropped:input.prompt_cache_breakpoint", "dropped:input.crop", "dropped:input.phase", "dropped:input.took", "dropped:stream_options.include_obfuscation", "dropped:reasoning.pace", "dropped:text.tone"}
	if got := r.Warnings(); !reflect.DeepEqual(got, want) {
		t.Errorf("got the warnings %q, want %q", got, want)
	}
}

// TestManyWarnings holds that a list which is cut says so: it goes into a header.
func TestManyWarnings(t *testing.T) {
	t.Parallel()
	var odd strings.Builder
	for i := range 100 {
		fmt.Fprintf(&odd, `"odd%d":1,`, i)
	}
	if w := parse(t, `{"model":"m",`+odd.String()+`"input":"x"}`).Warnings(); len(w) != 25 || w[0] != "dropped:odd0" || w[24] != "more" {
		t.Errorf("got the warnings %q", w)
	}
}

// TestWarningsOfNative holds what is said of a request that an upstream of the API gets: nothing of what it takes,
// and that it gets no reasoning which this gateway has sealed.
func TestWarningsOfNative(t *testing.T) {
	t.Parallel()
	for reasoning, want := range map[string][]string{
		``: nil,
		`{"type":"reasoning","encrypted_content":"gAAA","summary":[]},`:     nil,
		`{"type":"reasoning","encrypted_content":"cg1.AAAA","summary":[]},`: {"item_dropped:reasoning"},
	} {
		r := parse(t, `{"model":"m","unheard_of":1,"input":[`+reasoning+`{"role":"user","content":"x"}],"tools":[{"type":"web_search"}]}`)
		req, err := gateway.ParseRequest(r.Chat())
		if err != nil {
			t.Fatal(err)
		}
		req.Source = r.Source()
		body, _ := req.Native(responses.Name)
		if got := r.Warnings(); len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) || strings.Contains(string(body), "cg1.") || !strings.Contains(string(body), "unheard_of") {
			t.Errorf("%q: got the warnings %q of %s, want %q", reasoning, got, body, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	r := parse(t, `{"model":"m","input":[{"type":"web_search_call"},{"type":"reasoning","encrypted_content":"gAAA","summary":[]},{"type":"reasoning","encrypted_content":"gBBB","summary":[{"type":"summary_text","text":"in words"}]},{"role":"user","content":"x"}],"tools":[{"type":"web_search"},{"type":"web_search"},{"type":"mcp","server_label":"x"},{"type":"custom","name":"patch","format":{"type":"grammar","syntax":"lark","definition":"x"}}]}`)
	want := []string{"tool_dropped:web_search", "tool_dropped:mcp", "grammar_not_enforced:patch", "item_dropped:web_search_call", "item_dropped:reasoning", "item_dropped:encrypted_content"}
	if got := r.Warnings(); !reflect.DeepEqual(got, want) {
		t.Errorf("got the warnings %q, want %q", got, want)
	}
	if got := string(r.Chat()); !strings.Contains(got, "in words") || strings.Contains(got, "gAAA") || strings.Contains(got, "gBBB") {
		t.Errorf("got %s, want of the reasoning what it says in words", r.Chat())
	}
}

// TestState looks at what a store puts in front of a request, and in the place of references.
func TestState(t *testing.T) {
	t.Parallel()
	r, err := responses.Parse([]byte(`{"model":"m","previous_response_id":"resp_1","input":[{"id":"fc_1"},{"type":"function_call_output","call_id":"c","output":"1"}],"store":true,"background":true,"truncation":"auto"}`), responses.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r.PreviousResponseID() != "resp_1" || !r.Store() || !r.Background() || !r.Truncates() || r.Conversation() != "" || len(r.NewItems()) != 2 {
		t.Errorf("got %q, %t, %t, %t, %q and %d items", r.PreviousResponseID(), r.Store(), r.Background(), r.Truncates(), r.Conversation(), len(r.NewItems()))
	}
	refs := r.References()
	if len(refs) != 1 || refs[0] != (responses.Reference{At: 0, ID: "fc_1"}) {
		t.Fatalf("got the references %v", refs)
	}
	items := r.NewItems()
	r.SetItems([][]byte{[]byte(`{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}`), items[1]})
	r.Prepend([][]byte{[]byte(`{"role":"user","content":"second"}`)})
	r.Prepend([][]byte{[]byte(`{"role":"user","content":"first"}`)})
	if err := r.Translate(); err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","messages":[{"role":"user","content":"first"},{"role":"user","content":"second"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"1"}]}`
	if string(r.Chat()) != want {
		t.Errorf("got  %s\nwant %s", r.Chat(), want)
	}
	// An upstream that speaks the API gets all items too; it is told to store nothing.
	want = `{"model":"m","previous_response_id":"resp_1","input":[{"role":"user","content":"first"},{"role":"user","content":"second"},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}],"store":true,"background":true,"truncation":"auto"}`
	if got := string(r.Source().Body); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCountTokens(t *testing.T) {
	t.Parallel()
	var got struct {
		Object string
		Tokens int `json:"input_tokens"`
	}
	if err := json.Unmarshal(parse(t, `{"model":"m","input":"`+strings.Repeat("word ", 1000)+`"}`).CountTokens(), &got); err != nil || got.Object != "response.input_tokens" || got.Tokens < 1000 || got.Tokens > 2000 {
		t.Errorf("got %+v, %v", got, err)
	}
}
