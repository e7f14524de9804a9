package framing

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// parser reads one region: a row of messages.
type parser struct {
	region.Region // From is what is given back if a call turns out to be none: its message, or what follows the call before it
	*format

	where  place
	text   writer
	begun  bool // something was read
	msg    message
	brace  marker  // of arguments, which ends a header that has lost its end
	empty  bool    // the message that calls has held nothing
	fresh  bool    // and no text since it or a body of another parser began
	half   bool    // the output ended in the first tag of a body
	ended  *marker // the end of the header in front, which may come once more
	looked int     // place of the first byte that may yet be the end of a header
	json   jsonCalls
	body   sdk.Parser // the other parser, while it reads
	inner  sdk.Out    // what it says
	alone  bool       // no header says that the body is a call
	left   int        // bytes of the body that were left out
	opts   sdk.Options

	other  sdk.Reusable // the other parser, once it was needed
	events []sdk.Event  // memory for what it says
}

// Reset implements sdk.Reusable.
func (p *parser) Reset(o sdk.Options) error {
	*p = parser{
		Region: p.Region, format: p.format, where: between, json: p.json, opts: o,
		inner: p.inner, other: p.other, events: p.events, brace: marker{does: endsHead},
	}
	p.Begin(p, o)
	p.json.call.Init(p.keys, o.MaxDepth)
	p.json.list = p.format.body == callsJSON
	p.json.begin("", "")
	return nil
}

// Step implements region.Format.
func (p *parser) Step() bool {
	p.text.out = p.Out
	if len(p.Rest()) > 0 && p.step() {
		return true
	}
	p.json.flush(p.Out)
	return false
}

// step reads something, or reports that it needs more text.
func (p *parser) step() bool {
	switch {
	case p.body != nil:
		return p.readBody()
	case p.ended != nil:
		return p.dropAgain()
	case p.where == inHeader:
		return p.readHeader()
	case p.where == inText:
		return p.readText()
	case p.where == inCall && p.format.body == nested:
		return p.readNested()
	case p.where == inCall:
		return p.readCall()
	case p.where == inBad:
		return p.readBad()
	default:
		return p.readBetween()
	}
}

// readBetween reads what stands outside of the messages. Text that is no markup is
// text of the answer.
func (p *parser) readBetween() bool {
	b := chars.SkipSpace(p.Rest())
	p.AdvanceTo(b)
	if len(b) == 0 {
		return false
	}
	m, v := p.marker(b, between)
	switch {
	case v == sdk.Yes:
		p.act(m)
	case v == sdk.Maybe && !p.Ended:
		return false
	case p.bareHead && !p.begun:
		p.where = inHeader
	default:
		p.beginMessage(message{kind: isContent})
	}
	p.begun = true
	return true
}

// act does what a marker at the front of the rest says.
func (p *parser) act(m *marker) {
	if p.where == inCall {
		p.endCall()
	}
	if p.where != inHeader {
		p.From = p.At()
	}
	if m.does == nests {
		p.From, p.alone = p.At(), true
		p.beginMessage(message{kind: isCall})
		return
	}
	if m.does == heads {
		p.From = p.At()
		p.where = inHeader
		return // the header keeps its marker
	}
	p.Advance(len(m.text))
	switch m.does {
	case answers:
		p.beginMessage(message{kind: isContent})
	case thinks:
		p.beginMessage(message{kind: isReasoning})
	case calls:
		p.beginMessage(message{kind: isCall})
	default:
		p.where = between
	}
}

// beginMessage begins the text or the call of a message.
func (p *parser) beginMessage(m message) {
	p.msg = m
	p.alone = m.kind == isCall && p.format.body == nested && m.name == ""
	if m.kind == isCall {
		p.where, p.empty, p.fresh = inCall, true, true
		p.text.call()
		p.json.begin(m.name, m.id)
		return
	}
	p.where = inText
	p.text.begin(m.kind)
}

// endCall ends a message that calls. One that names a function and holds nothing
// calls it without arguments.
func (p *parser) endCall() {
	if p.empty && p.msg.name != "" {
		c := callobject.Call{Name: p.json.name, ID: p.json.id, Args: []byte("{}")}
		if p.format.body == nested {
			c.Name = region.Undoubled(c.Name, p.opts.Tools)
		}
		c.Write(p.Out)
		p.json.done++
	}
	p.json.settle(p.Out)
	p.empty = false
}

// readText passes on text up to the next marker.
func (p *parser) readText() bool {
	n, m, v := p.find(p.where)
	p.text.write(p.Rest()[:n])
	p.Advance(n)
	if v == sdk.Yes {
		p.act(m)
	}
	return v == sdk.Yes
}

