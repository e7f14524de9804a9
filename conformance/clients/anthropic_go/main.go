// Anthropic's SDK for Go. Nothing is set but the base URL.
//
//	go run ./anthropic_go BASE_URL MODE MODEL [MODE MODEL]...
//
// Prints what the SDK returned, one JSON object for each MODEL.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

var results = map[string]string{"get_weather": `4 °C, "rain" & wind`, "get_time": "18:30", "book": "table 7 at 19:00"}

type call struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type answer struct {
	Model string   `json:"model"`
	Turns [][]call `json:"turns"`
	Text  string   `json:"text"`
}

func tool(name string, parameters ...string) anthropic.ToolUnionParam {
	properties := map[string]any{}
	for _, p := range parameters {
		properties[p] = map[string]string{"type": "string"}
	}
	return anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: properties, Required: parameters}, name)
}

func whole(client anthropic.Client, params anthropic.MessageNewParams) (*anthropic.Message, error) {
	return client.Messages.New(context.Background(), params)
}

func streamed(client anthropic.Client, params anthropic.MessageNewParams) (*anthropic.Message, error) {
	stream := client.Messages.NewStreaming(context.Background(), params)
	defer stream.Close()
	var message anthropic.Message
	text := ""
	for stream.Next() {
		event := stream.Current()
		if err := message.Accumulate(event); err != nil {
			return nil, err
		}
		text += event.Delta.Text
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	if text != textOf(&message) {
		return nil, fmt.Errorf("the deltas are %q, the text is %q", text, textOf(&message))
	}
	return &message, nil
}

func textOf(message *anthropic.Message) (text string) {
	for _, block := range message.Content {
		text += block.Text
	}
	return text
}

func loop(client anthropic.Client, mode, model string) (*answer, error) {
	ask := map[string]func(anthropic.Client, anthropic.MessageNewParams) (*anthropic.Message, error){"whole": whole, "streamed": streamed}[mode]
	params := anthropic.MessageNewParams{
		Model: model, MaxTokens: 1000,
		Tools:    []anthropic.ToolUnionParam{tool("get_weather", "city"), tool("get_time"), tool("book", "city", "note")},
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("Book a table in Oslo, with the weather and the time in mind."))},
	}
	got := &answer{Model: model}
	for {
		message, err := ask(client, params)
		if err != nil {
			return nil, err
		}
		var calls []call
		var said []anthropic.ContentBlockParamUnion
		for _, block := range message.Content {
			if use, ok := block.AsAny().(anthropic.ToolUseBlock); ok {
				calls = append(calls, call{use.ID, use.Name, use.Input})
				said = append(said, anthropic.NewToolResultBlock(use.ID, results[use.Name], false))
			}
		}
		stop := anthropic.StopReasonToolUse
		if len(calls) == 0 {
			stop = anthropic.StopReasonEndTurn
		}
		if message.StopReason != stop || message.Usage.OutputTokens != 20 {
			return nil, fmt.Errorf("the stop reason is %q with %d tokens, not %q with 20", message.StopReason, message.Usage.OutputTokens, stop)
		}
		if len(calls) == 0 {
			got.Text = textOf(message)
			return got, nil
		}
		got.Turns = append(got.Turns, calls)
		params.Messages = append(params.Messages, message.ToParam(), anthropic.NewUserMessage(said...))
	}
}

func main() {
	client := anthropic.NewClient(option.WithBaseURL(os.Args[1]), option.WithAPIKey("none"))
	for play := range slices.Chunk(os.Args[2:], 2) {
		got, err := loop(client, play[0], play[1])
		if err != nil {
			log.Fatalf("%s: %v", play[1], err)
		}
		if err := json.NewEncoder(os.Stdout).Encode(got); err != nil {
			log.Fatal(err)
		}
	}
}
