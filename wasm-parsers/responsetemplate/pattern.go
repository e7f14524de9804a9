package responsetemplate

import (
	"errors"
	"regexp/syntax"
	"strconv"
)

// Limits of what a template may cost. A stranger writes it.
const (
	maxPattern  = 1 << 10  // bytes of a pattern
	maxProgram  = 2000     // instructions of a pattern
	maxPrograms = 8000     // of all patterns
	maxRunes    = 16 << 10 // ends of ranges in the character classes of all patterns
	maxGroups   = 8        // named groups of a pattern
)

// pattern is a compiled pattern.
type pattern struct {
	source string
	insts  []syntax.Inst
	start  uint32
	groups []string // names; group i remembers its places in 1+2i and 2+2i
}

// budget is what the patterns of a template may still cost.
type budget struct{ insts, runes int }

// literal makes a pattern of a literal.
func (b *budget) literal(text string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, errors.New("shorten it to " + strconv.Itoa(maxPattern) + " bytes")
	}
	re := &syntax.Regexp{Op: syntax.OpLiteral, Rune: []rune(text)}
	return b.compile(text, re)
}

// expression makes a pattern of a regular expression as Python writes it.
func (b *budget) expression(source string) (*pattern, error) {
	if len(source) > maxPattern {
		return nil, errors.New("shorten it to " + strconv.Itoa(maxPattern) + " bytes")
	}
	translated, err := translate(source)
	if err != nil {
		return nil, err
	}
	re, err := syntax.Parse(translated, syntax.Perl|syntax.DotNL)
	if err != nil {
		return nil, explain(err)
	}
	return b.compile(source, re)
}

// explain says what is wrong with an expression and what to write instead.
func explain(err error) error {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Code == syntax.ErrInvalidRepeatOp {
		return errors.New("possessive and doubled repetitions such as " + quote(e.Expr) + " are not supported: use a single *, +, ? or {n}")
	}
	return errors.New("correct the expression: " + e.Code.String() + " " + quote(e.Expr))
}

func (b *budget) compile(source string, re *syntax.Regexp) (*pattern, error) {
	insts, runes := size(re)
	if insts > maxProgram || insts > b.insts || runes > b.runes {
		return nil, errors.New("it is too large when compiled: use fewer repetitions with numbers and fewer classes")
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return nil, errors.New("correct the expression: " + err.Error())
	}
	if len(prog.Inst) > maxProgram || len(prog.Inst) > b.insts {
		return nil, errors.New("it is too large when compiled: use fewer repetitions with numbers")
	}
	b.insts -= len(prog.Inst)
	b.runes -= runes
	p := &pattern{source: source, insts: prog.Inst, start: uint32(prog.Start)}
	return p, p.nameGroups(re.CapNames())
}

// nameGroups keeps the groups that have a name and forgets the others. Groups of
// the same name are one, as Python's regex module has it; the last that matched
// counts.
func (p *pattern) nameGroups(names []string) error {
	slots := make([]uint32, 2*len(names))
	for i, name := range names {
		if name == "" {
			continue
		}
		number := p.group(name)
		if number < 0 {
			number = len(p.groups)
			p.groups = append(p.groups, name)
		}
		slots[2*i] = uint32(1 + 2*number)
		slots[2*i+1] = slots[2*i] + 1
	}
	if len(p.groups) > maxGroups {
		return errors.New("use at most " + strconv.Itoa(maxGroups) + " named groups")
	}
	for i := range p.insts {
		in := &p.insts[i]
		if in.Op != syntax.InstCapture {
			continue
		}
		if slot := slots[in.Arg]; slot > 0 {
			in.Arg = slot
		} else {
			in.Op, in.Arg = syntax.InstNop, 0
		}
	}
	return nil
}

// group is the number of the group called name, or -1.
func (p *pattern) group(name string) int {
	for i, g := range p.groups {
		if g == name {
			return i
		}
	}
	return -1
}

// matchesNothing tells whether the pattern matches an empty text where the
// assertions in flag hold.
func (p *pattern) matchesNothing(flag syntax.EmptyOp) bool {
	m := newMachine(join([]*pattern{p}))
	m.expand(flag, 0)
	return m.matched
}

// size is about how many instructions an expression compiles to, and how many
// ends of ranges its classes have, without compiling it: repetitions are written
// out, which may be a million instructions.
func size(re *syntax.Regexp) (insts, runes int) {
	insts = 2
	if re.Op == syntax.OpLiteral {
		insts = len(re.Rune)
	}
	if re.Op == syntax.OpCharClass {
		runes = len(re.Rune)
	}
	for _, sub := range re.Sub {
		i, r := size(sub)
		insts, runes = insts+i, runes+r
	}
	if re.Op == syntax.OpRepeat {
		times := max(re.Min, re.Max, 1)
		insts = min(insts, maxPrograms) * times
	}
	return min(insts, 1<<20), runes
}
