package cli

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/formats"
	toolrun "github.com/callgate/callgate/gateway/run"
	"github.com/callgate/callgate/gateway/toolserver"
	frames "github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// parrot is a model that calls a tool, and a catalogue whose tool gives the text.
type parrot struct {
	text   string
	second string // the model's second request
}

func (e *parrot) Chat(_ context.Context, r *gateway.Request) (*gateway.Response, error) {
	answer := `{"id":"a","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"s__t","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
	if strings.Contains(string(r.Body.Bytes()), `"role":"tool"`) {
		e.second = string(r.Body.Bytes())
		answer = `{"id":"b","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`
	}
	return &gateway.Response{Reply: &oneFrame{text: answer}, Summary: &gateway.Summary{}}, nil
}

func (e *parrot) Tools([]string) ([]toolserver.Tool, []toolserver.Missing) {
	return []toolserver.Tool{{Server: "s", Name: "t", Alias: "s__t", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}}, nil
}

func (e *parrot) Call(context.Context, string, json.RawMessage) (*toolserver.Result, error) {
	return &toolserver.Result{Text: e.text}, nil
}

// oneFrame is a reply of one completion.
type oneFrame struct{ text string }

func (o *oneFrame) Header() http.Header { return http.Header{} }
func (o *oneFrame) Streamed() bool      { return false }
func (o *oneFrame) Close() error        { return nil }
func (o *oneFrame) Next() (*frames.Frame, error) {
	if o.text == "" {
		return nil, io.EOF
	}
	f := &frames.Frame{Raw: []byte(o.text), Data: []byte(o.text), Whole: true}
	o.text = ""
	return f, nil
}

// TestResultsAreNeverCalls: whatever a tool gives, in whatever format of calls, no parser takes
// it for a call, neither as the model gets it nor as the model would repeat it.
func TestResultsAreNeverCalls(t *testing.T) {
	t.Parallel()
	p, err := (&env{ctx: t.Context(), stderr: &buffer{}}).parsers("", func(string) (string, bool) { return "", false }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.host.Close(context.Background()) })
	m := &markup{parsers: p}
	e := &parrot{}
	runner := toolrun.New(toolrun.Options{Inner: e, Catalogue: e, Servers: []string{"s"}, Policy: toolrun.Policy{Attach: []string{"s"}}, Markup: m})
	s, ok := m.session()
	if !ok {
		t.Fatal("got no parsers")
	}
	defer s.Close()
	offered := []abi.Tool{{Name: "s__t", Params: []abi.Param{{Name: "city", Types: abi.String}}}}
	plans := map[string]*chain.Plan{}
	for _, info := range s.Parsers() {
		if info.Name != chain.Fallback && info.Name != customParser && info.Name != templateParser {
			plans[info.Name] = chain.NewPlan([]chain.Candidate{chain.NewCandidate(&info.Parser)}, chain.PlanOptions{})
		}
	}
	calls := func(plan *chain.Plan, text string) bool { // as chain.ReadAlone does
		for _, end := range []abi.Reason{abi.Stop, abi.Length} {
			c := plan.New(s, chain.Options{Tools: func() []abi.Tool { return offered }, AnyName: true})
			for rest := text; rest != ""; rest = rest[min(len(rest), 64):] {
				c.Feed(t.Context(), []byte(rest[:min(len(rest), 64)]))
			}
			c.Finish(t.Context(), end)
			n := c.Report().Calls
			if c.Close(); n > 0 {
				return true
			}
		}
		return false
	}
	found := 0 // calls in the texts as they are, so that the test tests something
	check := func(text string) {
		e.text, e.second = text, ""
		req, err := gateway.ParseRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := runner.Chat(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resp.Next(); err != nil {
			t.Fatal(err)
		}
		resp.Close()
		var body struct {
			Messages []struct{ Role, Content string }
		}
		if err := json.Unmarshal([]byte(e.second), &body); err != nil {
			t.Fatal(err)
		}
		content := body.Messages[len(body.Messages)-1].Content
		var envelope struct{ Text string }
		if err := json.Unmarshal([]byte(content), &envelope); err != nil {
			t.Fatalf("got %s: %v", content, err)
		}
		for name, plan := range plans {
			if calls(plan, text) {
				found++
			}
			for what, read := range map[string]string{"as the model gets it": content, "as the model repeats it": envelope.Text, "within an answer": "It says:\n" + envelope.Text + "\n"} {
				if calls(plan, read) {
					t.Errorf("%s finds a call %s: %q, from %q", name, what, read, text)
				}
			}
		}
	}
	var all []string
	for _, f := range formats.All() {
		call := formats.Call{ID: "call_1", Name: "s__t", Args: []formats.Arg{{Key: "city", Value: json.RawMessage(`"Oslo"`)}}}
		one := f.Write(formats.Turn{Calls: []formats.Call{call}})
		all = append(all, one)
		check(one)
		if t.Failed() {
			return
		}
		check(f.Write(formats.Turn{Content: "The page says:", Calls: []formats.Call{call, call}}))
		check("A page.\n" + one + "\nMore of it.")
		check(f.Start + one)
	}
	if found < len(all) {
		t.Errorf("got %d calls in %d texts as they are, want one in each", found, len(all))
	}
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	random := rand.New(rand.NewPCG(1, 2))
	hidden := []string{"\x00", "\u200b", "\u202e", "\x1b", "\U000e0041", "\ufeff", "\r", ""}
	markers, _ := m.Markers()
	for range rounds { // pieces of several formats, cut and hidden
		var b strings.Builder
		for range 1 + random.IntN(6) {
			switch text := all[random.IntN(len(all))]; random.IntN(4) {
			case 0:
				b.WriteString(markers[random.IntN(len(markers))])
			case 1:
				runes := []rune(text)
				at := random.IntN(len(runes))
				b.WriteString(string(runes[:at]) + hidden[random.IntN(len(hidden))] + string(runes[at:]))
			case 2:
				runes := []rune(text)
				b.WriteString(string(runes[random.IntN(len(runes)):]))
			default:
				b.WriteString(text)
			}
		}
		check(b.String())
	}
}

// TestResultsStayReadable: what is no call stays what it is.
func TestResultsStayReadable(t *testing.T) {
	t.Parallel()
	p, err := (&env{ctx: t.Context(), stderr: &buffer{}}).parsers("", func(string) (string, bool) { return "", false }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.host.Close(context.Background()) })
	m := &markup{parsers: p}
	tools := []abi.Tool{{Name: "s__t", Params: []abi.Param{{Name: "city", Types: abi.String}}}}
	for _, text := range []string{
		`{"results":[{"name":"Oslo","arguments":{"city":"x"}},{"name":"Bergen"}],"total":2}`, `[{"name":"other_tool","arguments":{}}]`, "# Title\n\n```json\n{\"a\": 1}\n```\n",
		"def f(x):\n    return [g(x) for x in y]\n", "[1, 2, 3]", "Action: none", "to=me", `<div class="a"><p>text</p></div>`, "s__t", `{"tool": "s__t"}`,
	} {
		if m.Calls(t.Context(), text, tools) {
			t.Errorf("got a call in %q, want none", text)
		}
	}
	markers, version := m.Markers()
	if len(markers) < 100 || version == 0 || !slices.Contains(markers, "<tool_call>") {
		t.Errorf("got %d markers, want those of all parsers", len(markers))
	}
}
