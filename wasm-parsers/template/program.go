package template

import (
	"bytes"
	"errors"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate/sdk/relaxed"
)

// Limits of the markers of a template.
const (
	maxLiterals = 32      // of a marker
	maxLiteral  = 256     // bytes of one
	maxPattern  = 2 << 10 // bytes of an expression
	maxProgram  = 1500    // instructions of a marker
	maxPrograms = 6000    // of all markers
	maxGroups   = 16      // named groups of an expression
	maxClasses  = 64      // classes with tables of Unicode, such as \w, in all expressions
)

// budget is what the markers of a template may still cost.
type budget struct{ insts, classes int }

// Places that a thread of a program remembers, in front of those of the groups.
const (
	slotStart = iota
	slotAhead // where a lookahead began, or -1
	slotGroups
)

// program is a compiled marker.
type program struct {
	key    string // of the template
	re     *syntax.Regexp
	insts  []syntax.Inst
	start  uint32
	groups []string // named groups; group i remembers its places from slotGroups+2i on
	slots  int
	behind lookbehind
	looks  bool      // it asserts something about its surroundings
	first  [256]bool // the bytes that a match may begin with
	pairs  []pair    // the first two bytes
	opens  string    // the literal that a match begins with, but for white space
}

// literals compiles alternatives, the longest of which is preferred.
func (b *budget) literals(texts []string) (*program, error) {
	if len(texts) > maxLiterals {
		return nil, errors.New("give at most " + strconv.Itoa(maxLiterals) + " literals")
	}
	texts = slices.Clone(texts)
	slices.SortStableFunc(texts, func(a, b string) int { return len(b) - len(a) })
	re := &syntax.Regexp{Op: syntax.OpAlternate}
	for _, text := range texts {
		if len(text) > maxLiteral || !utf8.ValidString(text) {
			return nil, errors.New("shorten the literal to " + strconv.Itoa(maxLiteral) + " bytes of UTF-8")
		}
		re.Sub = append(re.Sub, &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune(text)})
	}
	if len(texts) == 1 {
		re = re.Sub[0]
	}
	return b.compile(re)
}

// pattern compiles an expression as Python writes it.
func (b *budget) pattern(source string) (*program, error) {
	if len(source) > maxPattern {
		return nil, errors.New("shorten it to " + strconv.Itoa(maxPattern) + " bytes")
	}
	t := translator{source: source}
	behind, err := t.translate()
	if err != nil {
		return nil, err
	}
	if b.classes -= t.classes; b.classes < 0 {
		return nil, errors.New("use fewer classes such as \\w; there may be " + strconv.Itoa(maxClasses) + " in all expressions, [a-z] does not count")
	}
	re, err := syntax.Parse(t.b.String(), syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil, explain(err)
	}
	p, err := b.compile(re)
	if err == nil {
		p.behind = behind
	}
	return p, err
}

// explain says what is wrong with an expression and what to write instead.
func explain(err error) error {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case syntax.ErrInvalidRepeatOp:
		return errors.New("write a single *, +, ? or {n} for " + relaxed.Quote(e.Expr) + "; possessive repetitions are not supported, matching takes linear time anyway")
	case syntax.ErrInvalidRepeatSize, syntax.ErrLarge, syntax.ErrNestingDepth:
		return errors.New("make the repetitions smaller in " + relaxed.Quote(e.Expr))
	}
	return errors.New("correct the expression, " + e.Code.String() + " " + relaxed.Quote(e.Expr))
}

func (b *budget) compile(re *syntax.Regexp) (*program, error) {
	if n := size(re); n > maxProgram || n > b.insts {
		return nil, errors.New("make it smaller; compiled it has more than " + strconv.Itoa(min(maxProgram, b.insts)) + " instructions")
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, errors.New("correct the expression, " + err.Error())
	}
	b.insts -= len(prog.Inst)
	p := &program{re: re, insts: prog.Inst, start: uint32(prog.Start), opens: opening(re)}
	if err := p.nameGroups(re.CapNames()); err != nil {
		return nil, err
	}
	p.findPairs()
	return p, nil
}

