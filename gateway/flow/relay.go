package flow

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/attempt"
	"github.com/callgate/callgate/gateway/internal/stage/meter"
	"github.com/callgate/callgate/gateway/internal/stage/tally"
)

// Relay sends a request for another endpoint than chat where its model's route leads, as it
// is but for the name of the model. req says who asks, for which model, and how often; its
// body is not sent. Until the upstream has begun to answer, failures are dealt with as those
// of Chat. one says that only targets of the same model may take each other's place.
func (g *Gateway) Relay(ctx context.Context, req *gateway.Request, relay *gateway.Relay, one bool) (*gateway.Response, error) {
	choice, ok := g.table.Choose(req)
	if !ok {
		return nil, g.models.missing(req.Model)
	}
	if err := noArms(req); err != nil {
		return nil, err
	}
	req.Routing.Route = choice.Route
	p := &attempt.Plan{Route: &choice.RouteChoice, Targets: slices.Clone(choice.Targets), Model: choice.Model}
	if one {
		p.Targets, p.Found.Warnings = sameModel(p.Targets, choice.Model)
	}
	return g.relay(ctx, p, req, relay)
}

// relay sends a request to the targets of a plan.
func (g *Gateway) relay(ctx context.Context, p *attempt.Plan, req *gateway.Request, relay *gateway.Relay) (*gateway.Response, error) {
	p.Asked, p.Base, p.Timing.Requested = req, req, time.Now()
	p.Exchange.Stages = []gateway.Maker{tally.Maker{}}
	if g.options.Meters {
		text := strings.Contains(relay.Path, "completions") || strings.Contains(relay.Path, "responses") || strings.Contains(relay.Path, "messages")
		p.Exchange.Stages = append(p.Exchange.Stages, meter.Maker{Relay: true, Text: text && relay.Path != gateway.CountPath})
	}
	p.Exchange.Policies = func(gateway.Target) []gateway.RequestPolicy { return nil }
	if g.options.Saved != nil {
		p.Exchange.Stages = append(p.Exchange.Stages, g.options.Saved)
	}
	for i := range p.Targets {
		p.Targets[i].Mode, p.Targets[i].AllowEmpty = gateway.Off, true
	}
	p.Exchange.Send = func(ctx context.Context, provider gateway.Provider, model string, header http.Header) (gateway.Relayed, error) {
		relayer, ok := provider.(gateway.Relayer)
		if !ok {
			return nil, gateway.Errorf(gateway.NotFound, "not_found", "The provider of %q has no %s.", req.Routing.Route, relay.Path)
		}
		sent := *relay
		sent.Header = header
		return relayer.Relay(ctx, model, &sent)
	}
	return g.deadline.within(ctx, func(ctx context.Context) (*gateway.Response, error) { return g.engine.Do(ctx, p) })
}

// sameModel are the targets of the model that the first one has: the vectors of another one
// mean nothing beside those that the client has already.
func sameModel(targets []gateway.Target, asked string) (same []gateway.Target, warnings []string) {
	name := func(t gateway.Target) string {
		if t.Model == "" {
			return asked
		}
		return t.Model
	}
	for _, t := range targets {
		if name(t) == name(targets[0]) {
			same = append(same, t)
		} else {
			warnings = append(warnings, "other_model:"+t.Provider)
		}
	}
	return same, warnings
}

// Passthrough sends a request to one provider, whatever it is for. There is one attempt.
func (g *Gateway) Passthrough(ctx context.Context, provider string, req *gateway.Request, relay *gateway.Relay) (*gateway.Response, error) {
	req.Routing.Route, req.Wishes.MaxRetries = provider+"/*", new(int)
	return g.relay(ctx, &attempt.Plan{Route: &gateway.RouteChoice{Route: req.Routing.Route}, Targets: []gateway.Target{{Provider: provider}}}, req, relay)
}
