package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestCallForms has calls in tool_calls that are not in OpenAI's form: each is made once, with the arguments that it
// has, whole and streamed.
func TestCallForms(t *testing.T) {
	t.Parallel()
	for name, entries := range map[string][]string{
		"flat":             {`{"index":0,"id":"x1","name":"f","arguments":{"a":1}}`},
		"flat text":        {`{"index":0,"id":"x1","type":"function","name":"f","arguments":"{\"a\":1}"}`},
		"flat in pieces":   {`{"index":0,"id":"x1","type":"function","name":"f","arguments":"{\"a"}`, `{"index":0,"arguments":"\":1}"}`},
		"Cohere's":         {`{"index":0,"name":"f","parameters":{"a":1}}`},
		"Anthropic's":      {`{"index":0,"id":"x1","type":"tool_use","name":"f","input":{"a":1}}`},
		"parameters":       {`{"index":0,"id":"x1","type":"function","function":{"name":"f","parameters":{"a":1}}}`},
		"null beside":      {`{"index":0,"id":"x1","type":"function","function":{"parameters":{"a":1},"name":"f","arguments":null}}`},
		"both":             {`{"index":0,"id":"x1","type":"function","function":{"name":"f","parameters":{"a":2},"arguments":"{\"a\":1}"}}`},
		"an empty input":   {`{"index":0,"id":"x1","type":"function","function":{"name":"f","input":{}}}`, `{"index":0,"function":{"arguments":"{\"a\":1}"}}`},
		"function is null": {`{"index":0,"id":"x1","type":"function","function":null,"name":"f","arguments":{"a":1}}`},
	} {
		for _, stream := range []bool{false, true} {
			if !stream && len(entries) > 1 {
				continue
			}
			t.Run(fmt.Sprintf("%s stream %v", name, stream), func(t *testing.T) {
				t.Parallel()
				url := upstream(t, func(w http.ResponseWriter, r received) {
					if !stream {
						w.Header().Set("content-type", "application/json")
						io.WriteString(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[`+entries[0]+`]},"finish_reason":"tool_calls"}]}`)
						return
					}
					w.Header().Set("content-type", "text/event-stream")
					for _, entry := range entries {
						io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[`+entry+`]},"finish_reason":null}]}`+"\n\n")
					}
					io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
				})
				g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q}}\nmodels: {a: {targets: [{provider: up, model: m}]}}", url))
				r := g.chat(fmt.Sprintf(`{"model":"a","stream":%v,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}],"messages":[{"role":"user","content":"go"}]}`, stream))
				got := ""
				for line := range strings.Lines(r.body) {
					line = strings.TrimPrefix(line, "data: ")
					var chunk struct {
						Choices []struct {
							Message, Delta struct {
								Calls []struct {
									Index    int
									Function struct{ Name, Arguments string }
								} `json:"tool_calls"`
							}
						}
					}
					if json.Unmarshal([]byte(line), &chunk) != nil {
						continue
					}
					for _, c := range chunk.Choices {
						for _, call := range append(c.Message.Calls, c.Delta.Calls...) {
							got += fmt.Sprint(strings.Repeat("another ", call.Index), call.Function.Name, call.Function.Arguments)
						}
					}
				}
				if got != `f{"a":1}` && got != `f{"a": 1}` {
					t.Errorf("got %s of %s", got, r.body)
				}
				if told := strings.Contains(r.header.Get("x-callgate-repairs")+r.body, "args_object=1"); told != (name != "both" && name != "an empty input") {
					t.Errorf("got the header %v and %s", r.header, r.body)
				}
			})
		}
	}
}