// headerAt tells whether b, which stands in text whose message has no end, begins with a recipient
// and the end of a header.
func headerAt(b []byte, start string) sdk.Verdict {
	if v := markup.Match(b, start); v != sdk.Yes {
		return v
	}
	b = b[len(start):]
	name := word(b[:min(len(b), callobject.MaxName+1)]) // no text is looked at for many
	rest := b[len(name):]
	switch {
	case len(name) > callobject.MaxName, len(rest) > 0 && !validName(name):
		return sdk.No
	case len(rest) == 0:
		return sdk.Maybe
	}
	return markup.Match(rest, messageTag)
}

// readBad skips the rest of a message whose call is none, and gives the message back.
func (p *parser) readBad() bool {
	n, _, v := p.find(inText | inCall)
	p.Advance(n)
	if v == sdk.Yes {
		p.Out.Malformed(p.From, p.At())
	}
	return false
}

// find finds the next marker of a place, or what may be the first part of one at the
// end of the text.
func (p *parser) find(where place) (n int, m *marker, v sdk.Verdict) {
	b := p.Rest()
	for n < len(b) {
		i := p.next(b[n:], where)
		if i < 0 {
			break
		}
		n += i
		if b[n] == '<' {
			m, v = p.marker(b[n:], where)
		} else {
			m, v = p.inline, headerAt(b[n:], p.inline.text)
		}
		if v == sdk.Yes || v == sdk.Maybe && !p.Ended {
			return n, m, v
		}
		n++
	}
	return len(b), nil, sdk.No
}

// next is where the next marker of a place, or a header in text, may begin in b, or -1.
func (p *parser) next(b []byte, where place) int {
	if p.inline == nil || where != inText {
		return bytes.IndexByte(b, '<')
	}
	return bytes.IndexFunc(b, func(r rune) bool { return r == '<' || r == rune(p.inline.text[0]) })
}

// readCall reads the JSON of a call, and what may follow it.
func (p *parser) readCall() bool {
	b := p.Rest()
	if !p.json.open {
		m, v := p.marker(b, inCall)
		switch {
		case v == sdk.Yes:
			p.act(m)
			return true
		case v == sdk.Maybe && !p.Ended:
			return false
		}
	}
	if p.json.lacksBrace(b) {
		rest := chars.SkipSpace(b)
		v := sdk.Yes
		if rest[0] == '<' {
			_, v = p.marker(rest, inCall)
		}
		switch {
		case v == sdk.Yes:
			p.json.closeObject(p.Out)
			p.From = p.At()
			return true
		case v == sdk.Maybe && !p.Ended:
			return false
		}
	}
	p.empty = p.empty && chars.IsSpace(b[0])
	done := p.json.done
	n, status := p.json.read(b, p.Out)
	p.Advance(n)
	if p.json.done > done {
		p.From = p.At()
	}
	if status == callobject.Bad {
		p.badCall()
	}
	return true
}

// badCall turns what is no call into text of the answer. If some of it was given
// out as a call the whole message is given back, or what of it follows the last call.
func (p *parser) badCall() {
	if p.json.shown {
		p.where = inBad
		return
	}
	raw, whole := p.json.raw, p.json.whole
	if p.json.done == 0 || len(raw) > 0 { // else it is text behind a call
		p.Out.Repair("broken_call")
	}
	p.json.raw, p.json.whole = raw[:0], false
	if p.text.begin(isContent); !whole {
		p.beginMessage(message{kind: isContent})
	}
	p.text.write(raw)
}

// Over implements region.Format.
func (p *parser) Over() {
	p.Began = p.where != inBad
	switch {
	case p.body != nil:
		reason := sdk.Stop
		if p.Cut {
			reason = sdk.Length
		}
		p.finishBody(reason)
		if !p.Out.Ended() {
			p.Out.End(p.Fed())
		}
	case p.isComplete():
		p.Out.End(p.Fed())
	default:
		p.Lose()
	}
}

// isComplete reports whether the output may end where it did, and ends a call that is
// complete there. A model that stops right behind a header has no arguments to give:
// the server cuts the marker off that ends the message.
func (p *parser) isComplete() bool {
	switch {
	case p.where == inHeader, p.where == inBad, p.half:
		return false // the header of a call: others are dropped
	case p.where != inCall:
		return true
	case p.json.waits, p.empty && p.msg.name != "" && !p.Cut:
		p.endCall()
		return true
	}
	return p.json.sure() || p.format.body == nested && !p.empty
}
