package headerjson

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// canParseBare is canParse, but takes a call without its marker too.
func (f *format) canParseBare(head []byte) sdk.Verdict {
	if len(head) == 0 || head[0] == f.open[0] {
		return f.canParse(head)
	}
	h, v := f.header(head)
	switch {
	case v != sdk.Yes:
		return v
	case h.id != nil:
		return sdk.No
	}
	return markup.Match(head[h.n:], "{")
}

// either is a parser that its first byte chooses.
type either struct {
	*format

	options sdk.Options
	parser  sdk.Parser
}

// Feed implements sdk.Parser.
func (e *either) Feed(text []byte, out *sdk.Out) {
	if len(text) > 0 && e.parser == nil {
		e.parser = newParser(e.format, e.options)
		if text[0] != e.open[0] {
			e.parser = &bare{format: e.format, tools: e.options.Tools, json: relaxed.NewReader(e.options.MaxDepth)}
		}
	}
	if e.parser != nil {
		e.parser.Feed(text, out)
	}
}

// Finish implements sdk.Parser.
func (e *either) Finish(reason sdk.Reason, out *sdk.Out) {
	if e.parser == nil {
		out.End(0)
		return
	}
	e.parser.Finish(reason, out)
}

// bare reads calls whose markers were stripped. They are known by nothing but the
// names of the offered tools, so all calls wait until it is clear that nothing else
// is in the output.
type bare struct {
	*format

	tools []sdk.Tool
	json  *relaxed.Reader
	pos   int
	head  []byte // the header, as far as it was read
	name  string // of the call whose arguments are read
	calls []bareCall
}

// bareCall is a call that waits.
type bareCall struct {
	name   string
	args   []byte
	mended bool
}

// Feed implements sdk.Parser.
func (b *bare) Feed(text []byte, out *sdk.Out) {
	for len(text) > 0 && !out.Ended() {
		var n int
		if b.name != "" {
			n = b.readArgs(text, out)
		} else {
			n = b.readHead(text[0], out)
		}
		b.pos += n
		text = text[n:]
	}
}

// readHead reads a byte of a header, but not the brace of the arguments.
func (b *bare) readHead(c byte, out *sdk.Out) int {
	switch {
	case len(b.head) == 0 && markup.IsSpace(c):
	case c == '{':
		h, v := b.header(append(b.head, c))
		if v == sdk.Yes && h.id == nil && sdk.FindTool(b.tools, string(h.name)) != nil {
			b.name, b.head = string(h.name), b.head[:0]
			b.json.Reset()
			return 0
		}
		out.Malformed(0, max(b.pos, 1))
	case len(b.head) == maxHead:
		out.Malformed(0, b.pos)
	default:
		b.head = append(b.head, c)
	}
	return 1
}

func (b *bare) readArgs(text []byte, out *sdk.Out) int {
	read := b.json.Feed
	if b.json.Depth() > 0 {
		read = func(src []byte) (int, relaxed.Token) { return b.json.FeedTo(src, 0) }
	}
	n, tok := read(text)
	switch {
	case tok == relaxed.Bad:
		out.Malformed(0, b.pos+n)
	case tok == relaxed.ObjectClose && b.json.Depth() == 0:
		b.calls = append(b.calls, bareCall{b.name, append([]byte(nil), b.json.Out...), b.json.Repaired() != 0})
		b.name = ""
	}
	return n
}

// Finish implements sdk.Parser.
func (b *bare) Finish(reason sdk.Reason, out *sdk.Out) {
	cut := b.name != "" || len(b.head) > 0
	if cut && (reason != sdk.Length || b.name == "" && len(b.calls) == 0) {
		out.Malformed(0, b.pos)
		return
	}
	for _, c := range b.calls {
		out.CallStart(c.name, "")
		out.Args(c.args)
		if c.mended {
			out.Repair("args_json")
		}
		out.CallEnd()
	}
	if cut {
		out.Cut()
	}
	out.End(b.pos)
}
