package providertest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
)

func statusCases() []testCase {
	return []testCase{
		{"status 429", "A rate limit says how long to wait, in any of the forms, within a day.", limited},
		{"status 429 without a header", "A rate limit whose body alone says how long to wait is understood.", limitedInBody},
		{"quota spent", "An account without money is no rate limit: nothing is said of waiting.", spent},
		{"status 408", "What is about the moment and not the request may be tried again.", passing},
		{"status 400", "A refusal is passed on byte for byte.", rejected},
		{"status 401", "The upstream's refusal of the gateway's credentials is hidden: it quotes the key.", credentials},
		{"status 500", "A failure names the status and a part of the upstream's message, without the key.", failed},
		{"in-band error", "An error in the place of an answer is what it is with its status, and does not quote the key.", inBand},
	}
}

const errorBody = `{"error":{"message":"the words of the upstream","type":"t","param":null,"code":"c"},"unknown":1.0}`

func limited(t *testing.T, f Factory) {
	for _, tt := range []struct {
		header   map[string]string
		min, max time.Duration
	}{
		{nil, 0, 0},
		{map[string]string{"Retry-After": "7"}, 7 * time.Second, 7 * time.Second},
		{map[string]string{"Retry-After": "0.5"}, time.Second / 2, time.Second / 2},
		{map[string]string{"Retry-After-Ms": "1500", "Retry-After": "7"}, 1500 * time.Millisecond, 1500 * time.Millisecond},
		{map[string]string{"Retry-After-Ms": "x", "Retry-After": "7"}, 7 * time.Second, 7 * time.Second},
		{map[string]string{"Retry-After": time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}, 59 * time.Minute, time.Hour},
		{map[string]string{"Retry-After": "Mon, 02 Jan 2006 15:04:05 GMT"}, 0, 0},
		{map[string]string{"Retry-After": "-1"}, 0, 0},
		{map[string]string{"Retry-After": "NaN"}, 0, 0},
		{map[string]string{"Retry-After": "1000000000000000000000"}, 24 * time.Hour, 24 * time.Hour},
		{map[string]string{"Retry-After": "Mon, 02 Jan 2106 15:04:05 GMT"}, 24 * time.Hour, 24 * time.Hour},
	} {
		p := open(t, f, Settings{BaseURL: answer(t, 429, tt.header, errorBody)})
		_, err := ask(t, p, streamRequest(t))
		e := wantError(t, err, gateway.RateLimited, "upstream_rate_limited", "429", "the words of the upstream")
		if e.RetryAfter < tt.min || e.RetryAfter > tt.max {
			t.Errorf("%v: got a wait of %v, want %v to %v", tt.header, e.RetryAfter, tt.min, tt.max)
		}
	}
}

func limitedInBody(t *testing.T, f Factory) {
	const body = `{"error":{"message":"Rate limit reached for m. Please try again in 1.2s. Visit the limits page.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`
	for _, tt := range []struct {
		header map[string]string
		want   time.Duration
	}{
		{nil, 1200 * time.Millisecond},
		{map[string]string{"Retry-After": "7"}, 7 * time.Second},
	} {
		p := open(t, f, Settings{BaseURL: answer(t, 429, tt.header, body)})
		_, err := ask(t, p, streamRequest(t))
		if e := wantError(t, err, gateway.RateLimited, "upstream_rate_limited", "Rate limit reached"); e.RetryAfter != tt.want {
			t.Errorf("%v: got a wait of %v, want %v", tt.header, e.RetryAfter, tt.want)
		}
	}
}

func spent(t *testing.T, f Factory) {
	p := open(t, f, Settings{BaseURL: answer(t, 402, map[string]string{"Retry-After": "9"}, errorBody)})
	_, err := ask(t, p, plainRequest(t))
	e := wantError(t, err, gateway.QuotaExceeded, "insufficient_quota", "402", "the words of the upstream")
	if e.RetryAfter != 0 || e.Header.Get("Retry-After") != "" {
		t.Errorf("got a wait of %v and %q, want none", e.RetryAfter, e.Header.Get("Retry-After"))
	}
}

func passing(t *testing.T, f Factory) {
	for _, status := range []int{408, 409, 425} {
		p := open(t, f, Settings{BaseURL: answer(t, status, map[string]string{"Retry-After": "3"}, errorBody)})
		_, err := ask(t, p, plainRequest(t))
		e := wantError(t, err, gateway.Unavailable, "upstream_error", "the words of the upstream")
		if e.RetryAfter != 3*time.Second || e.Body != nil {
			t.Errorf("%d: got a wait of %v and a body of %q, want 3s and none", status, e.RetryAfter, e.Body)
		}
	}
}

