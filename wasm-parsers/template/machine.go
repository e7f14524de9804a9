package template

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// everything is a place where every assertion holds.
const everything = syntax.EmptyBeginLine | syntax.EmptyEndLine | syntax.EmptyBeginText | syntax.EmptyEndText |
	syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary

// unknown stands for the assertions at a place where the next character has not
// been read yet: a thread that asserts something waits.
const unknown = syntax.EmptyOp(1 << 7)

// machine looks for the first match of a program, the one that Python's search
// would find, in text that comes in pieces. It is Pike's: all ways to match go
// through the text together. Places are counted from the start of the output.
type machine struct {
	prog     *program
	cur, nxt threads
	scratch  []int
	maxAge   int   // how far a thread may go, 0 for any way
	best     []int // places of the match
	end      int   // of the match
	matched  bool  // there is a match; a thread that is left would make a better one
	steps    int
}

// threads are at instructions that read a character, match, or assert something.
// They are in the order of priority, so the one that began first comes first.
type threads struct {
	pcs           []uint32
	slots         []int // of thread i from i*program.slots on
	dense, sparse []uint32
}

func newMachine(p *program, maxAge int) *machine {
	m := &machine{prog: p, maxAge: maxAge, scratch: make([]int, p.slots), best: make([]int, p.slots)}
	m.cur.sparse, m.nxt.sparse = make([]uint32, len(p.insts)), make([]uint32, len(p.insts))
	return m
}

// reset begins a new search.
func (m *machine) reset() {
	m.cur.clear()
	m.matched = false
}

func (t *threads) clear() { t.pcs, t.slots, t.dense = t.pcs[:0], t.slots[:0], t.dense[:0] }

// idle tells whether nothing has begun to match.
func (m *machine) idle() bool { return len(m.cur.pcs) == 0 && !m.matched }

// hold is the place from which on text may be part of a match, if it is not idle.
func (m *machine) hold() int {
	if len(m.cur.pcs) > 0 {
		return m.cur.slots[slotStart]
	}
	return m.best[slotStart]
}

// step reads the character r, which is at pos and ends before end. before is the
// text up to pos, prev its last character.
func (m *machine) step(r rune, pos, end int, prev rune, before []byte) {
	if m.maxAge > 0 && len(m.cur.pcs) > 0 && pos-m.cur.slots[slotStart] > m.maxAge {
		m.age(pos)
	}
	m.arrive(pos, prev, r, before)
	m.nxt.clear()
	slots := m.prog.slots
	for i, pc := range m.cur.pcs {
		m.steps++
		if in := &m.prog.insts[pc]; in.Op == syntax.InstRune1 && r == in.Rune[0] || in.Op != syntax.InstRune1 && in.MatchRune(r) {
			copy(m.scratch, m.cur.slots[i*slots:])
			m.closure(&m.nxt, in.Out, end, unknown)
		}
	}
	m.cur, m.nxt = m.nxt, m.cur
	m.match(end)
}

// finish says that the text ends at pos. cut says that this means nothing.
func (m *machine) finish(pos int, prev rune, before []byte, cut bool) {
	if !cut {
		m.arrive(pos, prev, -1, before)
	}
	m.cur.clear()
}

// arrive lets the threads that wait go on, now that the next character is known,
// and a new one begin.
func (m *machine) arrive(pos int, prev, r rune, before []byte) {
	flag := syntax.EmptyOp(0)
	if m.prog.looks {
		flag = around(prev, r)
		m.nxt.clear()
		for i, pc := range m.cur.pcs {
			copy(m.scratch, m.cur.slots[i*m.prog.slots:])
			m.closure(&m.nxt, pc, pos, flag)
		}
		m.cur, m.nxt = m.nxt, m.cur
		m.match(pos)
	}
	if m.matched || r >= 0 && r < 0x80 && !m.prog.first[r] || m.prog.behind.text != "" && !m.prog.before(before) {
		return
	}
	for i := range m.scratch {
		m.scratch[i] = -1
	}
	m.scratch[slotStart] = pos
	m.closure(&m.cur, m.prog.start, pos, flag)
	m.match(pos)
}

