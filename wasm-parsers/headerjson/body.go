package headerjson

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

const (
	fence       = "```"
	maxLanguage = 16 // bytes of the language of a block of code
)

// readBody reads up to the first byte of the arguments.
func (p *parser) readBody(c byte, out *sdk.Out) int {
	switch {
	case markup.IsSpace(c):
		return 1
	case c == '{':
		p.state = inObject
		return 0
	case c == '"' || c == 'n':
		p.state = inScalar
		if p.scalar == nil {
			p.scalar = relaxed.NewReader(p.depth)
		}
		p.scalar.Reset()
		return 0
	case c == '`' && p.fenced && !p.code:
		p.state = inFence
		return 0
	case p.end != "" && c == p.end[0], c == '`' && p.code: // a call without arguments
		p.call.Args = append(p.call.Args, '{')
		p.state = afterBody
		return 0
	}
	out.Malformed(p.from, p.pos)
	return 0
}

// readFence reads what begins a block of code: backticks, and perhaps a language.
func (p *parser) readFence(c byte, out *sdk.Out) int {
	n := len(p.tail)
	switch {
	case n < len(fence) && c == '`', n >= len(fence) && n < len(fence)+maxLanguage && c|0x20 >= 'a' && c|0x20 <= 'z':
		p.tail = append(p.tail, c)
		return 1
	case n >= len(fence) && (c == '{' || markup.IsSpace(c)):
		p.state, p.code, p.tail = atBody, true, p.tail[:0]
		return 0
	}
	out.Malformed(p.from, p.pos)
	return 0
}

func (p *parser) readObject(text []byte, out *sdk.Out) int {
	n, status := p.call.Feed(text)
	p.next.read(text[:n], p.pos)
	if len(p.call.Args) > 0 {
		p.start(out)
	} else if p.textKey != "" {
		p.text.raw = append(p.text.raw, text[:n]...)
	}
	switch {
	case status == callobject.Done:
		p.writeArgs(out)
		p.state = afterBody
		if p.end == "" {
			p.endCall(p.pos+n, out)
			out.End(p.pos + n)
		}
	case status == callobject.Bad && p.textKey != "" && !p.started:
		p.state, p.text.decided = inText, true
	case status == callobject.Bad:
		p.writeArgs(out)
		out.Malformed(p.from, p.next.or(p.pos+n))
	}
	return n
}

// readScalar reads arguments that are null, or a string that holds an object.
func (p *parser) readScalar(text []byte, out *sdk.Out) int {
	n, tok := p.scalar.Feed(text)
	p.next.read(text[:n], p.pos)
	if tok == relaxed.More {
		return n
	}
	args, ok := p.scalarArgs(tok)
	if !ok {
		out.Malformed(p.from, p.next.or(p.pos+n))
		return n
	}
	p.call.Args = append(p.call.Args, args...)
	p.state = afterBody
	if p.end == "" {
		p.endCall(p.pos+n, out)
		out.End(p.pos + n)
	}
	return n
}

// scalarArgs are the arguments, without their last brace, that were written as a
// string or null.
func (p *parser) scalarArgs(tok relaxed.Token) (args []byte, ok bool) {
	if p.scalar.Repaired() != 0 {
		p.call.Mend()
	}
	decoded, isString := relaxed.Unquote(p.scalar.Out)
	decoded = bytes.Trim(decoded, " \t\r\n")
	if tok == relaxed.Null || isString && len(decoded) == 0 {
		return []byte("{"), true
	}
	args, kind, ok := relaxed.Value(decoded, p.scalar.MaxDepth())
	if !ok || kind != relaxed.ObjectOpen {
		return nil, false
	}
	if p.decoded = true; !bytes.Equal(args, decoded) {
		p.call.Mend()
	}
	return args[:len(args)-1], true
}

// start begins the call for the client.
func (p *parser) start(out *sdk.Out) {
	if !p.started {
		out.CallStart(p.call.Name, p.call.ID)
		p.started, p.text.raw = true, nil
	}
}

// writeArgs passes on what is certain of the arguments.
func (p *parser) writeArgs(out *sdk.Out) {
	if p.started {
		out.Args(p.call.Args)
		p.call.Args = p.call.Args[:0]
	}
}

// resync finds where the next call begins inside of what is read as arguments, for
// the case that they turn out to be bad: where a string lacks its end, the next
// call lies inside that string.
type resync struct {
	marker  string
	matched int // bytes of marker
	at      int // where the first one began, or 0
}

func (r *resync) reset() { r.matched, r.at = 0, 0 }

// read reads b, which begins at byte pos of the region.
func (r *resync) read(b []byte, pos int) {
	for i := 0; i < len(b) && r.at == 0; i++ {
		if r.matched == 0 {
			n := bytes.IndexByte(b[i:], r.marker[0])
			if n < 0 {
				return
			}
			i += n
		}
		switch b[i] {
		case r.marker[r.matched]:
			r.matched++
		case r.marker[0]: // which stands nowhere else in a marker
			r.matched = 1
		default:
			r.matched = 0
		}
		if r.matched == len(r.marker) {
			r.at, r.matched = pos+i+1-len(r.marker), 0
		}
	}
}

// or is where the next call began, or else to.
func (r *resync) or(to int) int {
	if r.at > 0 {
		return r.at
	}
	return to
}
