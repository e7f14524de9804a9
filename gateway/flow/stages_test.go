package flow_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/chain/chaintest"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/wasm-parsers/all"
)

// TestFurtherStage holds that the stage of the example, which knows no other, gets along with
// all of them: what was read from the text, what was held, and what is a call.
func TestFurtherStage(t *testing.T) {
	t.Parallel()
	const call = `<tool_call>{"name": "get_time", "arguments": {}}</tool_call>`
	for name, tt := range map[string]struct {
		provider *scripted
		want     string
	}{
		"stream":               {stream("stop", "Good ", "morning."), "Good morning. (signed)"},
		"whole":                {whole("Good morning.", "stop"), "Good morning. (signed)"},
		"held to its end":      {stream("stop", "a ", "<tool"), "a <tool (signed)"},
		"reasoning split off":  {whole("<think>Hm.</think>Good morning.", "stop"), "Good morning. (signed)"},
		"reasoning, streamed":  {stream("stop", "<think>Hm.</thi", "nk>Good morning."), "Good morning. (signed)"},
		"a call in text":       {stream("stop", "Let me see. ", call), "Let me see. "},
		"a call in text whole": {whole("Let me see. "+call, "stop"), "Let me see. "},
		"cut":                  {stream("length", "Good mor"), "Good mor"},
	} {
		g, err := flow.New(flow.Options{
			Providers: map[string]gateway.Provider{"p": tt.provider},
			Routes: map[string][]gateway.Target{"m": {{
				Provider: "p", Mode: gateway.Repair, Parsers: gateway.ParserSpec{Auto: true, Reasoning: true}, Reasoning: chain.Auto,
			}}},
			Parsers: native{chaintest.Runner{Specs: all.Specs()}}, RoutePolicy: reporting,
			Stages: []gateway.Maker{signature(" (signed)")},
		})
		if err != nil {
			t.Fatal(err)
		}
		body := request
		if tt.provider.whole {
			body = strings.Replace(body, `"stream":true`, `"stream":false`, 1)
		}
		if got := strings.TrimSpace(said(g, body)); got != strings.TrimSpace(tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
