package framing

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// maxSpace is how much white space may stand between two markers that are read
// together.
const maxSpace = 64

// readNested reads a message that calls in another parser's form. Text around its
// body is text of the answer.
func (p *parser) readNested() bool {
	if p.fresh {
		b := chars.SkipSpace(p.Rest())
		p.AdvanceTo(b)
		if len(b) == 0 {
			return false
		}
	}
	n, m, v := p.find(inCall)
	if p.Ended && v != sdk.Yes {
		n = p.cutTag(n)
	}
	if n > 0 {
		if p.fresh {
			p.text.begin(isContent)
		}
		p.empty, p.fresh = false, false
		p.text.write(p.Rest()[:n])
		p.Advance(n)
		p.From = p.At() // what was said is not given back
	}
	if v != sdk.Yes {
		return false
	}
	if m.does == nests {
		return p.beginBody()
	}
	p.act(m)
	return true
}

// cutTag is n, or the place of a tag in the text before n that the output ended in.
func (p *parser) cutTag(n int) int {
	b := p.Rest()[:n]
	i := bytes.LastIndexByte(b, '<')
	if i < 0 {
		return n
	}
	if _, v := p.marker(b[i:], inCall); v != sdk.Maybe {
		return n
	}
	p.half = true
	return i
}

// beginBody begins a body that another parser reads.
func (p *parser) beginBody() bool {
	if p.other == nil {
		body, _ := p.nested(p.opts)
		p.other = body.(sdk.Reusable)
	}
	_ = p.other.Reset(p.opts) // it takes any options
	p.inner.Reset()
	p.From, p.body, p.empty = p.At(), p.other, false
	p.Keep, p.left = maxBehind, 0
	return true
}

// endBody goes on behind a body, or where the other parser says that it ended.
func (p *parser) endBody(where place) {
	p.body, p.where, p.Keep = nil, where, 0
}

// readBody feeds the other parser what comes before the next marker, tags in one
// piece.
func (p *parser) readBody() bool {
	b := p.Rest()
	if b[0] == '<' {
		if done, wait := p.leaveOut(b); done || wait {
			return done
		}
		switch v := p.endsBody(b); {
		case v == sdk.Yes:
			p.finishBody(sdk.Stop)
			p.endBody(between)
			return true
		case v == sdk.Maybe && !p.Ended:
			return false
		}
	}
	n := p.bodyEnd(b)
	if n > 0 {
		p.body.Feed(b[:n], &p.inner)
		p.Advance(n)
		p.forward()
	}
	return n > 0
}

// bodyEnd is how much of b can be fed: as far as the next marker, and not the first
// part of a tag.
func (p *parser) bodyEnd(b []byte) int {
	const longest = 32 // of the tags behind a region
	n := bytes.Index(b[1:], []byte("<|")) + 1
	if n > 0 {
		return n
	}
	tag := bytes.LastIndexByte(b, '<')
	if tag < 0 || p.Ended || len(b)-tag >= longest || bytes.IndexByte(b[tag:], '>') >= 0 {
		return len(b)
	}
	return tag
}

// endsBody tells whether b begins with the end of the message, whatever the body
// lacks. It is text of a value if neither another message nor the end of the output
// follows.
func (p *parser) endsBody(b []byte) sdk.Verdict {
	m, v := p.marker(b, inCall)
	switch {
	case v != sdk.Yes:
		return v
	case m.does == nests:
		return sdk.No
	}
	behind := b[len(m.text):]
	if m.does == heads {
		switch p.valueGoesOn(behind) {
		case sdk.Yes:
			return sdk.No
		case sdk.Maybe:
			return sdk.Maybe
		}
		return p.unlessEnded(markup.MatchAny(behind, " "+recipient, messageTag))
	}
	rest := chars.SkipSpace(behind)
	switch {
	case len(behind)-len(rest) > maxSpace:
		return sdk.No
	case len(rest) == 0:
		return p.unlessEnded(sdk.Maybe)
	}
	_, v = p.marker(rest, between)
	return p.unlessEnded(v)
}

// unlessEnded says that what the output ended in is what it may be.
func (p *parser) unlessEnded(v sdk.Verdict) sdk.Verdict {
	if v == sdk.Maybe && p.Ended {
		return sdk.Yes
	}
	return v
}

// valueGoesOn tells whether a header inside a body is text of a value, whose end comes behind it.
func (p *parser) valueGoesOn(behind []byte) sdk.Verdict {
	const far = 1024
	window := behind[:min(len(behind), far)]
	if i := bytes.Index(window, []byte(atemBlock)); i >= 0 {
		window = window[:i]
	}
	switch {
	case bytes.Contains(window, []byte("</atem:parameter>")):
		return sdk.Yes
	case len(window) < far && len(window) == len(behind) && !p.Ended:
		return sdk.Maybe
	}
	return sdk.No
}

// maxBehind is how much is kept of what a body was fed: a tag with a name, or what stands between a
// body's end and what shows that it is the end.
const maxBehind = callobject.MaxName + 32

// leaveOut leaves the end of a header out that stands behind a name which the header has too.
func (p *parser) leaveOut(b []byte) (done, wait bool) {
	if p.msg.name == "" || !bytes.HasSuffix(p.Last(maxBehind), []byte(`<atem:invoke name="`+p.msg.name)) {
		return false, false
	}
	switch markup.Match(b, messageTag) {
	case sdk.Yes:
		p.Advance(len(messageTag))
		p.left += len(messageTag)
		p.Out.Repair("stray_markup")
		return true, false
	case sdk.Maybe:
		return false, !p.Ended
	}
	return false, false
}

func (p *parser) finishBody(reason sdk.Reason) {
	p.body.Finish(reason, &p.inner)
	p.forward()
}

// forward passes the events of the other parser on.
func (p *parser) forward() {
	p.events, _ = abi.DecodeEvents(p.events[:0], p.inner.Take()) // they are ours
	for _, e := range p.events {
		switch e.Kind {
		case abi.CallStart:
			if p.alone && sdk.FindTool(p.Tools, e.Name) == nil {
				p.Out.Malformed(p.From, p.From+len(atemBlock))
				return
			}
			p.text.call()
			p.Out.CallStart(e.Name, e.ID)
		case abi.Args:
			p.Out.Args([]byte(e.Text))
		case abi.CallEnd:
			p.Out.CallEnd()
		case abi.Repair:
			p.Out.Repair(e.Name)
		case abi.Cut:
			p.Out.Cut()
		case abi.Malformed:
			p.Out.Malformed(p.From+e.From, p.From+e.To+p.left)
		case abi.End:
			p.Return(p.From + e.To + p.left)
			p.endBody(inCall)
			p.fresh = true
		default: // a body holds no text of the answer
		}
	}
}
