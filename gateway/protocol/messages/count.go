package messages

import (
	"strconv"

	"github.com/callgate/callgate/gateway/internal/tokens"
	"github.com/callgate/callgate/gateway/protocol"
)

// Estimate is how many tokens the request has, by our own count.
func (f *Front) Estimate() int { return estimate(f.body) }

// perMessage is what a message costs besides what it says.
const perMessage = 3

// estimate counts what the model reads: the system, the messages and the tools.
func estimate(body []byte) int {
	n := perMessage
	members(body, func(name string, v value) {
		switch name {
		case "system", "tools", "tool_choice":
			n += tokens.JSON(v)
		case "messages":
			_ = elements(v, func(_ int, m value) error {
				n += perMessage + tokens.JSON(find(m, "content"))
				return nil
			})
		}
	})
	return n
}

// CountTokens answers POST /v1/messages/count_tokens. The body is that of a request without what
// only an answer needs, and is judged as one. The error is a [*gateway.Error].
func CountTokens(body []byte, c protocol.Client) ([]byte, error) {
	if _, err := c.Limits.Parse(body, c.Room); err != nil {
		return nil, err
	}
	r := &reader{body: body, top: fields(body), serves: c.Serves}
	if r.top["max_tokens"] == nil {
		r.top["max_tokens"] = value("1")
	}
	if _, err := r.chat(false); err != nil {
		return nil, err
	}
	return append(strconv.AppendInt([]byte(`{"input_tokens":`), int64(estimate(body)), 10), '}'), nil
}