func rejected(t *testing.T, f Factory) {
	header := map[string]string{"Content-Type": "application/json", "X-Request-Id": "r", "Set-Cookie": "a=b"}
	for _, status := range []int{400, 404, 413, 422} {
		p := open(t, f, Settings{BaseURL: answer(t, status, header, errorBody)})
		_, err := ask(t, p, streamRequest(t))
		e := wantError(t, err, gateway.Rejected, "upstream_rejected")
		if e.Status != status || string(e.Body) != errorBody {
			t.Errorf("got %d %q, want %d %q", e.Status, e.Body, status, errorBody)
		}
		if e.Header.Get("X-Request-Id") != "r" || e.Header.Get("Content-Type") != "application/json" || e.Header.Get("Set-Cookie") != "" {
			t.Errorf("got header %v, want the request id and the content type alone", e.Header)
		}
	}
	for _, other := range []string{"", "words", `{"detail":"words"}`, `{"error":"words"}`, `{"message":"words"}`, `[{"error":{"message":"words"}}]`} {
		_, err := ask(t, open(t, f, Settings{BaseURL: answer(t, 400, header, other)}), plainRequest(t))
		if e := wantError(t, err, gateway.Rejected, "upstream_rejected", "400"); e.Status != 400 || e.Body != nil || string(e.Said) != other {
			t.Errorf("got %d %q, said %q, for a body of %q, want 400, a body of our own, and what was said", e.Status, e.Body, e.Said, other)
		}
	}
	large := answer(t, 400, header, `{"error":"`+strings.Repeat("x", 1<<20)+`"}`)
	_, err := ask(t, open(t, f, Settings{BaseURL: large}), streamRequest(t))
	if e := wantError(t, err, gateway.Rejected, "upstream_rejected"); e.Body != nil {
		t.Errorf("got a body of %d bytes, want none of more than 1 MiB", len(e.Body))
	}
}

func credentials(t *testing.T, f Factory) {
	for _, status := range []int{401, 403} {
		url := answer(t, status, nil, `{"error":{"message":"Incorrect API key provided: `+key+`"}}`)
		_, err := ask(t, open(t, f, Settings{BaseURL: url}), plainRequest(t))
		e := wantError(t, err, gateway.Unauthorized, "upstream_auth_error", "credentials")
		if e.Body != nil || strings.Contains(e.Message, "Incorrect") {
			t.Errorf("got %q with a body of %q, want nothing of the upstream's", e.Message, e.Body)
		}
	}
}

func failed(t *testing.T, f Factory) {
	const words = "the words of the upstream"
	for _, tt := range []struct {
		status int
		body   string
		texts  []string
	}{
		{500, errorBody, []string{"500", words}},
		{503, `{"error":"` + words + `"}`, []string{"503", words}},
		{502, `{"detail":"` + words + `"}`, []string{"502", words}},
		{529, `{"message":"` + words + `"}`, []string{"529", words}},
		{500, `<html>no</html>`, []string{"status 500."}},
		{500, ``, []string{"status 500."}},
		{500, `{"error":{"message":"` + words + ` and ` + key + `"}}`, []string{words + " and [redacted]"}},
		// The key must be gone before the message is cut, which would leave a part of it.
		{500, `{"error":{"message":"` + strings.Repeat("é", 143) + key + strings.Repeat("x", 300) + `"}}`, []string{"é"}},
		{500, `{"error":{"message":"a\nb` + strings.Repeat("é", 1000) + `"}}`, []string{"a b", "é…"}},
	} {
		p := open(t, f, Settings{BaseURL: answer(t, tt.status, map[string]string{"Retry-After": "3"}, tt.body)})
		_, err := ask(t, p, plainRequest(t))
		code := "upstream_error"
		if tt.status == 529 { // Anthropic's status for a lack of capacity
			code = "upstream_overloaded"
		}
		e := wantError(t, err, gateway.Unavailable, code, tt.texts...)
		if len(e.Message) > 500 {
			t.Errorf("got a message of %d bytes, want the upstream's words cut", len(e.Message))
		}
		if e.RetryAfter != 3*time.Second {
			t.Errorf("got a wait of %v, want 3s", e.RetryAfter)
		}
	}
}

func inBand(t *testing.T, f Factory) {
	for _, status := range []int{400, 401, 402, 408, 425, 429, 500, 503, 529} {
		body := fmt.Sprintf(`{"error":{"message":"the words of the upstream and %s","type":"t","param":null,"code":%d,"retry_after":7}}`, key, status)
		p := open(t, f, Settings{BaseURL: answer(t, status, nil, body)})
		_, err := ask(t, p, plainRequest(t))
		byStatus := gateway.AsError(err)
		failer, ok := p.(gateway.Failer)
		if !ok {
			t.Fatalf("got a %T, want a gateway.Failer", p)
		}
		e := wantError(t, failer.Failure(nil, []byte(body)), byStatus.Kind, byStatus.CodeOrDefault())
		if e.HTTPStatus() != byStatus.HTTPStatus() || e.RetryAfter != byStatus.RetryAfter || string(e.Body) != string(byStatus.Body) {
			t.Errorf("%d: got %d, a wait of %v and %s, want %d, %v and %s as with the status", status,
				e.HTTPStatus(), e.RetryAfter, e.Body, byStatus.HTTPStatus(), byStatus.RetryAfter, byStatus.Body)
		}
	}
}
