package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

// goSockets runs OpenAI's SDK for Go.
func goSockets(t *testing.T, url string) []byte {
	t.Helper()
	c := openai.NewClient(option.WithBaseURL(url), option.WithAPIKey(socketsKey))
	ws, err := c.Responses.Connect(t.Context(), responses.ResponseConnectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := &goSteps{T: t, ws: ws}
	first := s.ask("call", nil)
	s.ask("output", map[string]any{"previous_response_id": first.ID, "input": []any{map[string]string{
		"type": "function_call_output", "call_id": first.Output[len(first.Output)-1].CallID, "output": "rain"}}})
	s.ask("unknown model", map[string]any{"model": "nobody"})
	s.ask("unknown response", map[string]any{"previous_response_id": "resp_none"})
	prepared := s.ask("prepared", map[string]any{"generate": false})
	s.ask("on what was prepared", map[string]any{"previous_response_id": prepared.ID, "input": []any{}})
	s.ask("broken stream", map[string]any{"model": "late_error"})
	s.ask("background", map[string]any{"background": true})
	s.send(responses.ResponsesClientEventUnionParam{OfResponseSteer: &responses.ResponseSteerEventParam{
		PreviousResponseID: first.ID, Input: responses.ResponseSteerInputUnionParam{OfString: openai.String("Be brief.")}}})
	s.receive("steered", ws.Recv)
	lanes := map[string]*responses.ResponseLane{}
	for name, input := range map[string]string{"one": "What is the weather in Oslo?", "two": "hello"} {
		if lanes[name], err = ws.Lane(name); err != nil {
			t.Fatal(err)
		}
		s.send(s.create(map[string]any{"stream_id": name, "input": input}))
	}
	s.receive("lane one", lanes["one"].Recv)
	s.receive("lane two", lanes["two"].Recv)
	if err := ws.Close(); err != nil {
		t.Error(err)
	}
	_, err = c.Responses.Connect(t.Context(), responses.ResponseConnectionOptions{}, option.WithAPIKey("wrong"))
	status := 0
	if err != nil {
		status, _ = strconv.Atoi(regexp.MustCompile(`\d{3}$`).FindString(err.Error()))
	}
	s.say(step{Step: "wrong key", Error: &failure{Status: status}})
	return s.said.Bytes()
}

// goSteps are the steps of the SDK for Go on a connection.
type goSteps struct {
	*testing.T
	ws   *responses.ResponseConnection
	said bytes.Buffer
}

func (s *goSteps) say(one step) {
	one.Client = "plain"
	fmt.Fprintln(&s.said, show(one))
}

// create is the request of all steps with other members, by the SDK's type.
func (s *goSteps) create(other map[string]any) (event responses.ResponsesClientEventUnionParam) {
	s.Helper()
	members := map[string]any{"type": "response.create", "model": "hermes", "input": "What is the weather in Oslo?", "store": false,
		"tools": []any{json.RawMessage(demoTool)}}
	maps.Copy(members, other)
	event.OfResponseCreate = &responses.ResponsesClientEventResponseCreateParam{}
	if err := json.Unmarshal([]byte(show(members)), event.OfResponseCreate); err != nil {
		s.Fatal(err)
	}
	return event
}

func (s *goSteps) send(event responses.ResponsesClientEventUnionParam) {
	s.Helper()
	if err := s.ws.Send(s.Context(), event); err != nil {
		s.Fatal(err)
	}
}

// ask sends a request and says what became of it.
func (s *goSteps) ask(name string, other map[string]any) responses.Response {
	s.Helper()
	s.send(s.create(other))
	return s.receive(name, s.ws.Recv)
}

// receive puts the events of a response together with the SDK's accumulator, and says what became of it.
func (s *goSteps) receive(name string, next func(context.Context) (responses.ResponsesServerEventUnion, error)) responses.Response {
	s.Helper()
	one := step{Step: name}
	var acc responses.ResponseAccumulator
	for {
		event, err := next(s.Context())
		if err != nil {
			s.Fatalf("%s: %v", name, err)
		}
		switch event.Type {
		case "error":
			e := event.OfResponsesServerEventResponseWsError
			one.Error = &failure{Status: int(e.Status), Code: e.Error.Code}
		case "response.steer.failed":
			one.Error = &failure{Code: event.OfResponseSteerFailedEvent.Error.Code}
		case "response.failed":
			one.Error = &failure{Code: string(event.OfResponsesServerEventResponseWsFailed.Response.Error.Code)}
		default:
			if err := acc.AddEvent(event); err != nil {
				s.Fatalf("%s: the accumulator refuses %s: %v", name, event.RawJSON(), err)
			}
			if event.Type != "response.completed" {
				continue
			}
		}
		if one.Error != nil {
			s.say(one)
			return responses.Response{}
		}
		whole, err := acc.ReconstructedResponse()
		if err != nil {
			s.Fatal(err)
		}
		one.Content = whole.OutputText()
		if noted := event.OfResponsesServerEventResponseWsCompleted.JSON.ExtraFields["callgate"].Raw(); noted != "" {
			err = json.Unmarshal([]byte(noted), &one.Noted)
		}
		for _, item := range whole.Output {
			if item.Type == "function_call" {
				made, e := newCall("", item.Name, item.Arguments.OfString)
				err = errors.Join(err, e)
				one.Calls = append(one.Calls, made)
			}
		}
		if err != nil {
			s.Error(err)
		}
		s.say(one)
		return *whole
	}
}
