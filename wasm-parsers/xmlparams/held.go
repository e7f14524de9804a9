package xmlparams

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/sdk/typed"
)

// isLone reports whether parameter key may be a wrapper of all arguments, which
// DeepSeek's models write at times.
func (p *parser) isLone(key []byte) bool {
	return p.unwrap && (string(key) == "arguments" || string(key) == "input") && !p.SeenAny() &&
		p.Tool != nil && p.Param(key) == nil
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
	if !ok || kind != relaxed.ObjectOpen {
		return
	}
	v.lone, p.Braced = false, true
	p.Repaired = p.Repaired || !bytes.Equal(strict, chars.TrimSpace(v.raw))
	p.Out.Args(strict[:len(strict)-1])
}
