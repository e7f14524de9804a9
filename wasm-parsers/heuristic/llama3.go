package heuristic

import (
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// llamas are the models that write parameters for arguments, as their own chat
// templates show it to them.
var llamas = []string{"*llama-3*", "*llama3*", "*llama-4*", "*llama4*"}

const pythonTag = "<|python_tag|>"

// Llama3JSON reads the calls of Llama 3 and 4 behind their token, which is never
// ordinary text: what follows is a call, and streams.
func Llama3JSON() sdk.Spec {
	return sdk.Spec{
		Parser: abi.Parser{
			Name:     "llama3_json",
			Aliases:  []string{"llama3", "llama4_json", "default"},
			Priority: 70,
			Formats:  []string{`<|python_tag|>{"name", "parameters"}; {"name", "parameters"}`},
			Example:  `<|python_tag|>{"name": "get_weather", "parameters": {"city": "Oslo"}}`,
			Models:   llamas,
			Triggers: []string{pythonTag},
			Streams:  true,
		},
		CanParse: canParsePython,
		New: func(o sdk.Options) (sdk.Parser, error) {
			return &python{call: callobject.New(callobject.Hermes(), o.MaxDepth)}, nil
		},
	}
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
	call    *callobject.Reader
	inside  bool // in an object
	any     bool // an object was begun
	array   bool // the objects are in an array that is open
	started bool // CallStart was written for the object
	tail    []byte
	pos     int // of the next byte in the region
	from    int // end of the last call
	end     int // end of what belongs to the calls
}

// Feed implements sdk.Parser.
func (p *python) Feed(text []byte, out *sdk.Out) {
	for len(text) > 0 && !out.Ended() {
		n := 1
		switch {
		case p.inside:
			n = p.readObject(text, out)
		case p.pos < len(pythonTag):
			if text[0] != pythonTag[p.pos] {
				out.Malformed(0, max(p.pos, 1))
				return
			}
		default:
			n = p.readBetween(text[0], out)
		}
		p.pos += n
		text = text[n:]
	}
	if p.inside && !out.Ended() {
		p.writeArgs(out)
	}
}

// readBetween reads what is not part of an object.
func (p *python) readBetween(c byte, out *sdk.Out) int {
	switch {
	case len(p.tail) > 0:
		return p.readTail(c, out)
	case chars.IsSpace(c):
		return 1
	case c == '{':
		p.call.Reset()
		p.inside, p.any, p.started = true, true, false
		return 0
	case c == '[' && !p.any && !p.array:
		p.array = true
		return 1
	case p.any && (c == ';' || c == ',' && p.array):
		p.end = p.pos + 1
		return 1
	case p.any && c == ']' && p.array:
		p.array, p.end = false, p.pos+1
		return 1
	case p.any:
		return p.readTail(c, out)
	}
	out.Malformed(p.from, p.pos)
	return 0
}

// readTail reads what follows the calls: the token again, or something else.
func (p *python) readTail(c byte, out *sdk.Out) int {
	p.tail = append(p.tail, c)
	switch tail := string(p.tail); {
	case tail == pythonTag:
		out.End(p.pos + 1 - len(p.tail))
	case !strings.HasPrefix(pythonTag, tail):
		out.End(p.end)
	}
	return 1
}

func (p *python) readObject(text []byte, out *sdk.Out) int {
	n, status := p.call.Feed(text)
	if !p.started && p.call.Name != "" && len(p.call.Args) > 0 {
		out.CallStart(p.call.Name, p.call.ID)
		p.started = true
	}
	switch status {
	case callobject.More:
	case callobject.Bad:
		p.writeArgs(out)
		out.Malformed(p.from, p.pos+n)
	case callobject.Done:
		p.writeArgs(out)
		out.Args([]byte("}"))
		p.call.Report(out)
		out.CallEnd()
		p.inside = false
		p.from, p.end = p.pos+n, p.pos+n
	}
	return n
}

// writeArgs passes on what is certain of the arguments.
func (p *python) writeArgs(out *sdk.Out) {
	if p.started {
		out.Args(p.call.Args)
		p.call.Args = p.call.Args[:0]
	}
}

// Finish implements sdk.Parser.
func (p *python) Finish(reason sdk.Reason, out *sdk.Out) {
	switch {
	case !p.inside && p.any && len(p.tail) > 0:
		out.End(p.end)
	case !p.inside && p.any:
		out.End(p.pos)
	case reason == sdk.Length && p.inside:
		out.Cut()
		out.End(p.pos)
	default:
		out.Malformed(p.from, p.pos)
	}
}
