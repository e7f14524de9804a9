package chain_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/sdk/abi"
)

// TestCodeBlockOfSpace ends a block of code around a call with more white space than waits: it is text.
func TestCodeBlockOfSpace(t *testing.T) {
	t.Parallel()
	offered := tools(t)
	text := "```json\n<tool_call>{\"name\":\"get_weather\",\"arguments\":{\"city\":\"Oslo\"}}</tool_call>" + strings.Repeat("\n", 1000)
	for _, name := range []string{"hermes", "auto"} { // auto may take so large a block for code
		for _, way := range [][]string{{text}, pieces(text, 1), pieces(text, 6), {text + "```"}, append(pieces(text, 6), "more")} {
			got := read(plan(name), chain.Options{Tools: func() []abi.Tool { return offered }, Reasoning: chain.Auto}, way, "stop")
			if n := len(got.calls); n > 1 || n == 0 && name == "hermes" {
				t.Errorf("parser %s: got %+v, want a call", name, got)
			}
		}
	}
}
