package gateway

import (
	"bytes"

	"github.com/callgate/callgate/gateway/wire"
)

// shape is all of a chunk but the arguments in it, of one that goes on with a call and
// does nothing else. Upstreams send the same one again and again, so it is read once.
type shape struct {
	call          *nativeCall // nil: there is none
	before, after []byte      // the arguments, with their quotes
	entry         wire.Span   // of the chunk; End counts from the chunk's end
}

// mostShaped is how long a shape may be. Those of upstreams have some 200 bytes.
const mostShaped = 4 << 10

// learn takes note of the shape of a chunk that was read.
func (n *nativeReply) learn(h *heldFrame, f *entryFields, p *piece) {
	data := h.frame.Data
	n.shape.call = nil
	if p.call == nil || p.kept || !p.call.shown || f.text.Empty() || !f.anonymous() || f.index != p.call.wire {
		return
	}
	from, to := p.at.Start+f.text.Start+1, p.at.Start+f.text.End-1
	if from+len(data)-to > mostShaped {
		return
	}
	n.shape.call = p.call
	n.shape.before = append(n.shape.before[:0], data[:from]...)
	n.shape.after = append(n.shape.after[:0], data[to:]...)
	n.shape.entry = wire.Span{Start: p.at.Start, End: len(data) - p.at.End}
}

// shaped reads a chunk of the shape that the one before had. It reports false if it has
// another one.
func (n *nativeReply) shaped(f Frame) bool {
	s, data := &n.shape, f.Data
	if s.call == nil || len(data) < len(s.before)+len(s.after) || !bytes.HasPrefix(data, s.before) || !bytes.HasSuffix(data, s.after) {
		return false
	}
	text, ok := wire.Value(data, len(s.before)-1)
	if !ok || text.End != len(data)-len(s.after)+1 {
		return false
	}
	p := piece{call: s.call, at: wire.Span{Start: s.entry.Start, End: len(data) - s.entry.End}, from: len(s.call.text)}
	args := appendDecoded(n.text[:0], text.Of(data))
	n.keepScratch(args)
	n.touch(s.call)
	n.feed(s.call, args)
	n.approve(s.call)
	p.from, p.to = min(p.from, len(s.call.text)), len(s.call.text)
	h := n.begin(f)
	h.pieces = append(h.pieces, p)
	n.finish(h)
	return true
}

// keepScratch keeps the memory of arguments for the next ones, if it is not much.
func (n *nativeReply) keepScratch(args []byte) {
	if cap(args) <= maxScratch {
		n.text = args
	}
}

// maxScratch is how much memory is kept for the arguments of the next entry.
const maxScratch = 64 << 10
