package abi

// Types is a set of JSON types, as a tool's schema allows them for a parameter.
type Types uint16

// The members of Types. The zero set means that the schema does not say.
const (
	String Types = 1 << iota
	Integer
	Number
	Boolean
	Object
	Array
	Null
)

// Param is one parameter of a tool.
type Param struct {
	Name     string
	Types    Types
	Required bool
}

// Tool is what a parser needs to know of an offered tool. The host reads the
// schemas once a request, so that a guest needs no JSON reader for them.
type Tool struct {
	Name   string
	Params []Param
}

// Setting is one key of a parser's own configuration.
type Setting struct{ Key, Value string }

// Options are what a parser is opened with. It only reads them: those of several regions
// may share their memory.
type Options struct {
	Tools    []Tool
	Settings []Setting // the operator's configuration of this parser
	Fenced   bool      // the region lies inside a code fence
	Guess    bool      // nobody named the parser: it was chosen by the text
	MaxDepth int       // how deep JSON may nest; 0 means DefaultMaxDepth
}

// DefaultMaxDepth is how deep the JSON of a call may nest if Options do not say.
const DefaultMaxDepth = 128

// Keys of the encoding of Options: key, length, value. A guest skips the keys
// that it does not know, so that later gateways may send more.
const (
	optTools    = 1
	optSettings = 2
	optFenced   = 3
	optMaxDepth = 4
	optGuess    = 5
)

// AppendOptions appends the encoding of o to b.
func AppendOptions(b []byte, o Options) []byte {
	if len(o.Tools) > 0 {
		b = appendField(b, optTools, sizeOfTools(o.Tools))
		b = appendTools(b, o.Tools)
	}
	if len(o.Settings) > 0 {
		size := sizeOfInt(len(o.Settings))
		for _, s := range o.Settings {
			size += sizeOfString(s.Key) + sizeOfString(s.Value)
		}
		b = appendInt(appendField(b, optSettings, size), len(o.Settings))
		for _, s := range o.Settings {
			b = appendString(appendString(b, s.Key), s.Value)
		}
	}
	if o.Fenced {
		b = append(appendField(b, optFenced, 1), 1)
	}
	if o.Guess {
		b = append(appendField(b, optGuess, 1), 1)
	}
	if o.MaxDepth > 0 {
		b = appendInt(appendField(b, optMaxDepth, sizeOfInt(o.MaxDepth)), o.MaxDepth)
	}
	return b
}

// appendField appends a key and the length of its value, which the caller appends.
func appendField(b []byte, key byte, size int) []byte { return appendInt(append(b, key), size) }

func sizeOfInt(n int) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

func sizeOfString(s string) int { return sizeOfInt(len(s)) + len(s) }

func sizeOfTools(tools []Tool) int {
	size := sizeOfInt(len(tools))
	for i := range tools {
		t := &tools[i]
		size += sizeOfString(t.Name) + sizeOfInt(len(t.Params))
		for j := range t.Params {
			p := &t.Params[j]
			size += sizeOfString(p.Name) + sizeOfInt(int(p.Types)) + 1
		}
	}
	return size
}

func appendTools(v []byte, tools []Tool) []byte {
	v = appendInt(v, len(tools))
	for _, t := range tools {
		v = appendInt(appendString(v, t.Name), len(t.Params))
		for _, p := range t.Params {
			v = appendInt(appendString(v, p.Name), int(p.Types))
			required := byte(0)
			if p.Required {
				required = 1
			}
			v = append(v, required)
		}
	}
	return v
}

// DecodeOptions decodes b. A guest calls it in open. The options share no memory with b;
// their strings share one copy of it.
func DecodeOptions(b []byte) (Options, error) {
	o := Options{MaxDepth: DefaultMaxDepth}
	d := decoder{s: string(b)}
	for d.err == nil && len(d.s) > 0 {
		key := d.byte()
		v := decoder{s: d.string()}
		switch key {
		case optTools:
			o.Tools = v.tools()
		case optSettings:
			o.Settings = nil
			for range v.count(2) {
				o.Settings = append(o.Settings, Setting{v.string(), v.string()})
			}
		case optFenced:
			o.Fenced = v.s != "" && v.s[0] != 0
		case optGuess:
			o.Guess = v.s != "" && v.s[0] != 0
		case optMaxDepth:
			o.MaxDepth = v.int()
		}
		if d.err == nil {
			d.err = v.err
		}
	}
	return o, d.err
}

// Sizes of the least encodings.
const (
	minParam = 3
	minTool  = 2
)

func (d *decoder) tools() []Tool {
	n := d.count(minTool)
	if n == 0 {
		return nil
	}
	tools := make([]Tool, n)
	// Tools have a few parameters each. Room for all is made at once if it is about that.
	params := make([]Param, 0, min(len(d.s)/minParam, 4*len(tools)))
	for i := range tools {
		tools[i].Name = d.string()
		if n = d.count(minParam); n == 0 {
			continue
		}
		if n > cap(params)-len(params) {
			params = make([]Param, 0, max(n, min(len(d.s)/minParam, 4*(len(tools)-i))))
		}
		for range n {
			params = append(params, Param{Name: d.string(), Types: Types(d.int()), Required: d.byte() != 0})
		}
		tools[i].Params = params[:n:n]
		params = params[n:]
	}
	return tools
}
