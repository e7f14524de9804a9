package framing

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
)

// Cohere reads the blocks of Cohere's Command R7B, Command A and Command 4. The
// citations in an answer stay, as text.
func Cohere() sdk.Spec {
	const everywhere = between | inText | inCall
	f := &format{
		markers: []marker{
			{"<|START_THINKING|>", thinks, everywhere},
			{"<|START_RESPONSE|>", answers, everywhere},
			{"<|START_TEXT|>", answers, everywhere},
			{"<|START_ACTION|>", calls, everywhere},
			{"<|END_THINKING|>", skips, everywhere},
			{"<|END_RESPONSE|>", skips, everywhere},
			{"<|END_TEXT|>", skips, everywhere},
			{"<|END_ACTION|>", skips, everywhere},
			{"<|END_OF_TURN_TOKEN|>", skips, everywhere},
			{"<|START_OF_TURN_TOKEN|>", skips, everywhere},
			{"<|CHATBOT_TOKEN|>", skips, everywhere},
		},
		body: callsJSON,
		keys: callobject.Keys{
			Name: []string{"tool_name", "name"}, Args: []string{"parameters", "arguments"}, ID: []string{"tool_call_id", "id"},
		},
	}
	return spec(abi.Parser{
		Name:     "cohere",
		Aliases:  []string{"cohere_command3", "cohere_command4", "cohere2_moe"},
		Priority: 70,
		Formats: []string{
			`<|START_ACTION|>[{"tool_call_id", "tool_name", "parameters"}]<|END_ACTION|>`,
			"<|START_RESPONSE|>TEXT<|END_RESPONSE|>",
		},
		Example: `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {"city": "Oslo"}}]<|END_ACTION|>`,
		Triggers: []string{
			"<|START_ACTION|>", "<|START_RESPONSE|>", "<|START_TEXT|>",
			"<|END_ACTION|>", // behind a call that was given back
		},
		Models: []string{"*command-r7b*", "*command-a*", "*command-4*", "*command4*", "*cohere2moe*"},
	}, f, nil)
}
