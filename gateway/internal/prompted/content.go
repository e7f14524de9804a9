package prompted

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// quoted is a text as it stands between the quotes of a JSON string.
func quoted(s string) []byte {
	q := wire.AppendQuoted(nil, s)
	return q[1 : len(q)-1]
}

func textPart[Text ~[]byte | ~string](s Text) []byte {
	return append(wire.AppendQuoted([]byte(`{"type":"text","text":`), s), '}')
}

// extend adds a text behind a message's content: a string, an array of parts, or
// nothing. gap stands between the two. The bytes that are there stay.
func extend(content []byte, gap, text string) []byte {
	if len(content) < 2 || content[0] == 'n' {
		return wire.AppendQuoted(nil, text)
	}
	inside := content[:len(content)-1]
	if content[0] == '[' {
		if wire.Blank(inside[1:]) {
			return slices.Concat(inside, textPart(text), []byte("]"))
		}
		return slices.Concat(inside, []byte(","), textPart(gap+text), []byte("]"))
	}
	if len(inside) == 1 {
		gap = ""
	}
	return slices.Concat(inside, quoted(gap+text), []byte(`"`))
}

// precede does the same before content that is a string or an array.
func precede(content []byte, text, gap string) []byte {
	rest := content[1:]
	if content[0] == '[' {
		if wire.Blank(rest[:len(rest)-1]) {
			return slices.Concat([]byte("["), textPart(text), rest)
		}
		return slices.Concat([]byte("["), textPart(text+gap), []byte(","), rest)
	}
	if len(rest) == 1 {
		gap = ""
	}
	return slices.Concat([]byte(`"`), quoted(text+gap), rest)
}

// said splits a message's content into its text, of parts one a line, and the parts that
// are not text. A value that cannot be content is a text as it stands.
func (w *writer) said(at wire.Span) (text string, others [][]byte) {
	if at.IsNull(w.c.Text) {
		return "", nil
	}
	if s, ok := conversation.Decode(w.c.Text, at); ok {
		return string(s), nil
	}
	if w.c.Text[at.Start] != '[' {
		return string(at.Of(w.c.Text)), nil
	}
	var texts []string
	w.c.Parts(at, func(part wire.Span, kind []byte, text wire.Span) bool {
		if s, ok := conversation.Decode(w.c.Text, text); text.Empty() || !ok || len(kind) > 0 && string(kind) != "text" {
			others = append(others, part.Of(w.c.Text))
		} else if len(s) > 0 {
			texts = append(texts, string(s))
		}
		return true
	})
	return strings.Join(texts, "\n"), others
}

// appendContent appends a text as a message's content. With other parts it is an array.
func (w *writer) appendContent(text []byte, others [][]byte) {
	if len(others) == 0 {
		w.out = wire.AppendQuoted(w.out, text)
		return
	}
	w.warned.content += len(others)
	w.out = append(append(w.out, '['), textPart(text)...)
	for _, part := range others {
		w.out = append(append(w.out, ','), part...)
	}
	w.out = append(w.out, ']')
}

// spaced appends JSON with the spaces that Python's json.dumps writes, which is what
// chat templates print. Numbers keep their digits.
func spaced(dst, value []byte) []byte {
	return layout(dst, value, jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
}

// compact appends JSON without spaces.
func compact(dst, value []byte) []byte { return layout(dst, value) }

// maxIndent is how deep JSON may nest that is written over several lines: no deeper
// than a request may, or there would be more spaces than text.
const maxIndent = 128

// indented returns a function that appends JSON as json.dumps does with an indent. The
// lines behind the first begin with prefix.
func indented(prefix, indent string) func(dst, value []byte) []byte {
	return func(dst, value []byte) []byte {
		if _, deep := wire.Depth(value, maxIndent); deep >= 0 {
			return spaced(dst, value)
		}
		return layout(dst, value, jsontext.WithIndent(indent), jsontext.WithIndentPrefix(prefix))
	}
}

func layout(dst, value []byte, options ...jsontext.Options) []byte {
	options = append(options, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	dst, _ = jsontext.AppendFormat(dst, value, options...) // what is not JSON stays as it is
	return dst
}
