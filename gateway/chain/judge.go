package chain

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// warning is the kind of an event that says in its name what went wrong. It never leaves the
// package.
const warning abi.Kind = 0xff

func warn(w string) abi.Event { return abi.Event{Kind: warning, Name: w} }

// judge decides about what one parser reads in one region: which events may go on, and when.
type judge struct {
	rules
	call  call
	tally tally
	gate  bool  // events wait for a call that is meant
	waits bool  // a call in framing waits until it is meant
	held  batch // what waits
}

// rules are what is known before anything was read.
type rules struct {
	site
	candidate *Candidate
	offers    *offers
	found     string // the trigger
	doubt     doubt
	auto      bool // nobody named the parser
	hold      bool // events wait for the region's end
	framed    bool // a call in framing waits until it is meant
	noTools   bool
}

// call is the call at hand.
type call struct {
	args    args
	offered bool // it has an offered name
	meant   bool // or one that may be forwarded
	argued  bool // or one that may be if it has arguments
}

// tally counts the calls of a region.
type tally struct {
	calls    int  // complete ones
	known    int  // those of them with an offered name
	short    int  // that lack an argument or whose name was not offered
	examples int  // whose strings are what documentation writes for a value
	lacks    bool // one of them lacks an argument
	cut      bool // the last call was cut off
	dropped  bool // a call was cut and left out
}

// newJudge makes the judge for a parser that reads a region at a site.
func newJudge(p *parsers, s site, found string, candidate *Candidate) judge {
	r := rules{
		site: s, candidate: candidate, offers: &p.offers, found: found,
		auto: p.plan.auto, noTools: p.opts.NoTools,
	}
	if r.auto {
		r.doubt = s.doubts(candidate, found)
	}
	r.hold = candidate.Heuristic || s.fenced || s.thinks && p.opts.InReasoning == Buffer && !candidate.Framing || r.doubt != noDoubt
	r.framed = r.auto && candidate.Framing && !r.hold && !r.noTools
	return judge{rules: r, gate: r.auto && !candidate.Framing && !r.hold}
}

// take takes the next event, which is changed where its strings are, and appends those that go
// on. region is the text so far.
func (j *judge) take(out []abi.Event, e *abi.Event, region []byte) []abi.Event {
	if j.check(e, region) && j.gate {
		j.gate = false
		out = append(out, j.held.take()...)
	}
	if e.Kind == abi.CallEnd && j.call.args.changed {
		out = j.give(out, &abi.Event{Kind: abi.Repair, Name: "args_types"})
	}
	return j.give(out, e)
}

// give appends an event, or keeps it until it is known that it may go on.
func (j *judge) give(out []abi.Event, e *abi.Event) []abi.Event {
	switch {
	case j.hold || j.gate:
		j.held.add(*e)
		return out
	case j.framed && (j.waits || e.Kind == abi.CallStart):
		j.held.add(*e)
		return j.await(out, e.Kind)
	}
	return append(out, *e)
}

// await decides about a call in framing that waits: it goes out as soon as it is
// meant. One that ends before is no call, and its arguments are text.
func (j *judge) await(out []abi.Event, last abi.Kind) []abi.Event {
	j.waits = true
	switch {
	case j.call.meant && !j.call.args.missing():
		out = append(out, j.held.take()...)
	case last == abi.CallEnd:
		text := abi.Event{Kind: abi.Content}
		for _, e := range j.held.take() {
			if e.Kind == abi.Args {
				text.Text += e.Text
			}
		}
		out = append(out, warn("call_refused"), text)
	case last == abi.Cut:
		j.held.take()
		out = append(out, warn("truncated_call"))
	default:
		return out
	}
	j.waits = false
	return out
}

// check keeps account of the calls, and gives strings their type where the schema has none
// for them. It reports whether the call at hand is known to be meant.
func (j *judge) check(e *abi.Event, region []byte) bool {
	c := &j.call
	switch e.Kind {
	case abi.CallStart:
		c.offered = j.offers.has(e.Name, j.fenced)
		c.meant = c.offered || !j.candidate.Heuristic && j.forwards(e.Name, region)
		c.argued = !c.meant && !j.candidate.Heuristic && isName(e.Name)
		tool := j.offers.find(e.Name)
		c.args.begin(tool, j.offers.shape(tool))
	case abi.Args:
		c.meant = c.meant || c.argued && strings.Trim(e.Text, "{} \n") != "" // a tag alone may be a word
		e.Text = c.args.read(e.Text)
	case abi.CallEnd:
		j.tally.count(c, &j.rules)
		return false
	case abi.Cut:
		j.tally.cut = true
		return false
	default:
		return false
	}
	return c.meant && !c.args.missing()
}

