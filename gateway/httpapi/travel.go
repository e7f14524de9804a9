package httpapi

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/route"
)

// staying are headers of a client that stay with us, beside those that route.SaysWho
// knows: they hold keys, say how its connection to us works, or are ours to set.
var staying = map[string]bool{
	"Authorization": true, "Api-Key": true, "X-Api-Key": true, "Cookie": true, "Proxy-Authorization": true,
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true, "Expect": true, "Host": true,
	"Content-Length": true, "Content-Encoding": true, "Accept-Encoding": true,
	"Forwarded": true, "Via": true, "X-Real-Ip": true, "X-Request-Id": true,
}

// travelling are the client's headers that go on to the upstream.
func travelling(in http.Header) http.Header {
	var drop map[string]bool
	for _, list := range in["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			if drop == nil {
				drop = map[string]bool{}
			}
			drop[http.CanonicalHeaderKey(strings.TrimSpace(name))] = true
		}
	}
	out := make(http.Header, len(in)+2)
	for name, values := range in {
		if !staying[name] && !drop[name] && !route.SaysWho(name) && !strings.HasPrefix(name, "X-Callgate-") {
			out[name] = values
		}
	}
	return out
}

// passage is what the gateway says of itself in the header Via (RFC 9110, 7.6.3).
const passage = "1.1 callgate"

// maxPassages is how many gateways may stand one behind the other. There are seldom more
// than two; a base_url that leads back to the gateway makes them without end.
const maxPassages = 5

// passages counts the gateways that a request has come through.
func passages(h http.Header) (n int) {
	for _, list := range h["Via"] {
		for entry := range strings.SplitSeq(list, ",") {
			if strings.TrimSpace(entry) == passage {
				n++
			}
		}
	}
	return n
}

// pass says in the header of a request to the upstream that one more has seen it. What
// other proxies said is left out, with the names of the client's own.
func pass(h http.Header, passed int) {
	h["Via"] = []string{strings.Repeat(passage+", ", passed) + passage}
}

// loops is the error of a request that goes round in circles. It is the client's to see
// as it is: every gateway on the way passes it on, and none tries again.
func loops(passed int) *gateway.Error {
	return &gateway.Error{Kind: gateway.Invalid, Code: "request_loop", Param: "via",
		Message: fmt.Sprintf("This request has come through %d gateways: the base_url of a provider leads back to one of them.", passed)}
}
