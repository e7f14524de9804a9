package upstreamerr

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"
)

// waitCase is a line of testdata/wait.jsonl.
type waitCase struct {
	Name   string            `json:"name"`
	Header map[string]string `json:"header"`
	Body   json.RawMessage   `json:"body"`
	Want   string            `json:"want"`
}

// TestWait reads every form at the first moment of 2026.
func TestWait(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/wait.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	n := 0
	for line := bufio.NewScanner(bytes.NewReader(data)); line.Scan(); n++ {
		var c waitCase
		if err := json.Unmarshal(line.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", line.Text(), err)
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			h := http.Header{}
			for name, value := range c.Header {
				h.Set(name, value)
			}
			if got := Read(h, c.Body, now).RetryAfter; got.String() != c.Want {
				t.Errorf("got a wait of %v, want %v", got, c.Want)
			}
		})
	}
	if n == 0 {
		t.Fatal("got no cases")
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body, message string
		codes               []string
		status              int
		wrapped             bool
	}{
		{"OpenAI", `{"error":{"message":"m","type":"t","param":null,"code":"c"}}`, "m", []string{"c", "t"}, 0, true},
		{"OpenAI, a wrong key", `{"error":{"message":"m","type":"invalid_request_error","code":"invalid_api_key"}}`, "m", []string{"invalid_api_key", "invalid_request_error"}, 401, true},
		{"OpenAI, no model", `{"error":{"message":"m","type":"invalid_request_error","code":"model_not_found"}}`, "m", []string{"model_not_found", "invalid_request_error"}, 404, true},
		{"a number as the code", `{"error":{"message":"m","code":429}}`, "m", nil, 429, true},
		{"a number in a string", `{"error":{"message":"m","code":"429"}}`, "m", []string{"429"}, 429, true},
		{"a number that is no status", `{"error":{"message":"m","code":5}}`, "m", nil, 0, true},
		{"a number over a word", `{"error":{"message":"m","type":"invalid_request_error","code":503}}`, "m", []string{"invalid_request_error"}, 503, true},
		{"a string", `{"error":"m"}`, "m", nil, 0, false},
		{"FastAPI", `{"detail":"m"}`, "m", nil, 0, false},
		{"vLLM", `{"object":"error","message":"m","type":"BadRequestError","code":400}`, "m", []string{"BadRequestError"}, 400, false},
		{"vLLM, in words", `{"error":{"message":"m","type":"NotFoundError"}}`, "m", []string{"NotFoundError"}, 404, true},
		{"Anthropic", `{"type":"error","error":{"type":"overloaded_error","message":"m"}}`, "m", []string{"overloaded_error", "error"}, 529, true},
		{"Moonshot", `{"code":5,"error":"url.not_found","message":"m"}`, "url.not_found", nil, 0, false},
		{"Moonshot, a full queue", `{"error":{"message":"m","type":"engine_overloaded_error"}}`, "m", []string{"engine_overloaded_error"}, 429, true},
		{"Google", ` [{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]`, "m", nil, 429, false},
		{"Google, in words", `{"error":{"message":"m","status":"DEADLINE_EXCEEDED"}}`, "m", nil, 504, true},
		{"OpenRouter", `{"error":{"message":"m","code":402,"metadata":{"error_type":"payment_required"}}}`, "m", nil, 402, true},
		{"TGI", `{"error":{"message":"m","http_status_code":422}}`, "m", nil, 422, true},
		{"a message of another type", `{"error":{"message":["m"],"type":"t"}}`, "t", []string{"t"}, 0, true},
		{"FastChat", `{"object":"error","message":"m","code":50004}`, "m", nil, 0, false},
		{"OpenAI, a country", `{"error":{"message":"m","type":"request_forbidden","code":"unsupported_country_region_territory"}}`, "m", []string{"unsupported_country_region_territory", "request_forbidden"}, 403, true},
		{"OpenAI, a filter", `{"error":{"message":"m","type":"image_generation_user_error","code":"content_policy_violation"}}`, "m", []string{"content_policy_violation", "image_generation_user_error"}, 400, true},
		{"DashScope, too fast", `{"code":"Throttling.RateQuota","message":"m","request_id":"r"}`, "m", []string{"Throttling.RateQuota"}, 429, false},
		{"DashScope, no access", `{"error":{"message":"m","code":"Model.AccessDenied","type":"Model.AccessDenied"}}`, "m", []string{"Model.AccessDenied", "Model.AccessDenied"}, 403, true},
		{"DashScope, a filter", `{"error":{"message":"m","code":"data_inspection_failed"}}`, "m", []string{"data_inspection_failed"}, 400, true},
		{"DashScope, a parameter", `{"code":"InvalidParameter","message":"m"}`, "m", []string{"InvalidParameter"}, 400, false},
		{"OpenRouter, in words", `{"error":{"message":"m","metadata":{"error_type":"payment_required"}}}`, "m", nil, 402, true},
		{"OpenRouter, of a provider", `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"m is temporarily rate-limited upstream.","provider_name":"Google"}}}`, "Provider returned error: m is temporarily rate-limited upstream.", nil, 429, true},
		{"OpenRouter, of a provider, in JSON", `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"m\",\"code\":503}}"}}}`, "Provider returned error: m", nil, 400, true},
		{"OpenRouter, of a provider, an object", `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":{"error":"m"}}}}`, "Provider returned error: m", nil, 400, true},
		{"OpenRouter, of a provider, nothing", `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":null}}}`, "Provider returned error", nil, 400, true},
		{"AWS", `{"message":"m","type":"ThrottlingException"}`, "m", []string{"ThrottlingException"}, 429, false},
		{"HTML", `<html>`, "", nil, 0, false},
		{"cut", `{"error":{"message":"m"`, "", nil, 0, false},
		{"a list of something else", `[1]`, "", nil, 0, false},
		{"nothing", ``, "", nil, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := Read(nil, []byte(tt.body), time.Now())
			if got.Message != tt.message || !slices.Equal(got.Codes, tt.codes) || got.Status != tt.status || got.Wrapped != tt.wrapped {
				t.Errorf("got %+v, want %q, %q, %d, wrapped %v", got, tt.message, tt.codes, tt.status, tt.wrapped)
			}
		})
	}
}
