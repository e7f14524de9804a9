package routing

import (
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/language"
	"github.com/callgate/callgate/gateway/internal/route"
	"github.com/callgate/callgate/gateway/wire"
)

// maxFact is how many bytes a text of the metadata may have for a rule to look at it.
// OpenAI takes 512 characters.
const maxFact = 2 << 10

// languageKey is the member of the metadata in which a client says its language itself, as
// ISO 639-1 or with a region: "pt" or "pt-BR".
const languageKey = "language"

// facts is what rules ask of a request. Of the metadata no more is kept than they ask for,
// and the language is looked for once.
type facts struct {
	req       *gateway.Request
	keys      []string // of the metadata, sorted
	languages *language.Detector

	metadata []fact // by keys; nil: nobody has looked
	language string
	asked    bool // for it
}

// fact is a text of the metadata.
type fact struct {
	text string
	ok   bool
}

var _ route.Facts = (*facts)(nil)

func (f *facts) Shape() route.Shape {
	return route.Shape{Tools: f.req.Reading.OffersTools(), Stream: f.req.Stream, Size: len(f.req.Body.Bytes())}
}

func (f *facts) Header(name string) []string { return f.req.From.Header[name] }

// Metadata implements route.Facts. A value that is no text has none: what it would be as
// text is for the client to say.
func (f *facts) Metadata(key string) (string, bool) {
	if f.metadata == nil {
		f.metadata = make([]fact, len(f.keys))
		body, at := f.said()
		conversation.Members(body, at, func(key []byte, v wire.Span) bool {
			if i, found := slices.BinarySearch(f.keys, string(key)); found {
				f.metadata[i].text, f.metadata[i].ok = text(body, v)
			}
			return true
		})
	}
	i, found := slices.BinarySearch(f.keys, key)
	if !found {
		return "", false
	}
	return f.metadata[i].text, f.metadata[i].ok
}

// said is where the request's metadata is: in its body, or beside it where the client speaks
// another protocol.
func (f *facts) said() (body []byte, at wire.Span) {
	if s := f.req.Source; s != nil && len(s.Metadata) > 0 {
		return s.Metadata, wire.Span{End: len(s.Metadata)}
	}
	return f.req.Body.Bytes(), f.req.Body.Places().Metadata
}

// text reads a string that is not too long.
func text(body []byte, v wire.Span) (string, bool) {
	if v.IsNull(body) || v.End-v.Start > maxFact {
		return "", false
	}
	s, ok := conversation.Decode(body, v)
	return string(s), ok
}

// Language implements route.Facts: what the metadata says, or else that of the user's last
// message. What the metadata says and nobody understands is not guessed at.
func (f *facts) Language() string {
	if f.asked {
		return f.language
	}
	f.asked = true
	body, at := f.said()
	if v := conversation.Member(body, at, languageKey); !v.IsNull(body) {
		said, _ := text(body, v)
		if code := language.Base(said); f.languages.Knows(code) {
			f.language = code
		}
		return f.language
	}
	talk := f.req.Reading.Conversation()
	if i := talk.LastUser(len(talk.Messages)); i >= 0 {
		f.language = f.languages.Detect(talk.Said(talk.Messages[i]))
	}
	return f.language
}
