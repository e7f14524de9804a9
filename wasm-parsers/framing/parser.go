package framing

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// parser reads one region: a row of messages. Text waits until it is clear what
// it is.
type parser struct {
	*format
	markup.Buffer

	out   *sdk.Out
	where place
	from  int // what is given back if a call turns out to be none: its message, or what follows the call before it
	ended bool

	text  writer
	msg   message
	empty bool // the message that calls has held nothing
	fresh bool // and no text since it or a body of another parser began
	half  bool // the output ended in the first tag of a body
	json  jsonCalls
	body  sdk.Parser // the other parser, while it reads
	inner sdk.Out    // what it says
	opts  sdk.Options
}

func newParser(f *format, o sdk.Options) *parser {
	return &parser{format: f, where: between, opts: o, json: jsonCalls{call: callobject.New(f.keys, o.MaxDepth), list: f.body == callsJSON}}
}

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	p.Append(text)
	p.run(out)
}

func (p *parser) run(out *sdk.Out) {
	p.out, p.text.out = out, out
	for !out.Ended() && len(p.Rest()) > 0 && p.step() {
	}
	p.json.flush(out)
	p.Drop()
}

// step reads something, or reports that it needs more text.
func (p *parser) step() bool {
	switch {
	case p.body != nil:
		return p.readBody()
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
	b := markup.SkipSpace(p.Rest())
	p.AdvanceTo(b)
	if len(b) == 0 {
		return false
	}
	m, v := p.marker(b, between)
	switch {
	case v == sdk.Yes:
		p.act(m)
	case v == sdk.Maybe && !p.ended:
		return false
	default:
		p.begin(message{kind: isContent})
	}
	return true
}

// act does what a marker at the front of the rest says.
func (p *parser) act(m *marker) {
	if p.where == inCall {
		p.endCall()
	}
	if p.where != inHeader {
		p.from = p.At()
	}
	if m.does == heads {
		p.from = p.At()
		p.where = inHeader
		return // the header keeps its marker
	}
	p.Advance(len(m.text))
	switch m.does {
	case answers:
		p.begin(message{kind: isContent})
	case thinks:
		p.begin(message{kind: isReasoning})
	case calls:
		p.begin(message{kind: isCall})
	default:
		p.where = between
	}
}

// begin begins the text or the call of a message.
func (p *parser) begin(m message) {
	p.msg = m
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
		p.json.none(p.out)
	}
	p.json.settle(p.out)
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

// readBad skips the rest of a message whose call is none, and gives the message back.
func (p *parser) readBad() bool {
	n, _, v := p.find(inText | inCall)
	p.Advance(n)
	if v == sdk.Yes {
		p.out.Malformed(p.from, p.At())
	}
	return false
}

// find finds the next marker of a place, or what may be the first part of one at the
// end of the text.
func (p *parser) find(where place) (n int, m *marker, v sdk.Verdict) {
	b := p.Rest()
	for n < len(b) {
		i := bytes.IndexByte(b[n:], '<')
		if i < 0 {
			break
		}
		n += i
		if m, v = p.marker(b[n:], where); v == sdk.Yes || v == sdk.Maybe && !p.ended {
			return n, m, v
		}
		n++
	}
	return len(b), nil, sdk.No
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
		case v == sdk.Maybe && !p.ended:
			return false
		}
	}
	p.empty = p.empty && markup.IsSpace(b[0])
	done := p.json.done
	n, status := p.json.read(b, p.out)
	p.Advance(n)
	if p.json.done > done {
		p.from = p.At()
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
	p.json.raw, p.json.whole = raw[:0], false
	if p.text.begin(isContent); !whole {
		p.begin(message{kind: isContent})
	}
	p.text.write(raw)
}

// Finish implements sdk.Parser.
func (p *parser) Finish(reason sdk.Reason, out *sdk.Out) {
	p.ended = true
	p.run(out)
	if out.Ended() {
		return
	}
	all := p.Fed()
	switch {
	case p.body != nil:
		p.finishBody(reason)
		if !out.Ended() {
			out.End(all)
		}
	case p.isComplete(reason):
		out.End(all)
	case reason == sdk.Length && p.where != inBad:
		out.Cut()
		out.End(all)
	default:
		out.Malformed(p.from, all)
	}
}

// isComplete reports whether the output may end where it did, and ends a call that is
// complete there. A model that stops right behind a header has no arguments to give:
// the server cuts the marker off that ends the message.
func (p *parser) isComplete(reason sdk.Reason) bool {
	switch {
	case p.where == inHeader, p.where == inBad, p.half:
		return false // the header of a call: others are dropped
	case p.where != inCall:
		return true
	case p.json.waits, p.empty && p.msg.name != "" && reason == sdk.Stop:
		p.endCall()
		return true
	}
	return p.json.sure() || p.format.body == nested && !p.empty
}
