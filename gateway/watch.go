package gateway

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// watch follows what an answer says, where the route's policy wants to know whether a
// call is missing. It reads the first choice; further ones are variants of it, and a call
// in any of them is one.
type watch struct {
	window  window
	judge   *judge
	read    bool        // a chain reads the text, and tells what of it is content
	guard   *guard.Case // nil until it is needed
	head    strings.Builder
	tail    []byte // of the text, where it is longer than the head
	finish  string
	thought thought
	ending  []byte // of the text so far, where a mark of reasoning may have begun
	closed  bool   // reasoning has ended, or was none
	native  bool   // the upstream made a call itself
	over    bool   // the answer is
	decided bool   // nothing is held back any more
	scratch chunk
	text    []byte
}

// window bounds what is kept of an answer's text, in bytes: what is claimed stands at its
// beginning or at its end, and a whole answer waits while it is judged, some 50 µs a KB.
type window struct{ head, tail int }

// The windows of a guard that only reports, and of one that decides.
var (
	reported = window{512, 384}
	enforced = window{1536, 1024}
)

// frame reads a chunk or a whole completion.
func (w *watch) frame(data []byte, streamed bool) {
	if locate(&w.scratch, data, bodyKey(streamed)) {
		w.chunk(&w.scratch)
	}
}

// chunk reads what was located.
func (w *watch) chunk(k *chunk) {
	for i := range k.parts {
		p := &k.parts[i]
		if i > 0 || p.index > 0 {
			continue
		}
		w.native = w.native || !p.native.IsNull(k.data) && p.native.End-p.native.Start > len("[]") || actsOtherwise(k.data, p)
		if reason := p.reason(k.data); reason != "" {
			w.finish = reason
		}
		if w.read && k.data[p.content.Start] != '[' || p.content.IsNull(k.data) {
			continue
		}
		if k.data[p.content.Start] != '"' {
			c := conversation.Conversation{Text: k.data}
			w.add([]byte(c.Said(conversation.Message{Content: p.content})))
			continue
		}
		text, err := jsontext.AppendUnquote(w.text[:0], p.content.Of(k.data))
		if err == nil {
			w.add(text)
		}
		w.text = text[:0]
	}
}

// actsOtherwise reports whether a choice has a call in the form of before tool_calls, or
// what a tool of the upstream's own has found.
func actsOtherwise(data []byte, p *part) bool {
	if p.body.Empty() || data[p.body.Start] != '{' {
		return false
	}
	body := p.body.Of(data)
	for _, name := range []string{"function_call", "annotations", "citations", "executed_tools"} {
		if !bytes.Contains(body, []byte(name)) {
			continue
		}
		if v := wire.Find(data, p.body, name); !v.IsNull(data) && v.End-v.Start > len("[]") {
			return true
		}
	}
	return false
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
func (w *watch) add(text []byte) {
	for len(text) > 0 && w.thought != behindThought {
		w.ending = append(w.ending, text...)
		text = nil
		begun := w.ending
		if w.thought == unknownThought { // never more than the mark and a piece
			begun = bytes.TrimLeft(w.ending, " \t\r\n")
			w.ending = w.ending[:copy(w.ending, begun)]
			begun = w.ending
		}
		switch {
		case w.thought == inThought:
			if _, rest, closed := bytes.Cut(w.ending, []byte(thoughtEnd)); closed {
				w.thought, w.closed, text, w.ending = behindThought, true, rest, nil
			} else {
				w.ending = w.ending[max(len(w.ending)-len(thoughtEnd), 0):]
			}
		case bytes.HasPrefix(begun, []byte(thinks)):
			w.thought, text, w.ending = inThought, begun[len(thinks):], nil
		case !strings.HasPrefix(thinks, string(begun)):
			w.thought, text, w.ending = behindThought, w.ending, nil
		}
	}
	if len(text) > 0 {
		w.keep(w.unthought(text))
	}
}

// unthought takes away what stands in front of a mark that ends reasoning, if nobody has
// marked its beginning: that stood in the prompt.
func (w *watch) unthought(text []byte) []byte {
	if w.read || w.closed {
		return text
	}
	w.ending = append(w.ending, text...)
	_, rest, found := bytes.Cut(w.ending, []byte(thoughtEnd))
	if !found {
		w.ending = w.ending[:copy(w.ending, w.ending[max(len(w.ending)-len(thoughtEnd), 0):])]
		return text
	}
	w.head.Reset()
	w.tail, w.ending, w.closed = w.tail[:0], nil, true
	return rest
}

func (w *watch) keep(text []byte) {
	n := min(len(text), w.window.head-w.head.Len())
	w.head.Write(text[:n])
	if text = text[n:]; len(text) == 0 {
		return
	}
	if w.tail = append(w.tail, text...); len(w.tail) > 2*w.window.tail {
		w.tail = append(w.tail[:0], w.tail[len(w.tail)-w.window.tail:]...)
	}
}

// broken reports whether the answer was cut short: what it lacks might have followed.
// Servers have many words for an end that is none.
func (w *watch) broken() bool {
	finish := strings.ToLower(w.finish)
	for _, cut := range []string{"length", "max_tokens", "filter", "safety", "error", "abort"} {
		if strings.Contains(finish, cut) {
			return true
		}
	}
	return false
}

// called reports whether the answer has a call of any kind.
func (w *watch) called() bool { return w.native || w.judge != nil && len(w.judge.called) > 0 }

// events takes in what a chain makes of the text.
func (w *watch) events(events []abi.Event) {
	for _, e := range events {
		switch e.Kind {
		case abi.Content:
			w.add([]byte(e.Text))
		case chain.WasReasoning: // nobody had marked its beginning
			w.head.Reset()
			w.tail = w.tail[:0]
		}
	}
}

// begun is what the guard is asked about while the answer comes: the beginning, which is
// not copied.
func (w *watch) begun() guard.Answer {
	a := guard.Answer{Text: w.head.String(), Finish: w.finish}
	if w.judge != nil {
		a.Calls = w.judge.called
	}
	if len(a.Calls) == 0 && w.native {
		a.Calls = []string{""} // one whose name nobody knows
	}
	return a
}

// answer is what the guard is asked about when the answer is over.
func (w *watch) answer() guard.Answer {
	a := w.begun()
	if len(w.tail) > 0 {
		a.Text = strings.ToValidUTF8(a.Text+"\n…\n"+string(w.tail[max(len(w.tail)-w.window.tail, 0):]), "")
	}
	a.Done = true
	return a
}
