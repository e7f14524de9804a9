package reference

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/toolresult"
	"github.com/callgate/callgate/gateway/wire"
)

// queue are results, which are taken in when they are needed, from the newest to the
// oldest.
type queue struct {
	unread []*conversation.Exchange // the newest last
	// partial says that not all of them can be taken in, so that nothing can be said about
	// what is not found.
	partial bool
	known   map[int]map[string]kinds // by path: the values that they hold there
}

// question is a call by what it asks: the tool, and the arguments in one form.
type question struct{ tool, args string }

// outcome is what a result is. Of several that its parts are, the last one here counts.
type outcome uint8

const (
	unanswered outcome = iota
	inWords            // not JSON, or nothing
	inJSON
	failure
)

// plainResult is a result that is not JSON.
type plainResult struct {
	at   wire.Span          // its text, in JSON
	call *conversation.Call // that it belongs to
}

// next takes in a further result. It reports false if there is none.
func (r *Resolver) next(q *queue) bool {
	if !r.opened {
		r.open()
	}
	last := len(q.unread) - 1
	if last < 0 || q.partial {
		return false
	}
	e := q.unread[last]
	q.unread = q.unread[:last]
	if q == &r.own {
		r.answer(e)
	} else {
		r.result(q, e, nil)
	}
	return true
}

// open puts the conversation's results into the queues.
func (r *Resolver) open() {
	r.opened = true
	exchanges := r.conversation.Exchanges(0)
	byResult := make([]*conversation.Exchange, len(r.conversation.Messages))
	for i := range exchanges {
		if at := exchanges[i].Result; at >= 0 {
			byResult[at] = &exchanges[i]
		}
	}
	for _, e := range byResult {
		switch {
		case e == nil:
		case r.sources[e.Name] != nil:
			r.own.unread = append(r.own.unread, e)
		default:
			r.others.unread = append(r.others.unread, e)
		}
	}
}

// answer takes in a result of a tool that rules name. It tells nothing if a newer one
// answers the same question: what that one does not list any more is gone. One in words
// may have listed it or not. Then the older one gives no candidates, but its values
// were not made up. A failure is no answer.
func (r *Resolver) answer(e *conversation.Exchange) {
	q := question{e.Name, string(conversation.Canonical(nil, e.Args()))}
	sources := r.sources[e.Name]
	newer := r.answered[q]
	switch newer {
	case inJSON:
		return
	case inWords:
		sources = nil
	}
	if is := r.result(&r.own, e, sources); is != failure {
		r.answered[q] = max(newer, is)
	}
}

// result takes in a result for some sources: its text, or its parts of text as one if
// that is JSON, and each by itself otherwise.
func (r *Resolver) result(q *queue, e *conversation.Exchange, sources []*source) outcome {
	texts := r.texts(r.conversation.Messages[e.Result].Content)
	if len(texts) > 1 {
		if is := r.text(q, e, sources, texts...); is != inWords {
			return is
		}
	}
	all := inWords
	for _, at := range texts {
		is := r.text(q, e, sources, at)
		if is == inWords {
			r.plain = append(r.plain, plainResult{at: at, call: &e.Call})
		}
		all = max(all, is)
	}
	return all
}

// texts are the places of the strings that a content consists of.
func (r *Resolver) texts(content wire.Span) (texts []wire.Span) {
	text := r.conversation.Text
	switch {
	case content.IsNull(text):
	case text[content.Start] == '"':
		texts = append(texts, content)
	case text[content.Start] == '[':
		r.conversation.Parts(content, func(_ wire.Span, kind []byte, at wire.Span) bool {
			if string(kind) == "text" && !at.Empty() {
				texts = append(texts, at)
			}
			return true
		})
	}
	return texts
}

// text takes in a text of a result, which may stand in several places.
func (r *Resolver) text(q *queue, e *conversation.Exchange, sources []*source, places ...wire.Span) outcome {
	raw := r.conversation.Text
	if first := raw[places[0].Start+1 : places[0].End]; !opens(first) { // most texts are plain
		return plainOutcome(first)
	}
	r.scratch = r.scratch[:0]
	for _, at := range places {
		var err error
		if r.scratch, err = jsontext.AppendUnquote(r.scratch, at.Of(raw)); err != nil {
			return inWords
		}
	}
	found, json, err := r.scanner.read(r.scratch)
	switch {
	case err == errBound:
		q.partial = true
	case err != nil:
		return failure
	case !json:
		return plainOutcome(r.scratch)
	}
	if !r.take(q, found, sources, e.Result) {
		q.partial = true
	}
	return inJSON
}

// plainOutcome is what a text is that is not JSON.
func plainOutcome(text []byte) outcome {
	if toolresult.Failed(skipSpace(text), toolresult.Certain) {
		return failure
	}
	return inWords
}

// take takes in what was found of a result's objects. It reports false if that is too
// much.
func (r *Resolver) take(q *queue, found []object, sources []*source, result int) bool {
	for i := range found {
		for _, m := range found[i].members {
			texts := q.known[m.path]
			if texts == nil || m.twice || m.value.kind == 0 {
				continue
			}
			if r.amount++; r.amount > maxKnown {
				return false
			}
			texts[m.value.text] |= m.value.kind
		}
	}
	for _, s := range sources {
		if !s.take(found, result) {
			return false
		}
	}
	return true
}

// take takes in the candidates among objects: those that have both members, and stand
// in no other that has them. A comment of a task is no task, whoever gave it the title
// of one.
func (s *source) take(found []object, result int) bool {
	s.outer = s.outer[:0]
	for i := range found {
		if found[i].member(s.match) == nil || found[i].member(s.value) == nil {
			continue
		}
		for n := len(s.outer); n > 0 && s.outer[n-1] >= found[i].inside; n-- {
			s.outer = s.outer[:n-1]
		}
		s.outer = append(s.outer, i)
	}
	for _, i := range s.outer {
		match, value := found[i].member(s.match), found[i].member(s.value)
		if !match.readable() || !value.readable() {
			continue
		}
		if s.table.full() {
			return false
		}
		s.table.add(match.value.text, value.value, result)
	}
	return true
}

// member returns the member of a path, or nil.
func (o *object) member(path int) *member {
	for i := range o.members {
		if o.members[i].path == path {
			return &o.members[i]
		}
	}
	return nil
}

// readable says whether the member is a scalar that all parsers read alike.
func (m *member) readable() bool { return !m.twice && m.value.kind != 0 }

// maxWord is how many bytes an id may have that is looked for in plain text.
const maxWord = 200

// mentions says whether a result that is not JSON has the value as a word, and its
// call did not bring it up itself. Then the model did not make it up: a tool has
// answered "Created task T-104". Only what looks like an id counts, a word with a
// digit. A title in a text says nothing about its value.
func (r *Resolver) mentions(value scalar) bool {
	word := value.text
	if len(word) > maxWord || !value.mayBeID() {
		return false
	}
	for _, p := range r.plain {
		if r.work -= p.at.End - p.at.Start; r.work < 0 {
			return true // it cannot be said
		}
		text, _ := conversation.Decode(r.conversation.Text, p.at)
		if hasWord(string(text), word) && !hasWord(string(p.call.Args()), word) {
			return true
		}
	}
	return false
}

// hasWord says whether a word stands in a text by itself.
func hasWord(text, word string) bool {
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(word):])
		if !partOfWord(before) && !partOfWord(after) {
			return true
		}
		from = at + len(word)
	}
}

func partOfWord(r rune) bool {
	return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r)
}
