package framing

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// The tags that end the value of an argument.
const (
	kimiArgEnd  = kimiClose + "argument" + kimiSep
	kimiCallEnd = kimiClose + "call" + kimiSep
)

func (k *kimi) beginCall(attributes []byte) {
	tool, _ := attribute(attributes, "tool")
	if !validName(tool) {
		k.where = kimiBad
		return
	}
	k.where = kimiCall
	k.text.call()
	k.Call(string(tool), "")
	k.Brace()
}

func (k *kimi) endCall() {
	if k.where != kimiCall {
		return
	}
	k.where = kimiOutside
	k.EndCall()
	k.text.begin(isContent)
}

// beginArg begins an argument. A call that has one twice is none: what was written of
// the first cannot be taken back.
func (k *kimi) beginArg(attributes []byte) {
	key, found := attribute(attributes, "key")
	if k.where != kimiCall || !found || len(key) > callobject.MaxName || k.Seen(key) {
		k.where = kimiBad
		return
	}
	k.See(key)
	k.Member(key)
	k.where = kimiArg
	k.value.Begin(k.types(attributes, key), typed.Keep, k.Out)
}

// types are what the value of an argument may be. Its type attribute says whether the
// text is a string or JSON; the tool's schema does if there is none.
func (k *kimi) types(attributes, key []byte) sdk.Types {
	name, _ := attribute(attributes, "type")
	switch string(name) {
	case "string":
		return abi.String
	case "number", "integer":
		return abi.Number | abi.Integer
	case "boolean":
		return abi.Boolean
	case "null":
		return abi.Null
	case "object":
		return abi.Object
	case "array":
		return abi.Array
	}
	if p := k.Param(key); p != nil {
		return p.Types
	}
	return 0
}

// readValueEnd ends the value of an argument if b begins with its end, or with the
// call's, and what may stand there follows. Otherwise the tag is text of the value.
func (k *kimi) readValueEnd(b []byte) sdk.Verdict {
	arg, call := markup.Match(b, kimiArgEnd), markup.Match(b, kimiCallEnd)
	v, n := max(arg, call), 0
	switch {
	case arg == sdk.Yes:
		n = len(kimiArgEnd)
		v = k.follows(b[n:], kimiOpen+"argument ", kimiCallEnd, kimiOpen+"call ", kimiClose+"tools", kimiClose+"message", kimiEnd)
	case call == sdk.Yes && k.Cut: // with the value's own end missing nobody knows
		v = sdk.No
	case call == sdk.Yes: // which the call reads itself
		v = k.follows(b[len(kimiCallEnd):], kimiOpen+"call ", kimiClose+"tools", kimiClose+"message", kimiEnd)
	}
	if v == sdk.Yes {
		k.Advance(n)
		k.Repaired = k.value.End(k.MaxDepth, k.Out) || k.Repaired
		k.where = kimiCall
	}
	return v
}

// follows tells whether b begins with one of the tags, or the output ends there.
func (k *kimi) follows(b []byte, tags ...string) sdk.Verdict {
	rest := chars.SkipSpace(b)
	if len(b)-len(rest) > maxSpace {
		return sdk.No
	}
	v := sdk.Maybe
	if len(rest) > 0 {
		v = markup.MatchAny(rest, tags...)
	}
	if v == sdk.Maybe && k.Ended {
		return sdk.Yes
	}
	return v
}

// readBadEnd gives a call that is none back, with its end or up to what comes next.
func (k *kimi) readBadEnd(b []byte) sdk.Verdict {
	v := markup.MatchAny(b, kimiCallEnd, kimiOpen+"call ", kimiOpen+"response", kimiClose+"tools", kimiClose+"message", kimiEnd)
	if v != sdk.Yes {
		return v
	}
	if markup.Match(b, kimiCallEnd) == sdk.Yes {
		k.Advance(len(kimiCallEnd))
	}
	k.Out.Malformed(k.From, k.At())
	return v
}

// attribute is the value of an attribute, with its escapes undone.
func attribute(b []byte, name string) (value []byte, found bool) {
	for {
		key, rest, found := bytes.Cut(chars.SkipSpace(b), []byte(`="`))
		if !found {
			return nil, false
		}
		value, behind, found := bytes.Cut(rest, []byte{'"'})
		if !found {
			return nil, false
		}
		if string(key) == name {
			value = bytes.ReplaceAll(value, []byte("&quot;"), []byte{'"'})
			return bytes.ReplaceAll(value, []byte("&amp;"), []byte{'&'}), true
		}
		b = behind
	}
}
