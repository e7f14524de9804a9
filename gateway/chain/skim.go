package chain

import (
	"slices"

	"github.com/callgate/callgate/sdk/chars"
)

// Skim looks for triggers and markers in a whole output, which comes in pieces, before it is
// fed: there may be nothing to read in it.
type Skim struct {
	scan  scanner
	plan  *Plan
	some  bool // something was read
	begun bool // something that is no white space
	found bool
}

// Skim begins to look through the whole output of the chain, to which nothing was fed yet.
func (c *Chain) Skim() Skim {
	m := &c.machine
	return Skim{
		scan: scanner{a: m.parsers.plan.automaton}, plan: m.parsers.plan,
		found: m.reasoning.open || c.Holding() || m.parsers.plan.anyStart && m.parsers.reads(),
	}
}

// Read takes the next piece.
func (s *Skim) Read(text []byte) {
	if s.some = true; s.found {
		return
	}
	if body := chars.SkipSpace(text); !s.begun && len(body) > 0 {
		s.begun, s.found = true, s.plan.mayStart(body)
	}
	s.scan.skip = skipper{} // what it knows is about the piece before
	_, found := s.scan.scan(text, 0, false)
	s.found = s.found || found || s.scan.found.end > 0
}

// Nothing reports whether there was neither a trigger nor a marker, so that the whole output is
// content as it is.
func (s *Skim) Nothing() bool { return !s.some || !s.found }

// mayStart reports whether an output that begins with text may begin with a literal that counts
// only there.
func (p *Plan) mayStart(text []byte) bool {
	return slices.ContainsFunc(p.starts, func(s string) bool {
		n := min(len(s), len(text))
		return string(text[:n]) == s[:n]
	})
}
