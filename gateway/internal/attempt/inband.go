package attempt

import (
	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// failure reads a frame that is an error in the place of an answer.
func (a *answer) failure(f *wire.Frame) *gateway.Error {
	provider := a.candidate.upstream.provider
	redact := func(s string) string { return s }
	if p, ok := provider.(gateway.Redactor); ok {
		redact = p.Redact
	}
	var e *gateway.Error
	if p, ok := provider.(gateway.Failer); ok {
		e = p.Failure(a.reply.Header(), f.Data)
	} else {
		e = gateway.UpstreamFailure{Provider: a.candidate.Provider, Header: a.reply.Header(), Body: f.Data, Redact: redact}.Classify()
	}
	e.InBand = []byte(redact(string(f.Raw)))
	return e
}
