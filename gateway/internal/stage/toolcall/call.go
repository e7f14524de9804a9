package toolcall

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// call is a call that the upstream makes itself, as far as it has come.
type call struct {
	seat
	said    said
	id      string
	name    string          // of the tool that is meant
	problem *repair.Problem // with the name
	args    arguments

	resolved bool // the name is known
	strict   bool // it is to be complete and good before anyone sees it
	shown    bool // its name and id are certain
	approved bool // its arguments are known to be good
	closed   bool
	edited   bool // something besides its arguments is repaired in the frames at hand
	doubled
	twins []*call // the calls before it with its id, as long as it may be one of them

	counted once
}

// seat is where a call stands.
type seat struct {
	choice  int // the index of its choice
	ordinal int // among the upstream's calls of the choice
	index   int // towards the client
}

// said is what the upstream says of a call.
type said struct {
	index   int // -1 if it has none
	id      string
	name    string
	foreign bool // it is of another type and stays as it is
	typed   bool // it says that it is a function
}

// once are the things that were counted of a call: classes of faults, and what was repaired of
// its pieces.
type once []string

// What is repaired of pieces.
const (
	onceIndex    = "once_index"
	onceID       = "once_id"
	onceName     = "once_name"
	onceObject   = "once_object"
	onceList     = "once_list"
	oncePairHalf = "once_pair_half"
	onceAgain    = "once_again"
)

// first reports whether a thing was not counted before.
func (o *once) first(thing string) bool {
	if slices.Contains(*o, thing) {
		return false
	}
	*o = append(*o, thing)
	return true
}

// holding reports whether the call is not certain yet: its name may go on, its arguments
// wait, it is to be complete and good before anyone sees it, or it may be one that was made before.
func (c *call) holding() bool {
	return !c.closed && !c.said.foreign && (!c.shown || c.args.holding() || c.strict && !c.approved || len(c.twins) > 0)
}

// repair notes that something besides the arguments is repaired, and counts that once.
func (c *call) repair(v *validator, thing, class, kind string) {
	c.edited = true
	if c.counted.first(thing) {
		c.fault(v, class)
		v.outcome.Repaired(kind)
	}
}

// fault counts that the call is broken, once in each class.
func (c *call) fault(v *validator, class string) {
	if class != "" && c.counted.first(class) {
		v.outcome.Fault(class)
	}
}

// refuse is [validator.refuse] for the call.
func (c *call) refuse(v *validator, args []byte, p *repair.Problem) {
	c.fault(v, p.Class)
	v.reject(cmp.Or(c.name, c.said.name), string(args), p)
}

// again deals with an id and a name that a further entry has: clients join what comes twice.
func (c *call) again(v *validator, f *entry) {
	switch {
	case f.said.id == "":
	case c.said.id == "" && !c.shown:
		c.said.id = f.said.id
	default:
		c.repair(v, onceID, repair.BadID, "id")
	}
	if f.said.name == "" {
		return
	}
	if f.said.name != c.said.name && !c.shown {
		c.said.name += f.said.name
	}
	c.repair(v, onceName, "", "name")
}

// feed reads a piece of the arguments. They begin with the first byte that is no white
// space, if the name is known, and at the latest with the last piece.
func (c *call) feed(v *validator, piece []byte, last bool) {
	piece, joined := c.args.whole(piece)
	if joined { // clients decode each piece alone
		c.repair(v, oncePairHalf, repair.InvalidJSON, repair.ArgsJSON)
	}
	if !c.args.begun {
		if !last && (c.said.name == "" || wire.Blank(piece)) {
			c.args.waiting = append(c.args.waiting, piece...)
			return
		}
		c.resolve(v)
		c.args.begin(v.offered.Find(c.name), v.offered.Inside(c.name))
	}
	c.args.feed(piece)
}

// resolve finds the tool that is meant.
func (c *call) resolve(v *validator) {
	if !c.resolved {
		c.resolved = true
		c.name, c.problem = v.name(c.said.name)
		c.strict = v.strictFor(c.name) || (c.watched || len(c.twins) > 0) && !v.report
	}
}

