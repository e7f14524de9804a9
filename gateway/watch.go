package gateway

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/internal/guard"
)

// watch follows what an answer says, where the route's policy wants to know whether a
// call is missing. It looks at the first choice; further ones are variants of it.
type watch struct {
	judge   *judge
	guard   *guard.Case // nil until it is needed
	head    strings.Builder
	tail    []byte // of the text, where it is longer than the head
	finish  string
	native  bool // the upstream made a call itself
	over    bool // the answer is
	decided bool // nothing is held back any more
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
		if p.content.IsNull(k.data) || k.data[p.content.Start] != '"' {
			continue
		}
		text, err := jsontext.AppendUnquote(w.text[:0], p.content.Of(k.data))
		if err == nil {
			w.add(text)
		}
		w.text = text[:0]
	}
}

func (w *watch) add(text []byte) {
	n := min(len(text), maxHead-w.head.Len())
	w.head.Write(text[:n])
	if text = text[n:]; len(text) == 0 {
		return
	}
	if w.tail = append(w.tail, text...); len(w.tail) > 2*maxTail {
		w.tail = append(w.tail[:0], w.tail[len(w.tail)-maxTail:]...)
	}
}

// answer is what the guard is asked about.
func (w *watch) answer() guard.Answer {
	text := w.head.String()
	if len(w.tail) > 0 {
		text += "\n…\n" + strings.ToValidUTF8(string(w.tail[max(len(w.tail)-maxTail, 0):]), "")
	}
	a := guard.Answer{Text: text, Finish: w.finish, Done: w.over}
	if w.judge != nil {
		a.Calls = w.judge.called
	}
	return a
}
