package run

import (
	"strings"

	"github.com/callgate/callgate/gateway/wire"
)

// output is what the client gets: frames that it does not have yet, and who writes them.
type output struct {
	frames []*wire.Frame
	given  int
	owed   bool     // a flush, for what was given out
	more   bool     // the model's next frame is already here
	stream bool     // the answer is one
	writer writer   // nil as long as no answer has begun
	early  []*event // what has happened by then
}

func (o *output) put(f *wire.Frame) { o.frames = append(o.frames, f) }

// begin begins the answer, as a stream or whole, with events in front of what has happened.
func (o *output) begin(streamed bool, events []*event) {
	if o.stream = streamed; o.stream {
		o.writer = &stream{put: o.put}
	} else {
		o.writer = &whole{put: o.put}
	}
	for _, e := range append(events, o.early...) {
		o.writer.event(e)
	}
	o.early = nil
}

// tell puts an event into the answer, or keeps it until there is one.
func (o *output) tell(e *event) {
	if o.writer == nil {
		o.early = append(o.early, e)
		return
	}
	o.writer.event(e)
}

// comment says which tools run, in a stream.
func (o *output) comment(tools []string) {
	if o.writer != nil && o.stream && len(tools) > 0 {
		o.put(&wire.Frame{Raw: []byte(": tool " + strings.Join(tools, " ") + "\n\n")})
	}
}
