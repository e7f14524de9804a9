package openai_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/openai"
)

// upstreamFunc answers requests without a network.
type upstreamFunc func(*http.Request) (*http.Response, error)

func (f upstreamFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestFitSaysWhatItDrops sends what was translated from another protocol to hosts that are known for
// what they refuse: it goes without that, and the warnings name it. What a client of chat completions
// sent goes out as it is.
func TestFitSaysWhatItDrops(t *testing.T) {
	t.Parallel()
	const body = `{"model":"m","max_tokens":9,"top_k":4,"reasoning_effort":"low","messages":[{"role":"user","content":"Hi."},` +
		`{"role":"assistant","content":"Ho.","reasoning_content":"R","thinking_blocks":[{"type":"thinking"}]},{"role":"user","content":"Hi."},` +
		`{"role":"assistant","reasoning_content":"R","content":"Ho.","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{}}},{"id":"b"}],"reasoning_details":[]},{"role":"user","content":"Hi."}]}`
	const plain = `"messages":[{"role":"user","content":"Hi."},{"role":"assistant","content":"Ho."},{"role":"user","content":"Hi."},` +
		`{"role":"assistant","content":"Ho.","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b"}]},{"role":"user","content":"Hi."}]}`
	thoughts := []string{"dropped:messages.reasoning_content", "dropped:messages.thinking_blocks", "dropped:messages.reasoning_details", "dropped:messages.tool_calls.extra_content"}
	for _, tt := range []struct {
		base, model string
		source      *gateway.Source
		want        string
		warnings    []string
	}{
		{"https://api.groq.com/openai/v1", "m", &gateway.Source{Protocol: "messages"},
			`{"model":"m","max_tokens":9,` + plain, append(slices.Clone(thoughts), "dropped:top_k", "dropped:reasoning_effort")},
		{"https://api.openai.com/v1", "gpt-5", &gateway.Source{Protocol: "messages"},
			`{"model":"gpt-5","max_completion_tokens":9,"reasoning_effort":"low",` + plain, append(slices.Clone(thoughts), "dropped:top_k")},
		{"https://api.groq.com/openai/v1", "m", nil, body, nil},
		{"https://vllm.example/v1", "m", &gateway.Source{Protocol: "messages"}, body, nil},
	} {
		var sent string
		p := mustNew(t, openai.Config{BaseURL: tt.base, Transport: upstreamFunc(func(r *http.Request) (*http.Response, error) {
			text, err := io.ReadAll(r.Body)
			sent = string(text)
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(`{}`)), ContentLength: 2}, err
		})})
		req, err := gateway.ParseRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if req, err = req.Again([]byte(body), tt.source); err != nil {
			t.Fatal(err)
		}
		reply, err := p.Chat(t.Context(), tt.model, req)
		if err != nil {
			t.Fatalf("%s: %v", tt.base, err)
		}
		if sent != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.base, sent, tt.want)
		}
		if got := reply.(gateway.Warner).Warnings(); !slices.Equal(got, tt.warnings) {
			t.Errorf("%s: got the warnings %v, want %v", tt.base, got, tt.warnings)
		}
		if err := reply.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFitLeavesNoEmptyMessage has an answer that was thoughts alone, as when a user has stopped it: without them it says nothing, and
