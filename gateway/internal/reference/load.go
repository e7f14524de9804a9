package reference

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/span"
)

// plainResult is a result that is not JSON.
type plainResult struct {
	at   span.Span // its text, in JSON
	args string    // of the call that it belongs to
}

// next reads a further result of the conversation, from the newest to the oldest. It
// reports false if there is none.
func (r *Resolver) next() bool {
	c := r.conversation
	if r.exchanges == nil {
		exchanges := c.Exchanges(0)
		r.exchanges = make([]*conversation.Exchange, len(c.Messages))
		for i := range exchanges {
			if at := exchanges[i].Result; at >= 0 {
				r.exchanges[at] = &exchanges[i]
			}
		}
		r.unread = len(r.exchanges)
	}
	for r.unread > 0 && !r.partial {
		r.unread--
		if e := r.exchanges[r.unread]; e != nil {
			r.result(e)
			return true
		}
	}
	return false
}

// result takes in a result: its text, or each of its parts.
func (r *Resolver) result(e *conversation.Exchange) {
	c := r.conversation
	content := c.Messages[e.Result].Content
	if content.IsNull(c.Text) {
		return
	}
	if c.Text[content.Start] != '[' {
		r.text(e, content)
		return
	}
	span.Elements(c.Text[:content.End], content.Start, func(_ int, part span.Span) bool {
		r.text(e, conversation.Member(c.Text, part, "text"))
		return !r.partial
	})
}

// text takes in a text of a result.
func (r *Resolver) text(e *conversation.Exchange, at span.Span) {
	if at.IsNull(r.conversation.Text) || r.conversation.Text[at.Start] != '"' {
		return
	}
	text, err := jsontext.AppendUnquote(r.scratch[:0], at.Of(r.conversation.Text))
	if r.scratch = text; err != nil {
		return
	}
	found, json, err := r.scanner.read(text)
	switch {
	case err == errBound:
		r.partial = true
	case err != nil:
	case !json && !fails(text):
		r.plain = append(r.plain, plainResult{at: at, args: e.Args})
	}
	sources := r.sources[e.Name]
	for _, o := range found {
		r.object(o, sources, e.Result)
	}
}

// fails says whether a text that is not JSON tells that a call failed.
func fails(text []byte) bool {
	start := bytes.ToLower(bytes.TrimSpace(text[:min(len(text), 64)]))
	for _, word := range []string{"error", "exception", "traceback"} {
		if bytes.HasPrefix(start, []byte(word)) {
			return true
		}
	}
	return false
}

// object takes in what was found of an object. sources are those of the result's tool.
func (r *Resolver) object(o object, sources []*source, result int) {
	for i := range o {
		if texts := r.known[o[i].path]; texts != nil && !o[i].twice {
			if r.amount++; r.amount > maxKnown {
				r.partial = true
				return
			}
			texts[o[i].value.text] |= o[i].value.kind
		}
	}
	for _, s := range sources {
		text, value := o.member(s.match), o.member(s.value)
		if text == nil || value == nil {
			continue
		}
		if s.table.full() {
			r.partial = true
			return
		}
		s.table.add(text.text, *value, result)
	}
}

// member returns the value of a path, or nil.
func (o object) member(path int) *scalar {
	for i := range o {
		if o[i].path == path && !o[i].twice {
			return &o[i].value
		}
	}
	return nil
}

// maxWord is how many bytes an id may have that is looked for in plain text.
const maxWord = 200

// mentions says whether a result that is not JSON has the value as a word, and its
// call did not bring it up itself. Then the model did not make it up: a tool has
// answered "Created task T-104". Only what looks like an id counts, a word with a
// digit. A title in a text says nothing about its value.
func (r *Resolver) mentions(value scalar) bool {
	word := value.text
	if len(word) > maxWord || !strings.ContainsFunc(word, unicode.IsDigit) || strings.ContainsFunc(word, unicode.IsSpace) {
		return false
	}
	for _, p := range r.plain {
		if r.work -= p.at.End - p.at.Start; r.work < 0 {
			return true // it cannot be said
		}
		text, _ := conversation.Decode(r.conversation.Text, p.at)
		if hasWord(string(text), word) && !hasWord(p.args, word) {
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
