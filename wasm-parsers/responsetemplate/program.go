package responsetemplate

import "regexp/syntax"

// program is one or more patterns that are looked for at the same time. Of the
// matches that begin first the one of the earlier pattern is taken, so that the
// program is one alternation.
type program struct {
	insts  []syntax.Inst
	starts []uint32 // where each pattern begins
	stride int      // places that a thread remembers: its start and its groups
	looks  bool     // it asserts something, so the next character must be known
	first  [256]bool
}

// join puts patterns together. A match says by its number which one it is of.
func join(patterns []*pattern) *program {
	p := &program{stride: 1}
	for i, pat := range patterns {
		base := uint32(len(p.insts))
		for _, in := range pat.insts {
			p.insts = append(p.insts, relocate(in, base, uint32(i)))
			p.looks = p.looks || in.Op == syntax.InstEmptyWidth
		}
		p.starts = append(p.starts, base+pat.start)
		p.stride = max(p.stride, 1+2*len(pat.groups))
	}
	p.findFirst()
	return p
}

func relocate(in syntax.Inst, base, number uint32) syntax.Inst {
	in.Out += base
	switch in.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		in.Arg += base
	case syntax.InstMatch:
		in.Arg = number
	}
	return in
}

// findFirst notes the bytes that a match may begin with, so that text without any
// is skipped.
func (p *program) findFirst() {
	m := newMachine(p)
	m.expand(allAsserted, 0)
	for _, pc := range m.list {
		in := &p.insts[pc]
		if in.Op == syntax.InstMatch {
			continue
		}
		for c := range 0x80 {
			p.first[c] = p.first[c] || in.MatchRune(rune(c))
		}
		if beyondASCII(in) {
			for c := 0x80; c < 0x100; c++ {
				p.first[c] = true
			}
		}
	}
}

// beyondASCII tells whether an instruction may match a character that is not
// ASCII. The letters k and s have such a one if case does not count.
func beyondASCII(in *syntax.Inst) bool {
	if in.Op == syntax.InstRuneAny || in.Op == syntax.InstRuneAnyNotNL {
		return true
	}
	folds := syntax.Flags(in.Arg)&syntax.FoldCase != 0
	return folds || len(in.Rune) == 0 || in.Rune[len(in.Rune)-1] >= 0x80
}
