package framing

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
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
	if p := k.Param(key); p != nil && p.Types != 0 {
		return p.Types
	}
	return abi.String // it is no number if nobody says so
}

// readValueEnd ends the value of an argument if b begins with its end, or with the
// call's, and what may stand there follows. Otherwise the tag is text of the value, unless an element
// follows that has lost its token: nobody knows where such a call ends.
func (k *kimi) readValueEnd(b []byte) sdk.Verdict {
	argEnd, arg := spaced(b, kimiArgEnd)
	callEnd, call := spaced(b, kimiCallEnd)
	v, n := max(arg, call), 0
	switch {
	case arg == sdk.Yes:
		n = argEnd
		v = k.follows(b[n:], kimiOpen+"argument ", kimiCallEnd, kimiOpen+"call ", kimiClose+"tools", kimiClose+"message", kimiEnd)
		if v == sdk.No {
			v = k.follows(b[n:], "call"+kimiSep, "tools"+kimiSep, "call tool=", "argument key=")
			if v == sdk.Yes {
				k.where = kimiBad
				k.Advance(n)
			}
			return v
		}
	case call == sdk.Yes && k.Cut: // with the value's own end missing nobody knows
		v = sdk.No
	case call == sdk.Yes: // which the call reads itself
		v = k.follows(b[callEnd:], kimiOpen+"call ", kimiClose+"tools", kimiClose+"message", kimiEnd)
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
		v = anySpaced(rest, tags...)
	}
	if v == sdk.Maybe && k.Ended {
		return sdk.Yes
	}
	return v
}

// readBadEnd gives a call that is none back, with its end or up to what comes next.
func (k *kimi) readBadEnd(b []byte) sdk.Verdict {
	v := anySpaced(b, kimiCallEnd, kimiOpen+"call ", kimiOpen+"response", kimiClose+"tools", kimiClose+"message", kimiEnd)
	if v != sdk.Yes {
		return v
	}
	if n, v := spaced(b, kimiCallEnd); v == sdk.Yes {
		k.Advance(n)
	}
	k.Out.Malformed(k.From, k.At())
	return v
}

// maxGap is how many spaces a model may write between a token and the name of an element.
const maxGap = 4

// spaced tells whether b begins with a tag, in which spaces may stand behind a token and in front
// of one, and how long that is.
func spaced(b []byte, tag string) (n int, v sdk.Verdict) {
	for i := range len(tag) {
		if i > 0 && tag[i] != ' ' && (tag[i-1] == '>' || tag[i] == '<') {
			for gap := 0; n < len(b) && b[n] == ' ' && gap < maxGap; gap++ {
				n++
			}
		}
		switch {
		case n == len(b):
			return n, sdk.Maybe
		case b[n] != tag[i]:
			return n, sdk.No
		}
		n++
	}
	return n, sdk.Yes
}

// anySpaced is spaced for several tags.
func anySpaced(b []byte, tags ...string) sdk.Verdict {
	verdict := sdk.No
	for _, tag := range tags {
		switch _, v := spaced(b, tag); v {
		case sdk.Yes:
			return v
		case sdk.Maybe:
			verdict = v
		}
	}
	return verdict
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
