package ghost

import (
	"bytes"
	"strings"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// text keeps what an answer claims, without what the model thinks.
type text struct {
	window  window
	read    bool // a parser reads the text, and tells what of it is content
	head    strings.Builder
	tail    []byte // where it is longer than the head
	thought thought
	ending  []byte // of the text so far, where a mark of reasoning may have begun
	closed  bool   // reasoning has ended, or was none
}

// window bounds what is kept of an answer's text, in bytes: what is claimed stands at its
// beginning or at its end, and a whole answer waits while it is judged, some 50 µs a KB.
type window struct{ head, tail int }

// The windows of a guard that only reports, and of one that decides.
var (
	reported = window{512, 384}
	enforced = window{1536, 1024}
)

// choice takes a choice of a frame in.
func (t *text) choice(f *wire.Frame, place int) {
	if events, ok := f.Events(place); ok {
		t.events(events)
		return
	}
	at := f.Choices()[place].Content
	if at.IsNull(f.Data) {
		return
	}
	if f.Data[at.Start] != '"' {
		c := conversation.Conversation{Text: f.Data}
		t.add([]byte(c.Said(conversation.Message{Content: at})))
		return
	}
	f.Pieces(place, func(piece []byte) bool {
		t.add(piece)
		return true
	})
}

// events takes in what a parser has made of the text.
func (t *text) events(events []abi.Event) {
	for i := range events {
		switch events[i].Kind {
		case abi.Content:
			t.add([]byte(events[i].Text))
		case wire.WasReasoning: // nobody had marked its beginning
			t.head.Reset()
			t.tail = t.tail[:0]
		}
	}
}

// all is what was kept.
func (t *text) all() string {
	if len(t.tail) == 0 {
		return t.head.String()
	}
	return strings.ToValidUTF8(t.head.String()+"\n…\n"+string(t.tail[max(len(t.tail)-t.window.tail, 0):]), "")
}

// thought is where in a text that may begin with reasoning the watch is.
type thought int

const (
	unknownThought thought = iota
	inThought
	behindThought
)

// The marks of reasoning in the content, where nobody splits it off.
const (
	thinks     = "<think>"
	thoughtEnd = "</think>"
)

// add takes a piece of the text in. Reasoning at its beginning is left out: what a model
// thinks of doing it has not claimed.
func (t *text) add(text []byte) {
	if begun := bytes.TrimLeft(text, " \t\r\n"); t.thought == unknownThought && len(t.ending) == 0 &&
		len(begun) >= len(thinks) && !bytes.HasPrefix(begun, []byte(thinks)) { // most texts
		t.thought, text = behindThought, begun
	}
	for len(text) > 0 && t.thought != behindThought {
		t.ending = append(t.ending, text...)
		text = nil
		begun := t.ending
		if t.thought == unknownThought { // never more than the mark and a piece
			begun = bytes.TrimLeft(t.ending, " \t\r\n")
			t.ending = t.ending[:copy(t.ending, begun)]
			begun = t.ending
		}
		switch {
		case t.thought == inThought:
			if _, rest, closed := bytes.Cut(t.ending, []byte(thoughtEnd)); closed {
				t.thought, t.closed, text, t.ending = behindThought, true, rest, nil
			} else {
				t.ending = t.ending[max(len(t.ending)-len(thoughtEnd), 0):]
			}
		case bytes.HasPrefix(begun, []byte(thinks)):
			t.thought, text, t.ending = inThought, begun[len(thinks):], nil
		case !strings.HasPrefix(thinks, string(begun)):
			t.thought, text, t.ending = behindThought, t.ending, nil
		}
	}
	if len(text) > 0 {
		t.keep(t.unthought(text))
	}
}

// unthought takes away what stands in front of a mark that ends reasoning, if nobody has
// marked its beginning: that stood in the prompt.
func (t *text) unthought(text []byte) []byte {
	if t.read || t.closed {
		return text
	}
	t.ending = append(t.ending, text...)
	_, rest, found := bytes.Cut(t.ending, []byte(thoughtEnd))
	if !found {
		t.ending = t.ending[:copy(t.ending, t.ending[max(len(t.ending)-len(thoughtEnd), 0):])]
		return text
	}
	t.head.Reset()
	t.tail, t.ending, t.closed = t.tail[:0], nil, true
	return rest
}

func (t *text) keep(piece []byte) {
	n := min(len(piece), t.window.head-t.head.Len())
	t.head.Write(piece[:n])
	if piece = piece[n:]; len(piece) == 0 {
		return
	}
	if most := 2 * t.window.tail; len(piece) > most {
		t.tail, piece = t.tail[:0], piece[len(piece)-most:]
	}
	if t.tail = append(t.tail, piece...); len(t.tail) > 2*t.window.tail {
		t.tail = append(t.tail[:0], t.tail[len(t.tail)-t.window.tail:]...)
	}
}