// Mistral refuses a message of the assistant that does.
func TestFitLeavesNoEmptyMessage(t *testing.T) {
	t.Parallel()
	const first, last = `{"role":"user","content":"Hi."}`, `{"role":"user","content":"Go."}`
	for _, tt := range []struct{ middle, want, warning string }{
		{`{"role":"assistant","reasoning_content":"R","content":""}`, "", "dropped:messages.reasoning_content dropped:messages.empty"},
		{`{"role":"assistant","content":null,"reasoning_content":"R"},{"role":"assistant","reasoning_content":"R","content":[]}`, "", "dropped:messages.reasoning_content dropped:messages.empty"},
		{`{"role":"assistant","reasoning_content":"R","content":"","tool_calls":[{"id":"a"}]},{"role":"tool","tool_call_id":"a","content":""}`,
			`{"role":"assistant","content":"","tool_calls":[{"id":"a"}]},{"role":"tool","tool_call_id":"a","content":""}`, "dropped:messages.reasoning_content"},
		{`{"role":"assistant","reasoning_content":"R","content":"","refusal":"No."}`, `{"role":"assistant","content":"","refusal":"No."}`, "dropped:messages.reasoning_content"},
	} {
		var sent string
		p := mustNew(t, openai.Config{BaseURL: "https://api.mistral.ai/v1", Transport: upstreamFunc(func(r *http.Request) (*http.Response, error) {
			text, err := io.ReadAll(r.Body)
			sent = string(text)
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(`{}`)), ContentLength: 2}, err
		})})
		for _, place := range []struct{ before, after string }{{first + ",", "," + last}, {first + ",", ""}, {"", "," + last}} {
			body := `{"model":"m","messages":[` + place.before + tt.middle + place.after + `]}`
			want := `{"model":"m","messages":[` + place.before + tt.want + place.after + `]}`
			if tt.want == "" {
				want = `{"model":"m","messages":[` + strings.Trim(place.before+place.after, ",") + `]}`
				if place.before != "" && place.after != "" {
					want = `{"model":"m","messages":[` + first + "," + last + `]}`
				}
			}
			req, err := gateway.ParseRequest([]byte(body))
			if err != nil {
				t.Fatal(err)
			}
			if req, err = req.Again([]byte(body), &gateway.Source{Protocol: "responses"}); err != nil {
				t.Fatal(err)
			}
			reply, err := p.Chat(t.Context(), "m", req)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(reply.(gateway.Warner).Warnings(), " "); sent != want || got != tt.warning {
				t.Errorf("got\n%s\nand the warnings %s, want\n%s\nand %s", sent, got, want, tt.warning)
			}
			if err := reply.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestFitMessages sends histories that hosts are known to refuse: a call without the thoughts behind it, and, where
// no thoughts may come back, an answer that was nothing else.
func TestFitMessages(t *testing.T) {
	t.Parallel()
	const (
		user  = `{"role":"user","content":"Hi."}`
		call  = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]`
		tool  = `{"role":"tool","tool_call_id":"a","content":"r"}`
		mused = `{"role":"assistant","content":"","reasoning_content":"R"}`
		null  = `{"role":"assistant","content":null,"reasoning_content":"R"}`
		said  = `{"role":"assistant","content":"Ho."}`
	)
	chat := func(messages ...string) string {
		return `{"model":"m","messages":[` + strings.Join(messages, ",") + `]}`
	}
	const filled, dropped, empty = "changed:messages.reasoning_content", "dropped:messages.reasoning_content", "dropped:messages.empty"
	for _, tt := range []struct {
		host, body, want string
		warnings         []string
	}{
		{"api.deepseek.com", chat(user, call+"}", tool, said), chat(user, call+`,"reasoning_content":" "}`, tool, said), []string{filled}},
		{"api.moonshot.cn", chat(user, call+"}", tool), chat(user, call+`,"reasoning_content":" "}`, tool), []string{filled}},
		{"api.deepseek.com", chat(user, call+`,"reasoning_content":"R"}`, tool, mused), chat(user, call+`,"reasoning_content":"R"}`, tool, mused), nil},
		{"vllm.example", chat(user, call+"}", tool, mused), chat(user, call+"}", tool, mused), nil},
		{"api.mistral.ai", chat(user, mused, user), chat(user, user), []string{dropped, empty}},
		{"api.mistral.ai", chat(mused, null, user, null, mused), chat(user), []string{dropped, empty}},
		{"api.mistral.ai", chat(user, call+`,"reasoning_content":"R"}`, tool), chat(user, call+"}", tool), []string{dropped}},
		{"api.mistral.ai", chat(user, `{"role":"assistant","content":""}`, user), chat(user, `{"role":"assistant","content":""}`, user), nil},
	} {
		var sent string
		p := mustNew(t, openai.Config{BaseURL: "https://" + tt.host + "/v1", Transport: upstreamFunc(func(r *http.Request) (*http.Response, error) {
			text, err := io.ReadAll(r.Body)
			sent = string(text)
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
				Body: io.NopCloser(strings.NewReader(`{}`)), ContentLength: 2}, err
		})})
		for _, source := range []*gateway.Source{{Protocol: "messages"}, nil} {
			req, err := gateway.ParseRequest([]byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			want, warnings := tt.body, []string(nil) // what a client of chat completions sends goes out as it is
			if source != nil {
				want, warnings = tt.want, tt.warnings
				if req, err = req.Again([]byte(tt.body), source); err != nil {
					t.Fatal(err)
				}
			}
			reply, err := p.Chat(t.Context(), "m", req)
			if err != nil {
				t.Fatalf("%s: %v", tt.host, err)
			}
			if got := reply.(gateway.Warner).Warnings(); sent != want || !slices.Equal(got, warnings) {
				t.Errorf("%s: got\n%s\nwant\n%s\nand the warnings %v, want %v", tt.host, sent, want, got, warnings)
			}
			if err := reply.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
