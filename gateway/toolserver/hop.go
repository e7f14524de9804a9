package toolserver

import (
	"context"
	"sync"
)

// Hop is the place of a call in a trace: what its server is told of it, and what the trace is told
// of the call by those who make it. It travels with the call's context, and holds no arguments
// and no results.
type Hop struct {
	// Parent and State are the W3C headers traceparent and tracestate. State may be "".
	Parent, State string

	mu    sync.Mutex
	facts HopFacts
}

// HopFacts is what is known of a call of the Model Context Protocol; the last attempt's.
type HopFacts struct {
	Version string // of the protocol, "" if nothing was sent
	Request string // the id of its JSON-RPC request, "" if it is not known
	Code    int    // of the JSON-RPC error that the server has answered with; 0 for none
	Failed  bool   // the tool's own word, in a result
}

type hopKey struct{}

// With gives a context with the hop.
func (h *Hop) With(ctx context.Context) context.Context { return context.WithValue(ctx, hopKey{}, h) }

// HopOf finds the hop of a call; nil where nothing is traced.
func HopOf(ctx context.Context) *Hop {
	h, _ := ctx.Value(hopKey{}).(*Hop)
	return h
}

// Note changes the facts. Servers call it, from any goroutine; a nil hop notes nothing.
func (h *Hop) Note(change func(*HopFacts)) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.facts)
}

// Facts are those that are known by now.
func (h *Hop) Facts() HopFacts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.facts
}

// Headers calls f for each header that the server is to get; for a nil hop there is none.
func (h *Hop) Headers(f func(name, value string)) {
	if h == nil || h.Parent == "" {
		return
	}
	f("traceparent", h.Parent)
	if h.State != "" {
		f("tracestate", h.State)
	}
}
