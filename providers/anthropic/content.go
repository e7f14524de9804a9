package anthropic

import (
	"bytes"
	"fmt"
	"strings"
)

// parts reads what a message is made of.
type parts struct{ warnings *warnings }

// readContent translates the content of a message, a string or parts, to blocks.
// Empty text, which clients send beside calls, is left out, since Anthropic refuses
// it; white space is reported.
func (p parts) readContent(place string, content value, to *blocks) error {
	switch {
	case content == nil:
	case isString(content):
		if p.hasText(content) {
			to.text(content, nil)
		}
	case isArray(content):
		return elements(content, func(i int, v value) error {
			return p.readPart(func() string { return fmt.Sprintf("%s.content[%d]", place, i) }, v, to)
		})
	default:
		return invalid(place+".content", "%s.content must be a string or an array of parts.", place)
	}
	return nil
}

// mark gives the last block the cache_control of its message, if that has one and
// the block has none of its own.
func (p parts) mark(b *blocks, cache value) {
	if cache != nil && !b.mark(cache) {
		p.warnings.drop("messages.cache_control")
	}
}

// textBlock is a block of text from a string.
func textBlock(s, cache value) value {
	var o object
	o.setString("type", "text")
	o.set("text", s)
	o.setGiven("cache_control", cache)
	return o.close()
}

// hasText says whether a string may be a block, and reports one that may not.
func (p parts) hasText(s value) bool {
	if blank(s) {
		if string(s) != `""` {
			p.warnings.drop("messages.blank_text")
		}
		return false
	}
	return true
}

// readPart translates one part of a content. It is nil if the part is left out. A
// part whose type is none of OpenAI's is taken for Anthropic's own, image, document,
// search_result and so on, and passes as it is. at says where it is, for errors.
func (p parts) readPart(at func() string, v value, to *blocks) error {
	switch kind := text(get(v, "type")); kind {
	case "":
		return invalid(at()+".type", "%s is not a part with a type.", at())
	case "text", "refusal":
		return p.readText(at, v, kind, to)
	case "image_url":
		return p.readImage(at(), fields(v), to)
	case "file":
		return p.readFile(at(), fields(v), to)
	case "input_audio", "video_url", "audio_url":
		return invalid(at(), "%s has the type %s, which this model's API does not take.", at(), kind)
	}
	to.give(v)
	return nil
}

var textFields = set("type", "text", "cache_control", "citations")

// readText takes a part of text, which has the same form on both sides.
func (p parts) readText(at func() string, v value, name string, to *blocks) error {
	var s, cache value
	same := name == "text"
	_ = members(v, func(field string, v value) error {
		switch {
		case absent(v):
			return nil
		case field == name:
			s = v
		case field == "cache_control":
			cache = v
		}
		same = same && textFields[field]
		return nil
	})
	if !isString(s) {
		return invalid(at()+"."+name, "%s.%s must be a string.", at(), name)
	}
	if !p.hasText(s) {
		if cache != nil {
			p.warnings.drop("messages.cache_control")
		}
		return nil
	}
	if same {
		to.begin(false, cache != nil)
		to.add(v)
		return nil
	}
	p.warnings.leftover("messages.content", fields(v), set("type", name, "cache_control"))
	to.text(s, cache)
	return nil
}

// readImage translates an image_url, whose URL is of the web or holds the data.
func (p parts) readImage(place string, m map[string]value, to *blocks) error {
	url := m["image_url"]
	if isObject(url) {
		inner := fields(url)
		url = inner["url"]
		if text(inner["detail"]) == "auto" {
			delete(inner, "detail")
		}
		p.warnings.leftover("messages.content.image_url", inner, set("url"))
	}
	p.warnings.leftover("messages.content", m, set("type", "image_url", "cache_control"))
	address := content(url)
	scheme, _, _ := bytes.Cut(address[:min(len(address), len("https:"))], []byte(":"))
	switch strings.ToLower(string(scheme)) {
	case "http", "https":
		var source rope
		source.open("url")
		source.set("url", url)
		to.media("image", &source, nil, m["cache_control"])
	case "data":
		d, ok := parseData(address)
		if !ok {
			return invalid(place+".image_url", "%s.image_url is not a data URL with a media type and base64.", place)
		}
		kind := "image"
		if d.media == "application/pdf" {
			kind = "document"
		}
		to.media(kind, d.source(), nil, m["cache_control"])
	default:
		return invalid(place+".image_url", "%s.image_url must be a URL that begins with https:, http: or data:.", place)
	}
	return nil
}

// readFile translates a file: its data, or the id that Anthropic's Files API gave.
func (p parts) readFile(place string, m map[string]value, to *blocks) error {
	file := fields(m["file"])
	p.warnings.leftover("messages.content", m, set("type", "file", "cache_control"))
	p.warnings.leftover("messages.content.file", file, set("file_data", "file_id", "filename"))
	cache, title := m["cache_control"], file["filename"]
	if id := file["file_id"]; id != nil && file["file_data"] == nil {
		var source rope
		source.open("file")
		source.set("file_id", id)
		to.media("document", &source, title, cache)
		return nil
	}
	d, ok := parseData(content(file["file_data"]))
	switch {
	case !ok:
		return invalid(place+".file.file_data", "%s.file.file_data is not a data URL with a media type and base64.", place)
	case d.media == "application/pdf":
		to.media("document", d.source(), title, cache)
		return nil
	case strings.HasPrefix(d.media, "image/"):
		to.media("image", d.source(), nil, cache)
		return nil
	case d.media == "text/plain":
		if plain, ok := d.text(); ok {
			to.media("document", plain, title, cache)
			return nil
		}
	}
	return invalid(place+".file", "%s.file has the media type %q; this model's API takes PDF, plain text in UTF-8, and images.", place, cut(d.media))
}
