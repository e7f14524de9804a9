package upstreamerr_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/upstreamerr"
)

func TestReadOverflow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		message string
		codes   []string
		want    upstreamerr.Overflow
		ok      bool
	}{
		{"This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.", nil, upstreamerr.Overflow{Used: 9001, Limit: 8192}, true},
		{"request (70001 tokens) exceeds the available context size (65536 tokens), try increasing it", nil, upstreamerr.Overflow{Used: 70001, Limit: 65536}, true},
		{"prompt is too long: 208310 tokens > 200000 maximum", nil, upstreamerr.Overflow{Used: 208310, Limit: 200000}, true},
		{"Range of input length should be [1, 30720]", nil, upstreamerr.Overflow{Limit: 30720}, true},
		{"This model's maximum context length is 8192 tokens, and you sent 9001 (request id: 2026112818595912345678).", nil, upstreamerr.Overflow{Used: 9001, Limit: 8192}, true},
		{"maximum context length 8192, at 20261128185959", nil, upstreamerr.Overflow{Limit: 8192}, true},
		{"context limit 99999999999999999999", nil, upstreamerr.Overflow{}, true},
		{"Too long.", []string{"context_length_exceeded"}, upstreamerr.Overflow{}, true},
		{"Bad tool schema.", []string{"invalid_request_error"}, upstreamerr.Overflow{}, false},
		{"prompt is too long" + strings.Repeat(".", 1<<20) + "limit 4096", nil, upstreamerr.Overflow{Limit: 4096}, true},
		{strings.Repeat(".", 1<<19) + "prompt is too long, limit 4096" + strings.Repeat(".", 1<<19), nil, upstreamerr.Overflow{}, false}, // not read
		{"max_tokens must be at most 4096", nil, upstreamerr.Overflow{}, false},
	} {
		if got, ok := upstreamerr.ReadOverflow(c.message, c.codes...); got != c.want || ok != c.ok {
			t.Errorf("%s: got %+v, %t, want %+v, %t", c.message, got, ok, c.want, c.ok)
		}
	}
}