// show decides about the name and the id, and with that about the call's beginning.
func (c *call) show(v *validator) {
	c.shown = true
	if c.said.foreign {
		return
	}
	c.resolve(v)
	switch {
	case c.problem != nil:
		c.refuse(v, c.args.out, c.problem)
	case c.name != c.said.name:
		c.edited = true
		c.fault(v, repair.UnknownTool)
		v.outcome.Repaired("name")
		v.outcome.Flawed(gateway.Flaw{Tool: c.name, Class: "name", Mended: true})
	}
	if len(c.twins) == 0 {
		c.claim(v)
	}
	if !c.said.typed {
		c.edited = true
		v.outcome.Repaired("type")
	}
}

// claim gives the call its id.
func (c *call) claim(v *validator) {
	id, ok := v.id(c.choice, c.said.id, c.name)
	if !ok {
		c.edited = true
		c.fault(v, repair.BadID)
		v.outcome.Repaired("id")
	}
	c.id = id
}

// approve checks the call if it is complete and waits for that. It reports whether it has
// other arguments now.
func (c *call) approve(v *validator) (replaced bool) {
	if c.approved || !c.strict || !c.whole() {
		return false
	}
	c.approved = true
	return !c.isTwin() && c.check(v)
}

// check says whether the complete call fits its tool, and puts the values in place of its
// references.
func (c *call) check(v *validator) (replaced bool) {
	text := string(c.args.out)
	args, p := v.settle(c.name, text)
	if p != nil {
		c.refuse(v, c.args.out, p)
	}
	if args == text {
		return false
	}
	c.args.out, c.summed = append(c.args.out[:0], args...), 0
	return true
}

// end ends the call. cut says that the model had no more tokens, and room how many further
// calls its choice may have. extra are their arguments. ok is false if those of the call are
// no JSON.
func (c *call) end(v *validator, cut bool, room int) (extra [][]byte, ok, replaced bool) {
	c.closed = true
	if !c.args.begun || len(c.args.half) > 0 {
		half := c.args.half
		c.args.half = nil
		c.feed(v, nil, true)
		c.args.feed(half)
	}
	rest, extra, problem := c.args.in.End()
	if len(extra) > 0 && (len(extra) > room || !v.fit(c.name, extra)) { // nobody knows what was meant
		rest = c.args.unsent(extra)
		problem = &repair.Problem{Class: repair.InvalidJSON,
			Message: "The arguments are several objects, of which not all fit the tool.",
			Hint:    "Give one object, and make several calls if several are meant."}
	}
	c.args.out = append(c.args.out, rest...)
	if !c.shown {
		c.show(v)
	}
	c.countRepairs(v, problem == nil)
	switch {
	case problem != nil && cut:
		v.outcome.Warn("truncated_call")
		return nil, false, false
	case problem != nil:
		c.refuse(v, c.args.in.Raw(), problem)
		return nil, false, false
	}
	c.fault(v, c.args.in.Class())
	return extra, true, !c.approved && !c.isTwin() && c.check(v)
}

// countRepairs counts what was done to the arguments. apart says that several objects in them
// were taken apart.
func (c *call) countRepairs(v *validator, apart bool) {
	for _, kind := range c.args.in.Repairs() {
		switch {
		case !apart && (kind == repair.ArgsSplit || kind == repair.ArgsRepeated):
		case kind == repair.ArgsJSON && slices.Contains(c.counted, oncePairHalf): // it was counted
		default:
			v.outcome.Repaired(kind)
			if kind != repair.ArgsEmpty { // which servers write for a tool without parameters
				v.outcome.Flawed(gateway.Flaw{Tool: c.name, Class: kind, Mended: true})
			}
		}
	}
}

// goesOnByID reports whether an entry belongs to the call that has its id, and not to
// another one that was given the same.
func (c *call) goesOnByID(v *validator, f *entry) bool {
	switch {
	case f.said.name == "" || c.said.name == "":
		return true
	case f.said.index >= 0 && f.said.index != c.said.index:
		return false
	}
	return f.said.name == c.said.name || c.goesOnByName(v, f)
}

