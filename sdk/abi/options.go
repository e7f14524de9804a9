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

// Options are what a parser is opened with.
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
	var v []byte
	field := func(key byte) {
		b = append(b, key)
		b = appendString(b, string(v))
		v = v[:0]
	}
	if len(o.Tools) > 0 {
		v = appendTools(v, o.Tools)
		field(optTools)
	}
	if len(o.Settings) > 0 {
		v = appendInt(v, len(o.Settings))
		for _, s := range o.Settings {
			v = appendString(appendString(v, s.Key), s.Value)
		}
		field(optSettings)
	}
	if o.Fenced {
		v = append(v, 1)
		field(optFenced)
	}
	if o.Guess {
		v = append(v, 1)
		field(optGuess)
	}
	if o.MaxDepth > 0 {
		v = appendInt(v, o.MaxDepth)
		field(optMaxDepth)
	}
	return b
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

// DecodeOptions decodes b. A guest calls it in open.
func DecodeOptions(b []byte) (Options, error) {
	o := Options{MaxDepth: DefaultMaxDepth}
	d := decoder{b: b}
	for d.err == nil && len(d.b) > 0 {
		key := d.b[0]
		d.b = d.b[1:]
		v := decoder{b: []byte(d.string())}
		switch key {
		case optTools:
			o.Tools = v.tools()
		case optSettings:
			for n := v.int(); n > 0 && v.err == nil; n-- {
				o.Settings = append(o.Settings, Setting{v.string(), v.string()})
			}
		case optFenced:
			o.Fenced = len(v.b) > 0 && v.b[0] != 0
		case optGuess:
			o.Guess = len(v.b) > 0 && v.b[0] != 0
		case optMaxDepth:
			o.MaxDepth = v.int()
		}
		if d.err == nil {
			d.err = v.err
		}
	}
	return o, d.err
}

func (d *decoder) tools() []Tool {
	var tools []Tool
	for n := d.int(); n > 0 && d.err == nil; n-- {
		t := Tool{Name: d.string()}
		for m := d.int(); m > 0 && d.err == nil; m-- {
			p := Param{Name: d.string(), Types: Types(d.int())}
			if len(d.b) == 0 {
				d.err = errShort
				break
			}
			p.Required, d.b = d.b[0] != 0, d.b[1:]
			t.Params = append(t.Params, p)
		}
		tools = append(tools, t)
	}
	return tools
}
