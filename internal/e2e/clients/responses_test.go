package clients_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// responseError is a response that has failed behind its first event.
type responseError struct{ code, message string }

// Error implements error.
func (f responseError) Error() string { return f.message }

// items is what one turn adds to the input.
type items []responses.ResponseInputItemUnionParam

// officialResponses plays a job with the Responses API of OpenAI's SDK for Go. The app keeps
// the conversation itself.
func officialResponses(t *testing.T, j job) []turn {
	t.Helper()
	c := openai.NewClient(option.WithBaseURL(j.BaseURL), option.WithAPIKey("none"))
	params := responses.ResponseNewParams{Model: j.Model, Store: openai.Bool(false), Include: []responses.ResponseIncludable{"reasoning.encrypted_content"}}
	var tools []struct {
		Function struct {
			Name, Description string
			Parameters        map[string]any
		}
	}
	if err := json.Unmarshal(j.Tools, &tools); err != nil {
		t.Error(err)
		return nil
	}
	for _, tool := range tools {
		f := tool.Function
		params.Tools = append(params.Tools, responses.ToolUnionParam{OfFunction: &responses.FunctionToolParam{
			Name: f.Name, Description: openai.String(f.Description), Parameters: f.Parameters, Strict: openai.Bool(false)}})
	}
	a := app[items]{
		ask: func(messages []items) (turn, items, error) {
			params.Input.OfInputItemList = nil
			for _, m := range messages {
				params.Input.OfInputItemList = append(params.Input.OfInputItemList, m...)
			}
			return officialRespond(t, c, params, j.Mode)
		},
		result: func(id, text string) items {
			item := responses.ResponseInputItemParamOfFunctionCallOutput(text)
			item.OfFunctionCallOutput.CallID = openai.String(id)
			return items{item}
		},
		user: func(text string) items {
			return items{responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser)}
		},
		failure: responsesFailure,
	}
	var messages []items
	for _, m := range j.Messages {
		messages = append(messages, items{responses.ResponseInputItemParamOfMessage(m.Content, responses.EasyInputMessageRole(m.Role))})
	}
	return a.play(j, messages)
}

// officialRespond sends one request. Streams are put together by the SDK's accumulator.
func officialRespond(t *testing.T, c openai.Client, params responses.ResponseNewParams, mode string) (turn, items, error) {
	t.Helper()
	var resp *http.Response
	var got responses.Response
	if mode == whole {
		whole, err := c.Responses.New(t.Context(), params, option.WithResponseInto(&resp))
		if err != nil {
			return turn{}, nil, err
		}
		got = *whole
	} else {
		stream := c.Responses.NewStreaming(t.Context(), params, option.WithResponseInto(&resp))
		defer stream.Close()
		var acc responses.ResponseAccumulator
		for stream.Next() {
			event := stream.Current()
			if event.Type == "response.failed" {
				return turn{}, nil, brokenOff(&event.Response.Error)
			}
			var one responses.ResponsesServerEventUnion // the same event by the name that the accumulator has
			if err := json.Unmarshal([]byte(event.RawJSON()), &one); err != nil {
				return turn{}, nil, err
			}
			if err := acc.AddEvent(one); err != nil {
				return turn{}, nil, fmt.Errorf("the accumulator refuses %s: %w", event.RawJSON(), err)
			}
		}
		if err := stream.Err(); err != nil {
			return turn{}, nil, err
		}
		whole, err := acc.ReconstructedResponse()
		if err != nil {
			return turn{}, nil, err
		}
		got = *whole
	}
	if got.Status == responses.ResponseStatusFailed {
		return turn{}, nil, brokenOff(&got.Error)
	}
	one := turn{Content: got.OutputText(), Finish: "stop", RequestID: requestID(resp.Header),
		Usage: &usage{got.Usage.InputTokens, got.Usage.OutputTokens, got.Usage.TotalTokens}}
	var next items
	for _, item := range got.Output {
		var again responses.ResponseInputItemUnionParam
		if err := json.Unmarshal([]byte(item.RawJSON()), &again); err != nil {
			return turn{}, nil, err
		}
		next = append(next, again)
		if item.Type != "function_call" {
			continue
		}
		made, err := newCall(item.CallID, item.Name, item.Arguments.OfString)
		if err != nil {
			return turn{}, nil, err
		}
		one.Calls, one.Finish = append(one.Calls, made), "tool_calls"
	}
	if got.IncompleteDetails.Reason == "max_output_tokens" {
		one.Finish = "length"
	}
	return one, next, nil
}

// brokenOff is the error of a response that has failed: the SDK knows the code, and the gateway's own stands beside it.
func brokenOff(e *responses.ResponseError) error {
	if e.Code != responses.ResponseErrorCodeServerError {
		return fmt.Errorf("the code %q is not that of a server's failure", e.Code)
	}
	var own struct{ Callgate struct{ Code string } }
	if err := json.Unmarshal([]byte(e.RawJSON()), &own); err != nil {
		return err
	}
	return responseError{own.Callgate.Code, e.Message}
}

func responsesFailure(err error) failure {
	if failed, ok := errors.AsType[responseError](err); ok {
		return failure{Type: fmt.Sprintf("%T", err), API: true, Message: failed.message, Code: failed.code}
	}
	return officialFailure(err)
}
