package anthropic_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/anthropic"
)

// TestHeaders checks what travels in both directions.
func TestHeaders(t *testing.T) {
	t.Parallel()
	got := make(chan *http.Request, 1)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Request-Id", "req_1")
		w.Header().Set("Anthropic-Ratelimit-Tokens-Remaining", "7")
		w.Header().Set("Set-Cookie", "a=b")
		io.WriteString(w, wholeAnswer)
	})
	req := request(t, plainBody)
	req.From.Header = http.Header{
		"Authorization": {"Bearer of-the-client"}, "X-Api-Key": {"of-the-client"}, "Anthropic-Version": {"of-the-client"},
		"Openai-Organization": {"of-the-client"}, "Openai-Project": {"of-the-client"}, "Anthropic-Beta": {"context-1m-2025-08-07"}, "X-Custom": {"c"}, "X-Other": {"of-the-client"},
	}
	p := connect(t, anthropic.Config{BaseURL: url + "/v1/?a=b", APIKey: key, Headers: map[string]string{"x-own": "o"}, ForwardHeaders: []string{"x-custom"}})
	reply, err := p.Chat(t.Context(), model, req)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Close()
	r := <-got
	if want := "/v1/messages?a=b"; r.URL.String() != want || r.Method != http.MethodPost {
		t.Errorf("got %s %s, want POST %s", r.Method, r.URL, want)
	}
	for name, want := range map[string]string{
		"X-Api-Key": key, "Anthropic-Version": "2023-06-01", "Anthropic-Beta": "context-1m-2025-08-07", "X-Custom": "c", "X-Own": "o",
		"Content-Type": "application/json", "Authorization": "", "Openai-Organization": "", "Openai-Project": "", "X-Other": "",
	} {
		if got := strings.Join(r.Header[name], "|"); got != want {
			t.Errorf("sent %s: got %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"Request-Id": "req_1", "X-Request-Id": "req_1", "Anthropic-Ratelimit-Tokens-Remaining": "7", "Set-Cookie": ""} {
		if got := reply.Header().Get(name); got != want {
			t.Errorf("received %s: got %q, want %q", name, got, want)
		}
	}
}

// TestConfig checks versions, addresses and what is wrong in a configuration.
func TestConfig(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		config       anthropic.Config
		url, version string
	}{
		{anthropic.Config{}, "https://api.anthropic.com/v1/messages", "2023-06-01"},
		{anthropic.Config{BaseURL: "https://example.com/v1"}, "https://example.com/v1/messages", "2023-06-01"},
		{anthropic.Config{BaseURL: "https://example.com/anthropic/", Version: "2024-01-01"}, "https://example.com/anthropic/v1/messages", "2024-01-01"},
		{anthropic.Config{Version: "2024-01-01", Headers: map[string]string{"anthropic-version": "2025-01-01"}}, "https://api.anthropic.com/v1/messages", "2025-01-01"},
	} {
		tt.config.Transport = transport(func(r *http.Request) (*http.Response, error) {
			if got := r.URL.String(); got != tt.url {
				t.Errorf("got the address %s, want %s", got, tt.url)
			}
			if got := r.Header["Anthropic-Version"]; len(got) != 1 || got[0] != tt.version {
				t.Errorf("got the version %q, want %s", got, tt.version)
			}
			return answering("application/json", strings.NewReader(wholeAnswer))(r)
		})
		if _, err := ask(t, connect(t, tt.config), plainBody); err != nil {
			t.Error(err)
		}
	}
	for want, c := range map[string]anthropic.Config{
		"base_url": {BaseURL: "ftp://x"}, "api_key": {APIKey: key + "\n"}, "max_tokens": {MaxTokens: -1},
		"timeouts.idle": {Timeouts: anthropic.Timeouts{Idle: -1}}, "headers": {Headers: map[string]string{"a b": "c"}},
	} {
		if _, err := anthropic.New(c); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), key) {
			t.Errorf("got %v, want an error that names %s and no secret", err, want)
		}
	}
}

