package pythonic

import (
	"strings"

	"github.com/callgate/callgate/sdk"
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
	*format

	tools   []sdk.Tool
	args    *argReader
	state   state
	pos     int    // of the next byte in the region
	from    int    // end of the last call that was ended: what comes later is given back
	lastEnd int    // end of the last call
	name    []byte // of the call, as far as it was read
	tail    []byte // what begins like the end of the calls
	calls   int    // calls that were read to their end
	list    bool   // the list is open
	closed  bool   // the list was closed
	comma   bool   // a separator was read behind the last call
	began   bool   // something of a call was read
	unsure  bool   // a call is complete but not sure yet
}

func newParser(f *format, o sdk.Options) *parser {
	p := &parser{format: f, tools: o.Tools, args: newArgReader(o.MaxDepth)}
	p.args.quoted = o.Guess && f.open == ""
	if f.open == "" {
		p.state = atBody
	}
	return p
}

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	for len(text) > 0 && !out.Ended() {
		n := p.step(text, out)
		p.pos += n
		text = text[n:]
	}
	if p.state == inArgs && !out.Ended() {
		p.args.flush(out)
	}
}

// step reads some of text and says how much. It reads nothing only when it changes
// the state or ends the region.
func (p *parser) step(text []byte, out *sdk.Out) int {
	switch c := text[0]; p.state {
	case inOpen:
		return p.readOpen(c, out)
	case atBody:
		return p.readBody(c, out)
	case wantCall:
		return p.readBetween(c, out)
	case inName:
		return p.readName(c, out)
	case inArgs:
		return p.readArgs(text, out)
	case afterCall:
		return p.readAfterCall(c, out)
	case afterList:
		return p.readAfterList(c, out)
	default:
		return p.readEnd(c, out)
	}
}

// refuse gives the region back up to byte to.
func (p *parser) refuse(to int, out *sdk.Out) int {
	switch {
	case p.whole:
		out.Malformed(0, max(to, 1))
	case p.close == "" && p.calls > 0 && p.state != inArgs && !p.unsure:
		out.End(p.from) // the rest is text
	default:
		out.Malformed(p.from, max(to, 1))
	}
	return 0
}

func (p *parser) readOpen(c byte, out *sdk.Out) int {
	if c != p.open[p.pos] {
		return p.refuse(p.pos, out)
	}
	if p.pos+1 == len(p.open) {
		p.state = atBody
	}
	return 1
}

func (p *parser) readBody(c byte, out *sdk.Out) int {
	switch {
	case isSpace(c):
		return 1
	case c == '[' && p.brackets != bare:
		p.state, p.list = wantCall, true
		return 1
	case p.brackets == listed:
		return p.refuse(p.pos, out)
	}
	p.state = wantCall
	return 0
}

// readBetween reads what is not part of a call: a name's first byte, what stands
// between calls, and what ends them.
func (p *parser) readBetween(c byte, out *sdk.Out) int {
	switch {
	case isSpace(c):
		return 1
	case nameStart(c):
		p.state, p.name, p.began = inName, p.name[:0], true
		return 0
	case p.calls == 0:
	case isSeparator(c) && !p.comma:
		p.comma = true
		return 1
	case c == ']' && p.list:
		return p.endList()
	case c == '<':
		p.state = inEnd
		return 0
	}
	return p.refuse(p.pos, out)
}

func isSeparator(c byte) bool { return c == ',' || c == ';' }

func (p *parser) readName(c byte, out *sdk.Out) int {
	if nameByte(c) && len(p.name) < maxName+len(p.suffix) {
		p.name = append(p.name, c)
		return 1
	}
	name := p.nameOf(p.name)
	if c != '(' || name == "" {
		return p.refuse(p.pos, out)
	}
	out.CallStart(name, "")
	p.args.begin(sdk.FindTool(p.tools, name))
	p.state = inArgs
	return 1
}

func (p *parser) readArgs(text []byte, out *sdk.Out) int {
	n, status := p.args.feed(text)
	switch status {
	case more:
	case bad:
		p.args.flush(out)
		p.refuse(p.pos+n, out)
	case done:
		p.args.flush(out)
		p.state, p.unsure, p.lastEnd = afterCall, true, p.pos+n
		p.calls++
	}
	return n
}

// endCall ends the call that has waited to be sure, if there is one.
func (p *parser) endCall(out *sdk.Out) {
	if !p.unsure {
		return
	}
	out.Args([]byte("}"))
	if p.args.mended {
		out.Repair("args_json")
	}
	out.CallEnd()
	p.unsure, p.from = false, p.lastEnd
}

// endList closes the list. What follows is read as text if it cannot be read as
// more calls.
func (p *parser) endList() int {
	p.state, p.list, p.closed, p.from = afterList, false, true, p.pos+1
	return 1
}

// readAfterCall reads what makes a call sure.
func (p *parser) readAfterCall(c byte, out *sdk.Out) int {
	switch {
	case c == ' ' || c == '\t':
		return 1
	case isSeparator(c) || c == '\n' || c == '\r':
		p.endCall(out)
		p.state, p.comma = wantCall, isSeparator(c)
		return 1
	case c == ']' && p.list:
		p.endCall(out)
		return p.endList()
	case c == '<':
		p.state = inEnd
		return 0
	}
	return p.refuse(p.pos, out)
}

// readAfterList looks for the end marker, or another list.
func (p *parser) readAfterList(c byte, out *sdk.Out) int {
	switch {
	case isSpace(c):
		return 1
	case c == '<':
		p.state = inEnd
		return 0
	case p.whole:
		return p.refuse(p.pos, out)
	case c == '[':
		p.state, p.list, p.closed, p.comma = wantCall, true, false, false
		return 1
	}
	out.End(p.from)
	return 0
}

// readEnd reads a byte of the end marker or of the end of the model's turn.
func (p *parser) readEnd(c byte, out *sdk.Out) int {
	p.tail = append(p.tail, c)
	tail := string(p.tail)
	switch {
	case p.close != "" && tail == p.close:
		p.endCall(out)
		out.End(p.pos + 1)
	case p.beginsEnd(tail):
	case endsTurn(tail):
		p.endCall(out)
		out.End(p.from)
	case p.closed && !p.whole:
		out.End(p.from) // the end marker is missing
	default:
		p.refuse(p.pos+1-len(p.tail), out)
	}
	return 1
}

// beginsEnd reports whether tail may become something that ends the calls.
func (p *parser) beginsEnd(tail string) bool {
	if p.close != "" && strings.HasPrefix(p.close, tail) {
		return true
	}
	for _, end := range turnEnds {
		if len(tail) < len(end) && strings.HasPrefix(end, tail) {
			return true
		}
	}
	return false
}

func endsTurn(tail string) bool {
	for _, end := range turnEnds {
		if strings.HasPrefix(tail, end) {
			return true
		}
	}
	return false
}

// Finish implements sdk.Parser. The end of the output makes a complete call sure.
// A call that was cut off by a token limit is lost, and is not text either.
func (p *parser) Finish(reason sdk.Reason, out *sdk.Out) {
	switch {
	case p.calls > 0 && p.state != inName && p.state != inArgs:
		p.endCall(out)
		at := p.pos
		if !strings.HasPrefix(p.close, string(p.tail)) {
			at -= len(p.tail)
		}
		out.End(at)
	case reason == sdk.Length && p.began:
		out.Cut()
		out.End(p.pos)
	case p.whole:
		out.Malformed(0, p.pos)
	default:
		out.Malformed(p.from, p.pos)
	}
}