// nameGroups keeps the groups that have a name.
func (p *program) nameGroups(names []string) error {
	begins := make([]uint32, len(names)) // slots, 0 for a group that is not kept
	for i, name := range names {
		switch {
		case strings.HasPrefix(name, ahead):
			begins[i] = slotAhead
		case name != "":
			begins[i] = uint32(slotGroups + 2*len(p.groups))
			p.groups = append(p.groups, name)
		}
	}
	if len(p.groups) > maxGroups {
		return errors.New("use at most " + strconv.Itoa(maxGroups) + " named groups")
	}
	p.slots = slotGroups + 2*len(p.groups)
	for i := range p.insts {
		in := &p.insts[i]
		switch in.Op {
		case syntax.InstEmptyWidth:
			p.looks = true
		case syntax.InstCapture:
			slot := begins[in.Arg/2]
			if slot > slotAhead {
				slot += in.Arg % 2
			}
			if slot == 0 || slot == slotAhead && in.Arg%2 == 1 {
				in.Op = syntax.InstNop
			}
			in.Arg = slot
		}
	}
	return nil
}

// group is the number of a named group, or -1.
func (p *program) group(name string) int { return slices.Index(p.groups, name) }

// before tells whether what precedes a match is as it has to be.
func (p *program) before(text []byte) bool {
	return bytes.HasSuffix(text, []byte(p.behind.text)) != p.behind.negated
}

// size is at least how many instructions an expression compiles to. It is found
// without compiling: repetitions are written out, which may be millions.
func size(re *syntax.Regexp) int {
	n := 2
	switch re.Op {
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpRepeat:
		n = 2 + min(size(re.Sub[0])+1, maxPrograms)*max(re.Min+1, re.Max, 1)
	default:
		for _, sub := range re.Sub {
			n += size(sub) + 1
		}
	}
	return min(n, 1<<20)
}

// minimum is the length of the shortest match in characters, without what a
// lookahead reads. never says that the end of the text does not count as one.
func (p *program) minimum(never bool) int {
	n, _ := shortest(p.re, never)
	return n
}

// unending is a length that no text has.
const unending = 1 << 20

// shortest also reports whether a lookahead ended the match.
func shortest(re *syntax.Regexp, never bool) (n int, ended bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune), false
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1, false
	case syntax.OpNoMatch:
		return unending, false
	case syntax.OpEndText:
		if never {
			n = unending
		}
	case syntax.OpCapture:
		if strings.HasPrefix(re.Name, ahead) {
			return 0, true
		}
		return shortest(re.Sub[0], never)
	case syntax.OpPlus:
		return shortest(re.Sub[0], never)
	case syntax.OpRepeat:
		n, ended = shortest(re.Sub[0], never)
		n = min(n*re.Min, unending)
	case syntax.OpConcat:
		return shortestConcat(re.Sub, never)
	case syntax.OpAlternate:
		n = unending
		for _, sub := range re.Sub {
			m, e := shortest(sub, never)
			n, ended = min(n, m), ended || e
		}
	}
	return n, ended
}

// shortestConcat is the length of expressions behind one another. What stands behind
// a lookahead's beginning is not of the match, but may be what is never there.
func shortestConcat(subs []*syntax.Regexp, never bool) (n int, ended bool) {
	for _, sub := range subs {
		m, e := shortest(sub, never)
		if ended = ended || e; !ended || m >= unending {
			n = min(n+m, unending)
		}
	}
	return n, ended
}

// opening is the literal that every match begins with, behind optional white space.
func opening(re *syntax.Regexp) string {
	for re.Op == syntax.OpConcat || re.Op == syntax.OpCapture {
		subs := re.Sub
		for len(subs) > 1 && (subs[0].Op == syntax.OpStar || subs[0].Op == syntax.OpQuest) && subs[0].Sub[0].Op == syntax.OpCharClass {
			subs = subs[1:]
		}
		re = subs[0]
	}
	if re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase == 0 {
		return string(re.Rune)
	}
	return ""
}
