package mcp_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/mcp"
	"github.com/callgate/callgate/gateway/toolserver/toolservertest"
)

// TestDefaults holds that a server that asks its user for something gets the defaults that it names itself if the
// operator has said so, and nothing if it must have more: then, and without the operator's word, the call is one that
// needs input, and is not sent again.
func TestDefaults(t *testing.T) {
	t.Parallel()
	const asks = `{"resultType":"input_required","requestState":"s1","inputRequests":{"q":{"method":"elicitation/create","params":{"message":"Which?","requestedSchema":` +
		`{"type":"object","properties":{"colour":{"type":"string","default":"red"},"size":{"type":"integer","default":3},"free":{"type":"string"}},"required":[%]}}}}}`
	for _, c := range []struct {
		name, required, text string
		defaults             bool
		calls                int
	}{
		{"all it must have", `"colour","size"`, `done {"colour":"red","size":3} s1`, true, 2},
		{"more", `"colour","free"`, "", true, 1},
		{"not allowed", `"colour"`, "", false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := toolservertest.New(t)
			s.On["tools/call"] = func(call *toolservertest.Call) {
				var p struct {
					State     string `json:"requestState"`
					Responses map[string]struct {
						Action  string          `json:"action"`
						Content json.RawMessage `json:"content"`
					} `json:"inputResponses"`
				}
				_ = json.Unmarshal(call.Params, &p)
				if p.Responses == nil {
					call.Result(strings.ReplaceAll(asks, "%", c.required))
					return
				}
				call.Stream() // in another form than the question
				text, _ := json.Marshal("done " + string(p.Responses["q"].Content) + " " + p.State)
				_ = call.Event(`{"jsonrpc":"2.0","id":` + string(call.ID) + `,"result":{"content":[{"type":"text","text":` + string(text) + `}]}}`)
			}
			client := open(t, s, func(o *mcp.Options) { o.Defaults = c.defaults })
			r, e := call(within(t, time.Minute), client, "echo", `{}`)
			if c.text == "" {
				if e == nil || e.Kind != toolserver.NeedsInput {
					t.Errorf("got %+v, %v, want needs_input", r, e)
				}
			} else if e != nil || r.Text != c.text {
				t.Errorf("got %+v, %v, want %s", r, e, c.text)
			}
			if n := s.Count("tools/call"); n != c.calls {
				t.Errorf("got %d calls, want %d", n, c.calls)
			}
		})
	}
}
