package toolcall

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
)

// choice is the calls of one choice.
type choice struct {
	index    int
	next     int // index of the next call, of either sort
	calls    []*call
	read     textCall // the one at hand that is read from text
	finished bool     // its finish reason came
	stray    bool     // it has arguments of no call
	full     bool     // it has more calls than are kept track of
}

// call is a call that the upstream makes itself, as far as it has come.
type call struct {
	choice  *choice
	said    said
	ordinal int // among the upstream's calls of the choice
	index   int // towards the client
	id      string
	name    string          // of the tool that is meant
	problem *repair.Problem // with the name
	args    repair.Args
	text    []byte // the arguments as they go out
	waiting []byte // of the arguments, until the name is there or more than white space
	half    []byte // of a surrogate pair, at the end of the arguments so far
	state
	counted
	recent
}

// said is what the upstream says of a call.
type said struct {
	index   int // -1 if it has none
	id      string
	name    string
	foreign bool // it is of another type and stays as it is
	typed   bool // it says that it is a function
}

// state is how far a call has come.
type state struct {
	resolved bool // the name is known
	begun    bool // arguments came
	shown    bool // its name and id are certain
	approved bool // its arguments are known to be good
	closed   bool
}

// counted is what was counted of a call: everything counts once.
type counted struct {
	faults                                    []string // classes
	nameTwice, index, idTwice, object, joined bool     // repairs
}

// recent is what the frames at hand and those that wait have to do with a call.
type recent struct {
	touched, edited        bool // it is in them; something besides its arguments is mended
	cameBefore, wentBefore int  // how long the arguments were before them
}

// holding reports whether the call is not certain yet: its name may go on, its
// arguments wait, or it is to be complete and good before anyone sees it.
func (c *call) holding(strict bool) bool {
	if c.closed || c.said.foreign {
		return false
	}
	return !c.shown || len(c.waiting) > 0 || len(c.half) > 0 || c.args.Holding() || strict && !c.approved
}

// same reports whether the arguments go out as they came; where the answer is cut, as
// far as they go out.
func (c *call) same(cut bool) bool {
	came, went := c.args.Raw()[c.cameBefore:], c.text[c.wentBefore:]
	if cut {
		return bytes.HasPrefix(came, went)
	}
	return bytes.Equal(came, went)
}

// unsent are the arguments that have not gone out, as they came, of a call with further
// objects behind the first. Where that was mended they are the objects alone.
func (c *call) unsent(extra [][]byte) []byte {
	if raw := c.args.Raw(); bytes.HasPrefix(raw, c.text) {
		return raw[len(c.text):]
	}
	return bytes.Join(extra, nil)
}

// add adds a call of the upstream's.
func (c *choice) add(s said) *call {
	added := &call{choice: c, said: s, ordinal: len(c.calls), index: c.number()}
	c.calls = append(c.calls, added)
	return added
}

// number is the index of a new call.
func (c *choice) number() int {
	c.next++
	return c.next - 1
}

// touch notes that the frame at hand says something of a call.
func (a *answer) touch(c *call) {
	if !c.touched {
		c.touched = true
		a.touched = append(a.touched, c)
	}
}

// mend notes that something besides the arguments of a call is mended, and counts that
// once for each call.
func (a *answer) mend(c *call, counted *bool, class, kind string) {
	c.edited = true
	if !*counted {
		*counted = true
		a.fault(c, class)
		a.outcome.Repaired(kind)
	}
}

// fault counts a call that is broken, once in each class.
func (a *answer) fault(c *call, class string) {
	if !slices.Contains(c.faults, class) {
		c.faults = append(c.faults, class)
		a.validator.fault(class)
	}
}

// refuse is [validator.refuse] for a call.
func (a *answer) refuse(c *call, args []byte, p *repair.Problem) {
	a.fault(c, p.Class)
	a.validator.reject(cmp.Or(c.name, c.said.name), string(args), p)
}

// certain reports whether a name that may go on, in the next pieces of its call, is
// that of a tool already.
func (a *answer) certain(name string) bool {
	if a.whole {
		return true
	}
	offered := a.validator.offered
	return name != "" && (len(offered.Tools) == 0 || offered.Find(name) != nil && !offered.Continues(name))
}

// maxDepth is how deep arguments may nest.
const maxDepth = 128

// feed reads a piece of the arguments. They begin with the first byte that is no white
// space, if the name is known: it decides about their types.
func (a *answer) feed(c *call, args []byte) {
	if len(c.half) > 0 && len(args) > 0 {
		if wire.HalfAt(args) != 0 { // clients decode each piece alone
			a.mend(c, &c.joined, repair.InvalidJSON, repair.ArgsJSON)
		}
		args, c.half = wire.JoinHalves(c.half, args), nil
	}
	if wire.EndsInHalf(args) {
		at := len(args) - wire.HalfSize
		c.half = bytes.Clone(args[at:])
		args = args[:at]
	}
	if !c.begun && !a.whole && !c.closed && (c.said.name == "" || wire.Blank(args)) {
		c.waiting = append(c.waiting, args...)
		return
	}
	if !c.begun {
		c.begun = true
		a.resolve(c)
		c.args.Begin(a.validator.offered.Find(c.name), maxDepth)
		if len(c.waiting) > 0 {
			args, c.waiting = append(c.waiting, args...), nil
		}
	}
	c.text = append(c.text, c.args.Feed(args)...)
}

// resolve finds the tool that is meant.
func (a *answer) resolve(c *call) {
	if !c.resolved {
		c.resolved = true
		c.name, c.problem = a.validator.name(c.said.name)
	}
}

// show decides about the name and the id of a call, and with that about its beginning.
func (a *answer) show(c *call) {
	c.shown = true
	if c.said.foreign {
		return
	}
	a.resolve(c)
	switch {
	case c.problem != nil:
		a.refuse(c, c.text, c.problem)
	case c.name != c.said.name:
		c.edited = true
		a.fault(c, repair.UnknownTool)
		a.outcome.Repaired("name")
	}
	id, ok := a.ids.claim(c.choice.index, c.said.id, c.name)
	if !ok {
		c.edited = true
		a.fault(c, repair.BadID)
		a.outcome.Repaired("id")
	}
	c.id = id
	if !c.said.typed {
		c.edited = true
		a.outcome.Repaired("type")
	}
}

// approve checks a call that is complete, where it waits for that.
func (s *stage) approve(c *call) {
	if c.approved || !c.begun || !s.validator.strictFor(c.name) || !c.args.Complete() {
		return
	}
	s.check(c)
	c.approved = true
}

// check says whether a complete call fits its tool, and puts the values in place of its
// references.
func (s *stage) check(c *call) {
	text := string(c.text)
	args, p := s.validator.settle(c.name, text)
	if p != nil {
		s.refuse(c, c.text, p)
	}
	if args != text {
		s.replace(c, args)
	}
}

// replace gives a call of which nothing is out yet other arguments: the last of its
// pieces has what the others do not.
func (s *stage) replace(c *call, args string) {
	c.text = append(c.text[:0], args...)
	clamp := func(pieces []piece) {
		for i := range pieces {
			if p := &pieces[i]; p.call == c {
				p.from, p.to = min(p.from, len(args)), min(p.to, len(args))
			}
		}
	}
	for _, h := range s.queue {
		clamp(h.pieces)
		clamp(h.late)
	}
	clamp(s.current.pieces)
}
