package clients_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

// demoSaid is what OpenAI's SDK for Go has understood of an answer.
type demoSaid struct {
	content, reasoning, finish string
	calls                      []call // without their ids
}

var (
	oslo = call{Name: "get_weather", Arguments: map[string]any{"city": "Oslo"}}
	now  = call{Name: "get_time", Arguments: map[string]any{}}
)

// TestDemo asks each of the demo's models through OpenAI's SDK for Go, whole and streamed:
// it always understands the same.
func TestDemo(t *testing.T) {
	t.Parallel()
	c := newConfig()
	c.Providers["demo"] = map[string]any{"type": "demo"}
	c.Parsers["demo_custom"] = map[string]any{"start": "<<call ", "end": ">>", "body": "name_json"}
	client := openai.NewClient(option.WithBaseURL(serve(t, c).URL+"/v1"), option.WithAPIKey("none"), option.WithMaxRetries(0))
	for _, model := range []string{"hermes", "qwen3_coder", "openai", "tool_call_tags", "custom", "native"} {
		for _, tt := range []struct {
			name, prompt string
			want         demoSaid
		}{
			{"one call", "What is the weather in Oslo?", demoSaid{finish: "tool_calls", calls: []call{oslo}}},
			{"two calls", "What is the weather in Oslo and the time?", demoSaid{finish: "tool_calls", calls: []call{oslo, now}}},
			{"reasoning", "Please think: what is the weather in Oslo?", demoSaid{finish: "tool_calls", calls: []call{oslo},
				reasoning: "The user asks: Please think: what is the weather in Oslo?\nI consider which tools I have."}},
			{"no call", "hello", demoSaid{finish: "stop", content: "Hello! I am the demo model. How can I help you?"}},
		} {
			if len(tt.want.calls) > 0 && model != "openai" { // a model that answers in JSON writes nothing else
				tt.want.content = "Let me check."
			}
			for mode, ask := range map[string]func(*testing.T, openai.Client, openai.ChatCompletionNewParams) demoSaid{"whole": askWhole, "streamed": askStreamed} {
				t.Run(model+"/"+tt.name+"/"+mode, func(t *testing.T) {
					t.Parallel()
					if got := ask(t, client, demoParams("demo/"+model, tt.prompt)); !reflect.DeepEqual(got, tt.want) {
						t.Errorf("\n got %+v\nwant %+v", got, tt.want)
					}
				})
			}
		}
	}
}

// TestTextAndCallInOnePiece has an upstream send text and a call in one delta, as
// fast ones do. The SDK sees a call finish only if its delta has no text beside it.
func TestTextAndCallInOnePiece(t *testing.T) {
	t.Parallel()
	chunk := func(delta, finish string) string {
		return fmt.Sprintf(`data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"up","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
	}
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("content-type", "text/event-stream")
		text := `{"content":"Let me check. <tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Oslo\"}}</tool_call>"}`
		io.WriteString(w, chunk(text, "null")+chunk("{}", `"stop"`)+"data: [DONE]\n\n")
	}))
	t.Cleanup(up.Close)
	c := newConfig()
	c.Providers["up"] = map[string]any{"type": "openai", "base_url": up.URL + "/v1", "parser": "auto"}
	client := openai.NewClient(option.WithBaseURL(serve(t, c).URL+"/v1"), option.WithAPIKey("none"), option.WithMaxRetries(0))
	want := demoSaid{content: "Let me check.", finish: "tool_calls", calls: []call{oslo}}
	if got := askStreamed(t, client, demoParams("up/m", "hi")); !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

func demoParams(model, prompt string) openai.ChatCompletionNewParams {
	tool := func(name string, parameters shared.FunctionParameters) openai.ChatCompletionToolUnionParam {
		return openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: name, Parameters: parameters})
	}
	city := map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"}}
	return openai.ChatCompletionNewParams{
		Model:    model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
		Tools:    []openai.ChatCompletionToolUnionParam{tool("get_weather", city), tool("get_time", map[string]any{"type": "object", "properties": map[string]any{}})},
	}
}

func askWhole(t *testing.T, client openai.Client, params openai.ChatCompletionNewParams) demoSaid {
	t.Helper()
	c, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	return demoAnswer(t, c.Choices)
}

func askStreamed(t *testing.T, client openai.Client, params openai.ChatCompletionNewParams) demoSaid {
	t.Helper()
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	defer stream.Close()
	var acc openai.ChatCompletionAccumulator
	reasoning, finished := "", 0
	for stream.Next() {
		c := stream.Current()
		if !acc.AddChunk(c) {
			t.Fatalf("got a chunk that the accumulator refuses: %s", c.RawJSON())
		}
		if _, ok := acc.JustFinishedToolCall(); ok {
			finished++
		}
		for _, choice := range c.Choices {
			var text string
			_ = json.Unmarshal([]byte(choice.Delta.JSON.ExtraFields["reasoning_content"].Raw()), &text) // most have none
			reasoning += text
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	said := demoAnswer(t, acc.Choices)
	said.reasoning = reasoning
	if len(said.calls) == 1 && finished != 1 { // with more the SDK does not promise it
		t.Errorf("got %d calls that the accumulator saw finish, want 1", finished)
	}
	return said
}

func demoAnswer(t *testing.T, choices []openai.ChatCompletionChoice) demoSaid {
	t.Helper()
	if len(choices) != 1 {
		t.Fatalf("got %d choices, want 1", len(choices))
	}
	m := choices[0].Message
	said := demoSaid{content: m.Content, finish: choices[0].FinishReason}
	_ = json.Unmarshal([]byte(m.JSON.ExtraFields["reasoning_content"].Raw()), &said.reasoning) // most have none
	ids := map[string]bool{}
	for _, c := range m.ToolCalls {
		made, err := newCall(c.ID, c.Function.Name, c.Function.Arguments)
		if err != nil {
			t.Error(err)
		}
		uniqueIDs(t, ids, []call{made})
		made.ID = ""
		said.calls = append(said.calls, made)
	}
	return said
}
