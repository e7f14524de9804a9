package cli

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/sashabaranov/go-openai"
)

// sdkCases are prompts to the demo and what clients must understand.
var sdkCases = []struct {
	name, prompt string
	want         said
}{
	{"one call", "What is the weather in Oslo?",
		said{finish: "tool_calls", calls: []called{{"get_weather", `{"city":"Oslo"}`}}}},
	{"two calls", "What is the weather in Oslo and the time?",
		said{finish: "tool_calls", calls: []called{{"get_weather", `{"city":"Oslo"}`}, {"get_time", `{}`}}}},
	{"reasoning", "Please think: what is the weather in Oslo?",
		said{finish: "tool_calls", calls: []called{{"get_weather", `{"city":"Oslo"}`}},
			reasoning: "The user asks: Please think: what is the weather in Oslo?\nI consider which tools I have."}},
	{"no call", "hello",
		said{finish: "stop", content: "Hello! I am the demo model. How can I help you?"}},
}

const sdkConfig = `
providers: {demo: {type: demo}}
parsers: {demo_custom: {start: "<<call ", end: ">>", body: name_json}}
`

// TestSDK asks each demo model through the SDK of the Go community, whole and streamed: it
// always understands the same. internal/e2e has other SDKs.
func TestSDK(t *testing.T) {
	t.Parallel()
	g := serve(t, sdkConfig)
	clients := []struct {
		name string
		ask  func(t *testing.T, g *gate, model, prompt string) said
	}{
		{"whole", communityWhole},
		{"streamed", communityStreamed},
	}
	for _, model := range []string{"hermes", "qwen3_coder", "openai", "tool_call_tags", "custom", "native"} {
		for _, c := range sdkCases {
			for _, client := range clients {
				t.Run(model+"/"+c.name+"/"+client.name, func(t *testing.T) {
					t.Parallel()
					want := c.want
					if len(want.calls) > 0 && model != "openai" { // a model that answers in JSON writes nothing else
						want.content = "Let me check."
					}
					want.calls = slices.Clone(want.calls)
					client.ask(t, g, "demo/"+model, c.prompt).same(t, want)
				})
			}
		}
	}
}

const (
	weatherSchema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`
	timeSchema    = `{"type":"object","properties":{}}`
)

func clientConfig(base string) openai.ClientConfig {
	c := openai.DefaultConfig("none")
	c.BaseURL = base
	return c
}

func communityClient(g *gate) *openai.Client {
	c := clientConfig("http://" + g.addr + "/v1")
	c.HTTPClient = g.client
	return openai.NewClientWithConfig(c)
}

func communityRequest(model, prompt string) openai.ChatCompletionRequest {
	tool := func(name, parameters string) openai.Tool {
		return openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: name, Parameters: json.RawMessage(parameters)}}
	}
	return openai.ChatCompletionRequest{
		Model:    model,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: prompt}},
		Tools:    []openai.Tool{tool("get_weather", weatherSchema), tool("get_time", timeSchema)},
	}
}

func communityWhole(t *testing.T, g *gate, model, prompt string) said {
	t.Helper()
	c, err := communityClient(g).CreateChatCompletion(t.Context(), communityRequest(model, prompt))
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return whole(t, string(b))
}

func communityStreamed(t *testing.T, g *gate, model, prompt string) said {
	t.Helper()
	stream, err := communityClient(g).CreateChatCompletionStream(t.Context(), communityRequest(model, prompt))
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var s said
	for {
		c, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, choice := range c.Choices {
			s.add(t, choice)
		}
	}
	for i := range s.calls {
		s.calls[i].args = compact(t, s.calls[i].args)
	}
	return s
}
