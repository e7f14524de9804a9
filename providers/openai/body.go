package openai

import (
	"bytes"
	"cmp"
	"path"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway"
)

// asked is a request as it goes upstream.
type asked struct {
	body   []byte
	stream bool
	// warnings say what was changed beside the name of the model and what the gateway
	// asked for.
	warnings []string
}

func (p *Provider) ask(model string, req *gateway.Request) asked {
	var fields []gateway.Field
	if req.RawText {
		fields = rawFields(cmp.Or(req.RawServer, p.server), req.OffersTools() && req.Choice().IsAuto())
	}
	if !p.asksWhole(model, req) {
		if len(fields) == 0 {
			return asked{body: req.Body(model), stream: req.Stream}
		}
		return asked{body: req.With(model, fields), stream: req.Stream}
	}
	a := asked{
		body:     req.With(model, append(fields, gateway.Field{Name: "stream", Value: "false"})),
		warnings: []string{"changed:stream"},
	}
	if shorter, ok := without(a.body, "stream_options"); ok {
		a.body, a.warnings = shorter, append(a.warnings, "dropped:stream_options")
	}
	return a
}

// asksWhole says whether a stream is asked for whole.
func (p *Provider) asksWhole(model string, req *gateway.Request) bool {
	return p.wholeWithTools && req.Stream && req.OffersTools() &&
		!slices.ContainsFunc(p.streamOnly, func(pattern string) bool {
			ok, _ := path.Match(pattern, model) // New has tried the pattern
			return ok
		})
}

// without returns a copy of a JSON object without the member called name, and false
// if it has none.
func without(object []byte, name string) ([]byte, bool) {
	d := jsontext.NewDecoder(bytes.NewBuffer(object)) // a Buffer is read where it is
	if _, err := d.ReadToken(); err != nil {
		return nil, false
	}
	for first := true; d.PeekKind() == '"'; first = false {
		start := int(d.InputOffset()) // in front of the comma
		key, err := d.ReadToken()
		if err != nil {
			return nil, false
		}
		found := key.String() == name
		if d.SkipValue() != nil {
			return nil, false
		}
		if !found {
			continue
		}
		before, after := object[:start], object[d.InputOffset():]
		if first {
			after = bytes.TrimPrefix(bytes.TrimLeft(after, " \t\r\n"), []byte(","))
		}
		return slices.Concat(before, after), true
	}
	return nil, false
}
