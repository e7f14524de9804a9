package pythonic

import (
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// state is what a parser expects next.
type state uint8

const (
	inOpen   state = iota // the rest of the marker
	atBody                // the list's bracket, or a call
	wantCall              // a call, or what ends the list
	inName                // the rest of a name
	inArgs                // the rest of its arguments
	afterCall
	afterList
	inEnd // the rest of what begins like the end of the calls
)

// parser reads one region.
type parser struct {
	region.Region
	*format

	args    argReader
	state   state
	lastEnd int    // end of the last call
	calls   int    // that were read to their end
	list    bool   // the list is open
	closed  bool   // the list was closed
	comma   bool   // a separator was read behind the last call
	guess   bool   // nobody has named the parser: a block of code is for others
	block   bool   // the calls stand in a block of code that is open
	line    string // that began the block
	unsure  bool   // a call is complete but not sure yet
}

// Reset implements sdk.Reusable.
func (p *parser) Reset(o sdk.Options) error {
	*p = parser{Region: p.Region, format: p.format, args: p.args}
	p.Begin(p, o)
	p.guess = o.Guess && p.open == ""
	p.args.quoted = p.guess
	if p.open == "" {
		p.state = atBody
	}
	return nil
}

// Step implements region.Format.
func (p *parser) Step() bool {
	switch p.state {
	case inOpen:
		return p.readOpen()
	case inName:
		return len(p.Rest()) > 0 && p.readName()
	case inArgs:
		return len(p.Rest()) > 0 && p.readArgs()
	case afterCall:
		return p.readAfterCall()
	case inEnd:
		return p.readEnd()
	}
	if !p.SkipSpace() {
		return false
	}
	switch c := p.Rest()[0]; p.state {
	case atBody:
		return p.readBody(c)
	case wantCall:
		return p.readBetween(c)
	default:
		return p.readAfterList(c)
	}
}

// refuse gives the region back up to byte to.
func (p *parser) refuse(to int) bool {
	switch {
	case p.whole:
		p.From = 0
	case p.close == "" && p.calls > 0 && p.state != inArgs && !p.unsure:
		p.Out.End(p.From) // the rest is text
		return false
	}
	return p.Refuse(to)
}

func (p *parser) readOpen() bool {
	b := p.Rest()
	n := markup.Common(b, p.open)
	switch {
	case n == len(p.open):
		p.Advance(n)
		p.state = atBody
		return true
	case n < len(b):
		return p.refuse(n)
	}
	return false
}

func (p *parser) readBody(c byte) bool {
	if c == '`' && !p.guess && p.line == "" {
		return p.readFence()
	}
	p.state = wantCall
	switch {
	case c == '[' && p.brackets != bare:
		p.list = true
		p.Advance(1)
	case p.wantsList(p.line):
		return p.refuse(p.At())
	}
	return true
}

// readFence reads the line that begins a block of calls.
func (p *parser) readFence() bool {
	line, v := p.fence(p.Rest())
	if !p.Require(v) {
		return false
	}
	p.Advance(len(line))
	p.block, p.line = true, line
	return true
}

// closeFence reads the end of a block of calls.
func (p *parser) closeFence() bool {
	if !p.Marker("```") {
		return false
	}
	p.endCall()
	p.state, p.block, p.closed, p.From = afterList, false, true, p.At()
	return true
}

// readBetween reads what is not part of a call: a name's first byte, what stands
// between calls, and what ends them.
func (p *parser) readBetween(c byte) bool {
	switch {
	case nameStart(c):
		p.state, p.Began = inName, true
		return true
	case p.calls == 0:
	case isSeparator(c) && !p.comma:
		p.comma = true
		p.Advance(1)
		return true
	case c == ']' && p.list:
		return p.endList()
	case c == '`' && p.block && !p.list:
		return p.closeFence()
	case c == '<':
		p.state = inEnd
		return true
	}
	return p.refuse(p.At())
}

func isSeparator(c byte) bool { return c == ',' || c == ';' }

func (p *parser) readName() bool {
	b := p.Rest()
	n := 0
	for n < len(b) && nameByte(b[n]) && n < maxName+len(p.suffix) {
		n++
	}
	if n == len(b) {
		return false
	}
	name := p.nameOf(b[:n])
	if b[n] != '(' || name == "" {
		return p.refuse(p.At() + n)
	}
	p.Advance(n + 1)
	p.Out.CallStart(name, "")
	p.args.begin(sdk.FindTool(p.Tools, name), p.MaxDepth)
	p.args.flush(p.Out)
	p.state = inArgs
	return true
}

func (p *parser) readArgs() bool {
	n, status := p.args.feed(p.Rest())
	p.Advance(n)
	p.args.flush(p.Out)
	switch status {
	case bad:
		return p.refuse(p.At())
	case done:
		p.state, p.unsure, p.lastEnd = afterCall, true, p.At()
		p.calls++
	}
	return true
}

// endCall ends the call that has waited to be sure, if there is one.
func (p *parser) endCall() {
	if !p.unsure {
		return
	}
	p.Out.Args([]byte{'}'})
	if p.args.repaired {
		p.Out.Repair("args_json")
	}
	p.Out.CallEnd()
	p.unsure, p.From = false, p.lastEnd
}

// endList closes the list. What follows is read as text if it cannot be read as
// more calls.
func (p *parser) endList() bool {
	p.Advance(1)
	p.state, p.list, p.closed, p.From = afterList, false, true, p.At()
	return true
}

// readAfterCall reads what makes a call sure.
func (p *parser) readAfterCall() bool {
	b := p.Rest()
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	if p.AdvanceTo(b); len(b) == 0 {
		return false
	}
	switch c := b[0]; {
	case isSeparator(c) || c == '\n' || c == '\r':
		p.endCall()
		p.state, p.comma = wantCall, isSeparator(c)
		p.Advance(1)
		return true
	case c == ']' && p.list:
		p.endCall()
		return p.endList()
	case c == '<':
		p.state = inEnd
		return true
	}
	return p.refuse(p.At())
}

// readAfterList looks for the end marker, or another list.
func (p *parser) readAfterList(c byte) bool {
	switch {
	case c == '`' && p.block:
		return p.closeFence()
	case c == '<':
		p.state = inEnd
		return true
	case p.whole:
		return p.refuse(p.At())
	case c == '[':
		p.state, p.list, p.closed, p.comma = wantCall, true, false, false
		p.Advance(1)
		return true
	}
	p.Out.End(p.From)
	return false
}

// readEnd reads the end marker or the end of the model's turn.
func (p *parser) readEnd() bool {
	b := p.Rest()
	v := markup.MatchTag(b, p.close)
	if v == sdk.Yes {
		p.endCall()
		p.Advance(len(p.close))
		return p.End()
	}
	if v == sdk.No {
		v = markup.MatchAny(b, turnEnds[:]...)
	}
	switch call := markup.Match(b, callToken); {
	case p.whole && call == sdk.Yes:
		return p.refuse(p.At())
	case p.whole && call == sdk.Maybe:
		return false
	case v == sdk.Maybe:
		return false
	case v == sdk.Yes:
		p.endCall()
		p.Out.End(p.From)
	case p.closed && !p.whole:
		p.Out.End(p.From) // the end marker is missing
	default:
		return p.refuse(p.At())
	}
	return false
}

// Over implements region.Format. The end of the output makes a complete call sure.
func (p *parser) Over() {
	if p.calls == 0 || p.state == inName || p.state == inArgs {
		if p.whole {
			p.From = 0
		}
		p.Lose()
		return
	}
	p.endCall()
	if strings.HasPrefix(p.close, string(p.Rest())) {
		p.AdvanceTo(nil) // nothing, or half the end marker
	}
	p.End()
}
