package flow_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
)

// TestExecutionMember holds that the member is there once and in valid JSON, whatever the
// upstream's answer looks like.
func TestExecutionMember(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, answer, keeps string }{
		{"nothing else", `{}`, ""},
		{"one of its own", `{"execution":{"calls":7},"choices":[{"index":0,"message":{"role":"assistant","content":"Hi."},"finish_reason":"stop"}]}`, `"content":"Hi."`},
		{"white space around it", " {\"x\":1.0} \n", `"x":1.0`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, err := flow.New(flow.Options{
				Providers:   map[string]gateway.Provider{"p": &scripted{whole: true, blocks: []string{tt.answer}}},
				Routes:      map[string][]gateway.Target{"m": {{Provider: "p", Mode: gateway.Repair, AllowEmpty: true}}},
				RoutePolicy: flow.RoutePolicy{Execution: true},
			})
			if err != nil {
				t.Fatal(err)
			}
			req, err := gateway.ParseRequest([]byte(strings.Replace(request, `"stream":true`, `"stream":false`, 1)))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := g.Chat(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Close()
			out, err := reads(resp).next()
			var body struct{ Execution struct{ Attempts int } }
			if err != nil || json.Unmarshal(out, &body) != nil || body.Execution.Attempts != 1 ||
				strings.Count(string(out), `"execution":`) != 1 || !strings.Contains(string(out), tt.keeps) {
				t.Errorf("got %q, %v", out, err)
			}
		})
	}
}
