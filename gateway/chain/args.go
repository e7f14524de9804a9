package chain

import (
	"bytes"
	"strings"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/sdk/abi"
)

// args reads the arguments of one call as they come: it notes which required
// parameters are there and what the strings among them say, and gives strings the
// type that the schema wants instead, as repair.Typer does.
//
// The text is strict JSON, as parsers write it, cut anywhere.
type args struct {
	tool    *abi.Tool
	typer   repair.Typer
	lacking int  // required parameters that have not come
	changed bool // a string was given its type

	seen    []bool // parameters that have come
	in      []byte
	value   []byte // the beginning of a string that is a value of the object itself
	strings int    // such strings
	samples int    // those of them that documentation writes for a value
}

// begin makes a ready for the arguments of another call; tool is nil if it was not
// offered. inside is what is nested in them.
func (a *args) begin(tool *abi.Tool, inside *repair.Shape) {
	*a = args{tool: tool, typer: a.typer, in: a.in, value: a.value[:0], seen: a.seen[:0]}
	a.typer.Begin(tool, inside, 0)
	if tool == nil {
		return
	}
	for i := range tool.Params {
		a.seen = append(a.seen, false)
		if tool.Params[i].Required {
			a.lacking++
		}
	}
}

// missing reports whether a required parameter has not come.
func (a *args) missing() bool { return a.lacking > 0 }

// read takes the next bytes and returns those that are certain.
func (a *args) read(text string) string {
	if a.tool == nil || len(a.tool.Params) == 0 {
		return text
	}
	a.in = append(a.in[:0], text...)
	out := a.typer.Read(a.in, a)
	a.changed = a.typer.Changed()
	if len(out) == len(a.in) && (len(out) == 0 || &out[0] == &a.in[0]) {
		return text // as it is
	}
	return string(out)
}

// Value notes that a value begins. Null, where the schema has none, is no value.
func (a *args) Value(p *abi.Param, first byte) {
	if p == nil || first == 'n' && p.Types != 0 && p.Types&abi.Null == 0 {
		return
	}
	for i := range a.tool.Params {
		if &a.tool.Params[i] == p && !a.seen[i] {
			a.seen[i] = true
			if p.Required {
				a.lacking--
			}
		}
	}
}

// BeginString begins to look at a string.
func (a *args) BeginString() { a.value = append(a.value[:0], '"') }

// String looks at the strings among the arguments, at their beginnings alone.
func (a *args) String(piece []byte, end bool) {
	const longest = 64
	if len(a.value) < longest {
		a.value = append(a.value, piece[:min(len(piece), longest-len(a.value))]...)
	}
	if !end {
		return
	}
	a.strings++
	if isSample(bytes.Trim(a.value, `"`)) {
		a.samples++
	}
}

// isSample reports whether a string is what documentation writes for a value.
func isSample(v []byte) bool {
	switch string(v) {
	case "...", "…", "string", "str", "integer", "int", "number", "float", "boolean", "bool", "object", "array":
		return true
	}
	if bytes.HasPrefix(v, []byte("YOUR_")) {
		return true
	}
	words := bytes.Trim(v, "<>[]{}")
	if len(words) < 2 || len(v)-len(words) < 2 || strings.IndexByte("<[{", v[0]) < 0 || strings.IndexByte(">]}", v[len(v)-1]) < 0 {
		return false
	}
	for _, b := range words { // <city>, [city name], {{city}}: words alone
		if b < 0x80 && !isWord(b) && b != ' ' && b != '_' && b != '-' || b == '{' || b == '.' {
			return false
		}
	}
	return true
}

// example reports whether all strings are such.
func (a *args) example() bool { return a.strings > 0 && a.samples == a.strings }
