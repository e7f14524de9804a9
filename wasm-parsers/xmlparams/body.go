package xmlparams

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
)

// isCall reports whether b begins a call that is a JSON object.
func (p *parser) isCall(b []byte) bool { return p.jsonCall && p.wrapped && p.leads == 0 && b[0] == '{' }

// reader is the reader of JSON, which few calls need.
func (p *parser) reader() *callobject.Reader {
	if p.json == nil {
		p.json = callobject.New(callobject.Hermes(), p.maxDepth)
	}
	p.isJSON = true
	return p.json
}

// beginArgs begins a function's body that is the object of its arguments.
func (p *parser) beginArgs() bool {
	p.reader().ResetArgs(p.name)
	p.state = inArgs
	return true
}

// beginCall begins a call that is an object with a name and arguments.
func (p *parser) beginCall() bool {
	p.reset()
	p.reader().Reset()
	p.state, p.began = inCall, true
	return true
}

// readJSON reads some of a JSON object, whose strings may hold any tag.
func (p *parser) readJSON(out *sdk.Out) bool {
	status := callobject.More
	for len(p.Rest()) > 0 && status == callobject.More {
		var n int
		n, status = p.json.Feed(p.Rest())
		p.Advance(n)
		if !p.started && p.json.Name != "" && len(p.json.Args) > 0 {
			p.name, p.id = p.json.Name, p.json.ID
			p.start(out)
		}
	}
	if p.started {
		out.Args(p.json.Args)
		p.json.Args = p.json.Args[:0]
		p.braced = true
	}
	switch {
	case status == callobject.Bad:
		return p.refuse(p.At(), out)
	case status == callobject.Done && p.state == inCall:
		p.state = afterFunc
	case status == callobject.Done:
		p.state = afterArgs
	}
	return true
}

// readFuncEnd reads the end of a function whose arguments are complete.
func (p *parser) readFuncEnd(out *sdk.Out) bool {
	b := p.Rest()
	if p.readEnd(b, out) {
		return true
	}
	if p.maybeEnd(b) {
		return false
	}
	return p.refuse(p.At(), out)
}
