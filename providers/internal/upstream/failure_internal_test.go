package upstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
)

// retryCase is a line of testdata/retryafter.jsonl.
type retryCase struct {
	Name   string            `json:"name"`
	Header map[string]string `json:"header"`
	Body   json.RawMessage   `json:"body"`
	Want   string            `json:"want"`
}

func retryCases(t testing.TB) []retryCase {
	t.Helper()
	data, err := os.ReadFile("testdata/retryafter.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var cases []retryCase
	for line := bufio.NewScanner(bytes.NewReader(data)); line.Scan(); {
		var c retryCase
		if err := json.Unmarshal(line.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", line.Text(), err)
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		t.Fatal("got no cases")
	}
	return cases
}

// TestRetryAfter reads every form at the first moment of 2026.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	p, err := New(Config{BaseURL: "http://x"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range retryCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			resp := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{}}
			for name, value := range c.Header {
				resp.Header.Set(name, value)
			}
			e := p.classify(resp, readFailure(c.Body), now)
			if e.Kind != gateway.Limited || e.RetryAfter.String() != c.Want {
				t.Errorf("got kind %d and a wait of %v, want %d and %v", e.Kind, e.RetryAfter, gateway.Limited, c.Want)
			}
		})
	}
}

func TestReadFailure(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body, message string
		codes               []string
	}{
		{"OpenAI", `{"error":{"message":"m","type":"t","param":null,"code":"c"}}`, "m", []string{"c", "t"}},
		{"a number as the code", `{"error":{"message":"m","code":429}}`, "m", nil},
		{"a string", `{"error":"m"}`, "m", nil},
		{"FastAPI", `{"detail":"m"}`, "m", nil},
		{"vLLM", `{"object":"error","message":"m","type":"BadRequestError","code":400}`, "m", []string{"BadRequestError"}},
		{"Moonshot", `{"code":5,"error":"url.not_found","message":"m"}`, "url.not_found", nil},
		{"Google", ` [{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]`, "m", nil},
		{"a message of another type", `{"error":{"message":["m"],"type":"t"}}`, "", []string{"t"}},
		{"HTML", `<html>`, "", nil},
		{"cut", `{"error":{"message":"m"`, "", nil},
		{"a list of something else", `[1]`, "", nil},
		{"nothing", ``, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := readFailure([]byte(tt.body)); got.message != tt.message || !slices.Equal(got.codes, tt.codes) {
				t.Errorf("got %q, %q, want %q, %q", got.message, got.codes, tt.message, tt.codes)
			}
		})
	}
}

// FuzzFailure sees that nothing that an upstream says of a failure leads to a wait
// that is not to be believed, or to a message that cannot be shown.
func FuzzFailure(f *testing.F) {
	for _, c := range retryCases(f) {
		f.Add([]byte(c.Body), c.Header["Retry-After"], 429)
	}
	p, err := New(Config{BaseURL: "http://x", Key: "canary", QuotaCodes: []string{CodeQuota}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte, after string, status int) {
		resp := &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {after}}}
		e := p.classify(resp, readFailure(body), time.Unix(1700000000, 0))
		if e.RetryAfter < 0 || e.RetryAfter > maxRetryAfter {
			t.Errorf("got a wait of %v, want 0 to %v", e.RetryAfter, maxRetryAfter)
		}
		if len(e.Message) > 2*maxMessage || bytes.Contains([]byte(e.Message), []byte("canary")) || bytes.ContainsAny([]byte(e.Message), "\r\n\x00") {
			t.Errorf("got the message %q, want one line without the key", e.Message)
		}
	})
}
