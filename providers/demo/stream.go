package demo

import (
	"encoding/json"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// maxPieces is about how many deltas one text is cut into. A frame has a hundred
// times the bytes of its text, and the client chooses how long a text is.
const maxPieces = 10_000

// stream is the answer in small frames.
type stream struct {
	frames []gateway.Frame
	// The numbers of the frames at which the text, the last call and the end begin.
	text, lastCall, finish int
	texts                  int // how many frames have text
}

// stream cuts the answer into frames of a number of runes, 0 for 3 and 4 in turn.
func (w *writer) stream(runes int, withUsage bool) *stream {
	var s stream
	add := func(c *completion) { s.frames = append(s.frames, wire.Event(encode(c))) }
	delta := func(d part) { add(w.completion("chat.completion.chunk", choice{Delta: &d})) }

	delta(part{Role: "assistant", Content: new(string)})
	for _, piece := range split(w.out.reasoning, runes) {
		delta(part{Reasoning: piece})
	}
	s.text = len(s.frames)
	for _, piece := range split(w.out.text, runes) {
		delta(part{Content: &piece})
	}
	s.texts = len(s.frames) - s.text
	for _, c := range w.calls {
		s.lastCall = len(s.frames)
		for _, call := range c.deltas(runes) {
			delta(part{ToolCalls: []toolCall{call}})
		}
	}
	s.finish = len(s.frames)
	add(w.completion("chat.completion.chunk", choice{Delta: &part{}, FinishReason: &w.finish}))
	if withUsage {
		c := w.completion("chat.completion.chunk")
		c.Choices = []choice{}
		c.Usage = &w.usage
		add(c)
	}
	s.frames = append(s.frames, wire.Done())
	return &s
}

// deltas are the call in pieces: its name first, then its arguments.
func (c wireCall) deltas(runes int) []toolCall {
	if c.object {
		call := c.toolCall(c.args)
		call.Index = c.index
		return []toolCall{call}
	}
	head := c.toolCall("")
	head.Index = c.index
	calls := []toolCall{head}
	for _, piece := range split(c.args, runes) {
		calls = append(calls, toolCall{Index: c.index, Function: function{Arguments: json.RawMessage(quote(piece))}})
	}
	return calls
}

// cut removes what is behind a place.
func (s *stream) cut(at place) {
	switch at {
	case afterRole:
		s.frames = s.frames[:1]
	case inText:
		s.frames = s.frames[:s.text+(s.texts+1)/2]
	case inCall:
		s.frames = s.frames[:s.lastCall+(s.finish-s.lastCall+1)/2]
	}
}

// split cuts s into pieces of n runes, of 3 and 4 in turn if n is 0, and of more if
// there would be too many.
func split(s string, n int) []string {
	var pieces []string
	rest := []rune(s)
	least := len(rest) / maxPieces
	for i := 0; len(rest) > 0; i++ {
		size := n
		if n == 0 {
			size = 3 + i%2
		}
		size = min(max(size, least), len(rest))
		pieces = append(pieces, string(rest[:size]))
		rest = rest[size:]
	}
	return pieces
}
