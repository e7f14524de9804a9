package textcall

import (
	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// queue holds frames that wait until it is known what their text is.
type queue struct {
	frames []*wire.Frame
	bytes  int
}

func (q *queue) add(f *wire.Frame) {
	own := f.Own()
	q.frames = append(q.frames, own)
	q.bytes += len(own.Raw)
}

// release lets the frames go as they came.
func (q *queue) release(next gateway.Sink) {
	frames := q.frames
	q.frames, q.bytes = q.frames[:0], 0
	for _, f := range frames {
		next.Put(f)
	}
}

// take takes the frames out.
func (q *queue) take() []*wire.Frame {
	frames := q.frames
	q.frames, q.bytes = nil, 0
	return frames
}
