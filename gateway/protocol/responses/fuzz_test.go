package responses_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
	"github.com/callgate/callgate/gateway/wire"
)

// FuzzParse wants of every body an error that a client can read, or a chat completion that the
// gateway takes.
func FuzzParse(f *testing.F) {
	for _, c := range translations {
		f.Add([]byte(c.in))
	}
	for _, c := range refusals {
		f.Add([]byte(c.in))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := responses.Parse(body, responses.Options{Sealer: sealer})
		if err == nil {
			err = r.Translate()
		}
		if err != nil {
			if e := gateway.AsError(err); e.Kind != gateway.Invalid || e.Message == "" || len(e.Message) > 1000 {
				t.Errorf("got the error %+v, want one about the request", e)
			}
			return
		}
		if _, err := gateway.ParseRequest(r.Chat()); err != nil && gateway.AsError(err).Param != "model" {
			t.Errorf("%v in %s, made of %s", err, r.Chat(), body)
		}
		completion := []byte(`{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}]}`)
		out, err := r.Writer(response(false)).Whole(&wire.Frame{Raw: completion, Data: completion, Whole: true})
		if err == nil && !r.Stream() {
			_, err = responsestest.CheckResponse(out)
		}
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// FuzzWriter wants of every stream of chunks, one a line, events in their order, and of all that
// it cuts the same in pieces of another size.
func FuzzWriter(f *testing.F) {
	for _, lines := range streams {
		f.Add([]byte(strings.Join(lines, "\n")))
	}
	const request = `{"model":"m","input":"x","include":["reasoning.encrypted_content"],"top_logprobs":1,"tools":[{"type":"function","name":"f"},{"type":"custom","name":"c"},` +
		`{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]},{"type":"function","name":"barred"}],` +
		`"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"},{"type":"custom","name":"c"},{"type":"namespace","name":"n"}]}}`
	f.Fuzz(func(t *testing.T, data []byte) {
		var lines []string
		for line := range bytes.SplitSeq(data, []byte{'\n'}) {
			if line = bytes.TrimRight(line, "\r"); len(line) > 0 {
				lines = append(lines, string(line))
			}
		}
		r := parse(t, request)
		_, out := chunks(t, r, lines...)
		if _, err := responsestest.CheckStream(out); err != nil {
			t.Errorf("%v in\n%s\nof\n%s", err, out, data)
		}
	})
}

// streams are chunks of odd answers.
var streams = [][]string{
	{delta(`{"role":"assistant","content":""}`), delta(`{"content":"Hel"}`), delta(`{"content":"lo"}`), finish("stop"), `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}`, "[DONE]"},
	{delta(`{"reasoning_content":"I th"}`), delta(`{"reasoning_content":"ink"}`), delta(`{"content":"Yes"}`), delta(`{"reasoning_content":"more"}`), delta(`{"content":"."}`), finish("stop")},
	{delta(call(0, "a", "f", "")), delta(call(1, "b", "f", "")), delta(piece(0, `{\"x\"`)), delta(piece(1, `{\"y\":2}`)), delta(piece(0, `:1}`)), finish("tool_calls")},
	{delta(call(0, "a", "c", `{\"inp`)), delta(piece(0, `ut\":\"a\\nb\"}`)), delta(`{"content":"text behind"}`), delta(call(3, "", "n__f", "{}")), finish("tool_calls"), "[DONE]"},
	{delta(call(0, "a", "barred", `{`)), delta(piece(0, `}`)), delta(`{"refusal":"No."}`), finish("content_filter")},
	{delta(`{"content":"\ud83d"}`), delta(`{"content":"\ude00\u0000"}`), finish("length")},
	{delta(`{"reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}`), delta(`{"reasoning_details":[{"type":"reasoning.text","text":"b","signature":"s","index":0}]}`), delta(`{"content":"x"}`)},
	{delta(`{"content":"x"}`), `{"error":{"message":"broken","code":500}}`, delta(`{"content":"y"}`)},
	{`{"error":"at once"}`}, {"{}", "[]", "7"},
	{delta(`{"content":[{"type":"text","text":"a"},{"type":"thinking"}],"function_call":{"name":"f","arguments":"{}"}}`)},
	{`{"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":-0.10}]},"finish_reason":null}]}`},
}

func call(index int, id, name, args string) string {
	return fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":"%s"}}]}`, index, id, name, args)
}

func piece(index int, args string) string {
	return fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":"%s"}}]}`, index, args)
}
