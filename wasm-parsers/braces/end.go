package braces

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// readEnd reads what makes a call sure: its end, or what only comes behind it.
func (p *parser) readEnd() bool {
	b := p.Rest()
	switch {
	case markup.Match(b, p.close) == sdk.Yes:
		p.Advance(len(p.close))
		p.EndCall()
		return p.End()
	case b[0] == '}' && p.spare < maxSpare:
		p.Advance(1)
		p.spare++
		p.Repaired = true
		return true
	}
	if !p.Require(p.ends(b)) {
		return false
	}
	p.EndCall()
	if markup.Match(b, call) == sdk.Yes {
		p.state = atCall
		return true
	}
	return p.End()
}

// Over implements region.Format. The end of the output makes a complete call sure.
func (p *parser) Over() {
	if p.state != atEnd {
		p.Lose()
		return
	}
	if markup.Match(p.Rest(), p.close) == sdk.Maybe {
		p.AdvanceTo(nil) // nothing, or half an end
	}
	p.EndCall()
	p.End()
}
