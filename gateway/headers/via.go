package headers

import (
	"context"
	"net/http"
	"strings"
)

// hop is what the gateway says of itself in the header Via (RFC 9110, 7.6.3).
const hop = "1.1 callgate"

// Hops counts the gateways that a request has passed.
func Hops(h http.Header) (n int) {
	for _, list := range h["Via"] {
		for entry := range strings.SplitSeq(list, ",") {
			if strings.TrimSpace(entry) == hop {
				n++
			}
		}
	}
	return n
}

// Via is the header Via of a request that has passed n other gateways, and now this one. What other
// proxies said is left out, with the names of the client's own.
func Via(n int) []string { return []string{strings.Repeat(hop+", ", n) + hop} }

type hopsKey struct{}

// WithHops notes in a context how many other gateways a request has passed whose upstream is asked for
// more than an answer, as it is for its list of models.
func WithHops(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, hopsKey{}, n)
}

// HopsOf is what [WithHops] has noted, or 0.
func HopsOf(ctx context.Context) int {
	n, _ := ctx.Value(hopsKey{}).(int)
	return n
}
