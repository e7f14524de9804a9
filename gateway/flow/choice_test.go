package flow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

// TestToolChoice holds that a tool_choice that names no tool of the request is refused
// with the name that may be meant, before an upstream is asked, and that every other
// one goes on.
func TestToolChoice(t *testing.T) {
	t.Parallel()
	named := func(name string) string { return `{"type":"function","function":{"name":"` + name + `"}}` }
	tests := []struct {
		name, choice string
		mode         gateway.Mode
		says         string // of the error; "" if there is none
	}{
		{"a tool that is there", named("get_time"), gateway.Repair, ""},
		{"a slip", named("GetTime"), gateway.Repair, `"GetTime", which is not among the tools. Did you mean "get_time"?`},
		{"nothing like it", named("zzz"), gateway.Repair, `"zzz", which is not among the tools.`},
		{"reported only", named("zzz"), gateway.Report, `"zzz"`},
		{"nobody looks", named("zzz"), gateway.Off, ""},
		{"a word", `"required"`, gateway.Repair, ""},
		{"another type", `{"type":"web_search"}`, gateway.Repair, ""},
		{"no name", `{"type":"function","function":{}}`, gateway.Repair, ""},
		{"no function", `{"type":"function","function":7}`, gateway.Repair, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			target := repair
			target.Mode = tt.mode
			body := strings.Replace(request, `"messages"`, `"tool_choice":`+tt.choice+`,"messages"`, 1)
			_, err := ask(t, stream("stop", "hi"), target, body)
			var e *gateway.Error
			switch {
			case tt.says == "" && err != nil:
				t.Errorf("got error %v, want none", err)
			case tt.says == "":
			case !errors.As(err, &e) || e.Kind != gateway.Invalid || e.Code != "unknown_name" || e.Param != "tool_choice.function.name" || !strings.Contains(e.Message, tt.says):
				t.Errorf("got %v, want unknown_name and %q", err, tt.says)
			}
		})
	}
}

// wholly is a provider that answers whole, whatever it is asked for.
type wholly struct{ gateway.Provider }

// TestWholeChoicesAsStream holds that the choices of a whole answer which goes out as a stream stay
// apart, also where the upstream has given all of them one index.
func TestWholeChoicesAsStream(t *testing.T) {
	t.Parallel()
	const call = `{"index":0,"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"get_time","arguments":"{}"}}]},"finish_reason":"stop"}`
	for _, second := range []string{`"index":0,`, `"index":1,`} {
		in := wholly{&scripted{whole: true, blocks: []string{`{"choices":[` + call + `,{` + second + `"message":{"content":"Hi"},"finish_reason":"stop"}]}`}}}
		out, resp, err := exchange(t, in, gateway.Target{Mode: gateway.Repair}, request)
		if err != nil || !strings.Contains(out, `{"index":1,"delta":{"content":"Hi"}`) || !strings.Contains(out, `{"index":1,"delta":{},"finish_reason":"stop"}`) ||
			!strings.Contains(out, `{"index":0,"delta":{},"finish_reason":"tool_calls"}`) {
			t.Errorf("%q: got %v, %s\n%s", second, err, resp.Summary.RepairList(), out)
		}
	}
}

// TestWholeFinishAlone holds that an answer whose finish reason alone is wrong keeps all other bytes, white space too.
func TestWholeFinishAlone(t *testing.T) {
	t.Parallel()
	const answer = `{
  "choices": [
    {
      "index": 0,
      "message": {
        "role": "assistant",
        "content": null,
        "tool_calls": [
          { "id": "a", "type": "function", "function": { "name": "get_time", "arguments": "{}" } }
        ],
        "refusal": null
      },
      "finish_reason": %q
    }
  ]
}`
	in := &scripted{whole: true, blocks: []string{fmt.Sprintf(answer, "stop")}}
	out, resp, err := exchange(t, in, gateway.Target{Mode: gateway.Repair}, request)
	if want := fmt.Sprintf(answer, "tool_calls"); err != nil || out != want || resp.Summary.RepairList() != "finish_reason=1" {
		t.Errorf("got %v, %s\n%s\nwant\n%s", err, resp.Summary.RepairList(), out, want)
	}
}
