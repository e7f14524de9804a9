package attempt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
)

// past is what has come of a request so far, for the summary of how it ends.
type past struct {
	attempts []gateway.Attempt
	warnings []string       // which targets were left out, and why, and what is odd about the request
	faults   map[string]int // of answers that were thrown away
	verdict  *gateway.Verdict
}

// warn adds a warning, unless it is there or "".
func (p *past) warn(w string) {
	if w != "" && !slices.Contains(p.warnings, w) {
		p.warnings = append(p.warnings, w)
	}
}

// begins adds an attempt, and returns all of them for its summary.
func (p *past) begins(a gateway.Attempt) []gateway.Attempt {
	p.attempts = append(p.attempts, a)
	return slices.Clone(p.attempts)
}

// failed notes what the summary of the latest attempt says of its answer, which is thrown away.
func (p *past) failed(s *gateway.Summary) {
	n := len(p.attempts) - 1
	p.attempts[n] = s.Attempts[n]
	p.faults, p.verdict = s.Faults, s.Guard
}

// tried lists the attempts for a message.
func (p *past) tried() string {
	var list []string
	for _, m := range p.attempts {
		list = append(list, fmt.Sprintf("%s/%s (%s)", m.Provider, m.Model, m.Outcome))
	}
	return strings.Join(list, ", ")
}

// failures are those of a request that its client may be told of.
type failures struct {
	last    *gateway.Error // the latest that says more than that nobody was asked
	quality *gateway.Error // the first that another target was asked behind, by FallbackOn
}

// note keeps a failure that says more than the one before it.
func (f *failures) note(e *gateway.Error) {
	switch {
	case f.last == nil || e.Kind != gateway.CircuitOpen:
		f.last = e
	case f.last.Kind == gateway.CircuitOpen && e.RetryAfter < f.last.RetryAfter: // the earliest to close
		f.last = e
	}
}

// left keeps a failure behind which another target is asked, though it is none of the upstream's.
func (f *failures) left(e *gateway.Error) {
	if f.quality == nil {
		f.quality = e
	}
}

// telling is the failure that tells the client the most, if e is the latest of them, of a
// model. g is what a model was told.
func (f *failures) telling(e *gateway.Error, model string, g *guidance) *gateway.Error {
	switch {
	case f.quality != nil && e.Kind != gateway.Canceled: // what the others had against the request tells less
		return f.quality
	case e.Kind == gateway.CircuitOpen:
		e = f.last
	}
	if other := g.instead(e, model); other != nil {
		return other
	}
	return e
}
