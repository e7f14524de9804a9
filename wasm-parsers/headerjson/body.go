package headerjson

import (
	"bytes"

	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

const (
	fence       = "```"
	maxLanguage = 16 // bytes of the language of a block of code
)

// readBody reads the first byte of the arguments.
func (p *parser) readBody(c byte) bool {
	switch {
	case c == '{':
		p.state = inObject
	case p.braceOnly: // another format's, as canParse says
		return p.RefuseHere()
	case c == '"' || c == 'n':
		p.state = inScalar
	case c == '`' && p.fenced && !p.code:
		p.state = inFence
	case p.end != "" && c == p.end[0], c == '`' && p.code: // a call without arguments
		p.call.Args = append(p.call.Args, '{')
		p.state = afterBody
	default:
		p.Out.Malformed(p.From, p.At())
		return false
	}
	return true
}

// readFence reads what begins a block of code: backticks, and perhaps a language.
func (p *parser) readFence() bool {
	b := p.Rest()
	n := markup.Common(b, fence)
	for n >= len(fence) && n < len(b) && n < len(fence)+maxLanguage && chars.IsLetter(b[n]) {
		n++
	}
	switch {
	case n == len(b):
		return false
	case n >= len(fence) && (b[n] == '{' || chars.IsSpace(b[n])):
		p.Advance(n)
		p.state, p.code = atBody, true
		return true
	}
	p.Out.Malformed(p.From, p.At()+n)
	return false
}

// readObject reads what there is of an object of arguments.
func (p *parser) readObject() bool {
	b, status := p.Rest(), callobject.More
	for len(b) > 0 && status == callobject.More {
		var n int
		n, status = p.call.Feed(b)
		if len(p.call.Args) > 0 {
			p.sayWords()
			p.call.Show(p.Out)
		} else if p.textKey != "" {
			p.text.raw = append(p.text.raw, b[:n]...)
		}
		b = b[n:]
	}
	p.read(b)
	p.call.Pass(p.Out)
	switch {
	case status == callobject.Done:
		p.endBody()
	case status == callobject.Bad && p.textKey != "" && !p.call.Shown():
		p.state, p.text.decided = inText, true
	case status == callobject.Bad:
		p.Out.Malformed(p.From, p.next.or(p.At()))
	}
	return true
}

// read advances to rest, and looks for the next call in what that reads.
func (p *parser) read(rest []byte) {
	n := len(p.Rest()) - len(rest)
	p.next.read(p.Rest()[:n], p.At())
	p.Advance(n)
}

// endBody ends the arguments, and the call with them if nothing has to follow.
func (p *parser) endBody() {
	p.state = afterBody
	if p.end == "" {
		p.endCall(p.At())
		p.state = afterArgs
	}
}

// readScalar reads arguments that are null, or a string that holds an object.
func (p *parser) readScalar() bool {
	n, status := p.call.Feed(p.Rest())
	p.read(p.Rest()[n:])
	switch {
	case status == callobject.Bad:
		p.Out.Malformed(p.From, p.next.or(p.At()))
	case len(p.call.Args) > 0:
		p.endBody()
		return true
	}
	return false
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
