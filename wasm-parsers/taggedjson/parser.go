package taggedjson

import (
	"bytes"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
)

// state is what a parser expects next.
type state uint8

const (
	inStart  state = iota // the rest of the start marker
	atBody                // the body's first bracket, or the name in front of it
	inObject              // the rest of a call
	afterCall
	afterComma // another object, if the comma was not trailing
)

// parser reads one region.
type parser struct {
	*format

	call    *callobject.Reader
	state   state
	pos     int    // of the next byte in the region
	from    int    // end of the last call that was ended: what comes later is given back
	lastEnd int    // end of the last object
	head    []byte // the name in front of the body, as far as it was read
	tail    []byte // the beginning of a marker after the body
	began   bool   // the body's first bracket was read
	array   bool   // the body is an array that is still open
	started bool   // CallStart was written for the object
	unsure  bool   // the object is complete, its call is not sure yet
}

func newParser(f format, o sdk.Options) *parser {
	return &parser{format: &f, call: callobject.New(f.keys, o.MaxDepth)}
}

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	for len(text) > 0 && !out.Ended() {
		n := p.step(text, out)
		p.pos += n
		text = text[n:]
		if p.state == afterCall && p.end == "" && !p.array && !out.Ended() {
			p.endCall(out)
			out.End(p.pos)
		}
	}
	if p.state == inObject && !out.Ended() {
		p.writeArgs(out) // once for all of text, not for every token
	}
}

// step reads some of text and says how much. It reads nothing only when it ends
// the region.
func (p *parser) step(text []byte, out *sdk.Out) int {
	switch c := text[0]; p.state {
	case inStart:
		return p.readStart(c, out)
	case inObject:
		return p.readObject(text, out)
	case atBody:
		if p.named {
			return p.readName(c, out)
		}
		return p.readBody(c, out)
	case afterComma:
		return p.readBody(c, out)
	default:
		return p.readAfter(c, out)
	}
}

func (p *parser) readStart(c byte, out *sdk.Out) int {
	if c != p.start[p.pos] {
		out.Malformed(0, max(p.pos, 1))
		return 0
	}
	if p.pos+1 == len(p.start) {
		p.state = atBody
	}
	return 1
}

// readBody reads up to the next object.
func (p *parser) readBody(c byte, out *sdk.Out) int {
	switch {
	case isSpace(c):
		return 1
	case c == '{':
		p.endCall(out)
		p.call.Reset()
		p.beginObject()
		return 0
	case c == '[' && !p.began:
		p.began, p.array = true, true
		return 1
	case p.state == afterComma:
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
			p.beginObject()
			return 0
		}
	}
	const space = 64 // more white space than that around a name is no call
	if c < ' ' && !isSpace(c) || c == '{' || len(p.head) == callobject.MaxName+len(p.separator)+space {
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
	p.state, p.began, p.started = inObject, true, false
}

func (p *parser) readObject(text []byte, out *sdk.Out) int {
	n, status := p.call.Feed(text)
	if !p.started && p.call.Name != "" && len(p.call.Args) > 0 {
		out.CallStart(p.call.Name, p.call.ID)
		p.started = true
	}
	switch status {
	case callobject.More:
	case callobject.Bad:
		p.writeArgs(out)
		out.Malformed(p.from, p.pos+n)
	case callobject.Done:
		p.writeArgs(out)
		p.state, p.unsure, p.lastEnd = afterCall, true, p.pos+n
	}
	return n
}

// writeArgs passes on what is certain of the arguments.
func (p *parser) writeArgs(out *sdk.Out) {
	if p.started {
		out.Args(p.call.Args)
		p.call.Args = p.call.Args[:0]
	}
}

// endCall ends the call that has waited to be sure, if there is one.
func (p *parser) endCall(out *sdk.Out) {
	if !p.unsure {
		return
	}
	out.Args([]byte("}"))
	p.call.Report(out)
	out.CallEnd()
	p.unsure, p.from = false, p.lastEnd
}

// readAfter reads what may follow an object.
func (p *parser) readAfter(c byte, out *sdk.Out) int {
	switch {
	case len(p.tail) == 0 && isSpace(c):
		return 1
	case len(p.tail) == 0 && c == ',' && !p.named && (p.array || p.unsure):
		if p.array {
			p.endCall(out)
		}
		p.state = afterComma
		return 1
	case len(p.tail) == 0 && c == '{' && !p.array && p.unsure && !p.named:
		return p.readBody(c, out)
	}
	return p.readEnd(c, out)
}

// readEnd reads a byte of what ends the body: its bracket, the end marker, or the
// start marker of another region if the end marker is missing.
func (p *parser) readEnd(c byte, out *sdk.Out) int {
	if p.array {
		if c != ']' {
			out.Malformed(p.from, p.pos)
			return 0
		}
		p.array = false
		return 1
	}
	at := p.pos - len(p.tail)
	p.tail = append(p.tail, c)
	switch tail := string(p.tail); {
	case tail == p.end:
		p.endCall(out)
		out.End(p.pos + 1)
	case tail == p.start:
		p.endCall(out)
		out.End(at)
	case strings.HasPrefix(p.end, tail), strings.HasPrefix(p.start, tail):
	default:
		out.Malformed(p.from, at)
	}
	return 1
}

// Finish implements sdk.Parser. The end of the output makes a complete object
// sure. A call that was cut off by a token limit is lost, and is not text either.
func (p *parser) Finish(reason sdk.Reason, out *sdk.Out) {
	switch {
	case p.state == afterCall || p.state == afterComma:
		p.endCall(out)
		at := p.pos
		if !strings.HasPrefix(p.end, string(p.tail)) {
			at -= len(p.tail)
		}
		out.End(at)
	case reason == sdk.Length && p.began:
		out.Cut()
		out.End(p.pos)
	default:
		out.Malformed(p.from, p.pos)
	}
}
