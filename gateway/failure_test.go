package gateway_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/upstreamerr"
)

// gatewayKey is what an upstream must not get through to a client.
const gatewayKey = "sk-canary-of-the-gateway"

// FuzzClassify sees that nothing that an upstream says of a failure leads to a wait that is
// not to be believed, to a message that cannot be shown, or to the gateway's own key; and
// that a failure is the same with its status and in-band.
func FuzzClassify(f *testing.F) {
	for _, body := range []string{
		`{"error":{"message":"of sk-canary-of-the-gateway\r\nin two lines","type":"t","code":"spent"}}`,
		`{"type":"error","error":{"type":"overloaded_error","message":"try again in 1.2s"}}`,
		`{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"retryDelay":"-1s"}]}}`,
		`{"error":{"code":"429","metadata":{"headers":{"Retry-After":"1e300"}},"availability":{"retry_after":-5}}}`,
		`{"error":"sk-canary-of-the-gateway"}`, `{"detail":[{"msg":"m"}],"status":503}`, `[{"error":{"code":400}}]`, `[[[`, `"`, ``, `null`,
	} {
		for _, status := range []int{0, 200, 302, 400, 401, 402, 403, 408, 429, 500, 503, 529, 600, -1} {
			f.Add([]byte(body), "Retry-After", "7", status)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, name, value string, status int) {
		said := upstreamerr.Read(http.Header{http.CanonicalHeaderKey(name): {value}}, body, time.Now())
		failure := gateway.UpstreamFailure{
			Provider: "p", Status: status, Body: bytes.Clone(body), Header: http.Header{http.CanonicalHeaderKey(name): {value}},
			QuotaCodes: []string{"spent"}, Redact: func(s string) string { return strings.ReplaceAll(s, gatewayKey, "[redacted]") },
		}
		e := failure.Classify()
		if e.RetryAfter < 0 || e.RetryAfter > upstreamerr.MaxWait {
			t.Errorf("got a wait of %v, want 0 to %v", e.RetryAfter, upstreamerr.MaxWait)
		}
		if len(e.Message) > 500 || strings.ContainsAny(e.Message, "\r\n\x00\x1b") {
			t.Errorf("got the message %q, want one short line", e.Message)
		}
		if shown := e.Message + e.Quote + e.Error() + string(e.Body) + string(e.Said); strings.Contains(shown, gatewayKey) {
			t.Errorf("got the key in %q", shown)
		}
		if (e.Body != nil || e.Said != nil) != (e.Kind == gateway.Rejected) && len(body) > 0 {
			t.Errorf("got kind %d with the body %q", e.Kind, e.Body)
		}
		if s := e.HTTPStatus(); s < 400 || s > 599 {
			t.Errorf("got status %d for the client, want that of an error", s)
		}
		if !bytes.Equal(body, failure.Body) || failure.Header[http.CanonicalHeaderKey(name)][0] != value {
			t.Errorf("got %q and %v, want what came unchanged", failure.Body, failure.Header)
		}

		failure.Status = 0
		inBand := failure.Classify()
		failure.Status = said.Status
		if same := failure.Classify(); said.Status != 0 && (same.Kind != inBand.Kind || same.CodeOrDefault() != inBand.CodeOrDefault() ||
			(same.RetryAfter == 0) != (inBand.RetryAfter == 0) || same.HTTPStatus() != inBand.HTTPStatus() || !bytes.Equal(same.Body, inBand.Body)) {
			t.Errorf("got %+v with status %d, and %+v in-band", same, said.Status, inBand)
		}
	})
}

// TestNotThere holds that a 404 which no such API sends, as a base_url without its /v1 brings, says
// where to look, and that an API's own words go on as they are.
func TestNotThere(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		status     int
		body, want string
	}{
		"a server's":     {404, `{"detail":"Not Found"}`, `Provider "p": the upstream refused the request with status 404: Not Found. Check base_url, and the name of the model.`},
		"no words":       {404, `<html>`, `Provider "p": the upstream refused the request with status 404. Check base_url, and the name of the model.`},
		"an API's":       {404, `{"error":{"message":"no such model","code":"model_not_found"}}`, `Provider "p": the upstream refused the request with status 404: no such model`},
		"another status": {400, `{"detail":"no"}`, `Provider "p": the upstream refused the request with status 400: no`},
	} {
		if got := (gateway.UpstreamFailure{Provider: "p", Status: row.status, Body: []byte(row.body)}).Classify().Message; got != row.want {
			t.Errorf("%s: got %s, want %s", name, got, row.want)
		}
	}
}
