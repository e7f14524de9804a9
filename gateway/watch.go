package gateway

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/sdk/abi"
)

// watch follows what an answer says, where the route's policy wants to know whether a
// call is missing. It reads the first choice; further ones are variants of it, and a call
// in any of them is one.
type watch struct {
	judge   *judge
	read    bool        // a chain reads the text, and tells what of it is content
	guard   *guard.Case // nil until it is needed
	head    strings.Builder
	tail    []byte // of the text, where it is longer than the head
	finish  string
	thought thought
	ending  []byte // of reasoning in the text, where its mark may have begun
	native  bool   // the upstream made a call itself
	over    bool   // the answer is
	decided bool   // nothing is held back any more
	scratch chunk
	text    []byte
}

// Bounds of what is kept of an answer's text: what is claimed stands at its beginning or
// at its end.
const (
	maxHead = 32 << 10
	maxTail = 16 << 10
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
		w.native = w.native || !p.native.IsNull(k.data) && p.native.End-p.native.Start > len("[]")
		if reason := p.reason(k.data); reason != "" {
			w.finish = reason
		}
		if w.read || p.content.IsNull(k.data) || k.data[p.content.Start] != '"' {
			continue
		}
		text, err := jsontext.AppendUnquote(w.text[:0], p.content.Of(k.data))
		if err == nil {
			w.add(text)
		}
		w.text = text[:0]
	}
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
		switch begun := bytes.TrimLeft(w.ending, " \t\r\n"); {
		case w.thought == inThought:
			if _, rest, closed := bytes.Cut(w.ending, []byte(thoughtEnd)); closed {
				w.thought, text, w.ending = behindThought, rest, nil
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
		w.keep(text)
	}
}

func (w *watch) keep(text []byte) {
	n := min(len(text), maxHead-w.head.Len())
	w.head.Write(text[:n])
	if text = text[n:]; len(text) == 0 {
		return
	}
	if w.tail = append(w.tail, text...); len(w.tail) > 2*maxTail {
		w.tail = append(w.tail[:0], w.tail[len(w.tail)-maxTail:]...)
	}
}

// broken reports whether the answer was cut short: what it lacks might have followed.
func (w *watch) broken() bool {
	return w.finish != "" && w.finish != "stop" && w.finish != "tool_calls" && w.finish != "function_call"
}

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
	return a
}

// answer is what the guard is asked about when the answer is over. What stands in front
// of a mark that ends reasoning is reasoning, also where its beginning stood in the prompt.
func (w *watch) answer() guard.Answer {
	a := w.begun()
	if len(w.tail) > 0 {
		a.Text += "\n…\n" + strings.ToValidUTF8(string(w.tail[max(len(w.tail)-maxTail, 0):]), "")
	}
	if before, rest, found := strings.Cut(a.Text, thoughtEnd); found && !strings.Contains(before, thinks) {
		a.Text = rest
	}
	a.Done = true
	return a
}
