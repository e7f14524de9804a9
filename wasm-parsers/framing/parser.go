package framing

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// maxHeader is how many bytes a header may have. Longer ones are text.
const maxHeader = 512

// parser reads one region: a row of messages. Text waits in buf until it is clear
// what it is.
type parser struct {
	*format

	out   *sdk.Out
	where place
	buf   []byte
	used  int // bytes at the front of buf that were read
	pos   int // of the first byte of buf in the region
	from  int // where the message at hand begins in the region
	ended bool
	cut   bool

	text writer
	msg  message
	json jsonCalls
	body sdk.Parser // the other parser, while it reads
	opts sdk.Options
}

func newParser(f *format, o sdk.Options) *parser {
	return &parser{format: f, where: between, opts: o, json: jsonCalls{call: callobject.New(f.keys, o.MaxDepth), list: f.body == callsJSON}}
}

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	p.buf = append(p.buf, text...)
	p.run(out)
}

func (p *parser) run(out *sdk.Out) {
	p.out, p.text.out = out, out
	for !out.Ended() && p.used < len(p.buf) && p.step() {
	}
	if p.json.open {
		p.json.flush(out)
	}
	p.pos += p.used
	p.buf = p.buf[:copy(p.buf, p.buf[p.used:])]
	p.used = 0
}

// rest is the text that was not read yet.
func (p *parser) rest() []byte { return p.buf[p.used:] }

// at is the place of the next byte in the region.
func (p *parser) at() int { return p.pos + p.used }

// step reads something, or reports that it needs more text.
func (p *parser) step() bool {
	switch {
	case p.body != nil:
		return p.readBody()
	case p.where == inHeader:
		return p.readHeader()
	case p.where == inText:
		return p.readText()
	case p.where == inCall:
		return p.readCall()
	default:
		return p.readBetween()
	}
}

// readBetween reads what stands outside of the messages. Text that is no markup is
// text of the answer.
func (p *parser) readBetween() bool {
	b := markup.SkipSpace(p.rest())
	p.used = len(p.buf) - len(b)
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
		p.json.end(p.out)
	}
	if m.does == heads {
		p.from = p.at()
		p.where = inHeader
		p.msg = message{}
		return // the header keeps its marker
	}
	if p.where == between {
		p.from = p.at()
	}
	p.used += len(m.text)
	switch m.does {
	case answers:
		p.begin(message{kind: isContent})
	case thinks:
		p.begin(message{kind: isReasoning})
	case calls:
		p.begin(message{kind: isCall})
	case skips, endsHead, nests, heads:
		p.where = between
	}
}

// begin begins the text or the call of a message.
func (p *parser) begin(m message) {
	p.msg = m
	switch m.kind {
	case isCall:
		p.where = inCall
		p.text.call()
		p.json.begin(m.name, m.id)
	case isNothing:
		p.where = between
	default:
		p.where = inText
		p.text.begin(m.kind)
	}
}

// readHeader reads a header to its end, which another marker may be.
func (p *parser) readHeader() bool {
	b := p.rest()
	for i := 1; i < len(b) && i <= maxHeader; i++ {
		if b[i] != '<' {
			if b[i] == '\n' {
				break
			}
			continue
		}
		m, v := p.marker(b[i:], inHeader)
		if v == sdk.Maybe && !p.ended {
			return false
		}
		if v != sdk.Yes {
			continue
		}
		header := b[:i]
		p.used += i
		if m.does == endsHead {
			msg := p.read(header)
			p.used += len(m.text)
			p.begin(msg)
			return true
		}
		p.act(m)
		return true
	}
	if !p.ended && len(b) <= maxHeader && bytes.IndexByte(b, '\n') < 0 {
		return false
	}
	return p.noHeader(b)
}

// noHeader gives text back that looked like a header. What is markup of its front
// is dropped, and so is a header at which the output ends.
func (p *parser) noHeader(b []byte) bool {
	switch {
	case b[0] != '<':
		p.begin(message{kind: isContent})
		p.text.write(b[:1])
		p.used++
	case p.ended && len(b) <= maxHeader && bytes.IndexByte(b, '\n') < 0:
		p.used = len(p.buf)
		p.where = between
	default:
		m, v := p.marker(b, between|inText|inCall)
		n := 1
		if v == sdk.Yes {
			n = len(m.text)
		}
		p.used += n
		p.where = between
	}
	return true
}

// readText passes on text up to the next marker.
func (p *parser) readText() bool {
	b := p.rest()
	n := 0
	for n < len(b) {
		i := bytes.IndexByte(b[n:], '<')
		if i < 0 {
			n = len(b)
			break
		}
		n += i
		m, v := p.marker(b[n:], inText)
		if v == sdk.Yes || v == sdk.Maybe && !p.ended {
			p.text.write(b[:n])
			p.used += n
			if v == sdk.Yes {
				p.act(m)
			}
			return v == sdk.Yes
		}
		n++
	}
	p.text.write(b[:n])
	p.used += n
	return n > 0
}

