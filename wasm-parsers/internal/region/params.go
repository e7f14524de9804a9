package region

import (
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/relaxed"
)

// Params is a Region whose calls have their arguments one after the other, each with a key
// and a value.
type Params struct {
	Region

	Tool     *sdk.Tool // of the call at hand, nil if it was not offered
	Started  bool      // CallStart was written, CallEnd not
	Repaired bool      // the call is not quite as it should be written
	Written  int       // arguments whose key was written
	Braced   bool      // the first brace of the arguments was written

	closed   bool // the last brace was written
	name, id string
	seen     Keys
	escaped  []byte // memory for keys
}

// Begin is Region.Begin.
func (p *Params) Begin(f Format, o sdk.Options) {
	p.Region.Begin(f, o)
	*p = Params{Region: p.Region, seen: p.seen, escaped: p.escaped}
	p.seen.Clear()
}

// Call begins a call. Nothing is written before Start.
func (p *Params) Call(name, id string) {
	p.name, p.id = name, id
	p.Tool = sdk.FindTool(p.Tools, name)
	p.Written, p.Braced = 0, false
	p.seen.Clear()
}

// Name is the name of the call at hand.
func (p *Params) Name() string { return p.name }

// Start writes the beginning of the call, once.
func (p *Params) Start() {
	if !p.Started {
		p.Out.CallStart(p.name, p.id)
		p.Started = true
	}
}

// Brace writes the beginning of the call and the first brace of its arguments, once.
func (p *Params) Brace() {
	p.Start()
	if !p.Braced {
		p.Out.Args([]byte{'{'})
		p.Braced = true
	}
}

// Member writes the key of an argument and what stands in front of it.
func (p *Params) Member(key []byte) {
	p.Brace()
	if p.Written > 0 {
		p.Out.Args([]byte(", "))
	}
	p.Written++
	p.Key(key)
}

// Key writes a key, of an argument or of an object inside of one, and its colon.
func (p *Params) Key(key []byte) {
	p.escaped = append(relaxed.AppendString(p.escaped[:0], key), ": "...)
	p.Out.Args(p.escaped)
}

// CloseArgs writes the end of the arguments of a call that is sure. EndCall does so too.
func (p *Params) CloseArgs() {
	p.Brace()
	p.Out.Args([]byte{'}'})
	if p.Repaired {
		p.Out.Repair("args_json")
	}
	p.closed = true
}

// EndCall ends the call, which is sure now.
func (p *Params) EndCall() {
	if !p.closed {
		p.CloseArgs()
	}
	p.Out.CallEnd()
	p.closed = false
	p.Started, p.Repaired, p.Began = false, false, false
	p.From = p.At()
}

// See notes that an argument has come.
func (p *Params) See(key []byte) { p.seen.Add(key) }

// Seen reports whether an argument of the call has come. It cannot come again: what was
// written of its first value cannot be taken back.
func (p *Params) Seen(key []byte) bool { return p.seen.Has(key) }

// SeenAny reports whether any argument of the call has come.
func (p *Params) SeenAny() bool { return len(p.seen.ends) > 0 }

// Param is the offered tool's parameter, or nil.
func (p *Params) Param(key []byte) *sdk.Param {
	if p.Tool == nil {
		return nil
	}
	for i := range p.Tool.Params {
		if p.Tool.Params[i].Name == string(key) {
			return &p.Tool.Params[i]
		}
	}
	return nil
}

// Undoubled is the tool that a name means where models know tools in name spaces: they write f.f for
// a tool that has none. It is f if that is offered and f.f is not.
func Undoubled(name string, tools []sdk.Tool) string {
	space, f, found := strings.Cut(name, ".")
	if !found || space != f || sdk.FindTool(tools, name) != nil || sdk.FindTool(tools, f) == nil {
		return name
	}
	return f
}