// goesOnWith reports whether an entry without the id of the call belongs to it, which its
// index or the order says, and not to another one.
func (c *call) goesOnWith(v *validator, f *entry) bool {
	switch {
	case f.said.name == "" || c.said.name == "":
		return true
	case c.said.id != "" && (f.said.id != "" || f.said.name == c.said.name): // whose calls have ids gives one to each
		return f.said.id == ""
	}
	return c.goesOnByName(v, f)
}

// goesOnByName decides where nothing else tells: some upstreams say the name with every
// piece, and some say it in pieces.
func (c *call) goesOnByName(v *validator, f *entry) bool {
	if c.args.begun {
		return f.said.name == c.said.name && !c.args.in.Complete()
	}
	return f.said.name == c.said.name || v.offered.Find(f.said.name) == nil || v.offered.Find(c.said.name) == nil
}

// recent are the calls that the frames at hand, and those that wait, say something of.
type recent []*call

func (r *recent) add(c *call) {
	if !slices.Contains(*r, c) {
		*r = append(*r, c)
	}
}

// holding reports whether one of them is not certain yet.
func (r recent) holding() bool { return slices.ContainsFunc(r, (*call).holding) }

// unchanged reports whether they go out as they came; where the answer is cut, as far as they
// go out.
func (r recent) unchanged(cut bool) bool {
	return !slices.ContainsFunc(r, func(c *call) bool { return c.edited || !c.args.same(cut) })
}

// settle forgets what went out.
func (r *recent) settle() {
	for _, c := range *r {
		c.edited, c.sent = false, true
		c.args.settle()
	}
	*r = slices.DeleteFunc(*r, func(c *call) bool { return !c.holding() })
}

// maxDepth is how deep arguments may nest.
const maxDepth = 128

// arguments are those of one call, as they came and as they go out.
type arguments struct {
	in      repair.Args
	begun   bool
	out     []byte
	waiting []byte // came before they have begun
	half    []byte // of a surrogate pair, at the end of those so far
	// came and went are how long they were before the frames at hand.
	came, went int
}

// whole is a piece with the half of a surrogate pair that the one before ended in, and without
// the one that it ends in itself. joined reports that a pair came in two pieces.
func (a *arguments) whole(piece []byte) (_ []byte, joined bool) {
	if len(a.half) > 0 && len(piece) > 0 {
		joined = wire.HalfAt(piece) != 0
		piece, a.half = wire.JoinHalves(a.half, piece), nil
	}
	if wire.EndsInHalf(piece) {
		at := len(piece) - wire.HalfSize
		piece, a.half = piece[:at], bytes.Clone(piece[at:])
	}
	return piece, joined
}

// begin makes them ready for a tool, nil if it is not known: it and what is said of the inside of
// its parameters decide about their types.
func (a *arguments) begin(tool *abi.Tool, inside *repair.Shape) {
	a.begun = true
	a.in.Begin(tool, inside, maxDepth)
	a.feed(a.waiting)
	a.waiting = nil
}

// feed reads a piece.
func (a *arguments) feed(piece []byte) { a.out = append(a.out, a.in.Feed(piece)...) }

// holding reports whether something has come that has not gone out.
func (a *arguments) holding() bool {
	return len(a.waiting) > 0 || len(a.half) > 0 || a.in.Holding()
}

// same reports whether those of the frames at hand go out as they came; where the answer is
// cut, as far as they go out.
func (a *arguments) same(cut bool) bool {
	came, went := a.in.Raw()[a.came:], a.out[a.went:]
	if cut {
		return bytes.HasPrefix(came, went)
	}
	return bytes.Equal(came, went)
}

// settle forgets the frames at hand.
func (a *arguments) settle() { a.came, a.went = len(a.in.Raw()), len(a.out) }

// unsent are those that have not gone out, as they came, where further objects follow the
// first. Where that was repaired they are the objects alone.
func (a *arguments) unsent(extra [][]byte) []byte {
	if raw := a.in.Raw(); bytes.HasPrefix(raw, a.out) {
		return raw[len(a.out):]
	}
	return bytes.Join(extra, nil)
}
