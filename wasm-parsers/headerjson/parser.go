package headerjson

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// state is what a parser expects next.
type state uint8

const (
	inStart   state = iota // the rest of the marker that begins the region
	inSection              // the first call
	inHead                 // a call's header
	atBody                 // the first byte of its arguments
	inFence                // the rest of what begins a block of code
	inObject               // the arguments
	inScalar               // arguments that are a string or null
	inText                 // a body that is no JSON
	afterBody              // what ends the call
	between                // another call, or the end of the section
	afterArgs              // what may follow a call that ends with its arguments
)

// parser reads one region.
type parser struct {
	region.Region
	*format

	first  *format // whose others are looked at where a region begins
	call   callobject.Reader
	text   text
	state  state
	looked int    // how much of the header was looked at
	braces int    // closing ones behind the arguments that close nothing
	code   bool   // the arguments are in a block of code that is open
	words  []byte // text in front of the first call of a section
	called int    // where the call at hand begins
	strays int    // markers that stand where they mark nothing, and were not reported
	next   resync
}

// Reset implements sdk.Reusable.
func (p *parser) Reset(o sdk.Options) error {
	*p = parser{
		Region: p.Region, format: p.first, first: p.first, call: p.call, next: resync{marker: p.first.open},
		text: text{raw: p.text.raw[:0], escaped: p.text.escaped[:0]}, words: p.words[:0],
	}
	p.Begin(p, o)
	p.call.Init(callobject.Keys{}, o.MaxDepth)
	return nil
}

// Step implements region.Format.
func (p *parser) Step() bool {
	switch p.state {
	case inFence:
		return p.readFence()
	case inObject:
		return len(p.Rest()) > 0 && p.readObject()
	case inScalar:
		return len(p.Rest()) > 0 && p.readScalar()
	case inText:
		return len(p.Rest()) > 0 && p.readText()
	case afterArgs:
		return len(p.Rest()) > 0 && p.readBehind()
	case inStart:
		return p.readMark()
	}
	return p.SkipSpace() && p.stepMarked()
}

// stepMarked is Step where white space may stand in front of what is read.
func (p *parser) stepMarked() bool {
	switch p.state {
	case inHead:
		return p.dropAgain(p.open) && p.readHead()
	case atBody:
		return p.dropAgain(p.sep) && p.SkipSpace() && p.readBody(p.Rest()[0])
	default:
		return p.readMark()
	}
}

// dropAgain drops a marker that was read and comes once more. It reports false where more text is needed.
func (p *parser) dropAgain(marker string) bool {
	rest, n, v := again(p.Rest(), marker)
	if n > 0 {
		p.AdvanceTo(rest)
		p.looked = 0
		p.strays += n
	}
	return v == sdk.Yes
}

// maxHead is how long a header may be, with the white space in it.
const maxHead = 3 * callobject.MaxName

func (p *parser) readHead() bool {
	b := p.Rest()
	for ; p.looked < len(b); p.looked++ {
		c, h, v := b[p.looked], header{}, sdk.Maybe
		if endsHeader(c) || c == '\n' && p.sep == "\n" {
			h, v = p.header(b[:p.looked+1])
		}
		if v == sdk.Yes {
			return p.beginCall(h)
		}
		if v == sdk.No || p.looked+1 == maxHead {
			p.Out.Malformed(p.From, p.At()+p.looked)
			return false
		}
	}
	return false
}

// endsHeader tells the last bytes of what ends a header.
func endsHeader(c byte) bool { return c == '>' || c == ']' || c == '{' || c == '`' }

// beginCall begins the call of a header. The byte of the arguments that may have
// ended it is read again.
func (p *parser) beginCall(h header) bool {
	name, id, ok := p.nameOf(h, p.Tools)
	if !ok {
		p.Out.Malformed(p.From, p.At()+p.looked)
		return false
	}
	p.Advance(h.n)
	p.strays += h.strays
	p.call.ResetArgs(name)
	p.call.ID = id
	p.state, p.code, p.braces = atBody, false, 0
	p.next.reset()
	if p.textKey != "" {
		p.beginText()
	}
	return true
}

// mark is what a marker means.
type mark uint8

const (
	noMark mark = iota
	aSection
	aCall
	callEnd
	sectionEnd
	turnEnd
	fenceEnd
)

// readMark reads a marker.
func (p *parser) readMark() bool {
	if p.state == inStart {
		p.choose()
	}
	switch m, n, v := p.mark(p.Rest()); v {
	case sdk.Yes:
		at := p.At()
		p.Advance(n)
		p.act(m, at)
		return true
	case sdk.No:
		return p.unmarked()
	default:
		return false
	}
}

// begins tells whether b begins with a marker that begins a region.
func (f *format) begins(b []byte) sdk.Verdict {
	return markup.Either(markup.MatchAny(b, f.sections...), markup.Match(b, f.open))
}

