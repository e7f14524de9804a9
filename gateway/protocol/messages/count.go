package messages

import (
	"github.com/callgate/callgate/gateway/internal/tokens"
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
