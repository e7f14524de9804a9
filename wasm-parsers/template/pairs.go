package template

import "regexp/syntax"

// pair are bytes that a match may begin with, and bytes that may follow one of
// them. Most text is passed over by a look at two bytes.
type pair struct{ first, next [256]bool }

// findPairs notes what a match may begin with. A program that matches nothing may
// begin with anything.
func (p *program) findPairs() {
	m := newMachine(p, 0)
	begins := m.reach(p.start)
	for _, pc := range begins {
		var one pair
		p.note(pc, &one.first)
		for c, may := range one.first {
			p.first[c] = p.first[c] || may
		}
		ends := p.insts[pc].Op == syntax.InstMatch
		if !ends {
			for _, pc := range m.reach(p.insts[pc].Out) {
				p.note(pc, &one.next)
			}
		}
		p.addPair(&one, ends)
	}
}

// maxPairs is how many pairs a program keeps apart.
const maxPairs = 8

func (p *program) addPair(one *pair, ends bool) {
	for c := range 256 { // behind a byte of a longer character there is more of it
		one.next[c] = one.next[c] || ends || c >= 0x80
	}
	if len(p.pairs) < maxPairs {
		p.pairs = append(p.pairs, *one)
		return
	}
	last := &p.pairs[maxPairs-1]
	for c := range 256 {
		last.first[c] = last.first[c] || one.first[c]
		last.next[c] = last.next[c] || one.next[c]
	}
}

// reach are the instructions that are reached from pc without reading, whatever is
// asserted.
func (m *machine) reach(pc uint32) []uint32 {
	var t threads
	t.sparse = make([]uint32, len(m.prog.insts))
	m.closure(&t, pc, 0, everything)
	return t.pcs
}

// note adds the bytes that an instruction reads the first of, any for a match.
func (p *program) note(pc uint32, set *[256]bool) {
	in := &p.insts[pc]
	match := in.Op == syntax.InstMatch
	for c := range 0x80 {
		set[c] = set[c] || match || in.MatchRune(rune(c))
	}
	if match || beyondASCII(in) {
		for c := 0x80; c < 0x100; c++ {
			set[c] = true
		}
	}
}

// beyondASCII tells whether an instruction may match a character that is not ASCII.
// If case does not count, k and s match one.
func beyondASCII(in *syntax.Inst) bool {
	switch {
	case in.Op == syntax.InstRuneAny || in.Op == syntax.InstRuneAnyNotNL, len(in.Rune) == 0:
		return true
	case len(in.Rune) == 1 && syntax.Flags(in.Arg)&syntax.FoldCase != 0:
		return true
	}
	return in.Rune[len(in.Rune)-1] >= 0x80
}

// findFollow notes, for each byte that a match of the watch may begin with, what may
// follow; nil for the others.
func (w *watch) findFollow() {
	for c := range w.follow {
		for _, m := range w.markers {
			for i := range m.prog.pairs {
				if one := &m.prog.pairs[i]; one.first[c] {
					w.follow[c] = union(w.follow[c], one, c >= 0x80)
				}
			}
		}
	}
}

// union adds what may follow. A set that is the same for several bytes is not copied.
func union(set *[256]bool, one *pair, any bool) *[256]bool {
	switch {
	case any:
		return &anything
	case set == nil:
		return &one.next
	case *set == one.next:
		return set
	}
	sum := *set
	for c, may := range one.next {
		sum[c] = sum[c] || may
	}
	return &sum
}

// anything is the set of all bytes.
var anything = func() (all [256]bool) {
	for c := range all {
		all[c] = true
	}
	return all
}()
