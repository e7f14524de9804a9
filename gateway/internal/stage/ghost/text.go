package ghost

import (
	"bytes"
	"strings"
	"unicode/utf8"

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
// beginning or at its end, and a whole answer waits while it is judged, some 10 µs a KB.
type window struct{ head, tail int }

// The windows of a guard that only reports, and of one that decides.
var (
	reported = window{512, 384}
	enforced = window{1536, 1024}
)

// firstRoom is how many bytes of a text there is room for at first.
const firstRoom = 512

// frame takes the first choice of a frame in.
func (t *text) frame(f *wire.Frame) {
	if events, ok := f.Events(0); ok {
		t.events(events)
		return
	}
	at := f.Choices()[0].Content
	if at.IsNull(f.Data) {
		return
	}
	if f.Data[at.Start] != '"' {
		c := conversation.Conversation{Text: f.Data}
		t.add(c.Saying(conversation.Message{Content: at}))
		return
	}
	f.Pieces(0, func(piece []byte) bool {
		t.add(piece)
		return true
	})
}

// events takes in what a parser has made of the text.
func (t *text) events(events []abi.Event) {
	for i := range events {
		switch events[i].Kind {
		case abi.Content:
			t.addString(events[i].Text)
		case wire.WasReasoning: // nobody had marked its beginning
			t.head.Reset()
			t.tail = t.tail[:0]
		}
	}
}

// addString takes in a text that may be megabytes, and is copied to the stack alone.
func (t *text) addString(s string) {
	var room [512]byte
	for s != "" {
		n := copy(room[:], s)
		t.add(room[:n])
		s = s[n:]
	}
}

// all is what was kept.
func (t *text) all() string {
	if len(t.tail) == 0 {
		return t.head.String()
	}
	kept := t.head.String() + "\n…\n" + string(t.tail[max(len(t.tail)-t.window.tail, 0):])
	if utf8.ValidString(kept) { // by words, where ToValidUTF8 looks at every byte
		return kept
	}
	return strings.ToValidUTF8(kept, "")
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
func (t *text) add(piece []byte) {
	if t.thought == unknownThought {
		piece = t.begin(piece)
	}
	if t.thought == inThought {
		at := t.behind(piece)
		if at < 0 {
			return
		}
		t.thought, t.closed, piece = behindThought, true, piece[at:]
	}
	if t.thought == behindThought && len(piece) > 0 {
		t.keep(t.unthought(piece))
	}
}

// begin finds out whether the text begins with reasoning, and returns what is behind the mark of it.
func (t *text) begin(piece []byte) []byte {
	begun := piece
	if len(t.ending) > 0 { // never more than the mark and a piece
		begun = append(t.ending, piece...) //nolint:gocritic // begun lives as long as the call
	}
	begun = bytes.TrimLeft(begun, " \t\r\n")
	switch {
	case bytes.HasPrefix(begun, []byte(thinks)):
		t.thought, t.ending = inThought, nil
		return begun[len(thinks):]
	case !bytes.HasPrefix([]byte(thinks), begun):
		t.thought, t.ending = behindThought, nil
		return begun
	}
	t.ending = append(t.ending[:0], begun...)
	return nil
}

// behind returns the place in a piece that is behind the mark that ends reasoning, or -1. The mark may have
// begun in the pieces before: ending has what of them may be its beginning.
func (t *text) behind(piece []byte) int {
	begun := len(t.ending)
	if begun > 0 {
		t.ending = append(t.ending, piece[:min(len(piece), len(thoughtEnd)-1)]...)
		if at := bytes.Index(t.ending, []byte(thoughtEnd)); at >= 0 {
			t.ending = nil
			return at + len(thoughtEnd) - begun
		}
	}
	if at := bytes.Index(piece, []byte(thoughtEnd)); at >= 0 {
		t.ending = nil
		return at + len(thoughtEnd)
	}
	if begun == 0 || len(piece) >= len(thoughtEnd) {
		t.ending = append(t.ending[:0], piece[max(len(piece)-len(thoughtEnd)+1, 0):]...)
	}
	t.ending = t.ending[max(len(t.ending)-len(thoughtEnd)+1, 0):]
	if at := bytes.LastIndexByte(t.ending, thoughtEnd[0]); at >= 0 {
		t.ending = t.ending[at:]
	} else {
		t.ending = t.ending[:0]
	}
	return -1
}

// unthought takes away what stands in front of a mark that ends reasoning, if nobody has
// marked its beginning: that stood in the prompt.
func (t *text) unthought(piece []byte) []byte {
	if t.read || t.closed {
		return piece
	}
	at := t.behind(piece)
	if at < 0 {
		return piece
	}
	t.head.Reset()
	t.tail, t.closed = t.tail[:0], true
	return piece[at:]
}

func (t *text) keep(piece []byte) {
	n := min(len(piece), t.window.head-t.head.Len())
	if t.head.Cap() == 0 {
		t.head.Grow(min(t.window.head, max(n, firstRoom)))
	}
	t.head.Write(piece[:n])
	if piece = piece[n:]; len(piece) == 0 {
		return
	}
	if t.tail == nil {
		t.tail = make([]byte, 0, 2*t.window.tail)
	}
	if most := 2 * t.window.tail; len(piece) > most {
		t.tail, piece = t.tail[:0], piece[len(piece)-most:]
	}
	if len(t.tail)+len(piece) > 2*t.window.tail {
		t.tail = append(t.tail[:0], t.tail[max(len(t.tail)+len(piece)-2*t.window.tail, 0):]...)
	}
	t.tail = append(t.tail, piece...)
}
