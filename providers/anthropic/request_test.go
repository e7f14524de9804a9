package anthropic_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/anthropic"
)

const wholeAnswer = `{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-5-20250929",` +
	`"content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","stop_sequence":null,` +
	`"usage":{"input_tokens":3,"output_tokens":1}}`

// sent is the body that goes upstream for a client's request, and the warnings of the
// reply.
func sent(tb testing.TB, config anthropic.Config, upstreamModel, body string) (got, warnings string, err error) {
	tb.Helper()
	config.Transport = transport(func(r *http.Request) (*http.Response, error) {
		b, _ := io.ReadAll(r.Body)
		got = string(b)
		return answering("application/json", strings.NewReader(wholeAnswer))(r)
	})
	p, err := anthropic.New(config)
	if err != nil {
		tb.Fatal(err)
	}
	reply, err := p.Chat(tb.Context(), upstreamModel, request(tb, body))
	if err != nil {
		return "", "", err
	}
	return got, drain(tb, reply).warnings, nil
}

// TestRequest translates requests. A section "model" names the upstream's model.
func TestRequest(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "request") {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			name := model
			if m := strings.TrimSpace(g.part("model")); m != "" {
				name = m
			}
			got, warnings, err := sent(t, anthropic.Config{}, name, g.part("openai.json"))
			if err != nil {
				t.Fatal(err)
			}
			g.want(t, txtar.File{Name: "anthropic.json", Data: pretty(t, got)}, txtar.File{Name: "warnings", Data: []byte(warnings)})
		})
	}
}

// TestRefused is about requests that are refused. Each line of a section is a list of
// fields and messages; the first section has the requests, the second the places and
// texts.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, g := range goldens(t, "refused") {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			for line := range strings.Lines(g.part("fields.jsonl")) {
				line = strings.TrimSpace(line)
				body := `{"model":"m",` + line[1:]
				if !strings.Contains(line, `"messages"`) {
					body = `{"model":"m","messages":[{"role":"user","content":"hi"}],` + line[1:]
				}
				got, _, err := sent(t, anthropic.Config{}, model, body)
				var e *gateway.Error
				if !errors.As(err, &e) || e.Kind != gateway.Invalid {
					t.Errorf("%s: got %v and the body %s, want an error of the kind Invalid", line, err, got)
					continue
				}
				out.WriteString(e.Param + ": " + e.Message + "\n")
			}
			g.want(t, txtar.File{Name: "errors", Data: []byte(out.String())})
		})
	}
}

// TestRequestBytes checks that what needs no change goes upstream byte for byte.
func TestRequestBytes(t *testing.T) {
	t.Parallel()
	const (
		words  = `"caf\u00e9 \/ <b> é 😀"`
		args   = `{ \"b\" : 1.0,\n \"a\":[9007199254740993 ] }`
		input  = "{ \"b\" : 1.0,\n \"a\":[9007199254740993 ] }"
		schema = `{ "type":"object", "properties":{"z":{},"a":{}} }`
		mind   = `{ "type" : "thinking","thinking":"h\u006d", "signature":"s\/g" }`
		mark   = `{ "type":"ephemeral" , "ttl":"1h"}`
	)
	body := `{"model":"m","tools":[{"type":"function","function":{"name":"f","parameters":` + schema + `}}],"messages":[` +
		`{"role":"user","content":[{ "type":"text","text":` + words + `,"cache_control":` + mark + `}]},` +
		`{"role":"assistant","content":null,"thinking_blocks":[` + mind + `],"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"` + args + `"}}]},` +
		`{"role":"tool","tool_call_id":"c","content":` + words + `}]}`
	got, warnings, err := sent(t, anthropic.Config{}, model, body)
	if err != nil || warnings != "" {
		t.Fatalf("got warnings %q, error %v, want none", warnings, err)
	}
	for _, want := range []string{
		`"input_schema":` + schema, `{ "type":"text","text":` + words + `,"cache_control":` + mark + `}`,
		`"content":[` + mind + `,{"type":"tool_use","id":"c","name":"f","input":` + input + `}]`,
		`{"type":"tool_result","tool_use_id":"c","content":` + words + `}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s\nwant it to hold %s", got, want)
		}
	}
}

// TestPrefix checks that a conversation that goes on begins with the same bytes, on
// which the upstream's prompt cache depends.
func TestPrefix(t *testing.T) {
	t.Parallel()
	const (
		start = `{"model":"m","max_tokens":9,"tools":[{"type":"function","function":{"name":"f"}}],"messages":[{"role":"system","content":"s"},{"role":"user","content":"a"}`
		turn  = `,{"role":"assistant","content":"b","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"d"}`
	)
	previous := ""
	for i := range 4 {
		got, _, err := sent(t, anthropic.Config{}, model, start+strings.Repeat(turn, i)+"]}")
		if err != nil {
			t.Fatal(err)
		}
		if got = strings.TrimSuffix(got, "]}"); !strings.HasPrefix(got, previous) {
			t.Errorf("turn %d: got %s\nwant it to begin with %s", i, got, previous)
		}
		previous = got
	}
}

// TestMaxTokens is about the limit for a client that sets none.
func TestMaxTokens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		configure int
		fields    string
		want      string
	}{
		{"default", 0, ``, `"max_tokens":8192`},
		{"configured", 500, ``, `"max_tokens":500`},
		{"the client's", 500, `"max_tokens":7,`, `"max_tokens":7`},
		{"the client's new name", 500, `"max_completion_tokens":8,`, `"max_tokens":8`},
		{"null", 500, `"max_tokens":null,`, `"max_tokens":500`},
		{"with thinking", 500, `"reasoning_effort":"low",`, `"max_tokens":2548`},
		{"with the client's thinking", 500, `"thinking":{"type":"enabled","budget_tokens":4000},`, `"max_tokens":4500`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, _, err := sent(t, anthropic.Config{MaxTokens: tt.configure}, model, `{`+tt.fields+plainBody[1:])
			if err != nil || !strings.Contains(got, tt.want+",") {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
	if _, err := anthropic.New(anthropic.Config{MaxTokens: -1}); err == nil || !strings.Contains(err.Error(), "max_tokens") {
		t.Errorf("got %v, want an error that names max_tokens", err)
	}
}
