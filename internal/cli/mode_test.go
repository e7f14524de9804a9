package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// texts are what the upstream's models say, by their names.
var modelTexts = map[string]string{
	"call":      "Sure. " + hermesCall,
	"reasoning": "<think>Hm.</think>" + hermesCall,
	"stranger":  `Sure. <tool_call>{"name":"rm_rf","arguments":{}}</tool_call>`,
	"broken":    `Sure. <tool_call>{"name":"get_weather","arguments":{"city":"Oslo",}}</tool_call>`,
	"tags":      `[TOOL_CALL]{"name":"get_weather","arguments":{"city":"Oslo"}}[/TOOL_CALL]`,
	"mine":      `@@get_weather {"city":"Oslo"}@@`,
	"mine_not":  `@@rm_rf {"city":"Oslo"}@@`,
	"json":      `{"tool_calls":[{"name":"get_weather","arguments":{"city":"Oslo"}}]}`,
	"json_not":  `{"tool_calls":[{"name":"rm_rf","arguments":{"city":"Oslo"}}]}`,
}

// speaker says the text of the model that is asked for.
func speaker(t *testing.T) string {
	t.Helper()
	return upstream(t, func(w http.ResponseWriter, r received) {
		for name, text := range modelTexts {
			if !strings.Contains(r.body, fmt.Sprintf("\"model\":%q", name)) {
				continue
			}
			if r.wantsStream() {
				w.Header().Set("content-type", events)
				io.WriteString(w, stream(text))
			} else {
				w.Header().Set("content-type", "application/json")
				io.WriteString(w, completion(text))
			}
			return
		}
		http.NotFound(w, nil)
	})
}

const modeConfig = `
reasoning_field: reasoning
parsers: {mine: {start: "@@", end: "@@", body: name_json, separator: " "}}
providers:
  off: {type: openai, base_url: %[1]q, parser: auto, tool_calls: "off"}
  none: {type: openai, base_url: %[1]q, parser: none}
  report: {type: openai, base_url: %[1]q, parser: auto, tool_calls: report}
  auto: {type: openai, base_url: %[1]q, parser: auto}
  named: {type: openai, base_url: %[1]q, parser: hermes}
  alias: {type: openai, base_url: %[1]q, parser: qwen3}
  list: {type: openai, base_url: %[1]q, parser: [tool_call_tags, qwen3, mine]}
  mine: {type: openai, base_url: %[1]q, parser: mine}
models:
  pattern-*: {targets: [{provider: auto, model: call}]}
  pattern-off-*: {targets: [{provider: "off", model: call}]}
  own: {targets: [{provider: none, model: call, parser: hermes}]}
`

// through marks an answer that is to be the upstream's, byte for byte.
const through = "through"

func TestModes(t *testing.T) {
	t.Parallel()
	g := serve(t, fmt.Sprintf(modeConfig, speaker(t)))
	oslo := []called{{"get_weather", `{"city":"Oslo"}`}}
	call := said{content: "Sure.", finish: "tool_calls", calls: oslo}
	bare := said{finish: "tool_calls", calls: oslo}
	same := said{finish: through}
	refused := said{content: through} // the text is the upstream's, its pieces need not be
	tests := []struct {
		model, upstream string
		want            said
	}{
		{"off/call", "call", same},
		{"off/reasoning", "reasoning", same},
		{"none/call", "call", same},
		{"none/reasoning", "reasoning", same},
		{"auto/call", "call", call},
		{"auto/broken", "broken", call},
		{"auto/tags", "tags", bare},
		{"auto/mine", "mine", bare},
		{"auto/json", "json", bare},
		{"named/call", "call", call},
		{"named/tags", "tags", same},
		{"named/json", "json", same},
		{"alias/call", "call", call},
		{"alias/tags", "tags", same},
		{"list/call", "call", call},
		{"list/tags", "tags", bare},
		{"list/mine", "mine", bare},
		{"list/json", "json", same},
		{"mine/mine", "mine", bare},
		{"mine/call", "call", same},
		{"auto/mine_not", "mine_not", refused},
		{"mine/mine_not", "mine_not", refused},
		{"auto/json_not", "json_not", refused},
		{"pattern-x", "call", call},
		{"pattern-off-x", "call", same},
		{"own", "call", call},
	}
	for _, tt := range tests {
		t.Run(tt.model+"/whole", func(t *testing.T) {
			t.Parallel()
			r := g.chat(prompt(tt.model, "hi", false))
			if tt.want.finish == through || tt.want.content == through {
				equalBytes(t, "answers", r.body, completion(modelTexts[tt.upstream]))
				return
			}
			whole(t, r.body).same(t, tt.want)
		})
		t.Run(tt.model+"/streamed", func(t *testing.T) {
			t.Parallel()
			r := g.chat(prompt(tt.model, "hi", true))
			if tt.want.finish == through {
				equalBytes(t, "streams", withoutComment(r.body), stream(modelTexts[tt.upstream]))
				return
			}
			if tt.want.content == through {
				streamed(t, r.body).same(t, said{content: modelTexts[tt.upstream], finish: "stop"})
				return
			}
			streamed(t, r.body).same(t, tt.want)
			if want := ": callgate mode=repair parser="; !strings.Contains(r.body, want) {
				t.Errorf("got stream %q, want %q in it", r.body, want)
			}
		})
	}
}