// readCall reads the JSON of a call, and what may follow it.
func (p *parser) readCall() bool {
	b := p.rest()
	if !p.json.open {
		if b = markup.SkipSpace(b); len(b) == 0 {
			p.used = len(p.buf)
			return false
		}
		p.used = len(p.buf) - len(b)
		if p.format.body == nested {
			return p.beginBody(b)
		}
		m, v := p.marker(b, inCall)
		switch {
		case v == sdk.Yes:
			if p.json.empty() {
				p.json.none(p.out)
			}
			p.act(m)
			return true
		case v == sdk.Maybe && !p.ended:
			return false
		}
	}
	n, status := p.json.read(b, p.out)
	p.used += n
	if status != callobject.Bad {
		return n > 0
	}
	if p.json.shown {
		p.out.Malformed(p.from, p.at())
		return false
	}
	p.begin(message{kind: isContent}) // no call: its text is not lost
	return true
}

// Finish implements sdk.Parser.
func (p *parser) Finish(reason sdk.Reason, out *sdk.Out) {
	p.ended, p.cut = true, reason == sdk.Length
	p.run(out)
	if out.Ended() {
		return
	}
	all := p.pos + len(p.buf)
	switch {
	case p.body != nil:
		p.finishBody(reason)
	case p.where != inCall || p.json.sure():
		p.json.end(out)
		out.End(all)
	case p.cut:
		out.Cut()
		out.End(all)
	default:
		out.Malformed(p.from, all)
	}
}

// writer writes texts of messages, two of one kind in lines of their own.
type writer struct {
	out  *sdk.Out
	kind kind
	last kind // of the last text
	any  bool // there was some
	gap  bool // the next text begins a message
}

func (w *writer) begin(k kind) { w.kind, w.gap = k, true }

// call notes that a call stands between texts.
func (w *writer) call() { w.any = false }

func (w *writer) write(b []byte) {
	if len(b) == 0 {
		return
	}
	write := w.out.Content
	if w.kind == isReasoning {
		write = w.out.Reasoning
	}
	if w.gap && w.any && w.last == w.kind {
		write([]byte{'\n'})
	}
	w.gap, w.any, w.last = false, true, w.kind
	write(b)
}

// beginBody begins a call that another parser reads.
func (p *parser) beginBody(b []byte) bool {
	for i := range p.markers {
		m := &p.markers[i]
		if m.does != nests {
			continue
		}
		switch markup.Match(b, m.text) {
		case sdk.Yes:
			body, err := p.nested(p.opts)
			if err != nil {
				break
			}
			p.from = p.at()
			p.body = body
			return true
		case sdk.Maybe:
			if !p.ended {
				return false
			}
		case sdk.No:
		}
	}
	p.begin(message{kind: isContent})
	return true
}

// readBody feeds the other parser, tags in one piece: what it gives back at the end of
// its region, which it may know by the tag behind it, is then still here.
func (p *parser) readBody() bool {
	const longest = 32 // of the tags behind a region
	b := p.rest()
	n := bytes.IndexByte(b[1:], '<') + 1
	if b[0] == '<' {
		n = bytes.IndexByte(b, '>') + 1
		if n == 0 && len(b) < longest && !p.ended {
			return false
		}
	}
	if n == 0 {
		n = len(b)
	}
	var inner sdk.Out
	p.body.Feed(b[:n], &inner)
	p.used += n
	p.forward(&inner)
	return true
}

func (p *parser) finishBody(reason sdk.Reason) {
	var inner sdk.Out
	p.body.Finish(reason, &inner)
	p.forward(&inner)
	if !p.out.Ended() {
		p.out.End(p.at())
	}
}

// forward passes the events of the other parser on.
func (p *parser) forward(inner *sdk.Out) {
	events, err := abi.DecodeEvents(nil, inner.Take())
	if err != nil {
		p.out.Malformed(p.from, p.at()) // cannot be: we made them
		return
	}
	for _, e := range events {
		switch e.Kind {
		case abi.CallStart:
			p.text.call()
			p.out.CallStart(e.Name, e.ID)
		case abi.Args:
			p.out.Args([]byte(e.Text))
		case abi.CallEnd:
			p.out.CallEnd()
		case abi.Repair:
			p.out.Repair(e.Name)
		case abi.Cut:
			p.out.Cut()
		case abi.Content:
			p.out.Content([]byte(e.Text))
		case abi.Reasoning:
			p.out.Reasoning([]byte(e.Text))
		case abi.Malformed:
			p.out.Malformed(p.from+e.From, p.from+e.To)
			return
		case abi.End:
			p.used -= min(p.at()-(p.from+e.To), p.used)
			p.body, p.where = nil, between
			return
		}
	}
}
