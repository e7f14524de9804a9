package gateway

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
)

// nativeChoice is the calls of one choice.
type nativeChoice struct {
	index    int
	calls    []*nativeCall
	finished bool // its finish reason came
	stray    bool // it has arguments of no call
	full     bool // it has more calls than are kept track of
}

// nativeCall is a call that the upstream makes itself, as far as it has come.
type nativeCall struct {
	choice   *nativeChoice
	wire     int             // its index towards the client
	upstream int             // its index by the upstream, -1 if it has none
	theirs   string          // its id by the upstream
	id       string          // its id towards the client
	said     string          // its name by the upstream
	name     string          // the name of the tool that is meant
	problem  *repair.Problem // with the name
	faults   []string        // classes that were counted
	args     repair.Args
	text     []byte // the arguments as they go out
	waiting  []byte // of the arguments, until the name is there or more than white space
	half     []byte // of a surrogate pair, at the end of the arguments so far

	foreign  bool // it is of another type and stays as it is
	typed    bool // it says that it is a function
	resolved bool // name is known
	begun    bool // arguments came
	shown    bool // its name and id are certain
	approved bool // its arguments are known to be good
	closed   bool
	pieced   bool // a repair of its name was counted, because it came late or more than once,
	indexed  bool // of its index,
	named    bool // of its id, because it came more than once,
	object   bool // of its arguments, because they were no string,
	joined   bool // and because two pieces had half of a character each

	// Of the frames at hand and those that wait:
	touched, edited        bool // it is in them; something besides its arguments is mended
	cameBefore, wentBefore int  // how long the arguments were before them
}

// holding reports whether the call is not certain yet: its name may go on, its
// arguments wait, or it is to be complete and good before anyone sees it.
func (c *nativeCall) holding(strict bool) bool {
	if c.closed || c.foreign {
		return false
	}
	return !c.shown || len(c.waiting) > 0 || len(c.half) > 0 || c.args.Holding() || strict && !c.approved
}

// same reports whether the arguments go out as they came; where the answer is cut, as
// far as they go out.
func (c *nativeCall) same(cut bool) bool {
	came, went := c.args.Raw()[c.cameBefore:], c.text[c.wentBefore:]
	if cut {
		return bytes.HasPrefix(came, went)
	}
	return bytes.Equal(came, went)
}

// add adds a call.
func (c *nativeChoice) add(f *entryFields) *nativeCall {
	call := &nativeCall{choice: c, wire: len(c.calls), upstream: f.index, theirs: f.id, said: f.name, typed: f.typed, foreign: f.foreign}
	c.calls = append(c.calls, call)
	return call
}

// entry reads an entry of tool_calls, and fills in the piece that stands for it.
func (n *nativeReply) entry(c *nativeChoice, f *entryFields, p *piece) {
	call := n.callOf(c, f, p)
	if call == nil {
		return
	}
	n.touch(call)
	p.call = call
	if n.Streamed() && f.index != call.wire {
		n.mend(call, &call.indexed, repair.BadIndex, "index")
	}
	if p.kept = call.foreign || call.closed; p.kept {
		if !call.foreign && !wire.Blank(f.arguments) {
			n.refuse(call, f.arguments, &repair.Problem{Class: repair.InvalidJSON,
				Message: "Arguments follow the end of the call.", Hint: "Call the tool again."})
		}
		return
	}
	if !p.begins {
		n.again(call, f)
	}
	if f.object {
		n.mend(call, &call.object, repair.InvalidJSON, "args_object")
	}
	p.from = len(call.text)
	n.feed(call, f.arguments)
	if !call.shown && (call.begun || n.certain(call.said)) {
		n.show(call)
	}
	n.approve(call)
	p.from, p.to = min(p.from, len(call.text)), len(call.text)
}

// callOf is the call of an entry, which may begin it; nil if there is none.
func (n *nativeReply) callOf(c *nativeChoice, f *entryFields, p *piece) *nativeCall {
	if c.full && f.anonymous() && c.withIndex(f.index) == nil {
		return nil
	}
	call := n.find(c, f)
	switch {
	case call != nil:
		return call
	case !f.says():
		return nil
	case n.Streamed() && f.anonymous() && !f.foreign: // of no call that anyone has begun
		if !c.stray {
			c.stray = true
			n.judge.refuse("", string(f.arguments), repair.UnknownName("", nil))
		}
		return nil
	case len(c.calls) >= maxCalls:
		c.full = true
		n.judge.refuse(f.name, string(f.arguments), &repair.Problem{Class: repair.BadIndex,
			Message: "There are too many calls in one answer.", Hint: "Make fewer calls at a time."})
		return nil
	}
	p.begins = true
	return c.add(f)
}

