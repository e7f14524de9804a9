package chain

import (
	"slices"

	"github.com/callgate/callgate/sdk/chars"
)

// input is the text that is not decided yet.
type input struct {
	buf   []byte
	spare []byte // the memory that an empty buf begins in again
	read  int    // how much of buf the scanner has read
	gone  int    // how much of the text stood before buf
	scan  scanner
}

// take appends text.
func (in *input) take(text []byte) {
	empty := len(in.buf) == 0
	if in.buf = append(in.buf, text...); empty {
		in.spare = in.buf
	}
}

// drop forgets the first n bytes.
func (in *input) drop(n int) {
	in.gone += n
	if in.buf = in.buf[n:]; len(in.buf) == 0 {
		in.buf = in.spare[:0]
	}
	in.scan.drop(n)
	in.read = max(0, in.read-n)
}

// rescan makes the scanner begin anew at the start of the text.
func (in *input) rescan() { in.scan.state, in.scan.found, in.read = 0, match{}, 0 }

// skip drops the first n bytes, and what the scanner has seen behind them.
func (in *input) skip(n int) {
	in.drop(n)
	in.rescan()
}

// whole is the text without a rune at its end that is not complete yet: events hold whole runes
// as long as the text does.
func (in *input) whole(final bool) []byte {
	if final {
		return in.buf
	}
	return in.buf[:len(in.buf)-incomplete(in.buf)]
}

// literal looks for the next literal. Where there is none, clear is how many bytes cannot
// begin one.
func (in *input) literal(final bool) (m match, clear int, ok bool) {
	text := in.whole(final)
	if m, ok = in.scan.scan(text, in.read, final); ok {
		in.read = m.start // the scanner may have read on to see whether the literal goes on
		return m, m.start, true
	}
	if in.read = len(text); final {
		return m, len(text), false
	}
	return m, len(text) - in.scan.held(len(text)), false
}

// harmless reports whether text, which would follow an empty one, holds no literal, nor a part
// of one at its end.
func (in *input) harmless(text []byte) bool {
	in.scan.skip = skipper{} // what it knows is about buf
	_, found := in.scan.scan(text, 0, false)
	in.scan.skip = skipper{}
	if found || in.scan.state != 0 || in.scan.found.end > 0 {
		in.scan.state, in.scan.found = 0, match{}
		return false
	}
	return true
}

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
		s.begun = true
		s.found = slices.ContainsFunc(s.plan.starts, func(literal string) bool { // one that counts only here
			n := min(len(literal), len(body))
			return string(body[:n]) == literal[:n] && (n < len(literal) || len(body) == n || s.plan.begins(body))
		})
	}
	s.scan.skip = skipper{} // what it knows is about the piece before
	_, found := s.scan.scan(text, 0, false)
	s.found = s.found || found || s.scan.found.end > 0
}

// Nothing reports whether there was neither a trigger nor a marker, so that the whole output is
// content as it is.
func (s *Skim) Nothing() bool { return !s.some || !s.found }
