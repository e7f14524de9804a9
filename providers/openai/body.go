package openai

import (
	"cmp"
	"path"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// asked is a request as it goes upstream.
type asked struct {
	body   wire.Pieces
	stream bool
	// warnings say what was changed beside the name of the model and what the gateway
	// asked for.
	warnings []string
}

func (p *Provider) ask(model string, req *gateway.Request) asked {
	var fields []gateway.Field
	if req.Raw.Wanted {
		fields = rawFields(cmp.Or(req.Raw.Server, p.server), req.Reading.OffersTools() && req.Reading.Choice().IsAuto())
	}
	a := asked{stream: req.Stream}
	var gone []string
	var edits []wire.Edit
	if p.asksWhole(model, req) {
		a.stream, a.warnings = false, []string{"changed:stream"}
		fields = append(fields, gateway.Field{Name: "stream", Value: "false"})
		gone = append(gone, "stream_options")
	}
	if p.fits(req) {
		var unfit, dropped []string
		unfit, edits, dropped = p.fit(req.Body.Bytes(), model)
		gone = append(gone, unfit...)
		for _, name := range dropped {
			a.warnings = append(a.warnings, "dropped:messages."+name)
		}
		if p.taste == thoughtful && len(edits) > 0 {
			a.warnings = append(a.warnings, "changed:messages."+thoughtMembers[0])
		}
	}
	for _, name := range gone {
		if len(wire.Remove(req.Body.Bytes(), name)) > 0 {
			a.warnings = append(a.warnings, "dropped:"+name)
		}
	}
	if len(gone) > 0 {
		edits = append(edits, wire.Remove(req.Body.Bytes(), gone...)...)
	}
	a.body = req.With(model, fields, edits...)
	return a
}

// asksWhole says whether a stream is asked for whole.
func (p *Provider) asksWhole(model string, req *gateway.Request) bool {
	return p.wholeWithTools && req.Stream && req.Reading.OffersTools() &&
		!slices.ContainsFunc(p.streamOnly, func(pattern string) bool {
			ok, _ := path.Match(pattern, model) // New has tried the pattern
			return ok
		})
}