// TestModels checks the list of models.
func TestModels(t *testing.T) {
	t.Parallel()
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/v1/models?limit=1000" || r.Header.Get("X-Api-Key") != key || r.Header.Get("Anthropic-Version") == "" {
			http.Error(w, "no", http.StatusNotFound)
			return
		}
		io.WriteString(w, `{"data":[{"type":"model","id":"claude-a","display_name":"A"},{"type":"model","id":"claude-b"}],"has_more":false}`)
	})
	got, err := connect(t, anthropic.Config{BaseURL: url, APIKey: key}).Models(t.Context())
	if err != nil || fmt.Sprint(got) != "[claude-a claude-b]" {
		t.Errorf("got %v, %v, want two models", got, err)
	}
}

// TestStatus has the upstream's errors with their statuses, and what becomes of them.
func TestStatus(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/status.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := bufio.NewScanner(bytes.NewReader(data)); line.Scan(); {
		var c struct {
			Name   string
			Status int
			Header map[string]string
			Body   string
			Want   struct {
				Status        int
				Code, Message string
				RetryAfter    string `json:"retry_after"`
				Body          string
			}
		}
		if err := json.Unmarshal(line.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", line.Text(), err)
		}
		c.Body = strings.ReplaceAll(c.Body, "{key}", key)
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			p := open(t, transport(func(r *http.Request) (*http.Response, error) {
				h := http.Header{"Content-Type": {"application/json"}, "Request-Id": {"req_1"}, "Anthropic-Ratelimit-Requests-Remaining": {"0"}}
				for name, value := range c.Header {
					h.Set(name, value)
				}
				return &http.Response{StatusCode: c.Status, Header: h, Body: io.NopCloser(strings.NewReader(c.Body)), ContentLength: -1, Request: r}, nil
			}))
			_, err := ask(t, p, streamBody)
			e := wantError(t, err, gateway.AsError(err).Kind, c.Want.Code, c.Want.Message)
			if e.HTTPStatus() != c.Want.Status || string(e.Body) != c.Want.Body {
				t.Errorf("got %d %s, want %d %s", e.HTTPStatus(), e.Body, c.Want.Status, c.Want.Body)
			}
			if wait, _ := time.ParseDuration(c.Want.RetryAfter); e.RetryAfter != wait {
				t.Errorf("got a wait of %v, want %v", e.RetryAfter, wait)
			}
			if e.Header != nil && (e.Header.Get("X-Request-Id") != "req_1" || e.Header.Get("Anthropic-Ratelimit-Requests-Remaining") != "0") {
				t.Errorf("got the header %v, want the id of the request and the limits", e.Header)
			}
		})
	}
}

// TestSecrets checks that the key is in no error, whatever the upstream quotes.
func TestSecrets(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"invalid_request_error", "authentication_error", "overloaded_error", key} {
		e := `{"type":"error","error":{"type":"` + kind + `","message":"quotes ` + key + `"}}`
		for contentType, text := range map[string]string{"application/json": e, "text/event-stream": startEvent + "data: " + e + "\n\n"} {
			_, err := ask(t, open(t, answering(contentType, strings.NewReader(text))), streamBody)
			wantError(t, err, gateway.AsError(err).Kind, gateway.AsError(err).CodeOrDefault())
		}
	}
}

// TestGeneration checks how the versions of models are read from their names: later
// ones are told the effort, earlier ones and those of others a budget.
func TestGeneration(t *testing.T) {
	t.Parallel()
	for name, adaptive := range map[string]bool{
		"claude-3-7-sonnet-20250219": false, "claude-3-5-haiku-latest": false, "claude-sonnet-4-20250514": false,
		"claude-opus-4-1-20250805": false, "anthropic/claude-sonnet-4.5": false, "us.anthropic.claude-haiku-4-5-20251001-v1:0": false,
		"claude-opus-4-5@20251101": false, "claude-opus-4-6": true, "Claude-Sonnet-5": true, "claude-next": true, "claude-opus-4-10": true,
		"kimi-k2": false, "glm-4.7": false, "deepseek-chat": false,
	} {
		body, _, err := sent(t, anthropic.Config{}, name, `{"reasoning_effort":"low",`+plainBody[1:])
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(body, `"adaptive"`); got != adaptive || strings.Contains(body, `"budget_tokens":2048`) == adaptive {
			t.Errorf("%s: got %s, want adaptive: %v", name, body, adaptive)
		}
	}
}
