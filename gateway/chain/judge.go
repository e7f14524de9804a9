package chain

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
)

// give gives an event of a region out, or keeps it until it is known that it may.
func (c *Chain) give(e abi.Event) {
	r := c.region
	switch {
	case r.hold || r.gate:
		r.held = append(r.held, e)
	case r.framed && (r.waits || e.Kind == abi.CallStart):
		r.held = append(r.held, e)
		c.await(e.Kind)
	default:
		c.show(e)
	}
}

// await decides about a call in framing that waits: it goes out as soon as it is
// meant. One that ends before is no call, and its arguments are text.
func (c *Chain) await(last abi.Kind) {
	r := c.region
	held := r.held
	r.waits = true
	switch {
	case r.meant && !r.args.missing():
	case last == abi.CallEnd:
		text := abi.Event{Kind: abi.Content}
		for _, e := range held {
			if e.Kind == abi.Args {
				text.Text += e.Text
			}
		}
		held = []abi.Event{text}
		c.warn("call_refused")
	case last == abi.Cut:
		held = nil
		c.warn("truncated_call")
	default:
		return
	}
	r.held, r.waits = nil, false
	for _, e := range held {
		c.show(e)
	}
}

// check keeps account of the calls of a region, and gives strings their type where
// the schema has none for them. It reports whether the call at hand is known to be
// meant.
func (c *Chain) check(e *abi.Event) bool {
	r := c.region
	switch e.Kind {
	case abi.CallStart:
		r.offered = c.offered(e.Name)
		r.meant = r.offered || !r.candidate.Heuristic && c.forwards(e.Name)
		r.argued = !r.meant && !r.candidate.Heuristic && isName(e.Name)
		r.args.begin(c.tool(e.Name), c.opts.MaxDepth)
	case abi.Args:
		r.meant = r.meant || r.argued && strings.Trim(e.Text, "{} \n") != "" // a tag alone may be a word
		e.Text = r.args.read(e.Text)
	case abi.CallEnd:
		c.count()
		return false
	case abi.Cut:
		r.cut = true
		return false
	default:
		return false
	}
	return r.meant && !r.args.missing()
}

// count takes account of a call that is complete.
func (c *Chain) count() {
	r := c.region
	r.calls++
	r.lacks = r.lacks || r.args.missing()
	if !r.meant || c.plan.auto && r.args.missing() {
		r.short++
	}
	if r.offered {
		r.known++
	}
	if c.plan.auto && r.hold && r.args.example() {
		r.examples++
	}
}

// release gives out what waited for a call that is meant.
func (c *Chain) release() {
	r := c.region
	if !r.gate {
		return
	}
	r.gate = false
	for _, e := range r.held {
		c.show(e)
	}
	r.held = nil
}

// waits reports whether the calls of a region that was held count only if the output
// ends with them.
func (c *Chain) waits() bool {
	r := c.region
	return r.calls > 0 && r.hold && !c.opts.NoTools && (c.open || r.doubt == untilEnd || c.plan.auto && c.text.fence.around())
}

// believe decides about events that were held back. Markup that is ordinary text
// too, in a code fence, or inside reasoning counts only if all of it is complete,
// every name was offered and no required argument is missing. For a form of ordinary
// text that somebody has named one offered name is enough. What has streamed to a gate
// needs one call that is so.
func (c *Chain) believe() bool {
	r := c.region
	switch {
	case !r.hold:
		return !r.gate || r.short == 0 || r.short < r.calls
	case r.cut:
		return false
	case !c.plan.auto && r.candidate.Heuristic && !c.fenced() && !c.open:
		return r.known > 0 || r.calls == 0 // the model has its form: one name vouches for the others
	}
	sound := r.short == 0 && r.examples == 0 && !trailing(r.held) && c.allOffered(r.held)
	return sound && r.saysMuch()
}

// saysMuch reports whether there is anything to believe: a call, or markup alone that
// is a parser's to drop.
func (r *region) saysMuch() bool { return r.calls > 0 || r.candidate.Heuristic || r.dropped }

func (c *Chain) allOffered(events []abi.Event) bool {
	return !slices.ContainsFunc(events, func(e abi.Event) bool { return e.Kind == abi.CallStart && !c.offered(e.Name) })
}

func (c *Chain) offered(name string) bool {
	tools := c.tools()
	if c.opts.AnyName && !c.fenced() && len(tools) == 0 {
		return true
	}
	return slices.ContainsFunc(tools, func(t abi.Tool) bool { return t.Name == name })
}

// tool is the offered tool with a name, or nil.
func (c *Chain) tool(name string) *abi.Tool {
	tools := c.tools()
	if i := slices.IndexFunc(tools, func(t abi.Tool) bool { return t.Name == name }); i >= 0 {
		return &tools[i]
	}
	return nil
}

// tools are the offered tools, which are asked for once.
func (c *Chain) tools() []abi.Tool {
	if c.opts.Tools != nil {
		c.offers, c.opts.Tools = c.opts.Tools(), nil
	}
	return c.offers
}

// dropCut leaves out the call that was cut at the end of a region that was held.
func (c *Chain) dropCut() {
	r := c.region
	r.cut, r.dropped = false, true
	c.warn("truncated_call")
	for i := len(r.held) - 1; i >= 0 && r.held[i].Kind != abi.CallEnd; i-- {
		if r.held[i].Kind == abi.CallStart {
			r.held = r.held[:i]
			return
		}
	}
	r.held = slices.DeleteFunc(r.held, func(e abi.Event) bool { return e.Kind == abi.Cut })
}
