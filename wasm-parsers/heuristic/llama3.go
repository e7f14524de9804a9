package heuristic

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// llamas are the models that write parameters for arguments, as their own chat
// templates show it to them.
var llamas = []string{"*llama-3*", "*llama3*", "*llama-4*", "*llama4*"}

const pythonTag = "<|python_tag|>"

// Llama3JSON reads the calls of Llama 3 and 4 behind their token, which is never
// ordinary text: what follows is a call, and streams.
func Llama3JSON() sdk.Spec {
	return region.Spec(abi.Parser{
		Name:     "llama3_json",
		Aliases:  []string{"llama3", "llama4_json", "default"},
		Priority: 70,
		Formats:  []string{`<|python_tag|>{"name", "parameters"}; {"name", "parameters"}`},
		Example:  `<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}`,
		Models:   llamas,
		Triggers: []string{pythonTag},
	}, canParsePython, func() sdk.Reusable { return &python{} })
}

// canParsePython wants an object behind the token: the models write code there too.
func canParsePython(head []byte) sdk.Verdict {
	if verdict := markup.Match(head, pythonTag); verdict != sdk.Yes {
		return verdict
	}
	body := chars.SkipSpace(head[len(pythonTag):])
	if len(body) > 0 && body[0] == '[' {
		body = chars.SkipSpace(body[1:])
	}
	if len(body) == 0 || body[0] != '{' {
		return follows(body, isOpenBrace)
	}
	return objectBegins(body[1:])
}

// python reads the objects behind the token.
type python struct {
	region.Region
	call   callobject.Reader
	inside bool // in an object
	any    bool // an object was begun
	braces int  // closing ones behind the last that close nothing
	array  bool // the objects are in an array that is open
	end    int  // end of what belongs to the calls
}

// Reset implements sdk.Reusable.
func (p *python) Reset(o sdk.Options) error {
	p.inside, p.any, p.array, p.end, p.braces = false, false, false, 0, 0
	p.Begin(p, o)
	p.call.Init(callobject.Hermes(), o.MaxDepth)
	return nil
}

// Step implements region.Format.
func (p *python) Step() bool {
	switch {
	case p.inside:
		return len(p.Rest()) > 0 && p.readObject()
	case p.At() == 0:
		return p.Marker(pythonTag)
	default:
		return p.SkipSpace() && p.readBetween(p.Rest()[0])
	}
}

// readBetween reads what is not part of an object.
func (p *python) readBetween(c byte) bool {
	switch {
	case c == '{':
		p.call.Reset()
		p.inside, p.any, p.braces = true, true, 0
		return true
	case c == '[' && !p.any && !p.array:
		p.array = true
		p.Advance(1)
		return true
	case p.any && (c == ';' || c == ',' && p.array || p.dropsBrace(c)):
	case p.any && c == ']' && p.array:
		p.array = false
	case p.any:
		return p.readTail()
	default:
		return p.RefuseHere()
	}
	p.Advance(1)
	p.end = p.At()
	return true
}

// dropsBrace reports whether c is a closing brace too many behind a call, which has ended.
func (p *python) dropsBrace(c byte) bool {
	if c != '}' || p.braces == maxBraces {
		return false
	}
	p.Out.Repair("args_json")
	p.braces++
	return true
}

// readTail reads what follows the calls: the token again, or something else.
func (p *python) readTail() bool {
	switch markup.Match(p.Rest(), pythonTag) {
	case sdk.Yes:
		p.End()
	case sdk.No:
		p.Out.End(p.end)
	}
	return false
}

func (p *python) readObject() bool {
	n, status := p.call.Feed(p.Rest())
	p.Advance(n)
	if p.call.Certain() {
		p.call.Show(p.Out)
	}
	p.call.Pass(p.Out)
	switch status {
	case callobject.Bad:
		return p.RefuseHere()
	case callobject.Done:
		p.call.End(p.Out)
		p.inside = false
		p.From, p.end = p.At(), p.At()
	}
	return true
}

// Over implements region.Format.
func (p *python) Over() {
	p.Began = p.inside
	switch {
	case !p.inside && p.any && len(p.Rest()) > 0:
		p.Out.End(p.end)
	case !p.inside && p.any:
		p.End()
	default:
		p.Lose()
	}
}
