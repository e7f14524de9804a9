package socket

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway/wire"
)

// with is an object with one more member.
func with(object []byte, name string, value []byte) []byte {
	b := append(make([]byte, 0, len(object)+len(name)+len(value)+len(`,"":`)), object[:len(object)-1]...)
	return append(append(wire.AppendKey(b, name), value...), '}')
}

// refusal is the event of an error that no response has.
func refusal(status int, code, param, text string) []byte {
	e := wire.AppendQuoted([]byte(`{"type":"`+kindOf(status)+`","code":`), code)
	e = append(e, `,"param":`...)
	if param == "" {
		e = append(e, "null"...)
	} else {
		e = wire.AppendQuoted(e, param)
	}
	return failure(status, append(wire.AppendQuoted(append(e, `,"message":`...), text), '}'))
}

// failure is the event of an error with a status.
func failure(status int, body []byte) []byte {
	b := strconv.AppendInt([]byte(`{"type":"error","status":`), int64(status), 10)
	return append(append(append(b, `,"error":`...), body...), '}')
}

// endsResponse reports whether an event is the last one of a response.
func endsResponse(event []byte) bool {
	switch string(wire.Find(event, wire.Span{End: len(event)}, "type").Of(event)) {
	case `"response.completed"`, `"response.incomplete"`, `"response.failed"`, `"error"`:
		return true
	default:
		return false
	}
}

// kindOf is the type of an error, by its status.
func kindOf(status int) string {
	switch {
	case status >= http.StatusInternalServerError:
		return "server_error"
	case status == http.StatusUnauthorized:
		return "authentication_error"
	default:
		return "invalid_request_error"
	}
}

// steerFailed answers a message that is to steer a response: no upstream is known to take it. The input goes
// back, for the next request.
func steerFailed(text []byte) []byte {
	input, previous := []byte("[]"), []byte(`""`)
	wire.Members(text, 0, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "input":
			input = v.Of(text)
		case "previous_response_id":
			previous = v.Of(text)
		}
		return true
	})
	b := append([]byte(`{"type":"response.steer.failed","sequence_number":0,"steer":{"input":`), input...)
	b = append(append(b, `,"previous_response_id":`...), previous...)
	return append(b, `},"error":{"type":"invalid_request_error","code":"steering_not_supported","message":"Responses cannot be steered here: send the input with the next response.create."}}`...)
}

// told are what the names of headers begin with that are said in an event.
var told = [...]string{"X-Callgate-", "X-Request-Id", "X-Ratelimit-", "Retry-After", "X-Should-Retry"}

// headers are those of an answer that are said in its first event, as an object.
func headers(h http.Header) []byte {
	b := []byte{'{'}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		if len(h[name]) == 0 || !slices.ContainsFunc(told[:], func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			continue
		}
		b = wire.AppendQuoted(wire.AppendKey(b, strings.ToLower(name)), h[name][0])
	}
	return append(b, '}')
}
