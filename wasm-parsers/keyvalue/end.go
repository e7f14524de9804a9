package keyvalue

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// endCall ends the call, which is sure now, and the region with it if that is no
// wrapper's.
func (p *parser) endCall() {
	if p.isJSON {
		p.CloseArgs()
		p.json.Report(p.Out)
		p.isJSON = false
	}
	for ; p.strays > 0; p.strays-- {
		p.Out.Repair(strayMarkup)
	}
	p.EndCall()
	p.state = afterCall
	if p.format.wrap == "" {
		p.End()
	}
}

// strayMarkup reports markup that stands where it marks nothing.
const strayMarkup = "stray_markup"

// readAfterCall reads what may follow a call. Behind one without a wrapper its end
// may stand all the same: models forget its beginning alone.
func (p *parser) readAfterCall() bool {
	b := p.Rest()
	if markup.MatchTag(b, p.wrapClose) == sdk.Yes {
		p.Advance(len(p.wrapClose))
		return p.End()
	}
	switch twice := markup.MatchTag(b, p.callClose); {
	case twice == sdk.Yes:
		p.Advance(len(p.callClose))
		p.From = p.At()
		p.Out.Repair(strayMarkup)
		return true
	case twice == sdk.Maybe && !p.Ended:
		return false
	}
	call := sdk.No
	if p.wrapped {
		call = markup.MatchTag(b, p.callOpen)
	}
	switch {
	case call == sdk.Yes:
		p.state = atCall
		return true
	case call == sdk.No && markup.MatchTag(b, p.wrapClose) == sdk.No:
		p.Out.End(p.From) // the wrapper's end is missing
	}
	return false
}

// Over implements region.Format. The end of the output makes a complete call sure.
func (p *parser) Over() {
	all := p.Fed()
	switch {
	case p.state == afterCall && markup.MatchTag(p.Rest(), p.wrapClose) == sdk.Maybe:
		p.Out.End(all) // nothing, or half an end tag
	case p.state == afterCall:
		p.Out.End(p.From)
	case p.state == inCall && p.Started && p.halfEnd():
		p.AdvanceTo(nil)
		p.endCall()
		if !p.Out.Ended() {
			p.Out.End(all)
		}
	default:
		p.Lose()
	}
}

// halfEnd reports whether the output ended behind a value in a way that leaves no
// argument out: the model has ended, or it had begun an end tag.
func (p *parser) halfEnd() bool {
	half := markup.MatchAny(p.Rest(), p.callClose, p.wrapClose) == sdk.Maybe
	return half && (!p.Cut || len(p.Rest()) > 1)
}
