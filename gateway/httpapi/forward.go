package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/callgate/callgate/gateway"
)

// hop is what the gateway says of itself in the header Via (RFC 9110, 7.6.3).
const hop = "1.1 callgate"

// maxHops is how many gateways a request may have passed. There are seldom more than two; a
// base_url that leads back to the gateway makes them without end.
const maxHops = 5

// countHops counts the gateways that a request has passed.
func countHops(h http.Header) (n int) {
	for _, list := range h["Via"] {
		for entry := range strings.SplitSeq(list, ",") {
			if strings.TrimSpace(entry) == hop {
				n++
			}
		}
	}
	return n
}

// addHop adds this gateway to the header of a request that has passed n others. What other
// proxies said is left out, with the names of the client's own.
func addHop(h http.Header, n int) {
	h["Via"] = []string{strings.Repeat(hop+", ", n) + hop}
}

// looped is the error of a request that goes round in circles. The client is to see it as it
// is: every gateway on the way passes it on, and none tries again.
func looped(hops int) *gateway.Error {
	return &gateway.Error{Kind: gateway.Invalid, Code: "request_loop", Param: "via",
		Message: fmt.Sprintf("This request has already passed %d gateways: the base_url of a provider leads back to one of them.", hops)}
}
