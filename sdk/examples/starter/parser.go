package main

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/relaxed"
)

// The format's markers. Between opening and nameEnd stands the tool's name, and behind
// that the arguments, a JSON object.
const (
	opening = `<use tool="`
	nameEnd = `">`
	closing = `</use>`
)

// maxName is how long a tool's name may be. Without such a limit text that only looks
// like a call would be held back without end.
const maxName = 128

// Spec describes the parser to the gateway. Where a trigger occurs in a model's text the
// gateway asks CanParse, and if that says yes it gives the text from there on, which is
// called the region, to what New makes.
func Spec() sdk.Spec {
	return sdk.Spec{
		Parser: abi.Parser{
			Name:     "my_model",
			Priority: 60, // of 1 to 100: who is asked first where several have the trigger
			Formats:  []string{`<use tool="NAME">{ARGUMENTS}</use>`},
			Example:  `<use tool="get_weather">{"city": "Oslo"}</use>`,
			Triggers: []string{opening},
			Streams:  true, // arguments are passed on while the model writes them
			// Models: []string{"my_model*"}, // models whose text this parser is asked about first
		},
		CanParse: canParse,
		New:      func(o sdk.Options) (sdk.Parser, error) { return newParser(o), nil },
	}
}

// canParse looks at no more than the first 256 bytes of a region. It may say Maybe until it
// is sure; Yes and No are for good.
func canParse(head []byte) sdk.Verdict {
	n := min(len(head), len(opening))
	if string(head[:n]) != opening[:n] {
		return sdk.No
	}
	name, rest, complete := bytes.Cut(head[n:], []byte(nameEnd))
	if !complete { // the last byte may be the beginning of nameEnd
		return maybe(nameLike(bytes.TrimSuffix(name, []byte(nameEnd[:1]))))
	}
	rest = bytes.TrimLeft(rest, " \t\r\n")
	switch {
	case len(name) == 0 || !nameLike(name):
		return sdk.No
	case len(rest) == 0:
		return maybe(len(head) < abi.MaxHead)
	case rest[0] == '{':
		return sdk.Yes
	}
	return sdk.No
}

func maybe(possible bool) sdk.Verdict {
	if possible {
		return sdk.Maybe
	}
	return sdk.No
}

// nameLike reports whether b can be a tool's name, or the beginning of one.
func nameLike(b []byte) bool {
	for _, c := range b {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '-' && c != '.' {
			return false
		}
	}
	return len(b) <= maxName
}

// part is what the parser reads next.
type part int

const (
	inName part = iota // up to the arguments' first brace
	inArgs             // the JSON
	inTail             // the closing
)

// parser reads one region, which holds one call. The text comes in pieces that are cut
// anywhere, so it keeps what it has not finished with.
type parser struct {
	part part
	pos  int             // bytes of the region that were read
	held []byte          // the part that is being read, if it has to be seen as a whole
	args *relaxed.Reader // turns JSON as models write it into strict JSON, piece by piece
}

func newParser(o sdk.Options) *parser {
	return &parser{args: relaxed.NewReader(o.MaxDepth)}
}

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	for len(text) > 0 && !out.Ended() {
		n := 1
		switch p.part {
		case inName:
			p.readName(text[0], out)
		case inArgs:
			n = p.readArgs(text, out)
		case inTail:
			p.readTail(text[0], out)
		}
		p.pos += n
		text = text[n:]
	}
	if p.part == inArgs && !out.Ended() {
		p.writeArgs(out)
	}
}

// readName reads up to the arguments. CallStart comes only when the name is sure, because
// the client may see the call from then on.
func (p *parser) readName(c byte, out *sdk.Out) {
	p.held = append(p.held, c)
	switch canParse(p.held) {
	case sdk.No: // what was read is given back, for other parsers or as text
		out.Malformed(0, p.pos+1)
	case sdk.Yes:
		name, _, _ := bytes.Cut(p.held[len(opening):], []byte(nameEnd))
		out.CallStart(string(name), "") // no id: this format has none
		p.args.Feed([]byte{c})
		p.part, p.held = inArgs, nil
	}
}

// readArgs reads some of the arguments and says how much.
func (p *parser) readArgs(text []byte, out *sdk.Out) int {
	n, token := p.args.Feed(text)
	switch {
	case token == relaxed.Bad:
		p.writeArgs(out)
		out.Malformed(0, p.pos+n)
	case token == relaxed.ObjectClose && p.args.Depth() == 0:
		p.writeArgs(out)
		p.part = inTail
	}
	return n
}

// writeArgs passes on what is sure of the arguments. The last brace waits until the call
// is complete, so that nobody can take a call that was cut off for a whole one.
func (p *parser) writeArgs(out *sdk.Out) {
	ready := p.args.Out
	if p.args.Depth() == 0 {
		ready = bytes.TrimSuffix(ready, []byte("}"))
	}
	out.Args(ready)
	p.args.Out = p.args.Out[:0]
}

// readTail reads the closing.
func (p *parser) readTail(c byte, out *sdk.Out) {
	if len(p.held) == 0 && (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
		return
	}
	p.held = append(p.held, c)
	switch {
	case string(p.held) == closing:
		p.endCall(out)
		out.End(p.pos + 1)
	case !bytes.HasPrefix([]byte(closing), p.held):
		out.Malformed(0, p.pos)
	}
}

func (p *parser) endCall(out *sdk.Out) {
	out.Args([]byte("}"))
	if p.args.Repaired() != 0 {
		out.Repair("args_json") // never silently: the gateway counts and shows it
	}
	out.CallEnd()
}

// Finish implements sdk.Parser: the output has ended inside the region.
func (p *parser) Finish(reason sdk.Reason, out *sdk.Out) {
	switch {
	case p.part == inTail: // nothing is missing but the closing
		p.endCall(out)
		out.End(p.pos)
	case p.part == inArgs && reason == sdk.Length: // a token limit cut the call off
		out.Cut()
		out.End(p.pos)
	default:
		out.Malformed(0, p.pos)
	}
}