// withoutComment is a stream without the gateway's own comment.
func withoutComment(stream string) string {
	at := strings.Index(stream, ": callgate ")
	if at < 0 {
		return stream
	}
	_, rest, _ := strings.Cut(stream[at:], "\n\n")
	return stream[:at] + rest
}

// TestReport passes all bytes on and says what repair would have done.
func TestReport(t *testing.T) {
	t.Parallel()
	g := serve(t, fmt.Sprintf(modeConfig, speaker(t)))
	for name, want := range map[string]struct{ calls, repairs string }{
		"call": {"1", ""}, "broken": {"1", "args_json=1"}, "reasoning": {"1", "reasoning_text=1"}, "mine_not": {"0", ""},
	} {
		t.Run(name+"/whole", func(t *testing.T) {
			r := g.chat(prompt("report/"+name, "hi", false))
			equalBytes(t, "answers", r.body, completion(modelTexts[name]))
			hasHeader(t, r.header, map[string]string{"x-callgate-repairs": want.repairs})
			if parser := r.header.Get("x-callgate-parser"); (parser == "") != (want.calls == "0") {
				t.Errorf("got x-callgate-parser %q, want one for %s calls", parser, want.calls)
			}
		})
		t.Run(name+"/streamed", func(t *testing.T) {
			r := g.chat(prompt("report/"+name, "hi", true))
			equalBytes(t, "streams", withoutComment(r.body), stream(modelTexts[name]))
			_, comment, found := strings.Cut(r.body, ": callgate mode=report")
			if want.calls == "0" {
				return
			}
			if !found || !strings.Contains(comment, "calls="+want.calls) || want.repairs != "" && !strings.Contains(comment, "repairs="+want.repairs) {
				t.Errorf("got comment %q, want mode=report, calls=%s, repairs=%s", comment, want.calls, want.repairs)
			}
			if !strings.HasSuffix(r.body, "\n\n"+done) {
				t.Errorf("got stream %q, want the comment before the end marker", r.body)
			}
		})
	}
}

// TestReasoningField writes reasoning where the configuration says.
func TestReasoningField(t *testing.T) {
	t.Parallel()
	g := serve(t, fmt.Sprintf(modeConfig, speaker(t)))
	for _, stream := range []bool{false, true} {
		r := g.chat(prompt("auto/reasoning", "hi", stream))
		if !strings.Contains(r.body, `"reasoning":"`) || strings.Contains(r.body, "reasoning_content") || strings.Contains(r.body, "think>") {
			t.Errorf("got %s, want a member reasoning and no markup", r.body)
		}
	}
}

// TestNoTools offers no tools, or forbids them: text that looks like a call is
// text.
func TestNoTools(t *testing.T) {
	t.Parallel()
	g := serve(t, fmt.Sprintf(modeConfig, speaker(t)))
	for name, tools := range map[string]string{
		"no tools":         ``,
		"null":             `,"tools":null`,
		"an empty list":    `,"tools":[]`,
		"tool_choice none": `,"tools":` + twoTools + `,"tool_choice":"none"`,
	} {
		for _, model := range []string{"auto/call", "auto/json", "auto/mine", "named/call", "mine/mine"} {
			t.Run(name+"/"+model, func(t *testing.T) {
				t.Parallel()
				_, text, _ := strings.Cut(model, "/")
				r := g.chat(fmt.Sprintf(`{"model":%q,"stream":false%s}`, model, tools))
				equalBytes(t, "answers", r.body, completion(modelTexts[text]))
				r = g.chat(fmt.Sprintf(`{"model":%q,"stream":true%s}`, model, tools))
				equalBytes(t, "streams", r.body, stream(modelTexts[text]))
			})
		}
	}
}

// TestStranger has a model call a tool that was not offered, in a format whose
// markup means nothing else: the client is told which.
func TestStranger(t *testing.T) {
	t.Parallel()
	g := serve(t, fmt.Sprintf(modeConfig, speaker(t)))
	want := said{content: "Sure.", finish: "tool_calls", calls: []called{{"rm_rf", "{}"}}}
	whole(t, g.chat(prompt("named/stranger", "hi", false)).body).same(t, want)
	streamed(t, g.chat(prompt("named/stranger", "hi", true)).body).same(t, want)
}