// choose takes the spelling of the markers that the region begins with.
func (p *parser) choose() {
	best := p.first.begins(p.Rest())
	for i := range p.first.others {
		if f := &p.first.others[i]; f.begins(p.Rest()) > best {
			best = f.begins(p.Rest())
			p.format, p.next = f, resync{marker: f.open}
		}
	}
}

// mark tells which of the markers that may stand here b begins with, and its length.
func (p *parser) mark(b []byte) (found mark, n int, verdict sdk.Verdict) {
	try := func(m mark, here bool, markers ...string) {
		for _, marker := range markers {
			if !here || verdict == sdk.Yes {
				return
			}
			if v := markup.MatchTag(b, marker); v != sdk.No {
				found, n, verdict = m, len(marker), markup.Either(v, verdict)
			}
		}
	}
	try(aSection, p.state == inStart || p.state == inSection, p.sections...)
	try(aCall, true, p.open)
	try(callEnd, p.state == afterBody || p.state == between, p.end)
	try(sectionEnd, p.state != inStart, p.sectionEnds...)
	try(turnEnd, p.state == afterBody, p.turnEnds...)
	try(fenceEnd, p.code, fence)
	return found, n, verdict
}

// act acts on a marker that began at byte at and was read.
func (p *parser) act(m mark, at int) {
	switch m {
	case fenceEnd:
		p.code = false
		return
	case callEnd:
		if p.state == between { // once more
			p.Out.Repair(strayMarkup)
			p.From = p.At()
			return
		}
		p.endCall(p.At())
		if p.state = between; len(p.sections) == 0 {
			p.End()
		}
		return
	}
	if p.state == afterBody { // the end of the call is missing
		p.endCall(at)
		if len(p.sections) == 0 || m == turnEnd {
			p.Out.End(at)
			return
		}
	}
	switch m {
	case aSection:
		if p.state == inSection { // once more
			p.strays++
		}
		p.state = inSection
	case aCall:
		p.state, p.looked, p.called = inHead, 0, at
	case sectionEnd:
		p.End()
	}
}

// unmarked acts on text where a marker could be.
func (p *parser) unmarked() bool {
	switch {
	case p.state == between:
		p.Out.End(p.From)
	case p.state == afterBody && p.Rest()[0] == '}' && p.braces < maxBraces:
		p.call.Repair()
		p.braces++
		p.Advance(1)
		return true
	case p.state == inSection:
		return p.readWords()
	default:
		return p.RefuseHere()
	}
	return false
}

// readWords reads what stands in a section where a call should begin: the call without its first marker,
// or text in front of it.
func (p *parser) readWords() bool {
	b := p.Rest()
	if p.openless && len(b) < maxHead {
		switch _, v := p.header(b); v {
		case sdk.Yes:
			p.state, p.looked = inHead, 0
			return true
		case sdk.Maybe:
			return false
		}
	}
	switch n, v := p.wordsBefore(b); {
	case v == sdk.Yes:
		p.words = append(p.words[:0], b[:n]...)
		p.Advance(n)
		return true
	case v == sdk.Maybe && !p.Ended:
		return false
	}
	return p.RefuseHere()
}

// strayMarkup reports markup that stands where it ends nothing.
const strayMarkup = "stray_markup"

// maxBraces is how many closing braces behind complete arguments are dropped.
const maxBraces = 2

// readBehind drops braces that touch the arguments of a call that has ended with them.
func (p *parser) readBehind() bool {
	if p.Rest()[0] != '}' || p.braces == maxBraces {
		return p.End()
	}
	p.Out.Repair("args_json")
	p.braces++
	p.Advance(1)
	p.From = p.At()
	return true
}

// sayWords passes on the text in front of the first call of a section, which begins now.
func (p *parser) sayWords() {
	if len(p.words) > 0 {
		p.Out.Content(p.words)
		p.words, p.From = p.words[:0], p.called
	}
}

// endCall ends the call, which is complete, and the region up to byte to with it.
func (p *parser) endCall(to int) {
	p.sayWords()
	for ; p.strays > 0; p.strays-- {
		p.Out.Repair(strayMarkup)
	}
	p.call.End(p.Out)
	p.From = to
}

// Over implements region.Format. The end of the output makes a complete call sure.
func (p *parser) Over() {
	all := p.Fed()
	switch {
	case p.state == inText && p.finishText():
	case p.state == afterBody:
		p.endCall(all)
		p.Out.End(all)
	case p.state == between, p.state == afterArgs:
		p.Out.End(all)
	case p.Cut && p.state != inStart:
		p.Out.Cut()
		p.Out.End(all)
	default:
		p.Out.Malformed(p.From, p.next.or(all))
	}
}
