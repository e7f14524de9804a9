package framing

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
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
				kimiOpen + "response", kimiOpen + "tools", kimiOpen + "call ", kimiClose + "response", kimiClose + "message", kimiEnd,
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

// kimi reads one region.
type kimi struct {
	tools    []sdk.Tool
	maxDepth int

	buf   []byte
	used  int
	pos   int // of the first byte of buf in the region
	from  int // where the call at hand begins
	ended bool

	text   writer
	think  bool // inside an element of reasoning
	call   bool // inside a call
	inArg  bool // inside an argument
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

// step reads text up to the next token, and what that begins or ends.
func (k *kimi) step(out *sdk.Out) bool {
	b := k.buf[k.used:]
	n := bytes.IndexByte(b, '<')
	if n < 0 {
		n = len(b)
	}
	if n > 0 {
		k.write(b[:n], out)
		k.used += n
		return true
	}
	switch v := markup.MatchAny(b, kimiOpen, kimiClose, kimiEnd); {
	case v == sdk.Maybe && !k.ended:
		return false
	case v != sdk.Yes:
		k.write(b[:1], out)
		k.used++
		return true
	}
	if markup.Match(b, kimiEnd) == sdk.Yes {
		k.used += len(kimiEnd)
		return true
	}
	return k.element(b, out)
}

// write takes text where it stands: in an argument, in the answer, or between
// elements, where only white space does not count.
func (k *kimi) write(b []byte, out *sdk.Out) {
	switch {
	case k.inArg:
		k.value.Write(b, out)
	case k.call:
	default:
		if len(markup.SkipSpace(b)) > 0 || k.text.any {
			k.text.write(b)
		}
	}
}

// element reads the tag of an element that b begins with.
func (k *kimi) element(b []byte, out *sdk.Out) bool {
	end := bytes.Index(b[:min(len(b), maxHeader)], []byte(kimiSep))
	if end < 0 {
		if len(b) < maxHeader && !k.ended {
			return false
		}
		if k.ended && len(b) < maxHeader {
			k.used = len(k.buf) // half a tag
			return true
		}
		k.write(b[:1], out)
		k.used++
		return true
	}
	opens := b[2] == 'o'
	start := len(kimiOpen)
	if !opens {
		start = len(kimiClose)
	}
	tag := b[start:end]
	name := word(tag)
	if k.inArg && (opens || string(name) != "argument") && !(string(name) == "call" && !opens) {
		k.write(b[:1], out) // only its own end, or the call's, ends a value
		k.used++
		return true
	}
	at := k.pos + k.used
	k.used += end + len(kimiSep)
	if opens {
		k.open(string(name), tag[len(name):], at, out)
	} else {
		k.close(string(name), out)
	}
	return true
}

func (k *kimi) open(name string, attributes []byte, at int, out *sdk.Out) {
	switch name {
	case "response":
		k.text.begin(isContent)
	case "think":
		k.text.begin(isReasoning)
	case "call":
		k.from = at
		tool := attribute(attributes, "tool")
		if k.call || !validName(tool) {
			out.Malformed(k.from, k.pos+k.used)
			return
		}
		k.call, k.mended, k.keys = true, false, map[string]bool{}
		k.tool = sdk.FindTool(k.tools, string(tool))
		k.text.call()
		out.CallStart(string(tool), "")
		out.Args([]byte("{"))
	case "argument":
		k.argument(attributes, out)
	}
}

// argument begins an argument. Its type attribute says whether its text is a string
// or JSON.
func (k *kimi) argument(attributes []byte, out *sdk.Out) {
	key := attribute(attributes, "key")
	if !k.call || len(key) > callobject.MaxName || k.keys[string(key)] {
		out.Malformed(k.from, k.pos+k.used)
		return
	}
	var args []byte
	if len(k.keys) > 0 {
		args = append(args, ", "...)
	}
	k.keys[string(key)] = true
	out.Args(append(relaxed.AppendString(args, key), ": "...))
	var types sdk.Types
	switch string(attribute(attributes, "type")) {
	case "string":
		types = abi.String
	case "number":
		types = abi.Number | abi.Integer
	case "boolean":
		types = abi.Boolean
	case "null":
		types = abi.Null
	case "object":
		types = abi.Object
	case "array":
		types = abi.Array
	default:
		if p := sdk.FindParam(k.tool, string(key)); p != nil {
			types = p.Types
		}
	}
	k.inArg = true
	k.value.Begin(types, typed.Keep, out)
}

func (k *kimi) close(name string, out *sdk.Out) {
	if k.inArg { // by its own end, or by the call's
		k.inArg = false
		k.mended = k.value.End(k.maxDepth, out) || k.mended
	}
	if name == "call" && k.call {
		k.call = false
		out.Args([]byte("}"))
		if k.mended {
			out.Repair("args_json")
		}
		out.CallEnd()
	}
	if name == "think" || name == "response" {
		k.text.begin(isContent)
	}
}

// Finish implements sdk.Parser. A call whose own end is missing may lack arguments.
func (k *kimi) Finish(reason sdk.Reason, out *sdk.Out) {
	k.ended = true
	k.run(out)
	all := k.pos + len(k.buf)
	switch {
	case out.Ended():
	case k.call && !k.inArg && reason == sdk.Stop:
		k.close("call", out) // the model has ended, so the call has too
		out.End(all)
	case k.call && reason == sdk.Length:
		out.Cut()
		out.End(all)
	case k.call:
		out.Malformed(k.from, all)
	default:
		out.End(all)
	}
}

// attribute is the value of an attribute, with its escapes undone.
func attribute(b []byte, name string) []byte {
	for {
		b = markup.SkipSpace(b)
		key, rest, found := bytes.Cut(b, []byte(`="`))
		if !found {
			return nil
		}
		value, behind, found := bytes.Cut(rest, []byte{'"'})
		if !found {
			return nil
		}
		if string(key) == name {
			value = bytes.ReplaceAll(value, []byte("&quot;"), []byte{'"'})
			return bytes.ReplaceAll(value, []byte("&amp;"), []byte{'&'})
		}
		b = behind
	}
}
