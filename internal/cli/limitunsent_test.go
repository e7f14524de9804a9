package cli

import (
	"fmt"
	"testing"

	"github.com/callgate/callgate/internal/testserver"
)

// TestLimitUnsent holds that requests of which no upstream has had a byte do not count where requests are limited, on any route.
func TestLimitUnsent(t *testing.T) {
	t.Parallel()
	closed := "http://" + testserver.Refusing(t) + "/v1"
	g := serve(t, fmt.Sprintf(`
key_limits: [{requests: 1, per: 1h}]
providers:
  closed: {type: openai, base_url: %q, api_key: k, circuit_breaker: {failure_threshold: 1000}}
models:
  m: {targets: [{provider: closed, model: real}]}
`, closed))
	for path, body := range unreached {
		for range 2 {
			if r := g.do(g.request("POST", path, body)); r.status == 429 {
				t.Errorf("%s: got %d %.200s, want that nothing counts", path, r.status, r.body)
			}
		}
	}
}

// unreached are requests over each protocol, and those that are relayed.
var unreached = map[string]string{ //nolint:gochecknoglobals // cases
	"/v1/chat/completions": `{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
	"/v1/responses":        `{"model":"m","stream":true,"input":"hi"}`,
	"/v1/messages":         `{"model":"m","max_tokens":99,"messages":[{"role":"user","content":"hi"}]}`,
	"/v1/completions":      `{"model":"m","prompt":"hi","max_tokens":9}`,
	"/v1/embeddings":       `{"model":"m","input":"hi"}`,
}
