package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/anthropic"
	"github.com/callgate/callgate/providers/providertest/scripted"
)

// connect makes a provider for a server.
func connect(tb testing.TB, c anthropic.Config) *anthropic.Provider {
	tb.Helper()
	p, err := anthropic.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.CloseIdleConnections)
	return p
}

// TestLoop plays a loop of tools against a server that is as strict as Anthropic.
func TestLoop(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprint("stream=", stream), func(t *testing.T) {
			t.Parallel()
			s := scripted.Anthropic(t)
			p := connect(t, anthropic.Config{BaseURL: s.URL, APIKey: scripted.Key})
			scripted.Loop{Provider: p, Model: model, Stream: stream}.Run(t)
			for i, r := range s.Requests() {
				if r.Status != 200 || r.URL != "/v1/messages" {
					t.Errorf("request %d: got status %d at %s, want 200 at /v1/messages", i, r.Status, r.URL)
				}
			}
		})
	}
}

// TestThinkingLoop does so with thinking, whose signed blocks have to come back.
func TestThinkingLoop(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		for _, back := range []bool{false, true} {
			t.Run(fmt.Sprintf("stream=%v/blocks=%v", stream, back), func(t *testing.T) {
				t.Parallel()
				s := scripted.Anthropic(t)
				p := connect(t, anthropic.Config{BaseURL: s.URL, APIKey: scripted.Key})
				thinkingLoop(t, p, stream, back)
				for i, r := range s.Requests() {
					// A client that loses the blocks loses the thinking, and no more.
					want := i == 0 || back
					if got := strings.Contains(string(r.Body), `"thinking":{"type":"enabled"`); got != want || r.Status != 200 {
						t.Errorf("request %d: got thinking %v and status %d, want %v and 200", i, got, r.Status, want)
					}
				}
			})
		}
	}
}

// thinkingLoop plays the script with reasoning_effort. back says whether the client
// sends the thinking blocks back.
func thinkingLoop(t *testing.T, p *anthropic.Provider, stream, back bool) {
	t.Helper()
	messages := []any{map[string]any{"role": "user", "content": scripted.Prompt}}
	for round := range 3 {
		body := encode(map[string]any{"model": "m", "stream": stream, "messages": messages, "tools": json.RawMessage(scripted.Tools), "reasoning_effort": "low"})
		d, err := ask(t, p, body)
		if err != nil {
			t.Fatalf("round %d: got %v", round, err)
		}
		lost := !back && round > 0
		if got := strings.Contains(d.warnings, "dropped:reasoning_effort"); got != lost {
			t.Errorf("round %d: got warnings %q, want a lost effort: %v", round, d.warnings, lost)
		}
		m := assemble(t, d)
		if round == 0 && (len(m.Thoughts) != 1 || m.Reasoning == "") {
			t.Fatalf("got %d thinking blocks and the reasoning %q, want both", len(m.Thoughts), m.Reasoning)
		}
		if round == 2 {
			if want := scripted.Result("book"); !strings.Contains(m.Content, want) || m.finish != "stop" {
				t.Errorf("got the last text %q, finish %s, want it to quote %q", m.Content, m.finish, want)
			}
			return
		}
		answer := map[string]any{"role": "assistant", "content": m.Content, "tool_calls": m.Calls, "reasoning_content": m.Reasoning}
		if back {
			answer["thinking_blocks"] = m.Thoughts
		}
		messages = append(messages, answer)
		for _, c := range m.Calls {
			messages = append(messages, map[string]any{"role": "tool", "tool_call_id": c.ID, "content": scripted.Result(c.Function.Name)})
		}
	}
}

// TestNeeds checks what the gateway has to repair before a request comes here.
func TestNeeds(t *testing.T) {
	t.Parallel()
	p := open(t, nil)
	want := gateway.Needs{Arguments: true, Pairs: true, IDs: gateway.AnthropicID}
	if got := p.Needs(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestRefusedByUpstream checks that what the upstream refuses reaches the client in
// OpenAI's form.
func TestRefusedByUpstream(t *testing.T) {
	t.Parallel()
	s := scripted.Anthropic(t)
	p := connect(t, anthropic.Config{BaseURL: s.URL, APIKey: scripted.Key})
	_, err := ask(t, p, `{"model":"m","messages":[{"role":"assistant","content":"hi"}]}`)
	e := gateway.AsError(err)
	const want = `{"error":{"message":"messages: first message must use the \"user\" role","type":"invalid_request_error","param":null,"code":"invalid_request_error"},"request_id":"req_scripted"}`
	if e.Kind != gateway.Rejected || e.Status != 400 || string(e.Body) != want {
		t.Errorf("got kind %d, status %d, body %s, want a refusal with 400 and %s", e.Kind, e.Status, e.Body, want)
	}
	if got := e.Header.Get("X-Request-Id"); got != "req_scripted" {
		t.Errorf("got the request id %q, want the upstream's", got)
	}
}
