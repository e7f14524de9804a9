package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"text/tabwriter"

	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/providers/demo"
)

type demoCmd struct{}

// Run asks each demo model the same, streamed, over HTTP: once with the upstream's
// own bytes passed on, once through the parsers, and prints both side by side.
func (demoCmd) Run(e *env) error {
	models := demo.Formats()
	cfg, err := config.Parse("demo", []byte(demoConfig), func(string) (string, bool) { return "", false })
	if err != nil {
		return err
	}
	sys, err := wire(e.ctx, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer sys.close(e.ctx)
	if err := sys.parsers.load(e.ctx, ""); err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(e.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := sys.server.HTTP()
	go func() { _ = server.Serve(l) }() // ends with Close
	defer server.Close()
	client := openai.NewClientWithConfig(clientConfig("http://" + l.Addr().String() + "/v1"))

	fmt.Fprint(e.stdout, "The user asks: \""+demoPrompt+"\" and the app offers get_weather and get_time.\nWhat the app gets, streamed, from the model directly and through Callgate:\n\n")
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL WRITES\tDIRECT: FINISH\tCALLS\tTEXT\tCALLGATE: FINISH\tCALLS")
	for _, m := range models {
		direct, err := ask(e.ctx, client, "direct/"+m)
		if err != nil {
			return fmt.Errorf("direct/%s: %w", m, err)
		}
		through, err := ask(e.ctx, client, "demo/"+m)
		if err != nil {
			return fmt.Errorf("demo/%s: %w", m, err)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", m, direct.finish, direct.list(), shorten(direct.text), through.finish, through.list())
	}
	return w.Flush()
}

const demoPrompt = "What is the weather in Oslo and the time?"

// demoConfig has the demo upstream twice: as it is, and with its text parsed.
const demoConfig = `
providers:
  direct: {type: demo, parser: none}
  demo: {type: demo, parser: auto}
` + customDemo

// customDemo is the format of the model demo/custom, which no parser of its own
// reads.
const customDemo = `
parsers:
  demo_custom: {start: "<<call ", end: ">>", body: name_json}
`

// answer is what a client has when a stream has ended.
type answer struct {
	text   string
	calls  []openai.FunctionCall
	finish openai.FinishReason
}

func (a *answer) list() string {
	var parts []string
	for _, c := range a.calls {
		parts = append(parts, fmt.Sprintf("%s(%s)", c.Name, c.Arguments))
	}
	return dash(strings.Join(parts, " "))
}

func shorten(s string) string {
	const limit = 40
	quoted := fmt.Sprintf("%q", s)
	if r := []rune(quoted); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return quoted
}

func ask(ctx context.Context, client *openai.Client, model string) (*answer, error) {
	tool := func(name, parameters string) openai.Tool {
		return openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{Name: name, Parameters: json.RawMessage(parameters)}}
	}
	stream, err := client.CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{
		Model: model, Stream: true,
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: demoPrompt}},
		Tools: []openai.Tool{
			tool("get_weather", `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
			tool("get_time", `{"type":"object","properties":{}}`),
		},
	})
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	var a answer
	for {
		chunk, err := stream.Recv()
		if err == io.EOF {
			return &a, nil
		}
		if err != nil {
			return nil, err
		}
		for _, choice := range chunk.Choices {
			a.add(choice)
		}
	}
}

func (a *answer) add(c openai.ChatCompletionStreamChoice) {
	a.text += c.Delta.Content
	if c.FinishReason != "" {
		a.finish = c.FinishReason
	}
	for _, t := range c.Delta.ToolCalls {
		if t.Index == nil {
			continue
		}
		for len(a.calls) <= *t.Index {
			a.calls = append(a.calls, openai.FunctionCall{})
		}
		a.calls[*t.Index].Name += t.Function.Name
		a.calls[*t.Index].Arguments += t.Function.Arguments
	}
}

func clientConfig(base string) openai.ClientConfig {
	c := openai.DefaultConfig("none")
	c.BaseURL = base
	return c
}

var _ gateway.Provider = (*demo.Provider)(nil)
