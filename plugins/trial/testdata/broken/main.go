// Command broken is a plugin for tests. Each of its parsers reads <NAME>ARGS; as a call of
// get_weather with ARGS, and breaks one rule of the contract.
package main

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

func init() {
	sdk.Module("broken", "1.0.0")
	sdk.Register(
		spec("good", parser{}),
		spec("chunky", parser{feed: func(p *parser, text []byte, out *sdk.Out) {
			if p.pos == 0 && len(text) > 3 { // it takes the first piece for all
				out.Content(text[:1])
			}
		}}),
		spec("twice", parser{end: func(p *parser, out *sdk.Out) { out.Args(p.held) }}),
		spec("unended", parser{finish: func(*parser, *sdk.Out) {}}),
		spec("rare", parser{feed: func(_ *parser, text []byte, _ *sdk.Out) {
			if bytes.Contains(text, []byte(`]'`)) {
				panic("a quote behind a bracket")
			}
		}}),
		spec("deep", parser{feed: func(_ *parser, text []byte, _ *sdk.Out) {
			if strings.Count(string(text), "[") > 10000 {
				dig(1 << 30)
			}
		}}),
		spec("hoarder", parser{most: 1 << 21, feed: func(p *parser, text []byte, _ *sdk.Out) {
			p.all = append(p.all, text...)
			if p.feeds++; p.feeds%8 == 0 { // looks at all of it again and again
				sink += bytes.Count(p.all, []byte{7})
			}
		}}),
		spec("rememberer", parser{feed: func(*parser, []byte, *sdk.Out) {
			regions++
			for i := range regions * 64 {
				sink += i & 3
			}
		}}),
	)
	shy := spec("shy", parser{})
	shy.CanParse = func([]byte) sdk.Verdict { return sdk.No }
	fickle := spec("fickle", parser{})
	fickle.CanParse = func(head []byte) sdk.Verdict {
		if len(head) == 5 {
			return sdk.No
		}
		return sdk.Maybe
	}
	liar := spec("liar", parser{})
	liar.Example = "<liar>not complete"
	elsewhere := spec("elsewhere", parser{})
	elsewhere.Triggers = []string{"<<elsewhere>>"}
	sdk.Register(shy, fickle, liar, elsewhere)
	registerPairs()
}

func main() {}

var sink, regions int

// dig needs more stack than there is.
func dig(n int) int {
	var room [64]int
	if n == 0 {
		return 0
	}
	room[n&63] = dig(n - 1)
	return room[n&63] + room[(n+1)&63]
}

func spec(name string, p parser) sdk.Spec {
	p.open = "<" + name + ">"
	return sdk.Spec{
		Parser: abi.Parser{Name: name, Priority: 50, Triggers: []string{p.open}, Example: p.open + `{"city": "Oslo"};`},
		New:    func(sdk.Options) (sdk.Parser, error) { q := p; return &q, nil },
	}
}

// parser reads a region. What is set of feed, end and finish breaks a rule.
type parser struct {
	open      string
	most      int // bytes of a region, 0 is 200
	pos       int
	feeds     int
	held, all []byte
	feed      func(*parser, []byte, *sdk.Out)
	end       func(*parser, *sdk.Out)
	finish    func(*parser, *sdk.Out)
}

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	if p.feed != nil {
		p.feed(p, text, out)
	}
	for _, c := range text {
		p.pos++
		if p.held = append(p.held, c); len(p.held) > cmp.Or(p.most, 200) {
			out.Malformed(0, p.pos)
			return
		}
		if c != ';' {
			continue
		}
		args, ok := bytes.CutPrefix(p.held[:len(p.held)-1], []byte(p.open))
		if !ok || string(args) != `{"city": "Oslo"}` {
			out.Malformed(0, p.pos)
			return
		}
		p.held = args
		out.CallStart("get_weather", "")
		out.Args(args)
		if p.end != nil {
			p.end(p, out)
		}
		out.CallEnd()
		out.End(p.pos)
		return
	}
}

// Finish implements sdk.Parser.
func (p *parser) Finish(_ sdk.Reason, out *sdk.Out) {
	if p.finish != nil {
		p.finish(p, out)
		return
	}
	out.Malformed(0, p.pos)
}
