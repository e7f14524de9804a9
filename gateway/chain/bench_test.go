package chain_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/sdk/abi"
)

// BenchmarkChain is what texts of 1 KB cost in pieces as models write them, the parsers' own
// work included.
func BenchmarkChain(b *testing.B) {
	offered := tools(b)
	args := strings.Repeat("word ", 190)
	for _, bb := range []struct{ name, parser, text string }{
		{"call/hermes", "hermes", `<tool_call>` + "\n" + `{"name":"get_weather","arguments":{"city":"` + args + `"}}` + "\n</tool_call>"},
		{"call/auto", "auto", `<tool_call>` + "\n" + `{"name":"get_weather","arguments":{"city":"` + args + `"}}` + "\n</tool_call>"},
		{"call/xml", "qwen3_coder", "<tool_call>\n<function=get_weather>\n<parameter=city>\n" + args + "\n</parameter>\n</function>\n</tool_call>"},
		{"prose/auto", "auto", "Look at a < b and [c]: " + strings.Repeat("the quick { brown } `fox` ", 39)},
	} {
		p := plan(bb.parser)
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c := p.New(runner, chain.Options{Tools: func() []abi.Tool { return offered }})
				for rest := []byte(bb.text); len(rest) > 0; rest = rest[min(5, len(rest)):] {
					c.Feed(b.Context(), rest[:min(5, len(rest))])
				}
				c.Finish(b.Context(), abi.Stop)
				c.Close()
			}
		})
	}
}
