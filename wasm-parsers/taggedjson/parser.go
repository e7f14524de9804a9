package taggedjson

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// state is what a parser expects next.
type state uint8

const (
	inStart  state = iota // the rest of the opening
	atBody                // the body's first bracket, or the name in front of it
	inObject              // the rest of a call
	afterCall
	afterComma // another object, if the comma was not trailing
	afterEnd   // what may still belong to the region
	inLine     // the rest of a line that is no call
	inOther    // the rest of an element of a list that is no call
)

// parser reads one region.
type parser struct {
	region.Region
	*format

	form    *form             // nil until the opening was read
	call    callobject.Reader // of an object
	state   state
	lastEnd int    // end of the last object, then of the region
	array   bool   // the body is an array that is still open
	listed  bool   // the body is an array
	unsure  bool   // the object is complete, its call is not sure yet
	resync  resync // of the object
	braces  int    // closing ones behind the object that close nothing
	lines
}

// Reset implements sdk.Reusable.
func (p *parser) Reset(o sdk.Options) error {
	p.form, p.state, p.lastEnd, p.array, p.unsure = nil, inStart, 0, false, false
	p.listed = false
	p.braces, p.lines = 0, lines{bad: p.bad[:0], line: p.line[:0]}
	p.resync = resync{}
	p.Begin(p, o)
	return nil
}

// Step implements region.Format.
func (p *parser) Step() bool {
	switch p.state {
	case inStart:
		return p.readOpening()
	case inObject:
		return len(p.Rest()) > 0 && p.readObject()
	case afterCall:
		if p.form.close == "" && !p.array {
			return p.endRegion()
		}
	case atBody:
		if p.named {
			return p.readName()
		}
	case afterEnd:
		return p.readBehind()
	case inLine:
		return len(p.Rest()) > 0 && p.readLine()
	case inOther:
		return len(p.Rest()) > 0 && p.readOther()
	}
	return p.readBetween()
}

// readBetween reads what stands around the objects.
func (p *parser) readBetween() bool {
	p.see(p.Rest())
	if !p.SkipSpace() {
		return false
	}
	c := p.Rest()[0]
	if p.state == afterCall {
		return p.readAfter(c)
	}
	return p.readBody(c)
}

func (p *parser) readOpening() bool {
	form, n, verdict := p.begin(p.Rest())
	switch verdict {
	case sdk.Maybe:
		return false
	case sdk.No:
		return p.Refuse(n)
	}
	p.Advance(n)
	p.form, p.state = form, atBody
	keys := p.keys
	if form.loose { // only the most usual key: a list of tools has names and parameters too
		keys.Args = keys.Args[:1]
	}
	p.call.Init(keys, p.MaxDepth)
	return true
}

// readBody reads up to the next object.
func (p *parser) readBody(c byte) bool {
	first := p.state == atBody
	switch {
	case c == '{' && (p.array || p.form.mayBeObject()):
		p.endCall()
		p.beginObject()
		return true
	case c == '[' && !p.Began && p.form.body != objectBody:
		p.Began, p.array, p.listed = true, true, true
	case c == ']' && first && p.array && p.form.mayBeEmpty():
		p.array, p.state = false, afterCall
	case !first && p.inList() && isValue(c):
		return p.beginOther(c)
	case !first:
		return p.readTrailing(c)
	default:
		return p.RefuseHere()
	}
	p.Advance(1)
	return true
}

// readTrailing repairs a comma that no object follows.
func (p *parser) readTrailing(c byte) bool {
	p.state = afterCall
	if p.unsure {
		p.call.Repair()
	} else if c == ']' && p.From > 0 {
		p.Out.Repair("args_json") // the call before it has ended
	}
	return p.readEnd(c)
}

// readName reads the name in front of the arguments, up to their first brace.
func (p *parser) readName() bool {
	b := p.Rest()
	for n, c := range b {
		if c == '{' {
			if name := p.nameOf(b[:n]); name != "" {
				p.Advance(n)
				p.call.ResetArgs(name)
				p.state, p.Began = inObject, true
				return true
			}
		}
		if c < ' ' && !chars.IsSpace(c) || c == '{' || n == callobject.MaxName+len(p.separator)+maxSpace {
			return p.Refuse(p.At() + n)
		}
	}
	return false
}

// nameOf is the name in head, which ends with the separator, or "".
func (f *format) nameOf(head []byte) string {
	name, found := bytes.CutSuffix(chars.TrimSpace(head), []byte(f.separator))
	name = chars.TrimSpace(name)
	if !found || len(name) > callobject.MaxName || bytes.ContainsAny(name, " \t\r\n") {
		return ""
	}
	return string(name)
}

func (p *parser) beginObject() {
	if p.keyed {
		p.call.ResetKeyed()
	} else {
		p.call.Reset()
	}
	p.state, p.Began = inObject, true
	p.braces, p.broken, p.line, p.object = 0, false, p.line[:0], p.At()
	p.resync = resync{end: p.form.close, start: p.form.open[0]}
}

// readObject reads what there is of an object.
func (p *parser) readObject() bool {
	b, at, status := p.Rest(), p.At(), callobject.More
	for len(b) > 0 && status == callobject.More {
		if p.call.LacksBrace() {
			if v := p.endsObject(b); v == sdk.Yes {
				p.call.Repair()
				status = p.show(callobject.Done)
				break
			} else if v == sdk.Maybe {
				break
			}
		}
		var n int
		n, status = p.call.Feed(b)
		b = b[n:]
		if !p.call.Shown() {
			status = p.show(status)
		}
	}
	read := p.Rest()[:len(p.Rest())-len(b)]
	if len(p.resync.end) > 1 {
		p.resync.read(read, at)
	}
	p.Advance(len(read))
	p.keep(read)
	p.call.Pass(p.Out)
	switch status {
	case callobject.Bad:
		switch {
		case p.call.Shown() || p.resync.found > 0:
		case p.oneLine:
			return p.beginLine()
		case p.inList():
			p.state = inOther
			return true
		}
		return p.Refuse(p.badEnd(p.At()))
	case callobject.Done:
		p.state, p.unsure, p.lastEnd = afterCall, true, p.At()
	case callobject.More:
		return false
	}
	return true
}

// show begins the call if it can begin, or says that it is none.
func (p *parser) show(status callobject.Status) callobject.Status {
	switch {
	case p.form.loose && !p.wanted(status):
		return callobject.Bad
	case p.certain(status) && !p.call.Shown():
		if len(p.bad) > 0 {
			p.writeBad(true)
			p.From = p.object // should this be no call after all, what was said is not given back again
		}
		p.line = p.line[:0]
		p.call.Show(p.Out)
	}
	return status
}

// badEnd is the end of a block that was read up to byte at.
func (p *parser) badEnd(at int) int {
	if p.resync.found > 0 {
		return p.resync.found
	}
	return at
}

// wanted reports whether what was read of an object may be a call although its
// markers are ordinary text.
func (p *parser) wanted(status callobject.Status) bool {
	if p.call.Name != "" && sdk.FindTool(p.Tools, p.call.Name) == nil {
		return false
	}
	return status != callobject.Done || p.call.HasArgs()
}

// maxWait is how many bytes of arguments wait for an id behind them, or for the end of their line.
const maxWait = 256

// certain reports whether the call can begin.
func (p *parser) certain(status callobject.Status) bool {
	if !p.call.Certain() || !p.lateID && !p.oneLine || p.call.ID != "" {
		return p.call.Certain()
	}
	return status == callobject.Done || len(p.call.Args) > maxWait
}
