// OpenAI's SDK for Go and its Responses API. Nothing is set but the base URL.
//
//	go run ./openai_go BASE_URL MODE MODEL [MODE MODEL]...
//
// Prints what the SDK returned, one JSON object for each MODEL.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/conversations"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
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

func tool(name string, parameters ...string) responses.ToolUnionParam {
	properties := map[string]any{}
	for _, p := range parameters {
		properties[p] = map[string]string{"type": "string"}
	}
	required := slices.AppendSeq([]string{}, maps.Keys(properties))
	return responses.ToolParamOfFunction(name, map[string]any{
		"type": "object", "properties": properties, "required": required, "additionalProperties": false}, true)
}

func whole(client openai.Client, params responses.ResponseNewParams) (*responses.Response, error) {
	return client.Responses.New(context.Background(), params)
}

func streamed(client openai.Client, params responses.ResponseNewParams) (*responses.Response, error) {
	stream := client.Responses.NewStreaming(context.Background(), params)
	defer stream.Close()
	var response *responses.Response
	text := ""
	for stream.Next() {
		switch event := stream.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += event.Delta
		case responses.ResponseCompletedEvent:
			response = &event.Response
		}
	}
	switch err := stream.Err(); {
	case err != nil:
		return nil, err
	case response == nil:
		return nil, fmt.Errorf("the stream has ended without response.completed")
	case text != response.OutputText():
		return nil, fmt.Errorf("the deltas are %q, the text is %q", text, response.OutputText())
	}
	return response, nil
}

// A mode "conversation" names a conversation that the gateway keeps, the others the response before.
func loop(client openai.Client, mode, model string) (*answer, error) {
	ctx := context.Background()
	conversation, inConversation := "", strings.HasPrefix(mode, "conversation")
	params := responses.ResponseNewParams{Model: model, Tools: []responses.ToolUnionParam{
		tool("get_weather", "city"), tool("get_time"), tool("book", "city", "note")}}
	if inConversation {
		kept, err := client.Conversations.New(ctx, conversations.ConversationNewParams{})
		if err != nil {
			return nil, err
		}
		conversation = kept.ID
		params.Conversation.OfString = openai.String(conversation)
	}
	ask := whole
	if strings.HasSuffix(mode, "streamed") {
		ask = streamed
	}
	params.Input.OfString = openai.String("Book a table in Oslo, with the weather and the time in mind.")
	got := &answer{Model: model}
	for {
		response, err := ask(client, params)
		if err != nil {
			return nil, err
		}
		var calls []call
		var said responses.ResponseInputParam
		for _, item := range response.Output {
			if c, ok := item.AsAny().(responses.ResponseFunctionToolCall); ok {
				calls = append(calls, call{c.CallID, c.Name, json.RawMessage(c.Arguments)})
				result := responses.ResponseInputItemParamOfFunctionCallOutput(results[c.Name])
				result.OfFunctionCallOutput.CallID = openai.String(c.CallID)
				said = append(said, result)
			}
		}
		if len(calls) == 0 {
			got.Text = response.OutputText()
			return got, check(ctx, client, response, conversation)
		}
		got.Turns = append(got.Turns, calls)
		params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: said}
		if !inConversation {
			params.PreviousResponseID = openai.String(response.ID)
		}
	}
}

// check holds what the gateway keeps against what it has said.
func check(ctx context.Context, client openai.Client, response *responses.Response, conversation string) error {
	kept, err := client.Responses.Get(ctx, response.ID, responses.ResponseGetParams{})
	switch {
	case err != nil:
		return err
	case kept.OutputText() != response.OutputText():
		return fmt.Errorf("what is kept is %q, what was said %q", kept.OutputText(), response.OutputText())
	case response.Usage.TotalTokens != 120:
		return fmt.Errorf("the usage is %s, not 120 tokens", response.Usage.RawJSON())
	case conversation == "":
		return nil
	}
	var types []string
	pages := client.Conversations.Items.ListAutoPaging(ctx, conversation, conversations.ItemListParams{Order: conversations.ItemListParamsOrderAsc})
	for pages.Next() {
		types = append(types, pages.Current().Type)
	}
	const want = "message function_call function_call function_call_output function_call_output function_call function_call_output message"
	if got := strings.Join(types, " "); pages.Err() != nil || got != want {
		return fmt.Errorf("the conversation has %s (%w), not %s", got, pages.Err(), want)
	}
	return nil
}

func main() {
	client := openai.NewClient(option.WithBaseURL(os.Args[1]), option.WithAPIKey("none"))
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
