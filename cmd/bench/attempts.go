package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/flow"
)

// Limits on what the gateway adds, in µs: to a request a tenth of what a plain proxy
// needs for one, and to a frame as much as a proxy needs for a chunk.
const (
	requestLimit = 20
	frameLimit   = 2
)

// passage is a way of an answer through the gateway.
type passage struct {
	name   string
	model  string
	stream bool
	mode   gateway.Mode
	read   bool // the text is read
	failed bool // another provider was asked before, and failed
	tools  int  // further tools that are offered, of some 700 bytes each
	guards bool // answers without a call are judged, and what else a configuration that says nothing looks at
	held   bool // and answers are held until that is done
}

// passages are those that are measured.
func passages() []passage {
	return []passage{
		{name: "whole answer, off", model: modelClean},
		{name: "whole answer", model: modelClean, mode: gateway.Repair},
		{name: "whole answer, guards report", model: modelClean, mode: gateway.Repair, guards: true},
		{name: "whole answer, another provider failed", model: modelClean, mode: gateway.Repair, failed: true},
		{name: "whole native call, off", model: modelNative},
		{name: "whole native call", model: modelNative, mode: gateway.Repair},
		{name: "whole native call, 33 tools, off", model: modelNative, tools: 32},
		{name: "whole native call, 33 tools", model: modelNative, mode: gateway.Repair, tools: 32},
		{name: "stream, off", model: modelClean, stream: true},
		{name: "stream", model: modelClean, stream: true, mode: gateway.Repair},
		{name: "stream, guards report", model: modelClean, stream: true, mode: gateway.Repair, guards: true},
		{name: "stream, guard enforces", model: modelClean, stream: true, mode: gateway.Repair, guards: true, held: true},
		{name: "stream, text is read", model: modelClean, stream: true, mode: gateway.Repair, read: true},
		{name: "stream, text is read, guards report", model: modelClean, stream: true, mode: gateway.Repair, read: true, guards: true},
		{name: "stream of a native call, off", model: modelNative, stream: true},
		{name: "stream of a native call", model: modelNative, stream: true, mode: gateway.Repair},
		{name: "stream of a native call, text is read", model: modelNative, stream: true, mode: gateway.Repair, read: true},
	}
}

// gateway makes a gateway that leads to p this way.
func (w *passage) gateway(p gateway.Provider) (*flow.Gateway, int, error) {
	target := gateway.Target{Provider: "instant", Mode: w.mode, Parsers: gateway.ParserSpec{Auto: w.read, Reasoning: w.read}, Reasoning: chain.Auto}
	o := flow.Options{
		Providers: map[string]gateway.Provider{"instant": p, "failing": failing{}},
		// The breaker of the one that fails must stay closed, so that it is asked.
		Policies: map[string]gateway.Policy{"failing": {Failures: math.MaxInt32}},
		Routes:   map[string][]gateway.Target{gateway.AnyModel: {target}},
		Parsers:  nativeParsers{newNative(), newPlan()},
	}
	attempts := 1
	if w.failed {
		o.Routes[gateway.AnyModel] = []gateway.Target{{Provider: "failing", Mode: w.mode}, target}
		attempts = 2
	}
	if w.guards {
		o.RoutePolicy = flow.RoutePolicy{Guard: gateway.Report, Loop: gateway.LoopReport, Binding: gateway.BindingReport, References: gateway.Repair}
	}
	if w.held {
		o.RoutePolicy.Guard = gateway.Repair
	}
	g, err := flow.New(o)
	return g, attempts, err
}

// offering is a request that offers n further tools, with schemas as agents have them.
func offering(body []byte, n int) []byte {
	const tools = `"tools":[`
	at := bytes.Index(body, []byte(tools)) + len(tools)
	var further []byte
	for i := range n {
		further = fmt.Appendf(further, `{"type":"function","function":{"name":"tool_%d","description":"Look up how the weather `+
			`will be at a place, for some days. Use it when the user asks about weather or what to wear.","parameters":%s}},`, i, schema)
	}
	return slices.Concat(body[:at], further, body[at:])
}

// askers are the two that are compared: of the provider alone, and of the gateway.
// Both read the request's bytes, and must give the same number of bytes.
func (w *passage) askers(ctx context.Context) (direct, gated func() error, err error) {
	p := newInstant(w.model)
	g, attempts, err := w.gateway(p)
	if err != nil {
		return nil, nil, err
	}
	body := offering(request(w.model, w.stream, 1<<10), w.tools)
	req, err := gateway.ParseRequest(body)
	if err != nil {
		return nil, nil, err
	}
	want, err := alone(p)(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	return asking(ctx, alone(p), body, want), asking(ctx, through(g, attempts), body, want), nil
}

// measureAttempts measures what the gateway adds to a request between its HTTP
// server and the provider: route, attempt, breaker, deadline, the look at the answer.
func measureAttempts(ctx context.Context, b *bench) (*table, error) {
	t := &table{
		Title: "a request of 1 KB and what tools it offers, answered at once by a provider in this process",
		Columns: []column{{"provider µs", "median"}, {"gateway µs", "best"}, {"gateway µs", "median"}, {"added µs", "median"},
			{"added µs", "a frame"}, {"allocations", "provider"}, {"allocations", "gateway"}},
		Note: fmt.Sprintf("Both read the request's JSON. Nothing in the answers is wrong. A stream has %d frames. Text is read\n"+
			"for the markers of all parsers. tool_calls is repair, but for off. targets: a tenth of what a plain proxy needs\n"+
			"for a request, and what it needs for a chunk.", len(newInstant(modelClean).frames)),
	}
	for _, w := range passages() {
		r, err := w.measure(ctx, b.time/2)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		t.Rows = append(t.Rows, r)
	}
	return t, nil
}

func (w *passage) measure(ctx context.Context, total time.Duration) (row, error) {
	direct, gated, err := w.askers(ctx)
	if err != nil {
		return row{}, err
	}
	times, err := interleave(ctx, total, repeated(direct), repeated(gated))
	if err != nil {
		return row{}, err
	}
	added := pairwise(times[1], times[0], difference)
	r := row{name: w.name, figures: []figure{median(times[0]), best(times[1]), median(times[1]), added, none()}}
	r.target = below("added", added, requestLimit, " µs")
	if w.stream {
		r.figures[4] = added / figure(len(newInstant(w.model).frames))
		r.target = below("a frame", r.figures[4], frameLimit, " µs")
	}
	for _, f := range []func() error{direct, gated} {
		n, err := allocations(1, f)
		if err != nil {
			return row{}, err
		}
		r.figures = append(r.figures, n)
	}
	return r, nil
}
