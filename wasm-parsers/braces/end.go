package braces

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// endCall ends the call, which is sure now.
func (p *parser) endCall(out *sdk.Out) {
	out.Args([]byte{'}'})
	if p.mended {
		out.Repair("args_json")
	}
	out.CallEnd()
	p.started, p.began = false, false
	p.from = p.At()
}

// readEnd reads what makes a call sure: its end, or what only comes behind it.
func (p *parser) readEnd(out *sdk.Out) bool {
	b := p.Rest()
	switch {
	case markup.Match(b, p.close) == sdk.Yes:
		p.Advance(len(p.close))
		p.endCall(out)
		out.End(p.At())
		return false
	case b[0] == '}' && p.spare < maxSpare:
		p.Advance(1)
		p.spare++
		p.mended = true
		return true
	}
	switch p.ends(b) {
	case sdk.Maybe:
		return false
	case sdk.No:
		return p.refuse(out)
	case sdk.Yes:
	}
	p.endCall(out)
	if markup.Match(b, call) == sdk.Yes {
		p.state = atCall
		return true
	}
	out.End(p.At())
	return false
}

// Finish implements sdk.Parser. The end of the output makes a complete call sure. A
// call that was cut off by a token limit is lost, and is not text either.
func (p *parser) Finish(reason sdk.Reason, out *sdk.Out) {
	p.ended, p.cut = true, reason == sdk.Length
	p.run(out)
	if out.Ended() {
		return
	}
	all := p.Fed()
	switch {
	case p.state == atEnd:
		if markup.Match(p.Rest(), p.close) == sdk.Maybe {
			p.AdvanceTo(nil) // nothing, or half an end
		}
		p.endCall(out)
		out.End(p.At())
	case p.cut && p.began:
		out.Cut()
		out.End(all)
	default:
		out.Malformed(p.from, all)
	}
}
