package run_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/run"
	"github.com/callgate/callgate/gateway/toolserver"
)

// TestPeers is what went wrong in other gateways, by where it was told.
func TestPeers(t *testing.T) {
	searching := toolserver.Tool{Server: "a", Name: "search"}
	t.Run("litellm 31910: finish_reason tool_calls in the middle of a stream", func(t *testing.T) {
		b := newBench(t, run.Policy{}, once(fc{"c1", "a__search", `{}`}), searching)
		a := b.ask(body(true, ""))
		a.one(t, "stop")
		if strings.Contains(a.raw, `"finish_reason":"tool_calls"`) || strings.Contains(a.raw, `"tool_calls":[`) {
			t.Errorf("got\n%s\nwant no word of our call but in the member callgate", a.raw)
		}
	})
	t.Run("litellm 37031: the client's own tools are run by the gateway", func(t *testing.T) {
		b := newBench(t, run.Policy{}, once(fc{"c1", "mine", `{}`}), searching)
		a := b.ask(newDialog(true, mine).body())
		a.one(t, "tool_calls")
		if len(b.shelf.made()) != 0 || len(b.model.bodies) != 1 || fmt.Sprint(a.calls) != `[{c1 mine {}}]` {
			t.Errorf("got the calls %v made and %v given on, want none and the client's", b.shelf.made(), a.calls)
		}
	})
	t.Run("litellm 16437: tool_choice required or named stays and loops", func(t *testing.T) {
		for _, choice := range []string{`"required"`, `{"type":"function","function":{"name":"a__search"}}`} {
			b := newBench(t, run.Policy{}, func(n int, r *gateway.Request) string {
				if r.Reading.Choice().Required {
					return says(true, n, "", fc{fmt.Sprintf("c%d", n), "a__search", fmt.Sprintf(`{"q":"%d"}`, n)})
				}
				return says(true, n, "Done.")
			}, searching)
			b.ask(body(true, `,"tool_choice":`+choice)).one(t, "stop")
			if len(b.model.bodies) != 2 {
				t.Errorf("%s: got %d rounds, want two", choice, len(b.model.bodies))
			}
		}
	})
	t.Run("backstage 9472: a follow-up without tools", func(t *testing.T) {
		b := newBench(t, run.Policy{Rounds: 2}, search(true), searching)
		b.ask(body(true, "")).one(t, "stop")
		for i, body := range b.model.bodies {
			if !strings.Contains(body, `"tools":[{"type":"function","function":{"name":"a__search"`) {
				t.Errorf("round %d: got %s, want the tools", i+1, body)
			}
		}
	})
	t.Run("litellm 33631: one reference with never runs what needs approval", func(t *testing.T) {
		b, d := approvals(t, true)
		d.tools = `[{"type":"mcp","server_label":"a","require_approval":"never"}]`
		b.ask(d.body()).one(t, "tool_calls")
		if got := fmt.Sprint(b.shelf.made()); got != "[a__read{}]" {
			t.Errorf("got the calls %s, want none that needs approval", got)
		}
	})
	t.Run("ogx 4561: the same tool until the limit", func(t *testing.T) {
		b := newBench(t, run.Policy{}, func(n int, r *gateway.Request) string {
			if r.Reading.Choice().None {
				return says(true, n, "Enough.")
			}
			return says(true, n, "", fc{fmt.Sprintf("c%d", n), "a__search", `{}`})
		}, searching)
		b.ask(body(true, "")).one(t, "stop")
		if got := len(b.shelf.made()); got != 4 {
			t.Errorf("got %d calls, want four: the first and three that bring nothing new", got)
		}
	})
	t.Run("bifrost 4314: no tools after a failed list, and none ever after", func(t *testing.T) {
		b := newBench(t, run.Policy{}, func(n int, _ *gateway.Request) string { return says(true, n, "Hello.") })
		b.shelf.missing = []toolserver.Missing{{Server: "a", Why: "it cannot be reached"}}
		a := b.ask(body(true, ""))
		if got := strings.Join(a.summary.Warnings, ","); got != "tools_missing:a" {
			t.Errorf("got the warnings %q, want what is missing", got)
		}
		b.shelf.missing = nil
		b.shelf.add(searching, text("found"))
		a = b.ask(body(true, ""))
		if got := b.model.bodies[1]; !strings.Contains(got, "a__search") || len(a.summary.Warnings) != 0 {
			t.Errorf("got %s, warnings %v, want the tool that is back", got, a.summary.Warnings)
		}
	})
	t.Run("CVE-2026-25536: one user's results to another", func(t *testing.T) {
		b := newBench(t, run.Policy{}, once(fc{"c1", "a__search", `{}`}, fc{"c2", "mine", `{}`}), searching)
		d := newDialog(true, mine)
		d.take(b.ask(d.body(), func(r *gateway.Request) { r.From.Tenant = "one" }), "r")
		b.ask(d.body(), func(r *gateway.Request) { r.From.Tenant = "two" })
		if got := history(t, b.model.bodies[1]); strings.Contains(got, "c1") {
			t.Errorf("got the conversation %s, want nothing of the other's", got)
		}
	})
	t.Run("Bifrost's documentation: results as text, and stop beside calls, in a turn of both", func(t *testing.T) {
		b := newBench(t, run.Policy{}, once(fc{"c1", "a__search", `{}`}, fc{"c2", "mine", `{}`}), searching)
		a := b.ask(newDialog(true, mine).body())
		a.one(t, "tool_calls")
		if a.text != "" || strings.Contains(strings.ReplaceAll(a.raw, `"output":"result of search"`, ""), "result of search") {
			t.Errorf("got the text %q in\n%s\nwant none", a.text, a.raw)
		}
	})
}
