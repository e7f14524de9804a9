package headers_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/headers"
	"github.com/callgate/callgate/gateway/internal/route"
)

// TestVisible holds that a rule may ask for no header that stays out of the request: it would
// never be met.
func TestVisible(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"Authorization", "Api-Key", "X-Api-Key", "Cookie", "Proxy-Authorization", "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Expect", "Host", "Content-Length", "Content-Encoding", "Accept-Encoding", "Forwarded", "Via", "X-Real-Ip", "X-Request-Id",
		"X-Remote-User", "X-Amzn-Oidc-Data", "X_Tier", "X-Callgate-Route",
	} {
		if got := headers.Kept(http.Header{name: {"value"}}); len(got) != 0 || route.Visible(name) {
			t.Errorf("%s: got %q, visible %v, want it to stay", name, got, route.Visible(name))
		}
	}
	for _, name := range []string{"X-Tier", "User-Agent", "Accept-Language", "Origin", "X-Max-Tokens", "Openai-Organization", "X-User-Id"} {
		in := http.Header{name: {"value"}}
		if got := headers.Kept(in).Get(name); got != "value" || !route.Visible(name) {
			t.Errorf("%s: got %q, visible %v, want it to reach the rules", name, got, route.Visible(name))
		}
	}
	nominated := headers.Kept(http.Header{"Connection": {"keep-alive, x-tier"}, "X-Tier": {"gold"}})
	if len(nominated) != 0 {
		t.Errorf("got %v, want nothing that belongs to the connection", nominated)
	}
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, forward, pass string }{
		{"x-title", "", ""},
		{"Idempotency-Key", "", ""},
		{"x-ratelimit-limit-requests", "", ""},
		{"connection", "connection", "connection"},
		{"TRANSFER-ENCODING", "connection", "connection"},
		{"content-length", "framed", "framed"},
		{"content-encoding", "framed", "framed"},
		{"content-range", "framed", "framed"},
		{"host", "framed", "framed"},
		{"range", "framed", "framed"},
		{"x_title", "underscore", "underscore"},
		{"x-callgate-model", "gateway's own", "gateway's own"},
		{"authorization", "client's key", ""},
		{"x-api-key", "client's key", ""},
		{"cookie", "client's key", ""},
		{"via", "sets it", "own host"},
		{"x-request-id", "sets it", ""},
		{"x-forwarded-user", "who the client is", ""},
		{"tailscale-user-login", "who the client is", ""},
		{"set-cookie", "", "own host"},
		{"cache-control", "", "own host"},
		{"content-type", "", "own host"},
		{"access-control-allow-origin", "", "own host"},
		{"x-accel-redirect", "", ""}, // whoever names it knows what for
	} {
		for direction, got := range map[string][2]string{"forward": {headers.ForwardProblem(tt.name), tt.forward}, "pass": {headers.PassProblem(tt.name), tt.pass}} {
			if (got[0] == "") != (got[1] == "") || !strings.Contains(got[0], got[1]) {
				t.Errorf("%s, %s: got %q, want %q", tt.name, direction, got[0], got[1])
			}
		}
	}
}

func TestContentType(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ given, whole, streamed string }{
		{"application/json", "application/json", "text/event-stream"},
		{"Application/JSON; Charset=\"UTF-8\"", "Application/JSON; Charset=\"UTF-8\"", "text/event-stream"},
		{"application/problem+json", "application/problem+json", "text/event-stream"},
		{"application/json; charset=utf-7", "application/json", "text/event-stream"},
		{"application/json; charset=utf-8; x=y", "application/json", "text/event-stream"},
		{"text/html", "application/json", "text/event-stream"},
		{"text/html; json", "application/json", "text/event-stream"},
		{"image/svg+json", "application/json", "text/event-stream"},
		{"text/event-stream; charset=utf-8", "application/json", "text/event-stream; charset=utf-8"},
		{"", "application/json", "text/event-stream"},
	} {
		for _, streamed := range []bool{false, true} {
			want := tt.whole
			if streamed {
				want = tt.streamed
			}
			h := http.Header{"Content-Type": {tt.given}}
			got, held := headers.Answer{Streamed: streamed, Quotes: never}.Pass(h)
			if got.Get("Content-Type") != want || held.Counts[headers.Type] != map[bool]int{false: 0, true: 1}[want != tt.given] {
				t.Errorf("%q, streamed %v: got %v and %v, want %q", tt.given, streamed, got, held, want)
			}
		}
	}
}

func never(string) bool { return false }

// TestBounds gives an answer more than a client can take.
func TestBounds(t *testing.T) {
	t.Parallel()
	h := http.Header{"X-Ratelimit-Note": {strings.Repeat("x", 1025)}}
	for i := range 100 {
		h["X-Ratelimit-"+strings.Repeat("A", i+1)] = []string{"1"}
		h["Unknown-"+strings.Repeat("a", 10*i)] = []string{"1"}
	}
	got, held := headers.Answer{Quotes: never}.Pass(h)
	if len(got) != 64 || held.Counts[headers.TooMuch] != 38 || held.Counts[headers.Unknown] != 100 {
		t.Errorf("got %d headers, held %v, want 64, and 38 and 100 held", len(got), held.Counts)
	}
	if len(held.Names) != 32 || !slices.IsSorted(held.Names) || slices.ContainsFunc(held.Names, func(n string) bool { return len(n) > 64 }) {
		t.Errorf("got names %q, want 32 of at most 64 bytes", held.Names)
	}
}
