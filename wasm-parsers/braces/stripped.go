package braces

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// Gemma4Bare reads calls of Gemma 4 whose special tokens a server has stripped, and
// with them the quotes of strings. They are read only where they are all of the
// output and fit the offered tools. A comma and a parameter that was not there yet end
// a string: one that holds both cannot be told from two arguments.
func Gemma4Bare() sdk.Spec {
	return region.Spec(abi.Parser{
		Name:      "gemma4_bare",
		Aliases:   []string{"gemma4", "gemma-4"},
		Priority:  28,
		Formats:   []string{"call:NAME{KEY:STRING,KEY:3}"},
		Example:   "call:get_weather{city:Oslo}",
		Models:    []string{"*gemma-4*", "*gemma4*"},
		Starts:    []string{call},
		Heuristic: true,
	}, canParseStripped, func() sdk.Reusable { return &stripped{} })
}

// canParseStripped wants a name and a brace.
func canParseStripped(head []byte) sdk.Verdict {
	if v := markup.Match(head, call); v != sdk.Yes {
		return v
	}
	name := strippedName(head[len(call):])
	return markup.Filled(markup.Match(head[len(call)+len(name):], "{"), head)
}

// strippedName is the name that b begins with.
func strippedName(b []byte) []byte {
	n := 0
	for n < min(len(b), maxName) && markup.IsName(b[n]) {
		n++
	}
	return b[:n]
}

// stripped reads one region. Nothing but its end tells what is a call, so all of it
// waits until then.
type stripped struct {
	region.Region
	calls []callobject.Call
}

// Reset implements sdk.Reusable.
func (p *stripped) Reset(o sdk.Options) error {
	p.calls = p.calls[:0]
	p.Begin(p, o)
	return nil
}

// Step implements region.Format. A tool that is not offered is all that it looks for.
func (p *stripped) Step() bool {
	b := p.Rest()
	if canParseStripped(b) == sdk.Yes && p.At() == 0 && !p.offered(strippedName(b[len(call):])) {
		return p.Refuse(len(call))
	}
	return false
}

func (p *stripped) offered(name []byte) bool {
	return len(name) > 0 && (len(p.Tools) == 0 || sdk.FindTool(p.Tools, string(name)) != nil)
}

// Over implements region.Format.
func (p *stripped) Over() {
	b, lost := chars.TrimSpace(p.Rest()), false
	for len(b) > 0 {
		rest, ok := p.readCall(b)
		if !ok && p.Cut && len(p.calls) > 0 && bytes.IndexByte(b, '}') < 0 { // a token limit has cut the last one
			lost = true
			break
		}
		if !ok {
			p.Out.Malformed(0, p.Fed())
			return
		}
		b = chars.SkipSpace(rest)
	}
	for _, c := range p.calls {
		c.Write(p.Out)
	}
	if lost {
		p.Out.Cut()
	}
	p.Out.End(p.Fed())
}

// readCall reads the call that b begins with.
func (p *stripped) readCall(b []byte) (rest []byte, ok bool) {
	if !bytes.HasPrefix(b, []byte(call)) {
		return nil, false
	}
	name := strippedName(b[len(call):])
	b = b[len(call)+len(name):]
	end := bytes.IndexByte(b, '}')
	if !p.offered(name) || end < 0 || b[0] != '{' {
		return nil, false
	}
	a := strippedArgs{tool: sdk.FindTool(p.Tools, string(name)), known: len(p.Tools) > 0, out: []byte{'{'}}
	for body := b[1:end]; len(body) > 0; {
		if body = a.read(body); body == nil {
			return nil, false
		}
	}
	p.calls = append(p.calls, callobject.Call{Name: string(name), Args: append(a.out, '}')})
	return b[end+1:], true
}

// strippedArgs reads the arguments of one call.
type strippedArgs struct {
	tool  *sdk.Tool
	known bool // the tools are
	seen  []string
	out   []byte
}

// read reads the argument that b begins with, and gives what follows its comma: nil if
// b begins with none, or with one that may have been something else.
func (a *strippedArgs) read(b []byte) []byte {
	key, n := a.key(b)
	if n == 0 {
		return nil
	}
	b = b[n:]
	end, next := len(b), len(b)
	for i, c := range b {
		if c == '{' || c == '[' {
			return nil
		}
		if c == ',' && end == len(b) {
			if _, n := a.key(b[i+1:]); n > 0 {
				end, next = i, i+1
			}
		}
	}
	value := a.value(key, b[:end])
	if value == nil {
		return nil
	}
	if a.seen = append(a.seen, key); len(a.seen) > 1 {
		a.out = append(a.out, ", "...)
	}
	a.out = append(relaxed.AppendString(a.out, []byte(key)), ": "...)
	a.out = append(a.out, value...)
	return b[next:]
}

// key reads a key that was not seen yet and its colon, which are n bytes.
func (a *strippedArgs) key(b []byte) (key string, n int) {
	n = bytes.IndexByte(b[:min(len(b), maxName)], ':')
	if n <= 0 {
		return "", 0
	}
	key = string(b[:n])
	for _, s := range a.seen {
		if s == key {
			return "", 0
		}
	}
	if a.known && sdk.FindParam(a.tool, key) == nil || !a.known && len(strippedName(b[:n])) != n {
		return "", 0
	}
	return key, n + 1
}

// value gives text as JSON of the type that the parameter takes. It is nil if text is
// of no such type, or if it may be of two.
func (a *strippedArgs) value(key string, text []byte) []byte {
	var types sdk.Types
	if param := sdk.FindParam(a.tool, key); param != nil {
		types = param.Types
	} else if !a.known {
		types = abi.String
	}
	switch {
	case types == abi.String:
		return relaxed.AppendString(nil, text)
	case types == 0, types&(abi.String|abi.Object|abi.Array) != 0:
		return nil
	}
	if _, _, ok := relaxed.Value(text, 0); !ok {
		return nil
	}
	value, _ := typed.Convert(text, types, 0)
	if value[0] == '"' {
		return nil
	}
	return value
}
