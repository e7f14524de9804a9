package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/run"
	"github.com/callgate/callgate/gateway/toolserver"
)

// names are the names of the tools that the first request offers.
func names(b *bench) string {
	if len(b.model.asked) == 0 {
		return "nothing was asked"
	}
	var list []string
	tools, err := gateway.ReadTools(b.model.asked[0].Reading.ToolsJSON())
	if err != nil {
		b.t.Fatal(err)
	}
	for _, t := range tools {
		list = append(list, t.Name)
	}
	return strings.Join(list, " ")
}

// TestOffer: what the operator has, the key may use and the request wants.
func TestOffer(t *testing.T) {
	tools := []toolserver.Tool{
		{Server: "a", Name: "read", Effect: toolserver.Reads}, {Server: "a", Name: "search", Effect: toolserver.Reads}, {Server: "a", Name: "write", Effect: toolserver.Writes},
		{Server: "b", Name: "find"},
	}
	for _, tt := range []struct {
		name     string
		tools    string
		attach   []string
		header   string
		allowed  []string
		want     string
		warnings string
	}{
		{"a server", `[{"type":"mcp","server_label":"a"}]`, nil, "", nil, "a__read a__search a__write", ""},
		{"with the client's own", `[{"type":"function","function":{"name":"mine"}},{"type":"mcp","server_label":"a","allowed_tools":["read"]}]`, nil, "", nil, "mine a__read", ""},
		{"by alias", `[{"type":"mcp","server_label":"a","allowed_tools":["a__read"]}]`, nil, "", nil, "a__read", ""},
		{"names and read only", `[{"type":"mcp","server_label":"a","allowed_tools":{"tool_names":["read","write"],"read_only":true}}]`, nil, "", nil, "a__read", ""},
		{"a tool that is not there", `[{"type":"mcp","server_label":"a","allowed_tools":["read","gone"]}]`, nil, "", nil, "a__read", "tools_missing:a/gone"},
		{"attached", `[]`, []string{"b"}, "", nil, "b__find", ""},
		{"attached and named", `[{"type":"mcp","server_label":"a","server_url":"callgate","allowed_tools":["read"]}]`, []string{"a", "b"}, "", nil, "a__read b__find", ""},
		{"attached, off", `[{"type":"function","function":{"name":"mine"}}]`, []string{"b"}, "off", nil, "mine", ""},
		{"off leaves what is named", `[{"type":"mcp","server_label":"a","allowed_tools":["read"]}]`, []string{"b"}, "off", nil, "a__read", ""},
		{"a key", `[{"type":"mcp","server_label":"a"}]`, []string{"b"}, "", []string{"a__re*"}, "a__read", "tools_missing:a"},
		{"a key that may use none", `[{"type":"mcp","server_label":"a"}]`, nil, "", []string{}, "", "tools_missing:a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, run.Policy{Attach: tt.attach}, func(n int, _ *gateway.Request) string { return says(true, n, "Hello.") }, tools...)
			a := b.ask(fmt.Sprintf(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}],"tools":%s}`, tt.tools), func(r *gateway.Request) {
				r.From.Client = &gateway.Client{Tools: [][]string{nil, tt.allowed}}
				r.Wishes.Tools = tt.header
			})
			if a.err != nil {
				t.Fatal(a.err)
			}
			if got := names(b); got != tt.want {
				t.Errorf("got the tools %q, want %q", got, tt.want)
			}
			if got := strings.Join(a.summary.Warnings, ","); got != tt.warnings {
				t.Errorf("got the warnings %q, want %q", got, tt.warnings)
			}
		})
	}
}

// TestNoList: where nothing can be offered the list goes too: servers refuse an empty one.
func TestNoList(t *testing.T) {
	b := newBench(t, run.Policy{}, func(n int, _ *gateway.Request) string { return says(true, n, "Hello.") })
	b.shelf.missing = []toolserver.Missing{{Server: "a", Why: "it cannot be reached"}}
	a := b.ask(body(true, `,"tool_choice":"required"`))
	a.one(t, "stop")
	if got := b.model.bodies[0]; strings.Contains(got, "tool") {
		t.Errorf("got %s, want no word of tools", got)
	}
	if got := strings.Join(a.summary.Warnings, ","); got != "tools_missing:a" || len(a.summary.ToolRun.Missing) != 1 {
		t.Errorf("got the warnings %q, want what is missing", got)
	}
	if len(a.events) != 1 || a.events[0]["event"] != "listed" || a.events[0]["error"] != "it cannot be reached" {
		t.Errorf("got the events %v, want the list with its error", a.events)
	}
}

// TestRefused: what cannot be meant is refused, before anything is asked.
func TestRefused(t *testing.T) {
	for _, tt := range []struct{ name, tools, more, want string }{
		{"another address", `[{"type":"mcp","server_label":"a","server_url":"https://evil.example/mcp"}]`, "", `tools[0].server_url`},
		{"a server that is none", `[{"type":"mcp","server_label":"aa"}]`, "", `There is no tool server "aa" here. Did you mean a`},
		{"no label", `[{"type":"mcp"}]`, "", "tools[0].server_label"},
		{"credentials", `[{"type":"mcp","server_label":"a","authorization":"Bearer x"}]`, "", "no credentials"},
		{"twice", `[{"type":"mcp","server_label":"a","require_approval":"always"},{"type":"mcp","server_label":"a","require_approval":"never"}]`, "", "twice"},
		{"a name of the client's", `[{"type":"mcp","server_label":"a"},{"type":"function","function":{"name":"a__read"}}]`, "", `"a__read"`},
		{"two choices", `[{"type":"mcp","server_label":"a"}]`, `,"n":2`, `"n" must be 1`},
		{"allowed_tools", `[{"type":"mcp","server_label":"a","allowed_tools":"read"}]`, "", "allowed_tools"},
		{"require_approval", `[{"type":"mcp","server_label":"a","require_approval":"sometimes"}]`, "", "require_approval"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, run.Policy{}, func(n int, _ *gateway.Request) string { return says(true, n, "Hello.") }, toolserver.Tool{Server: "a", Name: "read"})
			a := b.ask(fmt.Sprintf(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}],"tools":%s%s}`, tt.tools, tt.more))
			if e := gateway.AsError(a.err); a.err == nil || e.Kind != gateway.Invalid || !strings.Contains(e.Message, tt.want) {
				t.Errorf("got %v, want status 400 that says %q", a.err, tt.want)
			}
			if len(b.model.bodies) != 0 {
				t.Error("got a request, want none")
			}
		})
	}
}

// inner answers with nothing.
type inner struct{ got *gateway.Request }

func (i *inner) Chat(_ context.Context, r *gateway.Request) (*gateway.Response, error) {
	i.got = r
	return nil, nil //nolint:nilnil // for counting
}

// TestPassesBy: a request without our tools is the same one behind the runner, and costs
// nothing.
func TestPassesBy(t *testing.T) {
	in := &inner{}
	runner := run.New(run.Options{Inner: in, Catalogue: &shelf{}, Servers: []string{"a"}, Route: func(string) string { return "m" },
		Policies: map[string]run.Policy{"other": {Attach: []string{"a"}}}})
	tools := strings.Repeat(`{"type":"function","function":{"name":"f","description":"uses mcp: é","parameters":{"type":"object"}}},`, 50)
	req, err := gateway.ParseRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[` + strings.TrimSuffix(tools, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = runner.Chat(t.Context(), req) }); n != 0 {
		t.Errorf("got %v allocations, want none", n)
	}
	if in.got != req {
		t.Error("got another request, want the client's own")
	}
}
