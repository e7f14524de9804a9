package xmlparams

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/sdk/typed"
)

// isLone reports whether parameter key, which the tool does not declare, may be a wrapper of all
// arguments, which models write at times.
func (p *parser) isLone(key []byte) bool {
	switch string(key) {
	case "arguments", "input", "properties", "parameters":
		return !p.nested && p.typing != byType && !p.SeenAny() && p.Tool != nil && p.Param(key) == nil
	}
	return false
}

// declares reports whether the tool declares every member of an object, in strict JSON.
func (p *parser) declares(object []byte) bool {
	var r relaxed.Reader
	r.Init(p.MaxDepth)
	for len(object) > 0 {
		n, tok := r.Feed(object)
		object = object[n:]
		r.Out = r.Out[:0]
		if tok == relaxed.Key && r.Depth() == 1 && p.Param(r.Key()) == nil {
			return false
		}
	}
	return true
}

// json is a value that was held.
func (v *value) json(nested bool, maxDepth int) (json []byte, repaired bool) {
	if nested && v.empty {
		return []byte(absent(v.types)), false
	}
	return typed.Convert(v.raw, v.types, maxDepth)
}

// absent is what an element without any text says where elements nest: null is
// written so, and so is what has no members.
func absent(types sdk.Types) string {
	switch {
	case types&abi.Null != 0:
		return "null"
	case types&abi.String != 0:
		return `""`
	case types == abi.Object:
		return "{}"
	case types == abi.Array:
		return "[]"
	}
	return "null"
}

// flushHeld writes the value that was held, if there is one.
func (p *parser) flushHeld() {
	v := &p.val
	if v.lone {
		v.lone = false
		json, repaired := v.json(false, p.MaxDepth)
		p.Repaired = p.Repaired || repaired
		v.items = append(v.items, json)
	}
	if len(v.items) == 0 {
		return
	}
	p.Member(v.key)
	if len(v.items) == 1 {
		p.Out.Args(v.items[0])
	} else {
		p.Out.Args(joined(v.items))
	}
	v.items = v.items[:0]
}

// joined is an array of items.
func joined(items [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(items, []byte(", "))...), ']')
}

// unwrapHeld writes a lone parameter that holds the object of all arguments.
func (p *parser) unwrapHeld() {
	v := &p.val
	if !v.lone {
		return
	}
	strict, kind, ok := relaxed.Value(v.raw, p.MaxDepth)
	if !ok || kind != relaxed.ObjectOpen || !p.declares(strict) {
		return
	}
	v.lone, p.Braced = false, true
	p.Repaired = p.Repaired || !bytes.Equal(strict, chars.TrimSpace(v.raw))
	p.Out.Args(strict[:len(strict)-1])
}
