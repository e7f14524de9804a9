package httpapi

import (
	"fmt"
	"net/http"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/headers"
)

// maxHops is how many gateways a request may have passed. There are seldom more than two; a
// base_url that leads back to the gateway makes them without end.
const maxHops = 5

// hopsOf counts the gateways that a request has passed, and refuses one that goes round in circles. The
// client is to see the error as it is: every gateway on the way passes it on, and none tries again.
func hopsOf(h http.Header) (int, error) {
	n := headers.Hops(h)
	if n >= maxHops {
		return n, &gateway.Error{Kind: gateway.Invalid, Code: "request_loop", Param: "via",
			Message: fmt.Sprintf("This request has already passed %d gateways: the base_url of a provider leads back to one of them.", n)}
	}
	return n, nil
}
