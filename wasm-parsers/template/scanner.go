package template

import "unicode/utf8"

// Limits of what a marker may make the parser wait for or read again.
const (
	// maxMarker is how long a marker may be, and so how much text may wait until
	// it is known whether it is one.
	maxMarker = 4 << 10
	// rescanTimes and rescanFree bound how much is read again: behind a marker that
	// was found, when a longer one had to be looked for.
	rescanTimes = 4
	rescanFree  = 64 << 10
)

// marker is a program that is looked for and what it means.
type marker struct {
	prog  *program
	field *field
	opens bool
}

// watch is a set of markers that are looked for at the same time.
type watch struct {
	markers  []marker
	machines []*machine
	follow   [256]*[256]bool // what may stand behind the byte that one of them begins with
}

func newWatch(markers []marker, maxAge int) *watch {
	w := &watch{markers: markers}
	for _, m := range markers {
		w.machines = append(w.machines, newMachine(m.prog, maxAge))
	}
	w.findFollow()
	return w
}

// found is a marker that was found.
type found struct {
	*machine
	marker
	start, end int
}

// scanner looks for the first marker of a watch, as transformers does: of those
// that begin first the longest, one that opens before one that closes, and at last
// by the name of the field. What it finds does not depend on how the text comes.
type scanner struct {
	watch *watch
	pos   int  // of the next character
	prev  rune // the character before, -1 at the start
	found found
	begun int // where a match had begun when the text ended, -1 if none had
}

func newScanner(w *watch) *scanner { return &scanner{watch: w, prev: -1, begun: -1} }

// turn looks for the markers of another watch from a place on. text begins at off.
func (s *scanner) turn(w *watch, text []byte, off, at int) {
	s.watch = w
	s.restart(text, off, at)
}

// restart looks for the markers from a place on.
func (s *scanner) restart(text []byte, off, at int) {
	for _, m := range s.watch.machines {
		m.reset()
	}
	s.pos, s.prev, s.begun = at, -1, -1
	if at > off {
		s.prev, _ = utf8.DecodeLastRune(text[:at-off])
	}
}

// next reads on. It reports whether a marker was found. ends says that no text
// follows, cut that this is so because of a limit and marks nothing.
func (s *scanner) next(text []byte, off int, ends, cut bool) bool {
	for {
		s.skip(text, off)
		rest := text[s.pos-off:]
		if len(rest) == 0 || !ends && !utf8.FullRune(rest) {
			break
		}
		r, size := utf8.DecodeRune(rest)
		if s.step(r, size, text[:s.pos-off]) && s.decide() {
			return true
		}
	}
	if ends {
		s.finish(text[:s.pos-off], cut)
	}
	return ends && s.decide()
}

// step reads a character, and reports whether there is a match.
func (s *scanner) step(r rune, size int, before []byte) bool {
	matched := false
	for _, m := range s.watch.machines {
		if len(m.cur.pcs) == 0 && !m.matched && r < utf8.RuneSelf && !m.prog.first[r] {
			continue
		}
		m.step(r, s.pos, s.pos+size, s.prev, before)
		matched = matched || m.matched
	}
	s.pos += size
	s.prev = r
	return matched
}

// finish tells the machines that the text ends, and notes where a match had begun.
func (s *scanner) finish(before []byte, cut bool) {
	s.begun = -1
	for _, m := range s.watch.machines {
		if !m.idle() && (s.begun < 0 || m.hold() < s.begun) {
			s.begun = m.hold()
		}
		m.finish(s.pos, s.prev, before, cut)
	}
}

// skip passes over what no marker begins with.
func (s *scanner) skip(text []byte, off int) {
	for _, m := range s.watch.machines {
		if !m.idle() {
			return
		}
	}
	from := s.pos - off
	i := from
	for i < len(text) {
		next := s.watch.follow[text[i]]
		if next != nil && (i+1 == len(text) || next[text[i+1]]) {
			break
		}
		i++
	}
	for i < len(text) && i > from && !utf8.RuneStart(text[i]) {
		i-- // the rune began earlier
	}
	if i > from {
		s.prev, _ = utf8.DecodeLastRune(text[:i])
		s.pos = off + i
	}
}

// decide takes the best of the matches. It reports false if there is none, or if a
// marker that began no later may yet be a better one.
func (s *scanner) decide() bool {
	best := -1
	for i, m := range s.watch.machines {
		if m.matched && (best < 0 || s.better(i, best)) {
			best = i
		}
	}
	if best < 0 {
		return false
	}
	m := s.watch.machines[best]
	for _, other := range s.watch.machines {
		if len(other.cur.pcs) > 0 && other.hold() <= m.best[slotStart] {
			return false
		}
	}
	s.found = found{m, s.watch.markers[best], m.best[slotStart], m.end}
	return true
}

// better tells whether match i comes before match j.
func (s *scanner) better(i, j int) bool {
	a, b := s.watch.machines[i], s.watch.machines[j]
	x, y := &s.watch.markers[i], &s.watch.markers[j]
	switch {
	case a.best[slotStart] != b.best[slotStart]:
		return a.best[slotStart] < b.best[slotStart]
	case a.end != b.end:
		return a.end > b.end
	case x.opens != y.opens:
		return x.opens
	}
	return x.field != nil && y.field != nil && x.field.name < y.field.name
}

// hold is the place from which on the text may be part of a marker.
func (s *scanner) hold() int {
	at := s.pos
	for _, m := range s.watch.machines {
		if !m.idle() {
			at = min(at, m.hold())
		}
	}
	return at
}
