package gateway

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"

	"github.com/callgate/callgate/gateway/answers"
)

// tape keeps an answer while it goes out, until it is complete and stored, or turns out
// to be none that is. It is used by one goroutine, that of the response.
type tape struct {
	g      *Gateway
	policy AnswerPolicy
	key    answers.Key
	flight *answers.Flight // nil: nobody waits for the answer
	kept   []byte
	over   bool
	// readers stands for the parsers that the key was made with.
	readers string

	line    []byte // of a stream, the beginning of the next one
	event   int    // lines that were kept since the last blank one
	said    bool   // there is text
	stopped bool   // the finish reason was "stop"
	done    bool   // the end marker was seen, or all of a completion
	scratch chunk
}

// stored is what a response has to do with stored answers.
type stored struct {
	tape     *tape           // nil: the answer is not kept
	replayed *answers.Answer // nil: it is not a stored one
	at       int             // how much of that was given out
	readers  string          // stands for the parsers that read the answer; "": none do
}

// take takes note of what Next returns. The answer is stored before the caller has its end.
func (t *tape) take(r *Response, b []byte, err error) {
	if t.over {
		return
	}
	fit := true
	switch {
	case len(b) == 0:
	case r.Streamed:
		fit = t.stream(b)
	default:
		fit = t.whole(b)
	}
	switch {
	case err != nil && err != io.EOF && AsError(err).Kind == Canceled:
		t.abandon()
	case !fit || err != nil && err != io.EOF:
		t.giveUp()
	case err == io.EOF || !r.Streamed && len(b) > 0:
		t.complete(r)
	}
}

// complete stores the answer, if it is one to give again, and gives it to those who wait.
func (t *tape) complete(r *Response) {
	swapped := r.readers != "" && r.readers != t.readers // since the key was made, and that is another one's
	if swapped || !t.isSound() || !r.Summary.isSound() {
		t.giveUp()
		return
	}
	s := &r.Summary
	a := &answers.Answer{
		Provider: s.Provider, Model: s.Model, Streamed: r.Streamed, ContentType: r.Header.Get("Content-Type"),
		Stored: t.g.now().UTC(), Parsers: slices.Clone(s.Parsers), Repairs: maps.Clone(s.Repairs),
		Body: bytes.Clone(t.kept), // without the room that it grew in
	}
	for _, c := range s.Corrections {
		a.Corrections = append(a.Corrections, answers.Correction{Tool: c.Tool, Reason: c.Reason})
	}
	t.policy.Store.Put(context.WithoutCancel(r.ctx), t.key, a, t.policy.TTL)
	t.land(a)
}

// land gives an answer that is in the store to those who wait.
func (t *tape) land(a *answers.Answer) {
	t.end()
	if t.flight != nil {
		t.flight.Land(a)
	}
}

// isSound reports whether nothing was odd about the answer: no warning, no fault, no call,
// no claim that the guard doubts, and no target that stood in for another one.
func (s *Summary) isSound() bool {
	return !s.UpstreamError && s.Fallbacks() == 0 && len(s.Warnings) == 0 && len(s.Faults) == 0 && s.Calls == 0 && s.Native == 0 && len(s.Called) == 0 &&
		(s.Guard == nil || !s.Guard.Ghost && !s.Guard.Contradiction)
}

// isSound reports whether what the client got is a complete answer with a text.
func (t *tape) isSound() bool {
	return t.said && t.stopped && t.done && len(t.line) == 0 && t.event == 0
}

// giveUp is for an answer that is not one to share.
func (t *tape) giveUp() {
	if t.over {
		return
	}
	t.end()
	if t.flight != nil {
		t.flight.Fail()
	}
}

// abandon is for an answer that nobody has read to its end.
func (t *tape) abandon() {
	if t.over {
		return
	}
	t.end()
	if t.flight != nil {
		t.flight.Abandon()
	}
}

func (t *tape) end() {
	t.count(-len(t.kept) - len(t.line))
	t.over, t.kept, t.line = true, nil, nil
}

// keep takes bytes in, if there is room for them.
func (t *tape) keep(b []byte) bool {
	t.kept = append(t.kept, b...)
	return t.count(len(b)) && len(t.kept) <= t.policy.Largest
}

// count counts bytes that are held, or are not any more, and reports whether all tapes
// together have room for them.
func (t *tape) count(bytes int) bool { return t.g.answering.taped.Add(int64(bytes)) <= maxTaped }

// whole takes a completion in.
func (t *tape) whole(body []byte) bool {
	t.done = true
	return t.keep(body) && locate(&t.scratch, body, "message") && len(t.scratch.parts) == 1 && t.read(&t.scratch)
}

// stream takes a piece of a stream in. Comments are left out: they are about one request,
// or keep a connection open.
func (t *tape) stream(b []byte) bool {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n') + 1
		if end == 0 {
			return t.part(b)
		}
		line := b[:end]
		if len(t.line) > 0 {
			line = append(t.line, line...)
			t.count(-len(t.line))
			t.line = nil
		}
		if !t.streamLine(line) {
			return false
		}
		b = b[end:]
	}
	return true
}

// part takes in what has no end of the line yet. Of a comment one byte says enough.
func (t *tape) part(b []byte) bool {
	if len(t.line) == 0 && b[0] == ':' {
		b = b[:1]
	} else if len(t.line) > 0 && t.line[0] == ':' {
		return true
	}
	t.line = append(t.line, b...)
	return t.count(len(b)) && len(t.line) <= t.policy.Largest
}

// streamLine takes a line of a stream in. It reports false for what it does not know.
func (t *tape) streamLine(line []byte) bool {
	text := bytes.TrimRight(line, "\r\n")
	data, isData := bytes.CutPrefix(text, []byte("data:"))
	switch {
	case len(text) > 0 && text[0] == ':', len(text) == 0 && t.event == 0:
		return true
	case len(text) == 0:
		t.event = 0
		return t.keep(line)
	case !isData || t.event > 0 || t.done: // or an event of several lines, or one behind the end
		return false
	}
	t.event++
	if data = bytes.TrimPrefix(data, []byte(" ")); string(data) == "[DONE]" {
		t.done = true
		return t.keep(line)
	}
	return t.keep(line) && locate(&t.scratch, data, "delta") && t.read(&t.scratch)
}

// read looks for what makes a chunk, or a completion, one of an answer that is not kept: a
// call of any kind, another end than "stop", several choices, what a search has found.
func (t *tape) read(k *chunk) bool {
	for _, found := range [...]string{`"citations"`, `"search_results"`, `"search_info"`} {
		if bytes.Contains(k.data, []byte(found)) {
			return false
		}
	}
	for i := range k.parts {
		p := &k.parts[i]
		calls := !p.native.IsNull(k.data) && string(p.native.Of(k.data)) != "[]"
		if p.index > 0 || calls || actsOtherwise(k.data, p) {
			return false
		}
		switch p.reason(k.data) {
		case "":
		case "stop":
			t.stopped = true
		default:
			return false
		}
		t.said = t.said || !p.content.Empty() && says("content", p.content.Of(k.data))
	}
	return true
}
