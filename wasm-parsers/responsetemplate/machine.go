package responsetemplate

import (
	"regexp/syntax"
	"unicode/utf8"
)

// allAsserted is a place where every assertion holds, allButEnd one where every
// one but the end of the text does.
const (
	allAsserted = syntax.EmptyBeginLine | syntax.EmptyEndLine | syntax.EmptyBeginText | syntax.EmptyEndText |
		syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary
	allButEnd = allAsserted &^ syntax.EmptyEndText
)

// A thread of higher priority may go on behind a match of a lower one, and what it
// has read for nothing is read again. So that the whole stays linear, it may go as
// far as a marker is long only while less than wasteTimes the text and wasteFree
// bytes were read again so far, and minAhead bytes from then on.
const (
	minAhead   = 32
	wasteTimes = 2
	wasteFree  = 16 << 10
)

// machine runs a program over text that comes in pieces. It is Pike's: all
// threads go through the text together, so a byte costs at most one step for
// each instruction. Places are counted from the start of the output.
//
// Threads that have consumed a character wait in raw. Only when what follows is
// known (if the program asserts anything) are they expanded into list, where
// each is at an instruction that consumes or matches. Both are in the order of
// priority; places[i*stride:] are what thread i remembers, its start first.
type machine struct {
	prog   *program
	maxAge int // a thread that has gone further is dropped; 0 for never

	raw, list         []uint32
	rawPlaces, places []int
	dense, sparse     []uint32
	scratch           []int
	pos               int
	prev              rune
	expanded          bool
	matched           bool
	end, number       int
	best              []int
	wasted            int // bytes read behind matches
	steps             int
}

func newMachine(p *program) *machine {
	return &machine{
		prog: p, sparse: make([]uint32, len(p.insts)), scratch: make([]int, p.stride), best: make([]int, p.stride),
		prev: -1,
	}
}

// reset begins a search at pos, behind prev, which is -1 at the start of the text.
func (m *machine) reset(pos int, prev rune) {
	m.raw, m.list, m.rawPlaces, m.places = m.raw[:0], m.list[:0], m.rawPlaces[:0], m.places[:0]
	m.pos, m.prev, m.expanded, m.matched = pos, prev, false, false
}

// search reads text, the first byte of which is at place off, from m.pos on. It
// reports whether there is a match that more text cannot change; end says that
// there is no more.
func (m *machine) search(text []byte, off int, end bool) bool {
	for {
		if !m.expanded {
			m.skip(text, off)
			next, ok := m.next(text, off, end)
			if !ok && m.prog.looks {
				return false
			}
			m.expand(syntax.EmptyOpContext(m.prev, next), m.pos)
			m.expanded = true
		}
		if m.matched && (len(m.list) == 0 || m.tooFar()) {
			m.wasted += m.pos - m.end
			return true
		}
		if m.pos-off >= len(text) {
			return m.matched && end
		}
		r, size := utf8.DecodeRune(text[m.pos-off:])
		if r == utf8.RuneError && !end && !utf8.FullRune(text[m.pos-off:]) {
			return false
		}
		m.consume(r)
		m.pos += size
	}
}

// tooFar tells whether a longer match has been looked for long enough.
func (m *machine) tooFar() bool {
	ahead := m.pos - m.end
	return ahead > minAhead && (ahead > maxMarker || m.wasted+ahead > wasteTimes*m.end+wasteFree)
}

// next is the character at m.pos, -1 at the end of the text. It reports false if
// that is not known yet.
func (m *machine) next(text []byte, off int, end bool) (rune, bool) {
	rest := text[m.pos-off:]
	if len(rest) == 0 {
		return -1, end
	}
	r, _ := utf8.DecodeRune(rest)
	return r, end || r != utf8.RuneError || utf8.FullRune(rest)
}

// skip goes to where a match may begin if there are no threads.
func (m *machine) skip(text []byte, off int) {
	if len(m.raw) > 0 || m.matched {
		return
	}
	from := m.pos - off
	i := from
	for i < len(text) && !m.prog.first[text[i]] {
		i++
	}
	if i > from {
		m.prev, _ = utf8.DecodeLastRune(text[from:i])
		m.pos = off + i
	}
}

// expand follows the threads, and new ones that begin at pos, to the instructions
// that consume or match. The first that matches hides those of lower priority.
func (m *machine) expand(flag syntax.EmptyOp, pos int) {
	stride := m.prog.stride
	m.list, m.places, m.dense = m.list[:0], m.places[:0], m.dense[:0]
	for i, pc := range m.raw {
		places := m.rawPlaces[i*stride : (i+1)*stride]
		if m.maxAge > 0 && pos-places[0] > m.maxAge {
			continue
		}
		copy(m.scratch, places)
		m.add(pc, flag, pos)
	}
	if !m.matched {
		for i := range m.scratch {
			m.scratch[i] = -1
		}
		m.scratch[0] = pos
		for _, pc := range m.prog.starts {
			m.add(pc, flag, pos)
		}
	}
	for i, pc := range m.list {
		if in := &m.prog.insts[pc]; in.Op == syntax.InstMatch {
			m.matched, m.end, m.number = true, pos, int(in.Arg)
			copy(m.best, m.places[i*stride:])
			m.list = m.list[:i]
			break
		}
	}
}

// add follows what consumes nothing from pc on, each instruction once a place.
func (m *machine) add(pc uint32, flag syntax.EmptyOp, pos int) {
	for {
		m.steps++
		if j := m.sparse[pc]; int(j) < len(m.dense) && m.dense[j] == pc {
			return
		}
		m.sparse[pc] = uint32(len(m.dense))
		m.dense = append(m.dense, pc)
		in := &m.prog.insts[pc]
		switch in.Op {
		case syntax.InstFail:
			return
		case syntax.InstAlt, syntax.InstAltMatch:
			m.add(in.Out, flag, pos)
			pc = in.Arg
		case syntax.InstNop:
			pc = in.Out
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^flag != 0 {
				return
			}
			pc = in.Out
		case syntax.InstCapture:
			old := m.scratch[in.Arg]
			m.scratch[in.Arg] = pos
			m.add(in.Out, flag, pos)
			m.scratch[in.Arg] = old
			return
		default:
			m.list = append(m.list, pc)
			m.places = append(m.places, m.scratch...)
			return
		}
	}
}

// consume moves the threads over r.
func (m *machine) consume(r rune) {
	stride := m.prog.stride
	m.raw, m.rawPlaces = m.raw[:0], m.rawPlaces[:0]
	for i, pc := range m.list {
		m.steps++
		if in := &m.prog.insts[pc]; in.MatchRune(r) {
			m.raw = append(m.raw, in.Out)
			m.rawPlaces = append(m.rawPlaces, m.places[i*stride:(i+1)*stride]...)
		}
	}
	m.prev, m.expanded = r, false
}

// hold is the place from which on the text may still be of a match.
func (m *machine) hold() int {
	hold, places, n := m.pos, m.rawPlaces, len(m.raw)
	if m.matched {
		hold = m.best[0]
	}
	if m.expanded {
		places, n = m.places, len(m.list)
	}
	for i := range n {
		hold = min(hold, places[i*m.prog.stride])
	}
	return hold
}

// group is the text of a group of the match, counted from 0, and whether it took
// part in it.
func (m *machine) group(i int, text []byte, off int) ([]byte, bool) {
	from, to := m.best[1+2*i], m.best[2+2*i]
	if from < 0 || to < 0 {
		return nil, false
	}
	return text[from-off : to-off], true
}
