package main

import (
	"context"
	"fmt"
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
	guards bool // answers without a call are judged, and what else a configuration that says nothing looks at
}

// passages are those that are measured.
func passages() []passage {
	return []passage{
		{name: "whole answer, off", model: modelClean},
		{name: "whole answer", model: modelClean, mode: gateway.Repair},
		{name: "whole answer, guards report", model: modelClean, mode: gateway.Repair, guards: true},
		{name: "whole native call, off", model: modelNative},
		{name: "whole native call", model: modelNative, mode: gateway.Repair},
		{name: "stream, off", model: modelClean, stream: true},
		{name: "stream", model: modelClean, stream: true, mode: gateway.Repair},
		{name: "stream, guards report", model: modelClean, stream: true, mode: gateway.Repair, guards: true},
		{name: "stream, text is read", model: modelClean, stream: true, mode: gateway.Repair, read: true},
		{name: "stream, text is read, guards report", model: modelClean, stream: true, mode: gateway.Repair, read: true, guards: true},
		{name: "stream of a native call, off", model: modelNative, stream: true},
		{name: "stream of a native call", model: modelNative, stream: true, mode: gateway.Repair},
	}
}

// gateway makes a gateway that leads to p this way.
func (w *passage) gateway(p gateway.Provider) (*flow.Gateway, error) {
	target := gateway.Target{Provider: "instant", Mode: w.mode, Parsers: gateway.ParserSpec{Auto: w.read, Reasoning: w.read}, Reasoning: chain.Auto}
	o := flow.Options{
		Providers: map[string]gateway.Provider{"instant": p},
		Routes:    map[string][]gateway.Target{gateway.AnyModel: {target}},
		Parsers:   nativeParsers{newNative(), newPlan()},
	}
	if w.guards {
		o.RoutePolicy = flow.RoutePolicy{Guard: gateway.Report, Loop: gateway.LoopReport, Binding: gateway.BindingReport, References: gateway.Repair}
	}
	return flow.New(o)
}

// askers are the two that are compared: of the provider alone, and of the gateway.
// Both read the request's bytes, and must give the same number of bytes.
func (w *passage) askers(ctx context.Context) (direct, gated func() error, err error) {
	p := newInstant(w.model)
	g, err := w.gateway(p)
	if err != nil {
		return nil, nil, err
	}
	body := request(w.model, w.stream, 1<<10)
	req, err := gateway.ParseRequest(body)
	if err != nil {
		return nil, nil, err
	}
	want, err := alone(p)(ctx, req)
	if err != nil {
		return nil, nil, err
	}
	return asking(ctx, alone(p), body, want), asking(ctx, through(g), body, want), nil
}

// measureAttempts measures what the gateway adds to a request between its HTTP
// server and the provider: route, attempt, breaker, deadline, the look at the answer.
func measureAttempts(ctx context.Context, b *bench) (*table, error) {
	t := &table{
		Title: "a request of 1 KB that offers a tool, answered at once by a provider in this process",
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
