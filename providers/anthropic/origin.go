package anthropic

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// origins gives the frames of a stream the events that they were made of, for a client of the Messages API, which gets
// them as they came. Each frame has a number, and each event has one, which goes with the last of its frames: a client
// that has not got all of them does not get the event either. An event of which no frame was made is one of its own.
type origins struct {
	number  int
	block   []byte   // at hand, on one line
	waiting [][]byte // those that go with a later frame
	size    int      // bytes of them
	lines   []byte
}

const (
	maxEvent   = 1 << 20               // bytes of an event that goes with its frames
	maxWaiting = 64 << 10              // and of those that wait
	lineRoom   = len(":from  \n") + 20 // what the line of an event has besides its block
)

// bom is a byte order mark.
const bom = "\xef\xbb\xbf"

// come takes a block, and returns what its line takes in front of a frame.
func (o *origins) come(b *wire.Block, data value) int {
	raw := bytes.TrimPrefix(b.Raw, []byte(bom))
	o.block = o.block[:0]
	ok := !b.Cut && bytes.Count(raw, []byte("\r")) == bytes.Count(raw, []byte("\r\n"))
	if ok {
		o.block, ok = wire.AppendFlat(o.block, raw)
	}
	switch {
	case ok:
	case len(data) > 0: // it is not spelled as it came
		o.block, _ = wire.AppendFlat(o.block, slices.Concat([]byte("event: "), []byte(text(get(data, "type"))), []byte("\ndata: "), oneLine(data), []byte("\n\n")))
	default:
		o.block, _ = wire.AppendFlat(o.block, []byte(":\n\n"))
	}
	return o.size + len(o.block) + (len(o.waiting)+1)*lineRoom
}

// oneLine is JSON without line ends, which stand between values alone.
func oneLine(data value) []byte {
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, data)
}

// name gives the frames that were made of the block what they were made of.
func (o *origins) name(c *chunks, blocks *openBlocks) {
	if blocks.unclear || o.size > maxWaiting || len(o.block) > maxEvent { // a number that is left out says that not all is as it came
		blocks.unclear = false
		o.forget()
		o.number++
		if len(o.block) > maxEvent {
			o.block = o.block[:0]
		}
	}
	frames := c.frames
	if n := len(frames); n > 0 && frames[n-1].Done {
		frames = frames[:n-1]
	}
	waits := blocks.waits > 0 || len(blocks.owed) > 0
	for i := range frames {
		if waits || i < len(frames)-1 {
			o.lines = o.line(o.lines[:0], nil)
			put(c, &frames[i], o.lines)
		}
	}
	if waits {
		o.waiting = append(o.waiting, bytes.Clone(o.block))
		o.size += len(o.block)
		return
	}
	o.lines = o.lines[:0]
	for _, block := range o.waiting {
		o.lines = o.line(o.lines, block)
	}
	o.forget()
	o.lines = o.line(o.lines, o.block)
	if len(frames) > 0 {
		put(c, &frames[len(frames)-1], o.lines)
		return
	}
	c.frames = slices.Insert(c.frames, 0, gateway.Frame{Raw: append(bytes.Clone(o.lines), '\n')})
}

func (o *origins) forget() {
	clear(o.waiting)
	o.waiting, o.size = o.waiting[:0], 0
}

// line appends the next line.
func (o *origins) line(dst, block []byte) []byte {
	o.number++
	return wire.AppendOrigin(dst, wire.Origin{Number: o.number, Data: block})
}

// put writes lines in front of a frame.
func put(c *chunks, f *gateway.Frame, lines []byte) {
	f.Raw = f.Raw[c.room-len(lines):]
	copy(f.Raw, lines)
}
