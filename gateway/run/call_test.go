package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/run"
	"github.com/callgate/callgate/gateway/toolserver"
)

// once calls in the first round and answers in the second.
func once(calls ...fc) func(n int, _ *gateway.Request) string {
	return func(n int, _ *gateway.Request) string {
		if n > 1 {
			return says(true, n, "Done.")
		}
		return says(true, n, "", calls...)
	}
}

// errorOf is the error of the only result of the second request.
func errorOf(t *testing.T, b *bench) map[string]any {
	t.Helper()
	r := b.results(2)
	e, ok := r[len(r)-1]["error"].(map[string]any)
	if !ok {
		t.Fatalf("got the result %v, want an error", r)
	}
	return e
}

// TestAttempts: an idempotent tool is called twice where the first attempt may have failed by
// chance, others once, and no tool twice that has said no.
func TestAttempts(t *testing.T) {
	for _, tt := range []struct {
		name       string
		idempotent bool
		err        *toolserver.Error
		own        bool
		want       int
		hint       string
	}{
		{"timeout, idempotent", true, &toolserver.Error{Kind: toolserver.Timeout, Sent: true, Again: true}, false, 2, ""},
		{"away, idempotent", true, &toolserver.Error{Kind: toolserver.Unavailable, Again: true}, false, 2, ""},
		{"timeout, not idempotent", false, &toolserver.Error{Kind: toolserver.Timeout, Sent: true, Again: true}, false, 1, "outcome is unknown"},
		{"protocol error", true, &toolserver.Error{Kind: toolserver.Failed}, false, 1, ""},
		{"its own no", true, nil, true, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, run.Policy{}, once(fc{"c1", "a__search", `{}`}), toolserver.Tool{Server: "a", Name: "search", Idempotent: tt.idempotent})
			b.shelf.do["a__search"] = func(context.Context, string) (*toolserver.Result, error) {
				if tt.err != nil {
					return nil, tt.err
				}
				return &toolserver.Result{Text: "no", Failed: true}, nil
			}
			a := b.ask(body(true, ""))
			a.one(t, "stop")
			if got := len(b.shelf.made()); got != tt.want || a.summary.ToolRun.Calls[0].Attempts != tt.want {
				t.Errorf("got %d attempts, want %d", got, tt.want)
			}
			if tt.own {
				if r := b.results(2)[0]; r["is_error"] != true || r["text"] != "no" || a.summary.ToolRun.Calls[0].Outcome != "failed" {
					t.Errorf("got %v, %+v, want a result that is an error", r, a.summary.ToolRun.Calls)
				}
				return
			}
			if e := errorOf(t, b); e["type"] != string(tt.err.Kind) || tt.hint != "" && !strings.Contains(fmt.Sprint(e["hint"]), tt.hint) {
				t.Errorf("got the error %v", e)
			}
		})
	}
}

// TestHangs: a server that does not heed its context does not hold the answer.
func TestHangs(t *testing.T) {
	b := newBench(t, run.Policy{Time: run.Times{Tool: 50 * time.Millisecond}}, once(fc{"c1", "a__search", `{}`}), toolserver.Tool{Server: "a", Name: "search"})
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	b.shelf.do["a__search"] = func(context.Context, string) (*toolserver.Result, error) {
		<-release
		return nil, errTest
	}
	b.ask(body(true, "")).one(t, "stop")
	if e := errorOf(t, b); e["type"] != "timeout" {
		t.Errorf("got %v, want a timeout", e)
	}
}

// TestPanics: a defect in a server's client is an error of that call.
func TestPanics(t *testing.T) {
	b := newBench(t, run.Policy{}, once(fc{"c1", "a__search", `{}`}), toolserver.Tool{Server: "a", Name: "search"})
	b.shelf.do["a__search"] = func(context.Context, string) (*toolserver.Result, error) { panic("defect") }
	b.ask(body(true, "")).one(t, "stop")
	if e := errorOf(t, b); e["type"] != "failed" {
		t.Errorf("got %v, want a failure", e)
	}
}

