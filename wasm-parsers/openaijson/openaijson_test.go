package openaijson_test

import (
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/openaijson"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	sdktest.Golden(t, openaijson.OpenAI(), "testdata")
}

func TestFragments(t *testing.T) {
	t.Parallel()
	sdktest.Fragments(t, openaijson.OpenAI(), sdk.Options{}, []string{
		`{"tool_calls": [`, `{"tool_call": `, `{"name": "a"}`, `{"name": "a", "arguments": "{}"}`, `{"function": {"name": "b"}}`,
		`,`, `]`, `}`, `]}`, `]}`, `, "content": `, `"text"`, `null`, `, "x": `, `[1]`, ` `, "\n", `{`, `'`,
	}, 300)
}

func TestCanParse(t *testing.T) {
	t.Parallel()
	sdktest.Verdicts(t, openaijson.OpenAI(), map[string]sdk.Verdict{
		"": sdk.Maybe, "{": sdk.Maybe, "{ \n": sdk.Maybe, `{"tool_call`: sdk.Maybe, `{"tool_calls"`: sdk.Maybe, `{"tool_calls" : `: sdk.Maybe,
		`{"tool_calls": [`: sdk.Yes, `{"tool_call":{`: sdk.Yes, `{'tool_calls': [`: sdk.Yes, `{'name'`: sdk.No,
		`{"tool_calls": {`: sdk.No, `{"tool_call": [`: sdk.No, `{"name"`: sdk.No, `{}`: sdk.No, `{"tool_callers": [`: sdk.No, `[`: sdk.No,
	})
}

func FuzzOpenAI(f *testing.F) {
	for _, seed := range []string{
		`{"tool_calls": [{"id": "c", "type": "function", "function": {"name": "a", "arguments": "{\"b\": 1}"}}]}`,
		`{"tool_call": {"name": "a", "arguments": {'x': None,}}, "content": "hi"} and more text after it`,
		`{"tool_calls": [{"name": "a"},{"name": "b", "parameters": {}},], "role": "assistant"}`,
	} {
		f.Add(uint8(0), seed, false)
		f.Add(uint8(0), seed[:len(seed)-20], true)
	}
	sdktest.Fuzz(f, sdk.Options{}, openaijson.OpenAI())
}
