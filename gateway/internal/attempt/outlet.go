package attempt

import "github.com/callgate/callgate/gateway/wire"

// outlet has the frames that came through the stages, until they are given out.
type outlet struct {
	frames []*wire.Frame
	given  int         // how many of them were given out
	lent   *wire.Frame // the last of those
}

// put takes what comes through the stages.
func (o *outlet) put(f *wire.Frame) { o.frames = append(o.frames, f) }

// empty reports whether there is nothing to give out. The memory of the list is used again then.
func (o *outlet) empty() bool {
	if o.given < len(o.frames) {
		return false
	}
	o.frames, o.given = o.frames[:0], 0
	return true
}

// next lends a frame, until free is called.
func (o *outlet) next() (f *wire.Frame, last bool) {
	f = o.frames[o.given]
	o.given++
	o.lent = f
	return f, o.given == len(o.frames)
}

// free has the frame back that was lent.
func (o *outlet) free() {
	if o.lent != nil {
		o.lent.Free()
		o.lent = nil
	}
}

// own keeps the frames from a place on, though the next one comes in their place. It returns the
// place behind them.
func (o *outlet) own(from int) int {
	for i := from; i < len(o.frames); i++ {
		o.frames[i] = o.frames[i].Own()
	}
	return max(from, len(o.frames))
}