// again deals with an id and a name that a further entry of a call has: clients join
// what comes twice.
func (n *nativeReply) again(call *nativeCall, f *entryFields) {
	switch {
	case f.id == "":
	case call.theirs == "" && !call.shown:
		call.theirs = f.id
	default:
		n.mend(call, &call.named, repair.BadID, "id")
	}
	switch {
	case f.name == "":
		return
	case f.name != call.said && !call.shown:
		call.said += f.name
	}
	n.mend(call, &call.pieced, "", "name")
}

// mend notes that something besides the arguments of a call is mended, and counts that
// once for each call.
func (n *nativeReply) mend(call *nativeCall, counted *bool, class, kind string) {
	call.edited = true
	if !*counted {
		*counted = true
		n.fault(call, class)
		n.repaired(kind)
	}
}

// fault counts a call that is broken, once in each class.
func (n *nativeReply) fault(call *nativeCall, class string) {
	if !slices.Contains(call.faults, class) {
		call.faults = append(call.faults, class)
		n.judge.fault(class)
	}
}

// refuse is [judge.refuse] for a call.
func (n *nativeReply) refuse(call *nativeCall, args []byte, p *repair.Problem) {
	n.fault(call, p.Class)
	n.judge.turnDown(cmp.Or(call.name, call.said), string(args), p)
}

// certain reports whether a name that may go on, in the next pieces of its call, is
// that of a tool already.
func (n *nativeReply) certain(name string) bool {
	if !n.Streamed() {
		return true
	}
	return name != "" && (len(n.judge.req.offered()) == 0 || n.judge.tool(name) != nil && !n.judge.continues(name))
}

// feed reads a piece of the arguments. They begin with the first byte that is no white
// space, if the name is known: it decides about their types.
func (n *nativeReply) feed(call *nativeCall, args []byte) {
	if len(call.half) > 0 && len(args) > 0 {
		if halfAt(args) != 0 { // clients decode each piece alone
			n.mend(call, &call.joined, repair.InvalidJSON, repair.ArgsJSON)
		}
		args, call.half = joinHalves(call.half, args), nil
	}
	if endsHigh(args) {
		at := len(args) - halfSize
		call.half = bytes.Clone(args[at:])
		args = args[:at]
	}
	if !call.begun && n.Streamed() && !call.closed && (call.said == "" || wire.Blank(args)) {
		call.waiting = append(call.waiting, args...)
		return
	}
	if !call.begun {
		call.begun = true
		n.resolve(call)
		call.args.Begin(n.judge.tool(call.name), MaxDepth)
		if len(call.waiting) > 0 {
			args, call.waiting = append(call.waiting, args...), nil
		}
	}
	call.text = append(call.text, call.args.Feed(args)...)
}

// resolve finds the tool that is meant.
func (n *nativeReply) resolve(call *nativeCall) {
	if !call.resolved {
		call.resolved = true
		call.name, call.problem = n.judge.name(call.said)
	}
}

// show decides about the name and the id of a call, and with that about its beginning.
func (n *nativeReply) show(call *nativeCall) {
	call.shown = true
	if call.foreign {
		return
	}
	n.resolve(call)
	switch {
	case call.problem != nil:
		n.refuse(call, call.text, call.problem)
	case call.name != call.said:
		call.edited = true
		n.fault(call, repair.UnknownTool)
		n.repaired("name")
	}
	id, ok := n.ids.claim(call.choice.index, call.theirs, call.name)
	if !ok {
		call.edited = true
		n.fault(call, repair.BadID)
		n.repaired("id")
	}
	call.id = id
	if !call.typed {
		call.edited = true
		n.repaired("type")
	}
}

// approve checks a call that is complete, where it waits for that.
func (n *nativeReply) approve(call *nativeCall) {
	if call.approved || !call.begun || !n.judge.strictFor(call.name) || !call.args.Complete() {
		return
	}
	n.check(call)
	call.approved = true
}

// check says whether a complete call fits its tool, and puts the values in place of its
// references.
func (n *nativeReply) check(call *nativeCall) {
	text := string(call.text)
	args, p := n.judge.settle(call.name, text)
	if p != nil {
		n.refuse(call, call.text, p)
	}
	if args != text {
		n.replace(call, args)
	}
}

// replace gives a call of which nothing is out yet other arguments: the last of its
// pieces has what the others do not.
func (n *nativeReply) replace(call *nativeCall, args string) {
	call.text = append(call.text[:0], args...)
	clamp := func(pieces []piece) {
		for i := range pieces {
			if p := &pieces[i]; p.call == call {
				p.from, p.to = min(p.from, len(args)), min(p.to, len(args))
			}
		}
	}
	for i := range n.queue {
		clamp(n.queue[i].pieces)
		clamp(n.queue[i].late)
	}
	clamp(n.current.pieces)
}
