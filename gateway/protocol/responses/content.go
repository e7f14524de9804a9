package responses

import (
	"strconv"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// parts are the parts of one content.
type parts struct {
	item    string // where it is
	member  string
	list    []contentPart
	refusal []byte   // as it stands between quotes
	texts   int      // of the list
	remarks *remarks // told of what only an upstream of the Responses API can take
}

// contentPart is a text, as it stands between quotes, or else another part of the chat's.
type contentPart struct{ text, other []byte }

// others is how many parts are no text.
func (p *parts) others() int { return len(p.list) - p.texts }

// read reads a content, a string or an array, of a role.
func (p *parts) read(content []byte, role string) (err error) {
	if content[0] == '"' {
		p.addText(content)
		return nil
	}
	wire.Elements(content, 0, func(n int, v wire.Span) bool {
		err = p.add(object(v.Of(content)), p.item+"."+p.member+"["+strconv.Itoa(n)+"]", role)
		return err == nil
	})
	return err
}

func (p *parts) addText(text []byte) {
	p.list = append(p.list, contentPart{text: inner(text)})
	p.texts++
}

func (p *parts) add(part object, place, role string) error {
	if !isObject(part) {
		return invalid(place, "%s must be an object, not %s.", place, gateway.Excerpt(part))
	}
	kind := wire.Unquote(part.get("type"))
	switch kind {
	case "input_text", "output_text", "text", "summary_text", "reasoning_text":
		p.remarks.leftover("input.", part, knownPart)
		text := part.get("text")
		if !isString(text) {
			return invalid(place+".text", "%s.text must be a string.", place)
		}
		p.addText(text)
		return nil
	case "refusal":
		p.remarks.leftover("input.", part, knownRefusal)
		refusal := part.get("refusal")
		if !isString(refusal) || role != "assistant" {
			return invalid(place, "%s must be a refusal of the model's, a string, in one of its messages.", place)
		}
		p.refusal = append(p.refusal, inner(refusal)...)
		return nil
	}
	if role == "assistant" {
		return invalid(place+".type", "%s.type must be \"output_text\" or \"refusal\" in a message of the model's, not %q.", place, gateway.ExcerptOf(kind, 40))
	}
	if part.get("file_id") != nil {
		p.remarks.needsOwn(invalid(place+".file_id", "%s.file_id names a file, of which this gateway stores none: send its bytes.", place))
		return nil
	}
	p.remarks.leftover("input.", part, knownMedia[kind])
	other, err := media(part, kind, place)
	if err != nil && kind == "input_file" && part.get("file_url") != nil {
		p.remarks.needsOwn(gateway.AsError(err))
		return nil
	}
	if err != nil {
		return err
	}
	p.list = append(p.list, contentPart{other: other})
	return nil
}

// media translates a part that is no text.
func media(part object, kind, place string) ([]byte, error) {
	switch kind {
	case "input_image":
		url := part.get("image_url")
		if !isString(url) {
			return nil, invalid(place+".image_url", "%s.image_url must be a string: a URL, or the image itself as a data: URL.", place)
		}
		b := append([]byte(`{"type":"image_url","image_url":{"url":`), url...)
		if detail := part.get("detail"); isString(detail) {
			b = append(append(b, `,"detail":`...), detail...)
		}
		return append(b, "}}"...), nil
	case "input_file":
		data := part.get("file_data")
		if !isString(data) {
			return nil, invalid(place+".file_data", "%s.file_data must be a string, the file itself as a data: URL; a chat completion has no other way to send a file.", place)
		}
		b := []byte(`{"type":"file","file":{`)
		if name := part.get("filename"); isString(name) {
			b = append(wire.AppendKey(b, "filename"), name...)
		}
		return append(append(wire.AppendKey(b, "file_data"), data...), "}}"...), nil
	case "input_audio":
		audio := part.get("input_audio")
		if !isObject(audio) {
			return nil, invalid(place+".input_audio", "%s.input_audio must be an object with \"data\" and \"format\".", place)
		}
		return append(append([]byte(`{"type":"input_audio","input_audio":`), audio...), '}'), nil
	}
	return nil, invalid(place+".type", "%s.type must be \"input_text\", \"input_image\", \"input_file\" or \"input_audio\", not %q.", place, gateway.ExcerptOf(kind, 40))
}

// appendText appends the text of all parts, as it stands between quotes.
func (p *parts) appendText(b []byte, between string) []byte {
	first := true
	for i := range p.list {
		if p.list[i].other != nil {
			continue
		}
		if !first {
			b = append(b, between...)
		}
		b = append(b, p.list[i].text...)
		first = false
	}
	return b
}

// appendContent appends the content of a chat message. Many servers take only a string from the
// system.
func (p *parts) appendContent(b []byte, role string) []byte {
	if p.others() == 0 && (p.texts < 2 || role == system) {
		return append(p.appendText(append(b, '"'), separator), '"')
	}
	return append(p.appendParts(append(b, '['), true), ']')
}

// appendParts appends the parts, with commas between them and in front of those behind others:
// all of them, or those that are no text.
func (p *parts) appendParts(b []byte, texts bool) []byte {
	for i := range p.list {
		if !texts && p.list[i].other == nil {
			continue
		}
		if last := b[len(b)-1]; last != '[' {
			b = append(b, ',')
		}
		if p.list[i].other != nil {
			b = append(b, p.list[i].other...)
		} else {
			b = append(append(append(b, `{"type":"text","text":"`...), p.list[i].text...), `"}`...)
		}
	}
	return b
}
