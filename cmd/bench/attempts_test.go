package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/flow"
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
func (w *passage) gateway(p gateway.Provider) (*flow.Gateway, error) { return flow.New(w.options(p)) }

// options are what the gateway is made of.
func (w *passage) options(p gateway.Provider) flow.Options {
	target := gateway.Target{Provider: "instant", Mode: w.mode, Parsers: gateway.ParserSpec{Auto: w.read, Reasoning: w.read}, Reasoning: chain.Auto}
	o := flow.Options{
		Providers: map[string]gateway.Provider{"instant": p},
		Routes:    map[string][]gateway.Target{gateway.AnyModel: {target}},
		Parsers:   nativeParsers{newNative(), newPlan()},
	}
	if w.guards {
		o.RoutePolicy = flow.RoutePolicy{Guard: gateway.Report, Loop: gateway.LoopReport, Binding: gateway.BindingReport, References: gateway.Repair}
	}
	return o
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

// BenchmarkAttempts is what the gateway adds to a request between its HTTP server and the
// provider: route, attempt, breaker, deadline, the look at the answer. Each passage is measured
// beside its provider alone. The aim is a tenth of what a plain proxy needs for a request, 20 µs,
// and what it needs for a chunk, 2 µs, for each frame of a stream.
func BenchmarkAttempts(b *testing.B) {
	for _, w := range passages() {
		direct, gated, err := w.askers(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for name, ask := range map[string]func() error{"provider": direct, "gateway": gated} {
			b.Run(w.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := ask(); err != nil {
						b.Fatal(err)
					}
				}
				if w.stream {
					frames := len(newInstant(w.model).frames)
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*frames), "ns/frame")
				}
			})
		}
	}
}

func TestPassages(t *testing.T) {
	t.Parallel()
	for _, w := range passages() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			direct, gated, err := w.askers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for range 12 { // more than a breaker or a bucket of retries takes
				if err := errors.Join(direct(), gated()); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestWrongPassages checks that an answer which is not what it should be does not
// count as one.
func TestWrongPassages(t *testing.T) {
	t.Parallel()
	body := request(modelText, true, 1<<10)
	tests := []struct {
		name    string
		passage passage
		bytes   int
		want    string
	}{
		{"a call in text becomes one", passage{mode: gateway.Repair, read: true}, 0, "was changed"},
		{"another length", passage{mode: gateway.Off}, 7, "bytes, want 7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g, err := tt.passage.gateway(newInstant(modelText))
			if err != nil {
				t.Fatal(err)
			}
			err = asking(t.Context(), through(g), body, tt.bytes)()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}
