package flow_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

// TestHistory holds what an upstream gets of a conversation that it could not take, by
// what it needs and what the policy of its provider says; each provider gets its own.
func TestHistory(t *testing.T) {
	t.Parallel()
	const call = `{"role":"assistant","tool_calls":[{"id":"functions.get_time:7","type":"function","function":{"name":"get_time","arguments":%q}}],"x":1.0}`
	const result = `{"role":"tool","tool_call_id":"functions.get_time:7","content":"noon"}`
	broken := strings.Replace(call, "%q", `"{\"a\":1,}"`, 1)
	mended := strings.Replace(call, "%q", `"{\"a\":1}"`, 1)
	arguments := gateway.Needs{Arguments: true}
	for _, tt := range []struct {
		name    string
		needs   gateway.Needs
		mode    gateway.Mode
		in      string
		want    string
		repairs string
	}{
		{"arguments", arguments, gateway.Repair, broken + "," + result, mended + "," + result, "history_args=1"},
		{"nothing wrong", arguments, gateway.Repair, mended + "," + result, mended + "," + result, ""},
		{"nothing needed", gateway.Needs{}, gateway.Repair, broken, broken, ""},
		{"off", arguments, gateway.Off, broken, broken, ""},
		{"report", arguments, gateway.Report, broken + "," + result, broken + "," + result, "history_args=1"},
		{"ids", gateway.Needs{IDs: gateway.KimiID}, gateway.Repair, mended + "," + result,
			strings.ReplaceAll(mended+","+result, "get_time:7", "get_time:0"), "history_id=1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := &play{actors: map[string]*actor{"a": acts(turn{err: exhausted}), "b": acts(turn{})},
				policies: map[string]gateway.Policy{"a": {History: gateway.Repair}, "b": {History: tt.mode}}}
			p.actors["a"].needs, p.actors["b"].needs = gateway.Needs{Arguments: true, IDs: gateway.MistralID}, tt.needs
			p.start(t)
			req, err := gateway.ParseRequest([]byte(strings.Replace(request, `"messages":[]`, `"messages":[`+tt.in+`]`, 1)))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := p.gateway.Chat(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Close()
			for err == nil {
				_, err = resp.Next()
			}
			if got, want := p.actors["b"].bodies[0], strings.Replace(request, `"messages":[]`, `"messages":[`+tt.want+`]`, 1); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if got := resp.Summary.RepairList(); got != tt.repairs {
				t.Errorf("repairs are %q, want %q", got, tt.repairs)
			}
		})
	}
}