// around are the assertions that hold between two characters, -1 for none. Words
// are Python's, so their letters are Unicode's.
func around(prev, r rune) syntax.EmptyOp {
	flag := syntax.EmptyOpContext(prev, r)
	if prev < utf8.RuneSelf && r < utf8.RuneSelf {
		return flag
	}
	flag &^= syntax.EmptyWordBoundary | syntax.EmptyNoWordBoundary
	if isWord(prev) != isWord(r) {
		return flag | syntax.EmptyWordBoundary
	}
	return flag | syntax.EmptyNoWordBoundary
}

// isWord tells what \w matches.
func isWord(c rune) bool {
	return c == '_' || unicode.In(c, unicode.L, unicode.M, unicode.N)
}

// age drops the threads that have gone too far.
func (m *machine) age(pos int) {
	n, slots := 0, m.prog.slots
	for n < len(m.cur.pcs) && pos-m.cur.slots[n*slots+slotStart] > m.maxAge {
		n++
	}
	m.nxt.clear()
	for i := n; i < len(m.cur.pcs); i++ {
		copy(m.scratch, m.cur.slots[i*slots:])
		m.closure(&m.nxt, m.cur.pcs[i], pos, unknown)
	}
	m.cur, m.nxt = m.nxt, m.cur
}

// match takes the match of the thread of the highest priority that is at one. It
// is better than that of any thread behind it.
func (m *machine) match(pos int) {
	for i, pc := range m.cur.pcs {
		if m.prog.insts[pc].Op != syntax.InstMatch {
			continue
		}
		copy(m.best, m.cur.slots[i*m.prog.slots:])
		m.matched, m.end = true, pos
		if m.best[slotAhead] >= 0 {
			m.end = m.best[slotAhead]
		}
		m.cur.pcs = m.cur.pcs[:i]
		return
	}
}

// closure adds a thread, which is at pc and has the places in scratch, to t. It
// follows what reads nothing, each instruction once a place.
func (m *machine) closure(t *threads, pc uint32, pos int, flag syntax.EmptyOp) {
	for {
		m.steps++
		if j := t.sparse[pc]; int(j) < len(t.dense) && t.dense[j] == pc {
			return
		}
		t.sparse[pc] = uint32(len(t.dense))
		t.dense = append(t.dense, pc)
		in := &m.prog.insts[pc]
		switch in.Op {
		case syntax.InstFail:
			return
		case syntax.InstAlt, syntax.InstAltMatch:
			m.closure(t, in.Out, pos, flag)
			pc = in.Arg
		case syntax.InstNop:
			pc = in.Out
		case syntax.InstEmptyWidth:
			if flag == unknown {
				m.wait(t, pc)
				return
			}
			if syntax.EmptyOp(in.Arg)&^flag != 0 {
				return
			}
			pc = in.Out
		case syntax.InstCapture:
			old := m.scratch[in.Arg]
			m.scratch[in.Arg] = pos
			m.closure(t, in.Out, pos, flag)
			m.scratch[in.Arg] = old
			return
		default:
			m.wait(t, pc)
			return
		}
	}
}

func (m *machine) wait(t *threads, pc uint32) {
	t.pcs = append(t.pcs, pc)
	t.slots = append(t.slots, m.scratch...)
}

// group is the text of a named group, and whether it took part in the match. A
// group around a lookahead ends in front of it.
func (m *machine) group(i int, text []byte, off int) ([]byte, bool) {
	from, to := m.best[slotGroups+2*i], m.best[slotGroups+2*i+1]
	if from < 0 || to < 0 {
		return nil, false
	}
	if from < m.end {
		to = min(to, m.end)
	}
	return text[from-off : to-off], true
}
