package chain_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/sdk/abi"
)

// TestBrokenCallsAreSaid cuts the example of every parser, as a model does that stops in the middle,
// and calls a tool in it that was not offered: there is a call or a warning, whoever reads it. Only
// JSON, or a name and braces, without any marker may as well be an answer about somebody else's tool.
func TestBrokenCallsAreSaid(t *testing.T) {
	t.Parallel()
	offered := tools(t)
	bare := map[string]bool{"openai": true, "xlam": true, "generic": true, "llama3_json_bare": true, "glm4": true, "gemma4_bare": true}
	for _, s := range runner.Specs {
		if s.Example == "" {
			continue
		}
		texts := []string{s.Example[:strings.Index(s.Example, "Oslo")+2]}
		if !bare[s.Name] {
			texts = append(texts, strings.ReplaceAll(s.Example, "get_weather", "book_hotel"))
		}
		for _, name := range []string{s.Name, "auto"} {
			if name == "auto" && len(s.Triggers) == 0 && slices.Equal(s.Starts, []string{""}) {
				continue // any text begins so: only who names the parser has it read
			}
			for _, text := range texts {
				for _, way := range [][]string{{text}, pieces(text, 1), pieces(text, 6)} {
					got := read(plan(name), chain.Options{Tools: func() []abi.Tool { return offered }, Reasoning: chain.Auto}, way, "stop")
					if len(got.calls) == 0 && len(got.warnings) == 0 {
						t.Errorf("parser %s, cut %q: neither a call nor a warning", name, way)
					}
				}
			}
		}
	}
}
