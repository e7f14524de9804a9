package clients_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

// TestAnthropic plays the scenarios that end well with Anthropic's SDK for Go, which speaks the
// Messages API: the same upstreams say the same to it.
func TestAnthropic(t *testing.T) {
	t.Parallel()
	tools, err := os.ReadFile("testdata/tools.json")
	if err != nil {
		t.Fatal(err)
	}
	c := newConfig()
	cl := client{name: "anthropic go", modes: []string{whole, helper}, retries: 2, answerIDs: true, play: each(anthropicSDK)}
	var plays []play
	for _, s := range scenarios() {
		for _, mode := range cl.modes {
			fails := slices.ContainsFunc(s.want, func(w turn) bool { return w.Error != nil })
			if fails || s.streams && mode == whole {
				continue
			}
			name := s.name + "/" + mode
			j := newJob(name, strings.NewReplacer(" ", "-", "/", "-").Replace(cl.name+"/"+name), mode, tools)
			if s.shape != nil {
				s.shape(t, &j)
			}
			plays = append(plays, play{s, j, s.serve(t, c, j.Model)})
		}
	}
	run(t, serve(t, c), cl, plays)
}

// anthropicSDK plays a job.
func anthropicSDK(t *testing.T, j job) []turn {
	t.Helper()
	c := anthropic.NewClient(option.WithBaseURL(strings.TrimSuffix(j.BaseURL, "/v1")), option.WithAPIKey("none"))
	params := anthropic.MessageNewParams{Model: j.Model, MaxTokens: 1000}
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
		schema := anthropic.ToolInputSchemaParam{ExtraFields: tool.Function.Parameters}
		params.Tools = append(params.Tools, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: tool.Function.Name, Description: anthropic.String(tool.Function.Description), InputSchema: schema,
		}})
	}
	a := app[anthropic.MessageParam]{
		ask: func(messages []anthropic.MessageParam) (turn, anthropic.MessageParam, error) {
			params.Messages = nil
			for _, m := range messages { // the results of one turn are one message
				if n := len(params.Messages); n > 0 && m.Role == params.Messages[n-1].Role {
					last := &params.Messages[n-1]
					last.Content = slices.Concat(last.Content, m.Content)
				} else {
					params.Messages = append(params.Messages, m)
				}
			}
			return anthropicAsk(t.Context(), c, params, j.Mode)
		},
		result: func(id, text string) anthropic.MessageParam {
			return anthropic.NewUserMessage(anthropic.NewToolResultBlock(id, text, false))
		},
		user: func(text string) anthropic.MessageParam {
			return anthropic.NewUserMessage(anthropic.NewTextBlock(text))
		},
		failure: func(err error) failure { return failure{Type: fmt.Sprintf("%T", err), Message: err.Error()} },
	}
	messages := []anthropic.MessageParam{}
	for _, m := range j.Messages {
		if m.Role == "system" {
			params.System = append(params.System, anthropic.TextBlockParam{Text: m.Content})
		} else {
			messages = append(messages, a.user(m.Content))
		}
	}
	return a.play(j, messages)
}

var errStart = errors.New("message_start counts no tokens")

// anthropicAsk sends one request. Streams are put together by the SDK.
func anthropicAsk(ctx context.Context, c anthropic.Client, params anthropic.MessageNewParams, mode string) (turn, anthropic.MessageParam, error) {
	var none anthropic.MessageParam
	var resp *http.Response
	var message anthropic.Message
	if mode == whole {
		got, err := c.Messages.New(ctx, params, option.WithResponseInto(&resp))
		if err != nil {
			return turn{}, none, err
		}
		message = *got
	} else {
		stream := c.Messages.NewStreaming(ctx, params, option.WithResponseInto(&resp))
		defer stream.Close()
		for stream.Next() {
			event := stream.Current()
			if event.Type == "message_start" && event.Message.Usage.InputTokens == 0 {
				return turn{}, none, errStart
			}
			if err := message.Accumulate(event); err != nil {
				return turn{}, none, err
			}
		}
		if err := stream.Err(); err != nil {
			return turn{}, none, err
		}
	}
	in, out := message.Usage.InputTokens+message.Usage.CacheReadInputTokens+message.Usage.CacheCreationInputTokens, message.Usage.OutputTokens
	got := turn{
		Finish:    map[anthropic.StopReason]string{anthropic.StopReasonToolUse: "tool_calls", anthropic.StopReasonEndTurn: "stop"}[message.StopReason],
		RequestID: resp.Header.Get("request-id"), Usage: &usage{in, out, in + out},
	}
	for _, b := range message.Content {
		switch b.Type {
		case "text":
			got.Content += b.Text
		case "tool_use":
			made, err := newCall(b.ID, b.Name, string(b.Input))
			if err != nil {
				return turn{}, none, err
			}
			got.Calls = append(got.Calls, made)
		}
	}
	return got, message.ToParam(), nil
}
