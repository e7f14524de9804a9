package framing

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// The tokens of Kimi K3. An element is OPEN name attributes SEP body CLOSE name SEP.
const (
	kimiOpen  = "<|open|>"
	kimiClose = "<|close|>"
	kimiSep   = "<|sep|>"
	kimiEnd   = "<|end_of_msg|>"
)

// KimiK3 reads the elements of Kimi K3. Its reasoning is an element too, whose start
// is in the prompt: the gateway splits that off.
func KimiK3() sdk.Spec {
	return region.Spec(abi.Parser{
		Name:     "kimi_k3",
		Aliases:  []string{"kimi-k3"},
		Priority: 70,
		Formats: []string{
			`<|open|>tools<|sep|><|open|>call tool="NAME" index="1"<|sep|><|open|>argument key="KEY" type="string"<|sep|>VALUE` +
				`<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>`,
			"<|open|>response<|sep|>TEXT<|close|>response<|sep|>",
		},
		Example: `<|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="city" type="string"<|sep|>Oslo` +
			`<|close|>argument<|sep|><|close|>call<|sep|>`,
		Triggers: []string{
			kimiOpen + "response", kimiOpen + "tools", kimiOpen + "call ", kimiClose + "response",
			kimiClose + "tools", kimiClose + "message", kimiEnd,
			kimiOpen + " response", kimiOpen + " tools", kimiOpen + " call ", kimiClose + " response",
			kimiClose + " tools", kimiClose + " message",
		},
		Models:  []string{"*kimi-k3*"},
		Framing: true,
	}, nil, func() sdk.Reusable { return &kimi{} })
}

// kimiPlace is where in the elements the parser is.
type kimiPlace uint8

const (
	kimiOutside kimiPlace = iota
	kimiText              // in the answer or the reasoning
	kimiCall              // in a call, outside of its arguments
	kimiArg               // in an argument
	kimiBad               // in a call that turned out to be none
)

// kimi reads one region.
type kimi struct {
	region.Params

	where kimiPlace
	half  bool // the output ended in the tag that begins a call or an argument
	text  writer
	spoke bool // there was text since the last element
	value typed.Value
}

// Reset implements sdk.Reusable.
func (k *kimi) Reset(o sdk.Options) error {
	*k = kimi{Params: k.Params, value: k.value}
	k.Begin(k, o)
	return nil
}

// Step implements region.Format: it reads text up to the next token, or what that token
// begins or ends.
func (k *kimi) Step() bool {
	k.text.out = k.Out
	b := k.Rest()
	n := bytes.IndexByte(b, '<')
	if n < 0 {
		n = len(b)
	}
	switch {
	case len(b) == 0:
		return false
	case n > 0:
		k.write(n)
		return true
	}
	var v sdk.Verdict
	switch k.where {
	case kimiArg:
		v = k.readValueEnd(b)
	case kimiBad:
		v = k.readBadEnd(b)
	default:
		v = k.readTag(b)
	}
	if v == sdk.No || v == sdk.Maybe && k.Ended {
		k.write(1)
		return true
	}
	return v == sdk.Yes
}

// write takes n bytes of text where they stand. In a call they belong to no argument,
// so that it is none; white space between elements does not count.
func (k *kimi) write(n int) {
	b := k.Rest()[:n]
	k.Advance(n)
	if !k.spoke && (k.where == kimiOutside || k.where == kimiCall) {
		if b = chars.SkipSpace(b); len(b) == 0 {
			return
		}
	}
	switch k.where {
	case kimiArg:
		k.value.Write(b, k.Out)
	case kimiCall:
		k.where = kimiBad
	case kimiBad:
	default:
		k.spoke = true
		k.text.write(b)
	}
}

// readTag reads the tag of an element that b begins with.
func (k *kimi) readTag(b []byte) sdk.Verdict {
	if v := markup.MatchAny(b, kimiOpen, kimiClose, kimiEnd); v != sdk.Yes {
		return v
	}
	at := k.At()
	if markup.Match(b, kimiEnd) == sdk.Yes {
		k.Advance(len(kimiEnd))
		k.close("message")
		return sdk.Yes
	}
	opens := b[2] == 'o'
	end := bytes.Index(b[:min(len(b), maxHeader)], []byte(kimiSep))
	switch {
	case end < 0 && len(b) >= maxHeader:
		return sdk.No
	case end < 0 && k.Ended: // half a tag
		k.cutTag(b, opens)
		return sdk.Yes
	case end < 0:
		return sdk.Maybe
	}
	tag := chars.TrimSpace(b[:end][bytes.IndexByte(b, '>')+1:])
	name := word(tag)
	if len(name) == 0 || !opens && len(name) < len(tag) || bytes.Contains(tag, []byte("<|")) {
		return sdk.No
	}
	k.Advance(end + len(kimiSep))
	k.spoke = false
	if opens {
		k.open(string(name), tag[len(name):], at)
	} else {
		k.close(string(name))
	}
	return sdk.Yes
}

// cutTag reads a tag in which the output ended.
func (k *kimi) cutTag(b []byte, opens bool) {
	if k.where != kimiCall {
		k.From = k.At()
	}
	k.half = opens && (bytes.HasPrefix(chars.SkipSpace(b[len(kimiOpen):]), []byte("call")) || k.where == kimiCall)
	k.AdvanceTo(nil)
}

// open begins an element. A call whose end is missing ends where another begins.
func (k *kimi) open(name string, attributes []byte, at int) {
	switch name {
	case "response", "think":
		k.endCall()
		k.where = kimiText
		if k.text.begin(isContent); name == "think" {
			k.text.begin(isReasoning)
		}
	case "call":
		k.endCall()
		k.From = at
		k.beginCall(attributes)
	case "argument":
		if k.where != kimiCall {
			k.From = at
		}
		k.beginArg(attributes)
	default:
		if _, calls := attribute(attributes, "tool"); calls {
			k.endCall()
			k.From, k.where = at, kimiBad
		}
	}
}

func (k *kimi) close(name string) {
	switch name {
	case "call", "tools":
		k.endCall()
	case "think", "response", "message":
		k.endCall()
		k.where = kimiOutside
		k.text.begin(isContent)
	}
}

// Over implements region.Format. A call whose own end is missing may lack arguments if
// the output was cut; a model that has ended has ended it too.
func (k *kimi) Over() {
	k.Began = k.half || k.where == kimiCall || k.where == kimiArg
	switch {
	case k.where == kimiCall && !k.Cut && !k.half && k.SeenAny(): // a tag alone is the beginning of a call
		k.endCall()
		k.End()
	case (k.where == kimiOutside || k.where == kimiText) && !k.half:
		k.End()
	default:
		k.Lose()
	}
}
