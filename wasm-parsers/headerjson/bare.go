package headerjson

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// orBare makes a parser of a format read calls without their markers too, which begin
// with one of starts.
func orBare(s sdk.Spec, f *format, starts ...string) sdk.Spec {
	s.Starts, s.CanParse = starts, f.canParseBare
	s.New = region.New(func() sdk.Reusable { return &either{parser: parser{format: f, first: f}, bare: bare{format: f}} })
	return s
}

// canParseBare is canParse, but takes a call without its marker too.
func (f *format) canParseBare(head []byte) sdk.Verdict {
	if f.marked(head) {
		return f.canParse(head)
	}
	h, v := f.header(head)
	if v == sdk.Yes && !f.bareName(h) {
		v = sdk.No
	}
	if v != sdk.Yes {
		return v
	}
	return markup.Match(chars.SkipSpace(head[h.n:]), "{")
}

// marked reports whether b begins as the markers do.
func (f *format) marked(b []byte) bool {
	return f.open != "" && (len(b) == 0 || b[0] == f.open[0])
}

// bareName reports whether a call without markers may have the header h. An id that
// the name is read from must be complete.
func (f *format) bareName(h header) bool {
	if !f.idName {
		return h.id == nil
	}
	rest, prefixed := bytes.CutPrefix(h.name, []byte("functions."))
	return prefixed && digits(string(rest[bytes.LastIndexByte(rest, ':')+1:])) && bytes.IndexByte(rest, ':') > 0
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
		if e.parser.marked(text) {
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
	id    string
	calls []callobject.Call
}

// Reset implements sdk.Reusable.
func (b *bare) Reset(o sdk.Options) error {
	b.name, b.id, b.calls = "", "", b.calls[:0]
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
	if v != sdk.Yes || !b.bareName(h) || len(chars.SkipSpace(head[h.n:n])) > 0 {
		return b.Refuse(b.At() + n)
	}
	name, id, _ := b.nameOf(h, b.Tools)
	if sdk.FindTool(b.Tools, name) == nil && (b.open != "" || len(b.Tools) > 0) {
		return b.Refuse(b.At() + n)
	}
	b.name, b.id = name, id
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
		b.calls = append(b.calls, callobject.Call{Name: b.name, ID: b.id, Args: bytes.Clone(b.json.Out), Repaired: b.json.Repaired() != 0})
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
