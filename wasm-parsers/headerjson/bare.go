package headerjson

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
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
	parser parser
	bare   bare
	chosen sdk.Parser // nil until then
	opts   sdk.Options
}

// Reset implements sdk.Reusable.
func (e *either) Reset(o sdk.Options) error {
	e.chosen, e.opts = nil, o
	return nil
}

// Feed implements sdk.Parser.
func (e *either) Feed(text []byte, out *sdk.Out) {
	if len(text) > 0 && e.chosen == nil {
		chosen := sdk.Reusable(&e.bare)
		if text[0] == e.parser.open[0] {
			chosen = &e.parser
		}
		_ = chosen.Reset(e.opts) // neither refuses any
		e.chosen = chosen
	}
	if e.chosen != nil {
		e.chosen.Feed(text, out)
	}
}

// Finish implements sdk.Parser.
func (e *either) Finish(reason sdk.Reason, out *sdk.Out) {
	if e.chosen == nil {
		out.End(0)
		return
	}
	e.chosen.Finish(reason, out)
}

// bare reads calls whose markers were stripped. They are known by nothing but the
// names of the offered tools, so all calls wait until it is clear that nothing else
// is in the output.
type bare struct {
	region.Region
	*format

	json  relaxed.Reader
	name  string // of the call whose arguments are read
	calls []callobject.Call
}

// Reset implements sdk.Reusable.
func (b *bare) Reset(o sdk.Options) error {
	b.name, b.calls = "", b.calls[:0]
	b.Begin(b, o)
	return nil
}

// Step implements region.Format.
func (b *bare) Step() bool {
	if b.name != "" {
		return len(b.Rest()) > 0 && b.readArgs()
	}
	return b.SkipSpace() && b.readHead()
}

// readHead reads a header, but not the brace of the arguments.
func (b *bare) readHead() bool {
	head := b.Rest()
	n := bytes.IndexByte(head[:min(len(head), maxHead+1)], '{')
	switch {
	case n < 0 && len(head) > maxHead:
		b.Out.Malformed(0, b.At()+maxHead)
		return false
	case n < 0:
		return false
	}
	h, v := b.header(head[:n+1])
	if v != sdk.Yes || h.id != nil || sdk.FindTool(b.Tools, string(h.name)) == nil {
		return b.Refuse(b.At() + n)
	}
	b.name = string(h.name)
	b.Advance(n)
	b.json.Init(b.MaxDepth)
	return true
}

func (b *bare) readArgs() bool {
	read := b.json.Feed
	if b.json.Depth() > 0 {
		read = func(src []byte) (int, relaxed.Token) { return b.json.FeedTo(src, 0) }
	}
	n, tok := read(b.Rest())
	b.Advance(n)
	switch {
	case tok == relaxed.Bad:
		b.Out.Malformed(0, b.At())
	case tok == relaxed.ObjectClose && b.json.Depth() == 0:
		b.calls = append(b.calls, callobject.Call{Name: b.name, Args: bytes.Clone(b.json.Out), Repaired: b.json.Repaired() != 0})
		b.name = ""
	}
	return true
}

// Over implements region.Format.
func (b *bare) Over() {
	cut := b.name != "" || len(b.Rest()) > 0
	if cut && (!b.Cut || b.name == "" && len(b.calls) == 0) {
		b.Out.Malformed(0, b.Fed())
		return
	}
	for _, c := range b.calls {
		c.Write(b.Out)
	}
	if cut {
		b.Out.Cut()
	}
	b.Out.End(b.Fed())
}
