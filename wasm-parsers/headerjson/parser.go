package headerjson

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// state is what a parser expects next.
type state uint8

const (
	inStart   state = iota // the rest of the marker that begins the region
	inSection              // the first call
	inHead                 // a call's header
	atBody                 // the first byte of its arguments
	inFence                // the rest of what begins a block of code
	inObject               // the arguments
	inScalar               // arguments that are a string or null
	inText                 // a body that is no JSON
	afterBody              // what ends the call
	between                // another call, or the end of the section
)

// parser reads one region.
type parser struct {
	*format

	tools   []sdk.Tool
	depth   int // how deep JSON may nest
	call    *callobject.Reader
	scalar  *relaxed.Reader
	text    text
	state   state
	pos     int    // of the next byte in the region
	from    int    // end of the last call that was ended: what comes later is given back
	head    []byte // the header, as far as it was read
	tail    []byte // the beginning of a marker
	code    bool   // the arguments are in a block of code that is open
	started bool   // CallStart was written for the call
	decoded bool   // its arguments were a string
	next    resync
}

func newParser(f *format, o sdk.Options) *parser {
	p := &parser{format: f, tools: o.Tools, depth: o.MaxDepth, call: callobject.New(callobject.Keys{}, o.MaxDepth)}
	p.next.marker = f.open
	return p
}

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	for len(text) > 0 && !out.Ended() {
		n := p.step(text, out)
		p.pos += n
		text = text[n:]
	}
	if p.state == inObject && !out.Ended() {
		p.writeArgs(out) // once for all of text, not for every token
	}
}

// step reads some of text and says how much. It reads nothing only when it ends
// the region or changes the state.
func (p *parser) step(text []byte, out *sdk.Out) int {
	switch p.state {
	case inHead:
		return p.readHead(text[0], out)
	case atBody:
		return p.readBody(text[0], out)
	case inFence:
		return p.readFence(text[0], out)
	case inObject:
		return p.readObject(text, out)
	case inScalar:
		return p.readScalar(text, out)
	case inText:
		return p.readText(text, out)
	default:
		return p.readMark(text[0], out)
	}
}

// maxHead is how long a header may be, with the white space in it.
const maxHead = 3 * callobject.MaxName

func (p *parser) readHead(c byte, out *sdk.Out) int {
	if len(p.head) == 0 && markup.IsSpace(c) {
		return 1
	}
	p.head = append(p.head, c)
	h, v := header{}, sdk.Maybe
	if endsHeader(c) || c == '\n' && p.sep == "\n" {
		h, v = p.header(p.head)
	}
	if v == sdk.Yes {
		return p.beginCall(h, out)
	}
	if v == sdk.No || len(p.head) == maxHead {
		out.Malformed(p.from, p.pos)
	}
	return 1
}

// endsHeader tells the last bytes of what ends a header.
func endsHeader(c byte) bool { return c == '>' || c == ']' || c == '{' || c == '`' }

// beginCall begins the call of a header. The byte of the arguments that may have
// ended it is read again.
func (p *parser) beginCall(h header, out *sdk.Out) int {
	name, id, ok := p.nameOf(h, p.tools)
	if !ok {
		out.Malformed(p.from, p.pos)
		return 0
	}
	p.call.ResetArgs(name)
	p.call.ID = id
	p.state, p.started, p.decoded, p.code = atBody, false, false, false
	p.next.reset()
	if p.textKey != "" {
		p.beginText()
	}
	return 1 - (len(p.head) - h.n)
}

// mark is what a marker means.
type mark uint8

const (
	noMark mark = iota
	aSection
	aCall
	callEnd
	sectionEnd
	turnEnd
	fenceEnd
)

// readMark reads a byte of a marker.
func (p *parser) readMark(c byte, out *sdk.Out) int {
	if len(p.tail) == 0 && markup.IsSpace(c) && p.state != inStart {
		return 1
	}
	p.tail = append(p.tail, c)
	switch m, v := p.mark(); v {
	case sdk.Yes:
		at := p.pos + 1 - len(p.tail)
		p.tail = p.tail[:0]
		p.act(m, at, out)
	case sdk.No:
		p.unmarked(out)
	case sdk.Maybe:
	}
	return 1
}

// mark tells which of the markers that may stand here tail is.
func (p *parser) mark() (mark, sdk.Verdict) {
	verdict := sdk.No
	found := noMark
	try := func(m mark, here bool, markers ...string) {
		if !here || verdict == sdk.Yes {
			return
		}
		if v := markup.MatchAny(p.tail, markers...); v != sdk.No {
			found, verdict = m, v
		}
	}
	try(aSection, p.state == inStart, p.sections...)
	try(aCall, true, p.open)
	try(callEnd, p.state == afterBody, p.end)
	try(sectionEnd, p.state != inStart, p.sectionEnds...)
	try(turnEnd, p.state == afterBody, p.turnEnds...)
	try(fenceEnd, p.code, fence)
	return found, verdict
}

// act acts on a marker that began at byte at.
func (p *parser) act(m mark, at int, out *sdk.Out) {
	behind := p.pos + 1
	switch m {
	case fenceEnd:
		p.code = false
		return
	case callEnd:
		p.endCall(behind, out)
		if p.state = between; len(p.sections) == 0 {
			out.End(behind)
		}
		return
	}
	if p.state == afterBody { // the end of the call is missing
		p.endCall(at, out)
		if len(p.sections) == 0 || m == turnEnd {
			out.End(at)
			return
		}
	}
	switch m {
	case aSection:
		p.state = inSection
	case aCall:
		p.state, p.head = inHead, p.head[:0]
	case sectionEnd:
		out.End(behind)
	}
}

// unmarked acts on text where a marker could be.
func (p *parser) unmarked(out *sdk.Out) {
	at := p.pos + 1 - len(p.tail)
	switch {
	case p.state == between:
		out.End(p.from)
	case p.state == inSection && p.openless:
		p.state, p.head = inHead, p.head[:0]
		for _, c := range p.tail {
			if !out.Ended() {
				p.readHead(c, out)
			}
		}
		p.tail = p.tail[:0]
	default:
		out.Malformed(p.from, max(at, 1))
	}
}

// endCall ends the call, which is complete, and the region up to byte to with it.
func (p *parser) endCall(to int, out *sdk.Out) {
	p.start(out)
	p.writeArgs(out)
	out.Args([]byte("}"))
	p.call.Report(out)
	if p.decoded {
		out.Repair("args_string")
	}
	out.CallEnd()
	p.from = to
}

// Finish implements sdk.Parser. The end of the output makes a complete call sure. A
// call that was cut off by a token limit is lost, and is not text either.
func (p *parser) Finish(reason sdk.Reason, out *sdk.Out) {
	switch {
	case p.state == inText && p.finishText(reason, out):
	case p.state == afterBody:
		p.endCall(p.pos, out)
		out.End(p.pos)
	case p.state == between:
		out.End(p.pos)
	case reason == sdk.Length && p.state != inStart:
		out.Cut()
		out.End(p.pos)
	default:
		out.Malformed(p.from, p.next.or(p.pos))
	}
}
