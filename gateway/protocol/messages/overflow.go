package messages

import (
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway"
)

// overflow is a message about a prompt that is too long in Anthropic's words, and any other as it is:
// clients compact the conversation when a request is refused for its length, and know that by "prompt
// is too long: 208310 tokens > 200000 maximum".
func overflow(text, code string) string {
	o, ok := gateway.ReadOverflow(text, code)
	switch {
	case !ok || strings.HasPrefix(text, "prompt is too long:"):
		return text
	case o.Limit == 0:
		return "prompt is too long: " + text
	}
	return "prompt is too long: " + strconv.Itoa(max(o.Used, o.Limit+1)) + " tokens > " + strconv.Itoa(o.Limit) + " maximum"
}
