package keyvalue

import "github.com/callgate/callgate/sdk"

// endCall ends the call, which is sure now, and the region with it if that is no
// wrapper's.
func (p *parser) endCall(out *sdk.Out) {
	p.start(out)
	out.Args([]byte("}"))
	if p.mended {
		out.Repair("args_json")
	}
	out.CallEnd()
	p.started, p.mended, p.began = false, false, false
	p.from = p.At()
	p.state = afterCall
	if p.format.wrap == "" {
		out.End(p.from)
	}
}

// readAfterCall reads what may follow a call. Behind one without a wrapper its end
// may stand all the same: models forget its beginning alone.
func (p *parser) readAfterCall(out *sdk.Out) bool {
	b := p.Rest()
	if match(b, p.wrapClose) == sdk.Yes {
		p.Advance(len(p.wrapClose))
		out.End(p.At())
		return false
	}
	call := sdk.No
	if p.wrapped {
		call = match(b, p.callOpen)
	}
	switch {
	case call == sdk.Yes:
		p.state = atCall
		return true
	case call == sdk.No && match(b, p.wrapClose) == sdk.No:
		out.End(p.from) // the wrapper's end is missing
	}
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
	case p.state == afterCall && match(p.Rest(), p.wrapClose) == sdk.Maybe:
		out.End(all) // nothing, or half an end tag
	case p.state == afterCall:
		out.End(p.from)
	case p.state == inCall && p.started && p.halfEnd():
		p.AdvanceTo(nil)
		p.endCall(out)
		if !out.Ended() {
			out.End(all)
		}
	case p.cut && p.began:
		out.Cut()
		out.End(all)
	default:
		out.Malformed(p.from, all)
	}
}

// halfEnd reports whether the output ended behind a value in a way that leaves no
// argument out: the model has ended, or it had begun an end tag.
func (p *parser) halfEnd() bool {
	half := matchAny(p.Rest(), p.callClose, p.wrapClose) == sdk.Maybe
	return half && (!p.cut || len(p.Rest()) > 1)
}
