package gateway

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/callgate/callgate/gateway/wire"
)

// Body is the JSON of a request. Its bytes are validated once and kept; fields are read by their
// places, and what goes upstream is the same bytes with a few edits spliced in.
type Body struct {
	// Appended is how many messages at the end are the gateway's own: they are not there in the
	// next turn.
	Appended int

	text   []byte
	places Places
	edits  []wire.Edit // of text, not spliced in yet
}

// Places are those of what matters in a request's body; those that are not there are empty.
type Places struct {
	Model, Stream, Tools, ToolChoice, Messages wire.Span
	ResponseFormat, WebSearch, Parallel        wire.Span // web_search_options, parallel_tool_calls
	Metadata, CacheKey, Stop                   wire.Span // prompt_cache_key
	StreamOptions                              wire.Span
	MaxTokens, MaxCompletionTokens, N          wire.Span
}

// Bytes are those of the JSON, which Places are places in. The caller must not change them.
func (b *Body) Bytes() []byte { return b.flat().text }

// Size is how many bytes Bytes has, which are not put together for that.
func (b *Body) Size() int { return len(b.text) + wire.Growth(b.edits) }

// Places are those of what matters in Bytes.
func (b *Body) Places() *Places { return &b.flat().places }

// flat has the edits spliced in.
func (b *Body) flat() *Body {
	if len(b.edits) > 0 {
		b.text, b.edits = wire.Splice(b.text, b.edits), nil
		b.locate()
	}
	return b
}

// locate finds the members of the body that matter. odd is one that some servers take
// for the one that is meant, or "".
func (b *Body) locate() (odd, meant string, ok bool) {
	p := &b.places
	*p = Places{}
	ok = wire.Members(b.text, 0, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "model":
			p.Model = v
		case "stream":
			p.Stream = v
		case "tools":
			p.Tools = v
		case "tool_choice":
			p.ToolChoice = v
		case "messages":
			p.Messages = v
		case "response_format":
			p.ResponseFormat = v
		case "web_search_options":
			p.WebSearch = v
		case "parallel_tool_calls":
			p.Parallel = v
		case "metadata":
			p.Metadata = v
		case "prompt_cache_key":
			p.CacheKey = v
		case "stop":
			p.Stop = v
		case "stream_options":
			p.StreamOptions = v
		default:
			if !p.size(key, v) && odd == "" {
				odd, meant = misspelt(key)
			}
		}
		return true
	})
	return odd, meant, ok
}

// size notes a member that says how much is asked for.
func (p *Places) size(key []byte, v wire.Span) bool {
	switch string(key) {
	case "max_tokens":
		p.MaxTokens = v
	case "max_completion_tokens":
		p.MaxCompletionTokens = v
	case "n":
		p.N = v
	default:
		return false
	}
	return true
}

// Field is a member of a request, its value in JSON.
type Field struct{ Name, Value string }

// lay are the bytes in pieces, with fields set, with further edits, and with a name of the model, in
// JSON; nil leaves the client's.
func (b *Body) lay(model []byte, fields []Field, further []wire.Edit) wire.Pieces {
	if len(fields) > 0 || len(further) > 0 {
		b = b.flat()
	}
	edits := append(slices.Clip(b.edits), further...)
	if model != nil {
		edits = append(edits, wire.Edit{At: b.places.Model, With: model})
	}
	if len(fields) > 0 {
		edits = append(edits, b.set(fields)...)
	}
	return wire.Lay(b.text, edits)
}

// set are the edits that give members of the body values.
func (b *Body) set(fields []Field) (edits []wire.Edit) {
	set := make([]bool, len(fields))
	wire.Members(b.text, 0, func(key []byte, v wire.Span) bool {
		name := wire.Key(key)
		if i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == string(name) }); i >= 0 {
			edits = append(edits, wire.Edit{At: v, With: []byte(fields[i].Value)})
			set[i] = true
		}
		return true
	})
	brace := bytes.IndexByte(b.text, '{') + 1
	var added []byte
	for i, f := range fields {
		if !set[i] {
			added = append(append(append(strconv.AppendQuote(added, f.Name), ':'), f.Value...), ',') // the model follows
		}
	}
	return append(edits, wire.Edit{At: wire.Span{Start: brace, End: brace}, With: added})
}

// Set is the edit of Bytes that gives a member a value; at is its place, empty if it is not
// there.
func (b *Body) Set(at wire.Span, name, value string) wire.Edit {
	if !at.Empty() {
		return wire.Edit{At: at, With: []byte(value)}
	}
	brace := bytes.IndexByte(b.Bytes(), '{') + 1
	return wire.Edit{At: wire.Span{Start: brace, End: brace}, With: fmt.Appendf(nil, "%q:%s,", name, value)} // the model follows
}

// Message is the edit of Bytes that puts a message of the user's behind the others.
func (b *Body) Message(text string) wire.Edit {
	list := b.Places().Messages
	end := list.End - 1 // in front of the bracket
	message := wire.AppendQuoted([]byte(`,{"role":"user","content":`), text)
	if wire.Blank(b.text[list.Start+1 : end]) {
		message = message[1:]
	}
	return wire.Edit{At: wire.Span{Start: end, End: end}, With: append(message, '}')}
}