// TestInventedName: a name that nobody has offered is answered with those that are near, and is
// no call of the client's (ogx PR #6231). One that is nearly right is understood.
func TestInventedName(t *testing.T) {
	b := newBench(t, run.Policy{}, once(fc{"c1", "a__serch_codes", `{}`}, fc{"c2", "A__READ", `{}`}),
		toolserver.Tool{Server: "a", Name: "search_code"}, toolserver.Tool{Server: "a", Name: "read"})
	a := b.ask(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"mcp","server_label":"a"},{"type":"function","function":{"name":"mine","parameters":{"type":"object"}}}]}`)
	a.one(t, "stop")
	r := b.results(2)
	e, _ := r[0]["error"].(map[string]any)
	if e["type"] != "unknown_tool" || !strings.Contains(fmt.Sprint(e["hint"]), "a__search_code") || len(a.calls) != 0 {
		t.Errorf("got %v and the client's calls %v, want a hint and none", r[0], a.calls)
	}
	if r[1]["text"] != "result of read" || a.summary.Repairs["name"] != 1 {
		t.Errorf("got %v, repairs %v, want the tool that was meant", r[1], a.summary.Repairs)
	}
}

// TestArguments are repaired by the rules for all calls, and checked before anything is sent.
func TestArguments(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	b := newBench(t, run.Policy{}, once(fc{"c1", "a__count", `{'n': "3",}`}, fc{"c2", "a__count", `{"m":1}`}, fc{"c3", "a__count", `{"n":`}),
		toolserver.Tool{Server: "a", Name: "count", Parameters: schema})
	a := b.ask(body(true, ""))
	a.one(t, "stop")
	if got := strings.Join(b.shelf.made(), " "); got != `a__count{"n": 3}` {
		t.Errorf("got the calls %s, want the repaired one alone", got)
	}
	r := b.results(2)
	for i := 1; i < 3; i++ {
		if e, _ := r[i]["error"].(map[string]any); e["type"] != "invalid_arguments" || e["message"] == "" {
			t.Errorf("got %v, want what is wrong with the arguments", r[i])
		}
	}
	if !strings.Contains(b.model.bodies[1], `"arguments":"{}"`) {
		t.Errorf("got %s, want an object in the place of what is none", b.model.bodies[1])
	}
}

// TestAlternatives: where a tool fails the model is told of others: those that the operator names,
// else those that take the same arguments.
func TestAlternatives(t *testing.T) {
	tools := []toolserver.Tool{{Server: "a", Name: "search", Fallback: []string{"b__find", "b__gone"}}, {Server: "b", Name: "find"}, {Server: "a", Name: "lookup"}}
	b := newBench(t, run.Policy{Attach: []string{"b"}}, once(fc{"c1", "a__search", `{}`}, fc{"c2", "a__lookup", `{}`}), tools...)
	away := failing(&toolserver.Error{Kind: toolserver.Unavailable, Message: "The server is away."})
	b.shelf.do["a__search"], b.shelf.do["a__lookup"] = away, away
	b.ask(body(true, "")).one(t, "stop")
	for i, want := range []string{"[b__find]", "[b__find]"} {
		if e := b.results(2)[i]["error"].(map[string]any); fmt.Sprint(e["alternatives"]) != want {
			t.Errorf("got %v, want the alternatives %s", e, want)
		}
	}
}

// TestOutputSchema: a result that is not what its schema says is told, and an error to the model.
func TestOutputSchema(t *testing.T) {
	b := newBench(t, run.Policy{}, once(fc{"c1", "a__count", `{}`}), toolserver.Tool{Server: "a", Name: "count", Output: json.RawMessage(`{"type":"object","required":["n"]}`)})
	b.shelf.do["a__count"] = func(context.Context, string) (*toolserver.Result, error) {
		return nil, &toolserver.Error{Kind: toolserver.Failed, Sent: true, Misfit: true, Message: "It is not what it has promised."}
	}
	a := b.ask(body(true, ""))
	a.one(t, "stop")
	if got := strings.Join(a.summary.Warnings, ","); got != "tool_output_schema:a__count" {
		t.Errorf("got the warnings %q, want one", got)
	}
	if r := b.results(2)[0]; !strings.Contains(fmt.Sprint(r["error"]), "promised") {
		t.Errorf("got %v, want the error", r)
	}
}

// TestLoudFailure: a result that says in words that it failed is counted as one.
func TestLoudFailure(t *testing.T) {
	b := newBench(t, run.Policy{}, once(fc{"c1", "a__pay", `{}`}), toolserver.Tool{Server: "a", Name: "pay"})
	b.shelf.do["a__pay"] = text(`{"success":false,"message":"card declined"}`)
	a := b.ask(body(true, ""))
	a.one(t, "stop")
	if got := a.summary.ToolRun.Calls[0].Outcome; got != "failed" || a.summary.ToolRun.Failed() != 1 {
		t.Errorf("got the outcome %q, want failed", got)
	}
	if ran := b.model.asked[1].Reading.Ran; len(ran) != 1 || ran[0].ID != "c1" || !ran[0].Failed {
		t.Errorf("got %+v of the call for the guards, want a failure", ran)
	}
}

// TestLeave: when the client leaves, calls and rounds end, and nothing runs any more.
func TestLeave(t *testing.T) {
	b := newBench(t, run.Policy{}, once(fc{"c1", "a__search", `{}`}, fc{"c2", "a__search", `{"q":"2"}`}), toolserver.Tool{Server: "a", Name: "search", Idempotent: true})
	began, ended := make(chan struct{}, 2), make(chan struct{}, 2)
	b.shelf.do["a__search"] = func(ctx context.Context, _ string) (*toolserver.Result, error) {
		began <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return nil, &toolserver.Error{Kind: toolserver.Unavailable, Sent: true}
	}
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-began
		<-began
		leave()
	}()
	req, _ := gateway.ParseRequest([]byte(body(true, "")))
	a := b.send(ctx, req)
	<-ended
	<-ended
	if e := gateway.AsError(a.err); e.Kind != gateway.Canceled {
		t.Errorf("got %v, want that the client has left", a.err)
	}
	if len(b.shelf.made()) != 2 || len(b.model.bodies) != 1 {
		t.Errorf("got %d calls and %d rounds, want two and one", len(b.shelf.made()), len(b.model.bodies))
	}
}

// TestBeat: while a tool runs the client gets a comment now and then.
func TestBeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, run.Policy{}, once(fc{"c1", "a__search", `{}`}), toolserver.Tool{Server: "a", Name: "search"})
		b.change(func(o *run.Options) { o.Beat = time.Second })
		b.shelf.do["a__search"] = func(context.Context, string) (*toolserver.Result, error) {
			time.Sleep(9500 * time.Millisecond)
			return &toolserver.Result{Text: "x"}, nil
		}
		a := b.ask(body(true, ""))
		a.one(t, "stop")
		if got := strings.Count(a.raw, ": tool a__search\n\n"); got != 1+9 {
			t.Errorf("got %d comments, want one at the beginning and nine behind it:\n%s", got, a.raw)
		}
	})
}
