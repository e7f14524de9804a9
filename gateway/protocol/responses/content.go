package responses

import (
	"fmt"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// parts are the parts of one content.
type parts struct {
	place   string
	texts   [][]byte // as they stand between quotes
	refusal []byte   // likewise
	all     [][]byte // parts of the chat's, the texts too
	others  int      // of all, those that are no text
}

// read reads a content, a string or an array, of a role.
func (p *parts) read(content []byte, role string) (err error) {
	if content[0] == '"' {
		p.texts = append(p.texts, inner(content))
		p.all = append(p.all, textPart(content))
		return nil
	}
	wire.Elements(content, 0, func(n int, v wire.Span) bool {
		err = p.add(object(v.Of(content)), fmt.Sprintf("%s[%d]", p.place, n), role)
		return err == nil
	})
	return err
}

func textPart(text []byte) []byte {
	return append(append([]byte(`{"type":"text","text":`), text...), '}')
}

func (p *parts) add(part object, place, role string) error {
	if !isObject(part) {
		return invalid(place, "%s must be an object, not %s.", place, gateway.Excerpt(part))
	}
	kind := wire.Unquote(part.get("type"))
	switch kind {
	case "input_text", "output_text", "text", "summary_text", "reasoning_text":
		text := part.get("text")
		if !isString(text) {
			return invalid(place+".text", "%s.text must be a string.", place)
		}
		p.texts = append(p.texts, inner(text))
		p.all = append(p.all, textPart(text))
		return nil
	case "refusal":
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
	other, err := media(part, kind, place)
	if err != nil {
		return err
	}
	p.all = append(p.all, other)
	p.others++
	return nil
}

// media translates a part that is no text.
func media(part object, kind, place string) ([]byte, error) {
	if part.get("file_id") != nil {
		return nil, invalid(place+".file_id", "%s.file_id names a file, of which this gateway stores none: send its bytes.", place)
	}
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

// join is the text of all parts, as it stands between quotes.
func (p *parts) join(between string) (text []byte) {
	if len(p.texts) == 1 {
		return p.texts[0]
	}
	for i, t := range p.texts {
		if i > 0 {
			text = append(text, between...)
		}
		text = append(text, t...)
	}
	return text
}

// content is the content of a chat message. Many servers take only a string from the system.
func (p *parts) content(role string) []byte {
	switch {
	case p.others == 0 && (len(p.texts) == 1 || role == "system"):
		return append(append([]byte{'"'}, p.join(separator)...), '"')
	case len(p.all) == 0:
		return []byte(`""`)
	}
	return append(append([]byte{'['}, list(p.all)...), ']')
}

// rest are the parts that are no text, with commas between them.
func (p *parts) rest() (b []byte) {
	const text = `{"type":"text",`
	for _, part := range p.all {
		if len(part) >= len(text) && string(part[:len(text)]) == text {
			continue
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(b, part...)
	}
	return b
}

// list is values with commas between them.
func list(values [][]byte) (b []byte) {
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return b
}
