package sdk

import (
	"bytes"

	"github.com/callgate/callgate/sdk/abi"
)

// maxHandles is how many regions may be open at once in one instance. A gateway
// has one at a time for each choice of a reply.
const maxHandles = 1 << 12

// maxInput is the largest buffer that alloc gives. Text comes in pieces of
// abi.MaxFeed; only options, which hold every offered tool, are larger.
const maxInput = 16 << 20

// guest is the state behind the exports, apart from them so that it can be tested
// natively. guest.go turns pointers into the slices that its methods take.
type guest struct {
	name, version string
	specs         []Spec
	in            []byte // what the host writes into
	handles       []*handle
	free          []int32      // handles that were closed
	idle          [][]Reusable // parsers of each spec whose region was closed
	raw           []byte       // the options of the last open, encoded
	opts          Options
}

// maxIdle is how many parsers of a spec are kept.
const maxIdle = 4

// handle is an open region.
type handle struct {
	spec   int32
	parser Parser // nil when the handle is closed
	out    Out
}

// alloc makes room for n bytes of input. It gives nil if n makes no sense.
func (g *guest) alloc(n int32) []byte {
	if n < 0 || n > maxInput {
		return nil
	}
	if int(n) > cap(g.in) || n == 0 && g.in == nil {
		g.in = make([]byte, max(int(n), abi.MaxFeed))
	}
	g.in = g.in[:cap(g.in)]
	return g.in[:n]
}

// input is n bytes of the input buffer from byte at on, or nil if that is not
// inside the buffer.
func (g *guest) input(at uint64, n int32) []byte {
	if n < 0 || at > uint64(len(g.in)) || uint64(n) > uint64(len(g.in))-at {
		return nil
	}
	return g.in[at : at+uint64(n)]
}

func (g *guest) canParse(parser int32, head []byte) Verdict {
	if parser < 0 || int(parser) >= len(g.specs) {
		return No
	}
	if check := g.specs[parser].CanParse; check != nil {
		return check(head)
	}
	return Yes
}

func (g *guest) open(parser int32, options []byte) int32 {
	if parser < 0 || int(parser) >= len(g.specs) {
		return abi.OpenUnknownParser
	}
	if len(g.free) == 0 {
		if len(g.handles) == maxHandles {
			return abi.OpenTooMany
		}
		g.free = append(g.free, int32(len(g.handles)))
		g.handles = append(g.handles, &handle{})
	}
	p, err := g.parser(parser, options)
	if err != nil {
		return abi.OpenBadOptions
	}
	last := len(g.free) - 1
	id := g.free[last]
	g.free = g.free[:last]
	h := g.handles[id]
	h.spec, h.parser = parser, p
	h.out.Reset()
	return id
}

// parser makes a parser for a region, or takes an idle one.
func (g *guest) parser(spec int32, options []byte) (Parser, error) {
	if g.raw == nil || !bytes.Equal(options, g.raw) { // the regions of a response have the same
		opts, err := abi.DecodeOptions(options)
		if err != nil {
			return nil, err
		}
		g.raw, g.opts = append(g.raw[:0], options...), opts
	}
	if int(spec) < len(g.idle) {
		if idle := g.idle[spec]; len(idle) > 0 {
			last := len(idle) - 1
			g.idle[spec] = idle[:last]
			return idle[last], idle[last].Reset(g.opts)
		}
	}
	return g.specs[spec].New(g.opts)
}

// find gives an open handle, or nil.
func (g *guest) find(id int32) *handle {
	if id < 0 || int(id) >= len(g.handles) || g.handles[id].parser == nil {
		return nil
	}
	return g.handles[id]
}

func (g *guest) feed(id int32, text []byte) []byte {
	h := g.find(id)
	if h == nil || h.out.Ended() {
		return nil
	}
	h.parser.Feed(text, &h.out)
	return h.out.Take()
}

func (g *guest) finish(id int32, reason Reason) []byte {
	h := g.find(id)
	if h == nil || h.out.Ended() {
		return nil
	}
	h.parser.Finish(reason, &h.out)
	return h.out.Take()
}

func (g *guest) close(id int32) {
	h := g.find(id)
	if h == nil {
		return
	}
	if p, ok := h.parser.(Reusable); ok {
		for len(g.idle) < len(g.specs) {
			g.idle = append(g.idle, nil)
		}
		if idle := g.idle[h.spec]; len(idle) < maxIdle {
			g.idle[h.spec] = append(idle, p)
		}
	}
	h.parser = nil
	g.free = append(g.free, id)
}
