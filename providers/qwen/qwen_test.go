package qwen_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/openai"
	"github.com/callgate/callgate/providers/providertest"
	"github.com/callgate/callgate/providers/providertest/scripted"
	"github.com/callgate/callgate/providers/qwen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustNew(t testing.TB, c openai.Config) *openai.Provider {
	t.Helper()
	p, err := qwen.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.CloseIdleConnections)
	return p
}

// It is not parallel: it looks for goroutines that were left.
func TestContract(t *testing.T) {
	providertest.Run(t, providertest.OpenAI(), func(t *testing.T, s providertest.Settings) gateway.Provider {
		return mustNew(t, openai.Config{
			Name: "test", BaseURL: s.BaseURL, APIKey: s.Key,
			Timeouts: openai.Timeouts{Connect: s.Connect, FirstToken: s.FirstToken, Idle: s.Idle, Total: s.Total},
		})
	})
}

// repair does what the gateway does to a trailing comma.
func repair(arguments string) string {
	if json.Valid([]byte(arguments)) {
		return arguments
	}
	return strings.Replace(arguments, ",}", "}", 1)
}

// TestLoop sees that a stream with tools is asked for whole, which is the only way in
// which the scripted upstream gives calls that can be read.
func TestLoop(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprintf("stream=%v", stream), func(t *testing.T) {
			t.Parallel()
			s := scripted.Qwen(t)
			p := mustNew(t, openai.Config{BaseURL: s.URL, APIKey: scripted.Key})
			rounds := scripted.Loop{Provider: p, Model: "qwen-max", Stream: stream, Repair: repair}.Run(t)
			if got, want := rounds[0][0].Arguments, `{"city": "Oslo",}`; got != want {
				t.Errorf("got arguments %s, want %s, as they came", got, want)
			}
			for _, r := range s.Requests() {
				if body := string(r.Body); strings.Contains(body, "stream_options") || strings.Contains(body, `"stream":true`) {
					t.Errorf("got the request %s, want no stream in it", body)
				}
			}
		})
	}
}

// ask returns the reply to a streamed request with the script's tools.
func ask(t *testing.T, p gateway.Provider, model, extra string) (gateway.Reply, error) {
	t.Helper()
	req, err := gateway.ParseRequest(fmt.Appendf(nil, `{"model":"m","stream":true%s,"messages":[{"role":"user","content":"hi"}]}`, extra))
	if err != nil {
		t.Fatal(err)
	}
	reply, err := p.Chat(t.Context(), model, req)
	if err == nil {
		t.Cleanup(func() { reply.Close() })
	}
	return reply, err
}

func TestWhatIsAskedWhole(t *testing.T) {
	t.Parallel()
	const tools = `,"tools":` + scripted.Tools
	for _, tt := range []struct {
		name, model, extra string
		only               []string
		streamed           bool
		warnings           []string
	}{
		{"tools", "qwen-plus", tools, nil, false, []string{"changed:stream"}},
		{"usage", "qwen-plus", tools + `,"stream_options":{"include_usage":true}`, nil, false, []string{"changed:stream", "dropped:stream_options"}},
		{"no tools", "qwen-plus", "", nil, true, nil},
		{"no tool wanted", "qwen-plus", tools + `,"tool_choice":"none"`, nil, true, nil},
		{"thinks aloud", "qwq-32b", tools, nil, true, nil},
		{"open model", "qwen3-235b-a22b", tools, nil, true, nil},
		{"thinking edition", "qwen3-235b-a22b-thinking-2507", tools, nil, true, nil},
		{"instruct edition", "qwen3-235b-a22b-instruct-2507", tools, nil, false, []string{"changed:stream"}},
		{"another list", "qwq-32b", tools, []string{"mine"}, false, []string{"changed:stream"}},
		{"an empty list", "qwq-32b", tools, []string{}, false, []string{"changed:stream"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := scripted.Qwen(t)
			p := mustNew(t, openai.Config{BaseURL: s.URL, APIKey: scripted.Key, StreamOnly: tt.only})
			reply, err := ask(t, p, tt.model, tt.extra)
			if err != nil {
				t.Fatal(err)
			}
			if reply.Streamed() != tt.streamed {
				t.Errorf("got streamed %v, want %v", reply.Streamed(), tt.streamed)
			}
			if got := reply.(gateway.Warner).Warnings(); !slices.Equal(got, tt.warnings) {
				t.Errorf("got warnings %q, want %q", got, tt.warnings)
			}
		})
	}
}

// TestQuota knows an account in debt from a rate that was too high, which DashScope
// calls by OpenAI's word for the former.
func TestQuota(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, code, want string
		status           int
		kind             gateway.Kind
	}{
		{"debt", "Arrearage", "insufficient_quota", 400, gateway.QuotaExceeded},
		{"rate of tokens", "insufficient_quota", "upstream_rate_limited", 429, gateway.RateLimited},
		{"request", "invalid_parameter_error", "upstream_rejected", 400, gateway.Rejected},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				fmt.Fprintf(w, `{"error":{"message":"m","type":%q,"param":null,"code":%q},"request_id":"r"}`, tt.code, tt.code)
			}))
			t.Cleanup(s.Close)
			_, err := ask(t, mustNew(t, openai.Config{BaseURL: s.URL}), "qwen-max", "")
			var e *gateway.Error
			if !errors.As(err, &e) || e.Kind != tt.kind || e.CodeOrDefault() != tt.want {
				t.Errorf("got %v, want kind %d, code %q", err, tt.kind, tt.want)
			}
		})
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	want := gateway.Needs{Arguments: true, Pairs: true}
	if got := mustNew(t, openai.Config{}).Needs(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	_, err := qwen.New(openai.Config{StreamOnly: []string{"["}})
	if err == nil || !strings.HasPrefix(err.Error(), "stream_only:") {
		t.Errorf("got %v, want that the pattern is none", err)
	}
}
