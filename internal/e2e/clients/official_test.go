package clients_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
)

// official plays a job with OpenAI's SDK for Go.
func official(t *testing.T, j job) []turn {
	t.Helper()
	c := openai.NewClient(option.WithBaseURL(j.BaseURL), option.WithAPIKey("none"))
	params := openai.ChatCompletionNewParams{Model: j.Model}
	if err := json.Unmarshal(j.Tools, &params.Tools); err != nil {
		t.Error(err)
		return nil
	}
	if j.Mode != whole {
		params.StreamOptions.IncludeUsage = openai.Bool(true)
	}
	a := app[openai.ChatCompletionMessageParamUnion]{
		ask: func(messages []openai.ChatCompletionMessageParamUnion) (turn, openai.ChatCompletionMessageParamUnion, error) {
			params.Messages = messages
			return officialAsk(t.Context(), c, params, j.Mode)
		},
		result: func(id, text string) openai.ChatCompletionMessageParamUnion {
			return openai.ToolMessage(text, id)
		},
		user:    openai.UserMessage[string],
		failure: officialFailure,
	}
	messages := []openai.ChatCompletionMessageParamUnion{}
	for _, m := range j.Messages {
		switch m.Role {
		case "system":
			messages = append(messages, openai.SystemMessage(m.Content))
		default:
			messages = append(messages, openai.UserMessage(m.Content))
		}
	}
	return a.play(j, messages)
}

// officialAsk sends one request. Streams are put together by the SDK's accumulator.
func officialAsk(ctx context.Context, c openai.Client, params openai.ChatCompletionNewParams, mode string) (turn, openai.ChatCompletionMessageParamUnion, error) {
	var none openai.ChatCompletionMessageParamUnion
	var resp *http.Response
	var completion openai.ChatCompletion
	if mode == whole {
		got, err := c.Chat.Completions.New(ctx, params, option.WithResponseInto(&resp))
		if err != nil {
			return turn{}, none, err
		}
		completion = *got
	} else {
		stream := c.Chat.Completions.NewStreaming(ctx, params, option.WithResponseInto(&resp))
		defer stream.Close()
		var acc openai.ChatCompletionAccumulator
		for stream.Next() {
			if !acc.AddChunk(stream.Current()) {
				return turn{}, none, fmt.Errorf("the accumulator refuses %s", stream.Current().RawJSON())
			}
		}
		if err := stream.Err(); err != nil {
			return turn{}, none, err
		}
		completion = acc.ChatCompletion
	}
	if len(completion.Choices) != 1 {
		return turn{}, none, errChoices
	}
	message := completion.Choices[0].Message
	got := turn{
		Content: message.Content, Finish: completion.Choices[0].FinishReason, RequestID: requestID(resp.Header),
		Usage: &usage{completion.Usage.PromptTokens, completion.Usage.CompletionTokens, completion.Usage.TotalTokens},
	}
	for _, c := range message.ToolCalls {
		made, err := newCall(c.ID, c.Function.Name, c.Function.Arguments)
		if err != nil {
			return turn{}, none, err
		}
		got.Calls = append(got.Calls, made)
	}
	return got, message.ToParam(), nil
}

func officialFailure(err error) failure {
	f := failure{Type: fmt.Sprintf("%T", err), Message: err.Error()}
	var status *openai.Error
	var inStream *ssestream.StreamError
	switch {
	case errors.As(err, &status):
		f.API, f.Status, f.Code, f.Message = true, status.StatusCode, status.Code, status.Message
		f.RequestID = requestID(status.Response.Header)
	case errors.As(err, &inStream):
		var event struct {
			Error struct{ Code string } `json:"error"`
		}
		f.API = json.Unmarshal(inStream.Event.Data, &event) == nil
		f.Code = event.Error.Code
	}
	return f
}
