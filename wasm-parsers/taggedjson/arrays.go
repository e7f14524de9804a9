package taggedjson

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

// Jamba reads the form of Jamba, Apriel and Hunyuan-A13B. The last may write the
// name of its role in front. MiniMax-M1 writes no array in the same tag, and Hy3
// writes other tags in it.
func Jamba() sdk.Spec {
	const open, end = "<tool_calls>", "</tool_calls>"
	return spec(abi.Parser{
		Name:     "jamba",
		Aliases:  []string{"apriel", "hunyuan_a13b", "minimax_m1"},
		Priority: 62,
		Formats:  []string{`<tool_calls>[{"name", "arguments"}]</tool_calls>`},
		Models:   []string{"*jamba*", "*apriel*", "*hunyuan-a13b*"},
	}, format{forms: []form{
		{open: []string{open}, close: end, body: arrayBody},
		{open: []string{"助手：", open}, close: end, body: arrayBody, atStart: true},
	}})
}

// MiniMaxM1 reads the form of MiniMax-M1, one call a line.
func MiniMaxM1() sdk.Spec {
	return spec(abi.Parser{
		Name:     "minimax_m1",
		Aliases:  []string{"minimax", "jamba"},
		Priority: 40,
		Formats:  []string{`<tool_calls>{"name", "arguments"} {…}</tool_calls>`},
		Example:  `<tool_calls>` + example + `</tool_calls>`,
		Models:   []string{"*minimax-m1*"},
	}, format{forms: []form{{
		open: []string{"<tool_calls>"}, close: "</tool_calls>", after: []string{"<end_of_sentence>"}, body: objectBody,
	}}, oneLine: true})
}

// MistralArray reads the form of the Mistral models up to the tokenizer's version
// 7, whose calls have an id behind the arguments. The later ones write a name
// behind the same token. Dynamo takes a closing marker too. Mistral-7B v0.3 repeats the
// token at times.
func MistralArray() sdk.Spec {
	const open = "[TOOL_CALLS]"
	after := []string{"[/TOOL_CALLS]"}
	return spec(abi.Parser{
		Name:     "mistral_array",
		Aliases:  []string{"mistral", "xlam"}, // Mistral's two generations go by one name elsewhere; xLAM writes it too
		Priority: 91,
		Formats:  []string{`[TOOL_CALLS] [{"name", "arguments", "id"}]`},
		Example:  `[TOOL_CALLS] [` + example + `]`,
		Models:   []string{"*mistral-7b*", "*mixtral*", "*mistral-nemo*", "*mistral-large-*2407*", "*mistral-small-*2409*"},
	}, format{
		forms: []form{
			{open: []string{open, open}, after: after, body: listBody},
			{open: []string{open}, after: after, body: listBody},
		},
		lateID: true,
	})
}