// forwards reports whether a call of a tool that was not offered may go on to the
// client, who will tell the model. Where nobody named the parser only markup that is
// no ordinary text may do that, or JSON between tags, and not with a name that
// documentation uses.
func (r *rules) forwards(name string, region []byte) bool {
	if !r.auto || r.candidate.hinted {
		return true
	}
	if !isName(name) {
		return false
	}
	body := chars.SkipSpace(region[min(len(r.found), len(region)):])
	if !r.begun && strings.Contains(r.found, ":") { // a tag with a prefix, alone
		return true
	}
	return !plain(r.found) || len(body) > 0 && (body[0] == '{' || body[0] == '[')
}

// count takes account of a call that is complete.
func (t *tally) count(c *call, r *rules) {
	missing := c.args.missing()
	t.calls++
	t.lacks = t.lacks || missing
	if !c.meant || r.auto && missing {
		t.short++
	}
	if c.offered {
		t.known++
	}
	if r.auto && r.hold && c.args.example() {
		t.examples++
	}
}

// end decides about a region that was read up to byte to, and appends what goes on of what
// waited.
func (j *judge) end(out []abi.Event, to int) ([]abi.Event, ending) {
	t := &j.tally
	if j.doubt == isText {
		return append(out, warn("call_quoted")), ending{kind: isQuoted, to: to}
	}
	if t.cut && j.dropCut() {
		out = append(out, warn("truncated_call"))
	}
	if !j.believe() {
		if t.short > 0 {
			out = append(out, warn("call_refused"))
		}
		return out, ending{kind: givenBack, to: to}
	}
	if j.gate && t.cut { // a call that was cut, and not known to be meant
		j.held.take()
		out = append(out, warn("truncated_call"))
	}
	held := j.held.take()
	if t.calls > 0 && j.counts() {
		fenced := j.around && !j.thinks
		return out, ending{kind: mayCount, to: to, calls: &thought{
			calls: []heldCalls{{j.candidate.Name, held}}, inline: j.doubt == untilEnd && !fenced && !j.thinks, fenced: fenced,
		}}
	}
	out = append(out, held...)
	if t.lacks {
		out = append(out, warn("missing_arguments"))
	}
	return out, ending{kind: wasRead, to: to}
}

// counts reports whether calls count only if the output ends with them.
func (j *judge) counts() bool {
	return j.hold && !j.noTools && (j.thinks || j.doubt == untilEnd || j.auto && j.around)
}

// believe decides about events that were held back. Markup that is ordinary text
// too, in a code fence, or inside reasoning counts only if all of it is complete,
// every name was offered and no required argument is missing. For a form of ordinary
// text that somebody has named one offered name is enough. What has streamed to a gate
// needs one call that is so.
func (j *judge) believe() bool {
	t := &j.tally
	switch {
	case !j.hold:
		return !j.gate || t.short == 0 || t.short < t.calls
	case t.cut:
		return false
	case !j.auto && j.candidate.Heuristic && !j.fenced && !j.thinks:
		return t.known > 0 || t.calls == 0 // the model has its form: one name vouches for the others
	case t.calls == 0 && !j.candidate.Heuristic && !t.dropped: // there is nothing to believe
		return false
	}
	return t.short == 0 && t.examples == 0 && j.allOffered()
}

// allOffered reports whether every call that is held back is one of a tool that was offered, and
// no text comes behind them.
func (j *judge) allOffered() bool {
	unknown := func(e abi.Event) bool { return e.Kind == abi.CallStart && !j.offers.has(e.Name, j.fenced) }
	events := j.held.events()
	return !trailing(events) && !slices.ContainsFunc(events, unknown)
}

// dropCut leaves out the call that was cut at the end, where the others may count without it.
func (j *judge) dropCut() bool {
	if j.doubt != untilEnd && (!j.candidate.Heuristic || j.thinks) {
		return false
	}
	j.tally.cut, j.tally.dropped = false, true
	held := j.held.events()
	for i := len(held) - 1; i >= 0 && held[i].Kind != abi.CallEnd; i-- {
		if held[i].Kind == abi.CallStart {
			j.held.list = held[:i]
			return true
		}
	}
	j.held.list = slices.DeleteFunc(held, func(e abi.Event) bool { return e.Kind == abi.Cut })
	return true
}
