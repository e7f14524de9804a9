package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/run"
	"github.com/callgate/callgate/gateway/toolserver"
)

// body is a request that names the server a.
func body(stream bool, more string) string {
	return fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"mcp","server_label":"a"}]%s}`, stream, more)
}

func both(t *testing.T, f func(t *testing.T, stream bool)) {
	for _, stream := range []bool{true, false} {
		t.Run(fmt.Sprintf("stream %v", stream), func(t *testing.T) { f(t, stream) })
	}
}

// TestRounds asks the model until it answers, and gives one answer.
func TestRounds(t *testing.T) {
	both(t, func(t *testing.T, stream bool) {
		b := newBench(t, run.Policy{}, func(n int, _ *gateway.Request) string {
			if n <= 5 {
				return says(stream, n, fmt.Sprintf("Round %d.", n),
					fc{fmt.Sprintf("c%d", n), "a__search", fmt.Sprintf(`{"q":"%d"}`, n)}, fc{fmt.Sprintf("d%d", n), "a__read", fmt.Sprintf(`{"q":"%d"}`, n)})
			}
			return says(stream, n, "Done.")
		}, toolserver.Tool{Server: "a", Name: "search"}, toolserver.Tool{Server: "a", Name: "read"})
		a := b.ask(body(stream, `,"tool_choice":"required"`))
		a.one(t, "stop")
		if want := "Round 1.\n\nRound 2.\n\nRound 3.\n\nRound 4.\n\nRound 5.\n\nDone."; a.text != want || len(a.calls) != 0 {
			t.Errorf("got the text %q and calls %v, want %q and none", a.text, a.calls, want)
		}
		if got := len(b.shelf.made()); got != 10 {
			t.Errorf("got %d calls, want 10", got)
		}
		if !strings.Contains(a.usage[0], `"total_tokens":90`) || !strings.Contains(a.usage[0], `"cached_tokens":12`) || a.rounds != 6 {
			t.Errorf("got the usage %s and %d rounds, want the sum of six rounds", a.usage[0], a.rounds)
		}
		for n, want := range []string{`"required"`, `"auto"`, `"auto"`} {
			if !strings.Contains(b.model.bodies[n], `"tool_choice":`+want) {
				t.Errorf("round %d: got %s, want tool_choice %s", n+1, b.model.bodies[n], want)
			}
		}
		if strings.Contains(b.model.bodies[0], "mcp") || !strings.Contains(b.model.bodies[5], `"tools":[{"type":"function","function":{"name":"a__read"`) {
			t.Errorf("got %s, want functions in the place of the server, sorted", b.model.bodies[5])
		}
		r := b.results(6)
		if len(r) != 10 || r[0]["text"] != "result of search" || r[1]["tool"] != "read" || r[0]["server"] != "a" {
			t.Errorf("got the results %v, want ten in the order of the calls", r)
		}
		s := a.summary
		if s.Usage.Input != 60 || len(s.Attempts) != 6 || s.ToolRun.Rounds != 6 || len(s.ToolRun.Calls) != 10 || s.ToolRun.Stop != gateway.StopAnswer || len(s.ToolRun.Costs) != 6 {
			t.Errorf("got the summary %+v, %+v", s, s.ToolRun)
		}
		if b.model.opened != b.model.closed {
			t.Errorf("got %d answers of the model open, want none", b.model.opened-b.model.closed)
		}
	})
}
