package clients_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/sashabaranov/go-openai"
)

// community plays a job with go-openai.
func community(t *testing.T, j job) []turn {
	t.Helper()
	config := openai.DefaultConfig("none")
	config.BaseURL = j.BaseURL
	c := openai.NewClientWithConfig(config)
	req := openai.ChatCompletionRequest{Model: j.Model}
	if err := json.Unmarshal(j.Tools, &req.Tools); err != nil {
		t.Error(err)
		return nil
	}
	ask := communityWhole
	if j.Mode != whole {
		ask = communityChunks
		req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	a := app[openai.ChatCompletionMessage]{
		ask: func(messages []openai.ChatCompletionMessage) (turn, openai.ChatCompletionMessage, error) {
			req.Messages = messages
			got, err := ask(t.Context(), c, req)
			if err != nil {
				return turn{}, openai.ChatCompletionMessage{}, err
			}
			return got.turn()
		},
		result: func(id, text string) openai.ChatCompletionMessage {
			return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: id, Content: text}
		},
		user: func(text string) openai.ChatCompletionMessage {
			return openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: text}
		},
		failure: communityFailure,
	}
	var messages []openai.ChatCompletionMessage
	for _, m := range j.Messages {
		messages = append(messages, openai.ChatCompletionMessage{Role: m.Role, Content: m.Content})
	}
	return a.play(j, messages)
}

// communityAnswer is one answer, put together.
type communityAnswer struct {
	message openai.ChatCompletionMessage
	finish  openai.FinishReason
	usage   *openai.Usage
	id      string // of the request
}

func (a communityAnswer) turn() (turn, openai.ChatCompletionMessage, error) {
	got := turn{Content: a.message.Content, Finish: string(a.finish), RequestID: a.id}
	if u := a.usage; u != nil {
		got.Usage = &usage{int64(u.PromptTokens), int64(u.CompletionTokens), int64(u.TotalTokens)}
	}
	for _, c := range a.message.ToolCalls {
		made, err := newCall(c.ID, c.Function.Name, c.Function.Arguments)
		if err != nil {
			return turn{}, a.message, err
		}
		got.Calls = append(got.Calls, made)
	}
	return got, a.message, nil
}

func communityWhole(ctx context.Context, c *openai.Client, req openai.ChatCompletionRequest) (communityAnswer, error) {
	resp, err := c.CreateChatCompletion(ctx, req)
	if err != nil {
		return communityAnswer{}, err
	}
	if len(resp.Choices) != 1 {
		return communityAnswer{}, errChoices
	}
	return communityAnswer{resp.Choices[0].Message, resp.Choices[0].FinishReason, &resp.Usage, requestID(resp.Header())}, nil
}

// communityChunks puts a stream together by the calls' indexes, as apps do.
func communityChunks(ctx context.Context, c *openai.Client, req openai.ChatCompletionRequest) (communityAnswer, error) {
	stream, err := c.CreateChatCompletionStream(ctx, req)
	if err != nil {
		return communityAnswer{}, err
	}
	defer stream.Close()
	answer := communityAnswer{message: openai.ChatCompletionMessage{Role: openai.ChatMessageRoleAssistant}, id: requestID(stream.Header())}
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return answer, nil
		}
		if err != nil {
			return communityAnswer{}, err
		}
		if chunk.Usage != nil {
			answer.usage = chunk.Usage
		}
		for _, choice := range chunk.Choices {
			if err := answer.add(choice); err != nil {
				return communityAnswer{}, err
			}
		}
	}
}

func (a *communityAnswer) add(choice openai.ChatCompletionStreamChoice) error {
	if choice.FinishReason != "" {
		a.finish = choice.FinishReason
	}
	a.message.Content += choice.Delta.Content
	calls := a.message.ToolCalls
	for _, part := range choice.Delta.ToolCalls {
		switch {
		case part.Index == nil || *part.Index > len(calls):
			return fmt.Errorf("the index of %+v does not go on from %d calls", part, len(calls))
		case *part.Index == len(calls):
			calls = append(calls, openai.ToolCall{ID: part.ID, Type: part.Type})
		}
		function := &calls[*part.Index].Function
		function.Name += part.Function.Name
		function.Arguments += part.Function.Arguments
	}
	a.message.ToolCalls = calls
	return nil
}

func communityFailure(err error) failure {
	f := failure{Type: fmt.Sprintf("%T", err), Message: err.Error()}
	if e, ok := errors.AsType[*openai.APIError](err); ok {
		f.API, f.Status, f.Message = true, e.HTTPStatusCode, e.Message
		f.Code, _ = e.Code.(string) // it may be a number
	}
	return f
}
