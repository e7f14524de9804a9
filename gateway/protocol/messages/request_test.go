package messages_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/messages"
)

func parse(body string) (*messages.Front, error) {
	f, err := messages.Parse(context.Background(), []byte(body), protocol.Client{RequestID: "req_1"})
	if err != nil {
		return nil, err
	}
	return f.(*messages.Front), nil
}

// TestRequest has what each field and block becomes. In in, the members stand behind
// {"model":"m","max_tokens":9, and in out they stand behind {"model":"m","max_tokens":9,.
func TestRequest(t *testing.T) {
	t.Parallel()
	const hi, hiChat = `"messages":[{"role":"user","content":"hi"}]`, `"messages":[{"role":"user","content":"hi"}]`
	for name, c := range map[string]struct{ in, out, warnings, foreign string }{
		"text as it is spelled": {in: `"messages":[{"role":"user","content":"a\u0062\/ \ud83d\ude00"}]`, out: `"messages":[{"role":"user","content":"a\u0062\/ \ud83d\ude00"}]`},
		"blocks of text":        {in: `"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"text","text":"b"}]}]`, out: `"messages":[{"role":"user","content":"a\n\nb"}]`, warnings: "dropped:messages.cache_control"},
		"system":                {in: `"system":"be kind",` + hi, out: `"messages":[{"role":"system","content":"be kind"},{"role":"user","content":"hi"}]`},
		"system blocks, without who pays": {in: `"system":[{"type":"text","text":"x-anthropic-billing-header: cc_version=1; cch=1a2b;"},{"type":"text","text":"one"},{"type":"text","text":"two"}],` + hi,
			out: `"messages":[{"role":"system","content":"one\n\ntwo"},{"role":"user","content":"hi"}]`, warnings: "dropped:system.billing_header"},
		"system between": {in: `"system":"one","messages":[{"role":"user","content":"a"},{"role":"system","content":"two"},{"role":"user","content":[{"type":"text","text":"b"}]},{"role":"assistant","content":"c"},{"role":"system","content":[{"type":"text","text":"three"}]},{"role":"user","content":"d"}]`,
			out: `"messages":[{"role":"system","content":"one\n\ntwo\n\nthree"},{"role":"user","content":"a\n\nb"},{"role":"assistant","content":"c"},{"role":"user","content":"d"}]`},
		"images": {in: `"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image\/png","data":"iVBO\/w=="}},{"type":"text","text":"what"},{"type":"image","source":{"type":"url","url":"https://x/y.png"}}]}]`,
			out: `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image\/png;base64,iVBO\/w=="}},{"type":"text","text":"what"},{"type":"image_url","image_url":{"url":"https://x/y.png"}}]}]`},
		"documents": {in: `"messages":[{"role":"user","content":[{"type":"document","title":"T","context":"C","source":{"type":"text","media_type":"text/plain","data":"D"}},{"type":"document","source":{"type":"content","content":[{"type":"text","text":"E"}]}},{"type":"search_result","source":"http://s","title":"S","content":[{"type":"text","text":"F"}]}]}]`,
			out: `"messages":[{"role":"user","content":"Document: T\n\nC\n\nD\n\nE\n\nSearch result: S (http://s)\n\nF"}]`},
		"pdf": {in: `"messages":[{"role":"user","content":[{"type":"document","title":"a.pdf","source":{"type":"base64","media_type":"application/pdf","data":"JVBE"}}]}]`,
			out: `"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBE"}}]}]`},
		"a loop of tools": {in: `"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"ok"},{"type":"tool_use","id":"t1","name":"f","input":{ "a" : 1.0 }},{"type":"tool_use","id":"t2","name":"g","input":{}}]},` +
			`{"role":"user","content":[{"type":"text","text":"and"},{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"r"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA"}}]},{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"bad"}]}]`,
			out: `"messages":[{"role":"user","content":"go"},{"role":"assistant","content":"ok","reasoning_content":"hm","thinking_blocks":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"x"}],` +
				`"reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"s","format":"anthropic-claude-v1","index":0},{"type":"reasoning.encrypted","data":"x","format":"anthropic-claude-v1","index":1}],"tool_calls":[{"id":"t1","type":"function","function":{"name":"f","arguments":"{ \"a\" : 1.0 }"}},{"id":"t2","type":"function","function":{"name":"g","arguments":"{}"}}]},` +
				`{"role":"tool","tool_call_id":"t1","content":"r"},{"role":"tool","tool_call_id":"t2","content":"Error: bad"},{"role":"user","content":[{"type":"text","text":"and"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}]`},
		"results without content, and of a search for tools": {in: `"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]},{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":[{"type":"tool_reference","tool_name":"WebFetch"}]}]}]`,
			out: `"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"a","content":""},{"role":"tool","tool_call_id":"b","content":"The tool WebFetch is available."}]`},
		"an id of ours": {in: `"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"toolu_cg_ZnVuY3Rpb25zLmY6MA","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_cg_ZnVuY3Rpb25zLmY6MA","content":"r"}]}]`,
			out: `"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"functions.f:0","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"functions.f:0","content":"r"}]`},
		"server tools in the past": {in: `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s","content":[]},{"type":"text","text":"b","citations":[]}]},{"role":"user","content":"c"}]`,
			out: `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`, warnings: "dropped:messages.server_tool_use dropped:messages.web_search_tool_result"},
		"texts that citations cut": {in: `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"So "},{"type":"text","text":"it is","citations":[{"type":"char_location"}]},{"type":"text","text":"."},{"type":"text","text":"And"},{"type":"server_tool_use","id":"s","name":"f","input":{}},{"type":"text","text":"more","citations":[{"type":"char_location"}]}]},{"role":"user","content":"c"}]`,
			out: `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"So it is.\n\nAnd\n\nmore"},{"role":"user","content":"c"}]`, warnings: "dropped:messages.citations dropped:messages.server_tool_use"},
		"tools that the system adds": {in: `"tools":[{"name":"f","input_schema":{}}],"messages":[{"role":"user","content":"a"},{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"g","description":"d","input_schema":{"type":"object"}}},"cache_control":{"type":"ephemeral"}},{"type":"tool_addition","tool":{"type":"tool_reference","name":"f"}},{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"f","input_schema":{}}}}]}]`,
			out: `"tools":[{"type":"function","function":{"name":"f","parameters":{}}},{"type":"function","function":{"name":"g","description":"d","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":"a"}]`, warnings: "dropped:messages.cache_control dropped:messages.tool_addition"},
		"tools that the system takes away": {in: `"messages":[{"role":"user","content":"a"},{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"f"}}]}]`, out: `"messages":[{"role":"user","content":"a"}]`, foreign: "tool_removal"},
		"sampling":                         {in: `"temperature":0.70,"top_p":1e-1,"top_k":40,"stop_sequences":["a","\u0062"],` + hi, out: `"temperature":0.70,"top_p":1e-1,"top_k":40,"stop":["a","\u0062"],` + hiChat},
		"user":                             {in: `"metadata":{"user_id":"{\"session_id\":1}"},` + hi, out: `"user":"user_e50102a6486a71c453b91ebf7a0979f9",` + hiChat},
		"stream":                           {in: `"stream":true,` + hi, out: hiChat},
		"what there is no word for": {in: `"context_management":{"edits":[{"type":"clear_thinking_20251015"}]},"service_tier":"auto","speed":"fast","container":"c","diagnostics":{},"unheard_of":[1],"null":null,"no":false,"none":[],"odd key":1,` + hi, out: hiChat,
			warnings: "dropped:context_management dropped:speed dropped:container dropped:unheard_of dropped:other"},
		"what there is no word for, deeper": {in: `"metadata":{"user_id":"","team":"t"},"thinking":{"type":"adaptive","pace":1},"output_config":{"task_budget":{"tokens":1},"format":{"type":"json_schema","schema":{},"name":"n"}},"tool_choice":{"type":"auto","why":1},"tools":[{"type":"bash_20250124","name":"bash","max_characters":9}],` +
			`"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","id":"i","content":[{"type":"text","text":"a","citations":null},{"type":"document","citations":{"enabled":true},"source":{"type":"text","data":"D","page":1}},{"type":"tool_result","tool_use_id":"t","content":"r","cache_control":{"type":"ephemeral"}}]}]`,
			out:      `"user":"user_e3b0c44298fc1c149afbf4c8996fb924","response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{}}},"tools":[{"type":"function","function":{"name":"bash","description":"Runs a command in a persistent bash session, and returns what it prints. With restart the session begins anew.","parameters":{"type":"object","properties":{"command":{"type":"string","description":"The command to run; required unless restart is true."},"restart":{"type":"boolean","description":"Begin a new session."}}}}}],"tool_choice":"auto","messages":[{"role":"system","content":"s"},{"role":"tool","tool_call_id":"t","content":"r"},{"role":"user","content":"a\n\nD"}]`,
			warnings: "dropped:system.cache_control dropped:messages.id dropped:messages.citations dropped:messages.source.page dropped:messages.cache_control dropped:metadata.team dropped:thinking.pace dropped:output_config.task_budget dropped:output_config.format.name dropped:tools.max_characters dropped:tool_choice.why"},
		"a form of answers that nobody knows": {in: `"output_config":{"format":{"type":"regex","regex":"a"}},"output_format":{"type":"json_schema","schema":{}},` + hi, out: hiChat, warnings: "dropped:output_format dropped:output_config.format"},
		"an effort that nobody knows":         {in: `"thinking":{"type":"adaptive"},"output_config":{"effort":"utmost"},` + hi, out: hiChat, warnings: "dropped:output_config.effort"},
		"an effort beside a budget":           {in: `"thinking":{"type":"enabled","budget_tokens":99999999999999999999},"output_config":{"effort":"low"},` + hi, out: `"reasoning_effort":"high",` + hiChat, warnings: "dropped:output_config.effort"},
		"tools": {in: `"tools":[{"name":"f","description":"d","input_schema":{ "type":"object","$schema":"x" },"strict":true,"cache_control":{"type":"ephemeral"},"defer_loading":true,"eager_input_streaming":true,"input_examples":[],"allowed_callers":["direct"]},{"type":"custom","name":"g","input_schema":{"type":"object"}}],` + hi,
			out: `"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{ "type":"object","$schema":"x" },"strict":true}},{"type":"function","function":{"name":"g","parameters":{"type":"object"}}}],` + hiChat, warnings: "dropped:tools.cache_control dropped:tools.defer_loading dropped:tools.eager_input_streaming"},
		"tools of servers":          {in: `"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":8}],"tool_choice":{"type":"auto"},` + hi, out: hiChat, warnings: "dropped:tools.web_search_20250305"},
		"tool_choice any":           {in: `"tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"any","disable_parallel_tool_use":true},` + hi, out: `"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"tool_choice":"required","parallel_tool_calls":false,` + hiChat},
		"tool_choice tool":          {in: `"tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"tool","name":"f"},` + hi, out: `"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"tool_choice":{"type":"function","function":{"name":"f"}},` + hiChat},
		"tool_choice none":          {in: `"tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"none"},` + hi, out: `"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"tool_choice":"none",` + hiChat},
		"thinking low":              {in: `"thinking":{"type":"enabled","budget_tokens":4096},` + hi, out: `"reasoning_effort":"low",` + hiChat},
		"thinking medium":           {in: `"thinking":{"type":"enabled","budget_tokens":16384},` + hi, out: `"reasoning_effort":"medium",` + hiChat},
		"thinking high":             {in: `"thinking":{"type":"enabled","budget_tokens":31999},` + hi, out: `"reasoning_effort":"high",` + hiChat},
		"thinking adaptive":         {in: `"thinking":{"type":"adaptive"},"output_config":{"effort":"max"},` + hi, out: `"reasoning_effort":"high",` + hiChat, warnings: "clamped:output_config.effort"},
		"thinking off":              {in: `"thinking":{"type":"disabled"},"output_config":{"effort":"max"},` + hi, out: hiChat, warnings: "dropped:output_config.effort"},
		"format":                    {in: `"output_config":{"format":{"type":"json_schema","schema":{ "type":"object" }}},` + hi, out: `"response_format":{"type":"json_schema","json_schema":{"name":"answer","strict":true,"schema":{ "type":"object" }}},` + hiChat},
		"prefill":                   {in: `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"{"}]`, out: `"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"{"}]`, foreign: "prefill"},
		"a file of Anthropic's":     {in: `"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"file","file_id":"f"}}]}]`, out: `"messages":[{"role":"user","content":"a"}]`, foreign: "Files API"},
		"a block that nobody knows": {in: `"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"hologram"}]}]`, out: `"messages":[{"role":"user","content":"a"}]`, foreign: `messages[0].content[1] has the type "hologram"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := parse(`{"model":"m","max_tokens":9,` + c.in + `}`)
			if err != nil {
				t.Fatal(err)
			}
			want := `{"model":"m","max_tokens":9,` + c.out + `}`
			if strings.Contains(c.in, `"stream":true`) {
				want = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":9,` + c.out + `}`
			}
			if got := string(f.Chat()); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if got := strings.Join(f.Warnings(), " "); got != c.warnings {
				t.Errorf("got the warnings %q, want %q", got, c.warnings)
			}
			foreign := ""
			if e := f.Source().Foreign; e != nil {
				foreign = e.Message
			}
			if (foreign == "") != (c.foreign == "") || !strings.Contains(foreign, c.foreign) {
				t.Errorf("got %q as what no other API can take, want %q", foreign, c.foreign)
			}
			if _, err := gateway.ParseRequest(f.Chat()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestManyWarnings holds that a list which is cut says so: it goes into a header.
func TestManyWarnings(t *testing.T) {
	t.Parallel()
	var odd strings.Builder
	for i := range 100 {
		fmt.Fprintf(&odd, `"odd%d":1,`, i)
	}
	f, err := parse(`{"model":"m","max_tokens":1,` + odd.String() + `"messages":[{"role":"user","content":"x"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if w := f.Warnings(); len(w) != 25 || w[0] != "dropped:odd0" || w[24] != "more" {
		t.Errorf("got the warnings %q", w)
	}
}

// TestKnownTools has the tools that clients run, of which only Anthropic's models know by the
// type what they take.
func TestKnownTools(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"bash_20250124": "bash", "text_editor_20250124": "str_replace_editor", "text_editor_20250728": "str_replace_based_edit_tool",
		"memory_20250818": "memory", "computer_20250124": "computer",
	} {
		f, err := parse(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}],"tools":[{"type":"` + kind + `","name":"` + want + `","max_characters":9}]}`)
		if err != nil {
			t.Fatal(err)
		}
		var chat struct {
			Tools []struct {
				Type     string
				Function struct {
					Name, Description string
					Parameters        struct {
						Type       string
						Properties map[string]any
					}
				}
			}
		}
		if err := json.Unmarshal(f.Chat(), &chat); err != nil {
			t.Fatal(err)
		}
		if len(chat.Tools) != 1 || chat.Tools[0].Function.Name != want || chat.Tools[0].Function.Parameters.Type != "object" || len(chat.Tools[0].Function.Parameters.Properties) < 2 {
			t.Errorf("%s: got %+v", kind, chat.Tools)
		}
	}
}

func TestRequestRefuses(t *testing.T) {
	t.Parallel()
	const hi = `"messages":[{"role":"user","content":"hi"}]`
	for name, c := range map[string]struct{ body, param string }{
		"no JSON":                 {`{`, ""},
		"twice":                   {`{"model":"m","model":"n","max_tokens":1,` + hi + `}`, "model"},
		"twice, deeper":           {`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi","content":"x"}]}`, "messages[0].content"},
		"no UTF-8":                {"{\"model\":\"m\",\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}", "messages[0].content"},
		"no model":                {`{"max_tokens":1,` + hi + `}`, "model"},
		"no max_tokens":           {`{"model":"m",` + hi + `}`, "max_tokens"},
		"odd max_tokens":          {`{"model":"m","max_tokens":"x",` + hi + `}`, "max_tokens"},
		"no messages":             {`{"model":"m","max_tokens":1}`, "messages"},
		"empty messages":          {`{"model":"m","max_tokens":1,"messages":[ ]}`, "messages"},
		"odd role":                {`{"model":"m","max_tokens":1,"messages":[{"role":"tool","content":"x"}]}`, "messages[0].role"},
		"no content":              {`{"model":"m","max_tokens":1,"messages":[{"role":"user"}]}`, "messages[0].content"},
		"block without type":      {`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"text":"x"}]}]}`, "messages[0].content[0].type"},
		"text that is none":       {`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":1}]}]}`, "messages[0].content[0].text"},
		"image without source":    {`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"image"}]}]}`, "messages[0].content[0].source"},
		"result of nothing":       {`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}`, "messages[0].content[0].tool_use_id"},
		"call without id":         {`{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","name":"f","input":{}}]}]}`, "messages[0].content[0].id"},
		"input that is none":      {`{"model":"m","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":"x"}]}]}`, "messages[0].content[0].input"},
		"tool without name":       {`{"model":"m","max_tokens":1,"tools":[{"input_schema":{}}],` + hi + `}`, "tools[0].name"},
		"tool without schema":     {`{"model":"m","max_tokens":1,"tools":[{"name":"f"}],` + hi + `}`, "tools[0].input_schema"},
		"a choice of no tool":     {`{"model":"m","max_tokens":1,"tools":[{"name":"f","input_schema":{}}],"tool_choice":{"type":"tool","name":"g"},` + hi + `}`, "tool_choice.name"},
		"a choice of an odd type": {`{"model":"m","max_tokens":1,"tool_choice":{"type":"some"},` + hi + `}`, "tool_choice.type"},
		"odd stop":                {`{"model":"m","max_tokens":1,"stop_sequences":"x",` + hi + `}`, "stop_sequences"},
		"odd temperature":         {`{"model":"m","max_tokens":1,"temperature":"x",` + hi + `}`, "temperature"},
	} {
		_, err := parse(c.body)
		var e *gateway.Error
		if !errors.As(err, &e) || e.Kind != gateway.Invalid || e.Param != c.param {
			t.Errorf("%s: got %+v, want an error about %q", name, err, c.param)
		}
	}
}

// FuzzParse never panics, and what it makes is a chat completion that the gateway takes.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"model":"m","max_tokens":1,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"url","url":"x"}}]},{"type":"document","source":{"type":"text","data":"d"}}]},{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"tool_use","id":"toolu_cg_AA","name":"f","input":{"a":[1]}}]}],"tools":[{"name":"f","input_schema":{}},{"type":"bash_1"}],"tool_choice":{"type":"tool","name":"f"},"thinking":{"type":"adaptive"},"stream":true}`))
	f.Add([]byte(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"\ud83d\ude00"}],"m\u0065tadata":{"user_id":"x"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		front, err := parse(string(body))
		if err != nil {
			return
		}
		if _, err := gateway.ParseRequest(front.Chat()); err != nil {
			t.Fatalf("%s became %s: %v", body, front.Chat(), err)
		}
		if n := front.Estimate(); n < 0 || n > len(body)+2000*strings.Count(string(body), "image")+100 {
			t.Fatalf("%s has %d tokens", body, n)
		}
	})
}
