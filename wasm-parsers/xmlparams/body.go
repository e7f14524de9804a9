package xmlparams

import "github.com/callgate/callgate/wasm-parsers/internal/callobject"

// isCall reports whether b begins a call that is a JSON object.
func (p *parser) isCall(b []byte) bool { return p.jsonCall && p.wrapped && p.leads == 0 && b[0] == '{' }

// beginArgs begins a function's body that is the object of its arguments.
func (p *parser) beginArgs() bool {
	p.json.Init(callobject.Hermes(), p.MaxDepth)
	p.json.ResetArgs(p.Name())
	p.state, p.isJSON = inArgs, true
	return true
}

// beginCall begins a call that is an object with a name and arguments.
func (p *parser) beginCall() bool {
	p.Call("", "")
	p.json.Init(callobject.Hermes(), p.MaxDepth)
	p.leads, p.state, p.isJSON, p.Began = 0, inCall, true, true
	return true
}

// readJSON reads some of a JSON object, whose strings may hold any tag.
func (p *parser) readJSON() bool {
	status := callobject.More
	for len(p.Rest()) > 0 && status == callobject.More {
		var n int
		n, status = p.json.Feed(p.Rest())
		p.Advance(n)
		if !p.Started && p.json.Name != "" && len(p.json.Args) > 0 {
			p.Call(p.json.Name, p.json.ID)
			p.Start()
		}
	}
	if p.Started {
		p.Out.Args(p.json.Args)
		p.json.Args = p.json.Args[:0]
		p.Braced = true
	}
	switch {
	case status == callobject.Bad:
		return p.RefuseHere()
	case status == callobject.Done && p.state == inCall:
		p.state = afterFunc
	case status == callobject.Done:
		p.state = afterArgs
	}
	return true
}

// readFuncEnd reads the end of a function whose arguments are complete.
func (p *parser) readFuncEnd() bool {
	b := p.Rest()
	if p.readEnd(b) {
		return true
	}
	if p.maybeEnd(b) {
		return false
	}
	return p.RefuseHere()
}
