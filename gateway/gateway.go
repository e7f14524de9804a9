package gateway

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
)

// Options are what a Gateway is made of. The wiring in cmd/gateway fills them.
type Options struct {
	Providers map[string]Provider
	// Routes maps the names that clients send to targets; AnyModel stands for all
	// others.
	Routes map[string]Target
	// Direct maps a provider's name to the target for models called
	// "provider/model"; the rest of the name is the upstream's.
	Direct map[string]Target
	// Parsers may be nil if no target reads text.
	Parsers ParserSource
	// ReasoningField is the member that reasoning is written to. An upstream's own is
	// renamed. If it is empty that stays as it is, and what the gateway splits off
	// goes to "reasoning_content".
	ReasoningField string
	// Log may be nil.
	Log *slog.Logger
}

// Gateway takes chat requests to upstreams and brings correct replies back. It is
// safe for concurrent use.
type Gateway struct {
	providers      map[string]Provider
	routes, direct map[string]Target
	parsers        ParserSource
	reasoningField string
	renameTo       string // the name for upstreams' own reasoning too; "" leaves it
	log            *slog.Logger
}

// New makes a gateway. A target whose provider is missing is a mistake of the
// wiring and gives an error.
func New(o Options) (*Gateway, error) {
	g := &Gateway{providers: o.Providers, routes: o.Routes, direct: o.Direct, parsers: o.Parsers,
		reasoningField: o.ReasoningField, renameTo: o.ReasoningField, log: o.Log}
	if g.reasoningField == "" {
		g.reasoningField = "reasoning_content"
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	for _, targets := range []map[string]Target{o.Routes, o.Direct} {
		for name, t := range targets {
			if o.Providers[t.Provider] == nil {
				return nil, Errorf(Internal, "", "model %q: there is no provider %q", name, t.Provider)
			}
		}
	}
	return g, nil
}

// Chat sends a request where its model's route leads. The caller reads the
// response to its end, or closes it.
func (g *Gateway) Chat(ctx context.Context, req *Request) (*Response, error) {
	began := time.Now()
	target, model, err := g.target(req.Model)
	if err != nil {
		return nil, err
	}
	r := &Response{gateway: g, ctx: ctx, req: req, target: target,
		Summary: Summary{Provider: target.Provider, Model: model, Attempts: 1}}
	if err := r.plan(model); err != nil {
		return nil, err
	}
	r.Summary.Overhead = time.Since(began)
	req.RawText = target.RawText && r.parsers != nil && target.Mode == Repair // somebody must read it
	r.reply, err = g.providers[target.Provider].Chat(ctx, model, req)
	if err != nil {
		return nil, err
	}
	r.Header, r.Streamed = r.reply.Header(), r.reply.Streamed()
	return r, nil
}

// Models returns the names that clients may send, sorted.
func (g *Gateway) Models(ctx context.Context) []string { return g.names(ctx) }

// names lists the routes, and the models of providers that can list them: under
// the provider's name, and under their own where they are the route for any model.
func (g *Gateway) names(ctx context.Context) []string {
	set := map[string]bool{}
	for name := range g.routes {
		if !strings.HasSuffix(name, AnyModel) {
			set[name] = true
		}
	}
	add := func(prefix string, t Target) {
		lister, ok := g.providers[t.Provider].(ModelLister)
		if !ok {
			return
		}
		models, err := lister.Models(ctx)
		if err != nil && ctx.Err() != nil {
			return
		}
		if err != nil {
			g.log.WarnContext(ctx, "models not listed", "provider", t.Provider, "error", err)
			return
		}
		for _, m := range models {
			set[prefix+m] = true
		}
	}
	for prefix, t := range g.direct {
		add(prefix+"/", t)
	}
	if t, ok := g.routes[AnyModel]; ok {
		add("", t)
	}
	return slices.Sorted(maps.Keys(set))
}
