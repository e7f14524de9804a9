package taggedjson

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// state is what a parser expects next.
type state uint8

const (
	inStart  state = iota // the rest of the opening
	atBody                // the body's first bracket, or the name in front of it
	inObject              // the rest of a call
	afterCall
	afterComma // another object, if the comma was not trailing
	afterEnd   // what may still belong to the region
)

// parser reads one region.
type parser struct {
	*format

	tools   []sdk.Tool
	depth   int                // how deep the JSON may nest
	form    *form              // nil until the opening was read
	call    *callobject.Reader // as form
	state   state
	pos     int    // of the next byte in the region
	from    int    // end of the last call that was ended: what comes later is given back
	lastEnd int    // end of the last object, then of the region
	head    []byte // the opening or the name in front of the body, as far as it was read
	tail    []byte // the beginning of a marker after the body
	began   bool   // the body's first bracket was read
	array   bool   // the body is an array that is still open
	started bool   // CallStart was written for the object
	unsure  bool   // the object is complete, its call is not sure yet
	resync  resync // of the object
}

func newParser(f format, o sdk.Options) *parser {
	return &parser{format: &f, tools: o.Tools, depth: o.MaxDepth}
}

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	for len(text) > 0 && !out.Ended() {
		n := p.step(text, out)
		p.pos += n
		text = text[n:]
		if p.state == afterCall && p.form.close == "" && !p.array && !out.Ended() {
			p.endRegion(p.pos, out)
		}
	}
	if p.state == inObject && !out.Ended() {
		p.writeArgs(out) // once for all of text, not for every token
	}
}

// step reads some of text and says how much. It reads nothing only when it ends
// the region or changes the state.
func (p *parser) step(text []byte, out *sdk.Out) int {
	switch c := text[0]; p.state {
	case inStart:
		return p.readOpening(text, out)
	case inObject:
		return p.readObject(text, out)
	case atBody:
		if p.named {
			return p.readName(c, out)
		}
		return p.readBody(c, out)
	case afterComma:
		return p.readBody(c, out)
	case afterEnd:
		return p.readBehind(c, out)
	default:
		return p.readAfter(c, out)
	}
}

func (p *parser) readOpening(text []byte, out *sdk.Out) int {
	const piece = 64
	n := len(p.head)
	p.head = append(p.head, text[:min(len(text), piece)]...)
	form, used, verdict := p.begin(p.head)
	switch verdict {
	case sdk.Maybe:
		return len(p.head) - n
	case sdk.No:
		out.Malformed(0, max(used, 1))
		return 0
	case sdk.Yes:
	}
	if used < n { // a longer opening went on with what cannot begin a body
		out.Malformed(0, used)
		return 0
	}
	p.form, p.head, p.state = form, p.head[:0], atBody
	p.call = callobject.New(p.keysOf(form), p.depth)
	return used - n
}

// readBody reads up to the next object.
func (p *parser) readBody(c byte, out *sdk.Out) int {
	first := p.state == atBody
	switch {
	case markup.IsSpace(c):
		return 1
	case c == '{' && (p.array || p.form.mayBeObject()):
		p.endCall(out)
		p.beginObject()
		return 0
	case c == '[' && !p.began && p.form.body != objectBody:
		p.began, p.array = true, true
		return 1
	case c == ']' && first && p.array && p.form.mayBeEmpty():
		p.array, p.state = false, afterCall
		return 1
	case !first:
		return p.readTrailing(c, out)
	}
	out.Malformed(p.from, p.pos)
	return 0
}

// readTrailing mends a comma that no object follows.
func (p *parser) readTrailing(c byte, out *sdk.Out) int {
	p.state = afterCall
	if p.unsure {
		p.call.Mend()
	} else if c == ']' {
		out.Repair("args_json") // the call before it has ended
	}
	return p.readEnd(c, out)
}

// readName reads the name in front of the arguments, up to their first brace.
func (p *parser) readName(c byte, out *sdk.Out) int {
	if c == '{' {
		if name := p.nameOf(p.head); name != "" {
			p.call.ResetArgs(name)
			p.state, p.began, p.started = inObject, true, false
			return 0
		}
	}
	if c < ' ' && !markup.IsSpace(c) || c == '{' || len(p.head) == callobject.MaxName+len(p.separator)+maxSpace {
		out.Malformed(p.from, p.pos)
		return 0
	}
	p.head = append(p.head, c)
	return 1
}

// nameOf is the name in head, which ends with the separator, or "".
func (f *format) nameOf(head []byte) string {
	name, found := bytes.CutSuffix(bytes.Trim(head, " \t\r\n"), []byte(f.separator))
	name = bytes.TrimRight(name, " \t\r\n")
	if !found || len(name) > callobject.MaxName || bytes.ContainsAny(name, " \t\r\n") {
		return ""
	}
	return string(name)
}

func (p *parser) beginObject() {
	if p.keyed {
		p.call.ResetKeyed()
	} else {
		p.call.Reset()
	}
	p.state, p.began, p.started = inObject, true, false
	p.resync = resync{end: p.form.close, start: p.form.open[0]}
}

func (p *parser) readObject(text []byte, out *sdk.Out) int {
	n, status := p.call.Feed(text)
	if len(p.resync.end) > 1 {
		p.resync.read(text[:n], p.pos)
	}
	if !p.started {
		if p.form.loose && !p.wanted(status) {
			status = callobject.Bad
		} else if p.certain(status) {
			out.CallStart(p.call.Name, p.call.ID)
			p.started = true
		}
	}
	switch status {
	case callobject.More:
	case callobject.Bad:
		p.writeArgs(out)
		out.Malformed(p.from, p.badEnd(p.pos+n))
	case callobject.Done:
		p.writeArgs(out)
		p.state, p.unsure, p.lastEnd = afterCall, true, p.pos+n
	}
	return n
}

// badEnd is the end of a block that was read up to byte at.
func (p *parser) badEnd(at int) int {
	if p.resync.found > 0 {
		return p.resync.found
	}
	return at
}

// wanted reports whether what was read of an object may be a call although its
// markers are ordinary text.
func (p *parser) wanted(status callobject.Status) bool {
	if p.call.Name != "" && sdk.FindTool(p.tools, p.call.Name) == nil {
		return false
	}
	return status != callobject.Done || p.call.HasArgs()
}

// maxWait is how many bytes of arguments wait for an id behind them.
const maxWait = 256

// certain reports whether the call can begin.
func (p *parser) certain(status callobject.Status) bool {
	switch {
	case p.call.Name == "" || len(p.call.Args) == 0:
		return false
	case !p.lateID || p.call.ID != "":
		return true
	}
	return status == callobject.Done || len(p.call.Args) > maxWait
}

// writeArgs passes on what is certain of the arguments.
func (p *parser) writeArgs(out *sdk.Out) {
	if p.started {
		out.Args(p.call.Args)
		p.call.Args = p.call.Args[:0]
	}
}
