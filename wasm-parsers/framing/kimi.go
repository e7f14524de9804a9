package framing

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
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
	return sdk.Spec{
		Parser: abi.Parser{
			Name:     "kimi_k3",
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
			},
			Models:  []string{"*kimi-k3*"},
			Framing: true,
			Streams: true,
		},
		New: func(o sdk.Options) (sdk.Parser, error) {
			return &kimi{tools: o.Tools, maxDepth: o.MaxDepth}, nil
		},
	}
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
	tools    []sdk.Tool
	maxDepth int

	where kimiPlace
	buf   []byte
	used  int
	pos   int // of the first byte of buf in the region
	from  int // where the call at hand begins
	ended bool
	cut   bool // by the token limit
	half  bool // the output ended in the tag that begins a call or an argument

	text   writer
	spoke  bool // there was text since the last element
	tool   *sdk.Tool
	keys   map[string]bool
	value  typed.Value
	mended bool
}

// Feed implements sdk.Parser.
func (k *kimi) Feed(text []byte, out *sdk.Out) {
	k.buf = append(k.buf, text...)
	k.run(out)
}

func (k *kimi) run(out *sdk.Out) {
	k.text.out = out
	for !out.Ended() && k.used < len(k.buf) && k.step(out) {
	}
	k.pos += k.used
	k.buf = k.buf[:copy(k.buf, k.buf[k.used:])]
	k.used = 0
}

// at is the place of the next byte in the region.
func (k *kimi) at() int { return k.pos + k.used }

// step reads text up to the next token, or what that token begins or ends.
func (k *kimi) step(out *sdk.Out) bool {
	b := k.buf[k.used:]
	n := bytes.IndexByte(b, '<')
	if n < 0 {
		n = len(b)
	}
	if n > 0 {
		k.write(n, out)
		return true
	}
	var v sdk.Verdict
	switch k.where {
	case kimiArg:
		v = k.readValueEnd(b, out)
	case kimiBad:
		v = k.readBadEnd(b, out)
	default:
		v = k.readTag(b, out)
	}
	if v == sdk.No || v == sdk.Maybe && k.ended {
		k.write(1, out)
		return true
	}
	return v == sdk.Yes
}

// write takes n bytes of text where they stand. In a call they belong to no argument,
// so that it is none; white space between elements does not count.
func (k *kimi) write(n int, out *sdk.Out) {
	b := k.buf[k.used : k.used+n]
	k.used += n
	if !k.spoke && (k.where == kimiOutside || k.where == kimiCall) {
		if b = markup.SkipSpace(b); len(b) == 0 {
			return
		}
	}
	switch k.where {
	case kimiArg:
		k.value.Write(b, out)
	case kimiCall:
		k.where = kimiBad
	case kimiBad:
	default:
		k.spoke = true
		k.text.write(b)
	}
}

// readTag reads the tag of an element that b begins with.
func (k *kimi) readTag(b []byte, out *sdk.Out) sdk.Verdict {
	if v := markup.MatchAny(b, kimiOpen, kimiClose, kimiEnd); v != sdk.Yes {
		return v
	}
	at := k.at()
	if markup.Match(b, kimiEnd) == sdk.Yes {
		k.used += len(kimiEnd)
		k.close("message", out)
		return sdk.Yes
	}
	opens := b[2] == 'o'
	end := bytes.Index(b[:min(len(b), maxHeader)], []byte(kimiSep))
	switch {
	case end < 0 && len(b) >= maxHeader:
		return sdk.No
	case end < 0 && k.ended: // half a tag
		k.half = opens && (bytes.HasPrefix(b[len(kimiOpen):], []byte("call")) || k.where == kimiCall)
		k.used = len(k.buf)
		return sdk.Yes
	case end < 0:
		return sdk.Maybe
	}
	tag := b[:end][bytes.IndexByte(b, '>')+1:]
	name := word(tag)
	if len(name) == 0 || !opens && len(name) < len(tag) || bytes.Contains(tag, []byte("<|")) {
		return sdk.No
	}
	k.used += end + len(kimiSep)
	k.spoke = false
	if opens {
		k.open(string(name), tag[len(name):], at, out)
	} else {
		k.close(string(name), out)
	}
	return sdk.Yes
}

// open begins an element. A call whose end is missing ends where another begins.
func (k *kimi) open(name string, attributes []byte, at int, out *sdk.Out) {
	switch name {
	case "response", "think":
		k.endCall(out)
		k.where = kimiText
		if k.text.begin(isContent); name == "think" {
			k.text.begin(isReasoning)
		}
	case "call":
		k.endCall(out)
		k.from = at
		k.beginCall(attributes, out)
	case "argument":
		if k.where != kimiCall {
			k.from = at
		}
		k.beginArg(attributes, out)
	}
}

func (k *kimi) close(name string, out *sdk.Out) {
	switch name {
	case "call", "tools":
		k.endCall(out)
	case "think", "response", "message":
		k.endCall(out)
		k.where = kimiOutside
		k.text.begin(isContent)
	}
}

// Finish implements sdk.Parser. A call whose own end is missing may lack arguments if
// the output was cut; a model that has ended has ended it too.
func (k *kimi) Finish(reason sdk.Reason, out *sdk.Out) {
	k.ended, k.cut = true, reason == sdk.Length
	k.run(out)
	all := k.pos + len(k.buf)
	switch {
	case out.Ended():
	case k.where == kimiCall && !k.cut && !k.half:
		k.endCall(out)
		out.End(all)
	case k.cut && (k.half || k.where == kimiCall || k.where == kimiArg):
		out.Cut()
		out.End(all)
	case k.where == kimiOutside, k.where == kimiText:
		out.End(all)
	default:
		out.Malformed(k.from, all)
	}
}
