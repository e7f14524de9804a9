package anthropic

import (
	"fmt"
	"slices"
	"strings"
)

// readContent translates the content of a message, a string or parts, to blocks.
// Empty text, which clients send beside calls, is left out, since Anthropic refuses
// it; white space is reported.
func (r *request) readContent(place string, content value) ([]value, error) {
	var blocks []value
	switch {
	case content == nil:
	case isString(content):
		if r.hasText(content) {
			blocks = append(blocks, textBlock(content, nil))
		}
	case isArray(content):
		err := elements(content, func(i int, v value) error {
			block, err := r.readPart(fmt.Sprintf("%s.content[%d]", place, i), v)
			if block != nil {
				blocks = append(blocks, block)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	default:
		return nil, invalid(place+".content", "%s.content must be a string or an array of parts.", place)
	}
	return blocks, nil
}

// mark gives the last block the cache_control of its message, if that has one and
// the block has none of its own.
func (r *request) mark(blocks []value, cache value) {
	if cache == nil {
		return
	}
	n := len(blocks)
	if n == 0 || isThinking(blocks[n-1]) || fields(blocks[n-1])["cache_control"] != nil {
		r.warnings.drop("messages.cache_control")
		return
	}
	last := blocks[n-1]
	var o object
	o.set("cache_control", cache)
	blocks[n-1] = slices.Concat(last[:len(last)-1], value(","), value(o[1:]), value("}"))
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
func (r *request) hasText(s value) bool {
	if blank(s) {
		if string(s) != `""` {
			r.warnings.drop("messages.blank_text")
		}
		return false
	}
	return true
}

// readPart translates one part of a content. It is nil if the part is left out. A
// part whose type is none of OpenAI's is taken for Anthropic's own, image, document,
// search_result and so on, and passes as it is.
func (r *request) readPart(place string, v value) (value, error) {
	m := fields(v)
	switch kind := text(m["type"]); kind {
	case "":
		return nil, invalid(place+".type", "%s is not a part with a type.", place)
	case "text":
		return r.readText(place, v, m, "text")
	case "refusal":
		return r.readText(place, v, m, "refusal")
	case "image_url":
		return r.readImage(place, m)
	case "file":
		return r.readFile(place, m)
	case "input_audio", "video_url", "audio_url":
		return nil, invalid(place, "%s has the type %s, which this model's API does not take.", place, kind)
	}
	return v, nil
}

var textFields = set("type", "text", "cache_control", "citations")

// readText takes a part of text, which has the same form on both sides.
func (r *request) readText(place string, v value, m map[string]value, name string) (value, error) {
	s := m[name]
	if !isString(s) {
		return nil, invalid(place+"."+name, "%s.%s must be a string.", place, name)
	}
	if !r.hasText(s) {
		if m["cache_control"] != nil {
			r.warnings.drop("messages.cache_control")
		}
		return nil, nil
	}
	same := name == "text"
	for field := range m {
		same = same && textFields[field]
	}
	if same {
		return v, nil
	}
	r.leftover("messages.content", m, set("type", name, "cache_control"))
	return textBlock(s, m["cache_control"]), nil
}

// readImage translates an image_url, whose URL is of the web or holds the data.
func (r *request) readImage(place string, m map[string]value) (value, error) {
	image := m["image_url"]
	url := text(image)
	if isObject(image) {
		inner := fields(image)
		url = text(inner["url"])
		if text(inner["detail"]) == "auto" {
			delete(inner, "detail")
		}
		r.leftover("messages.content.image_url", inner, set("url"))
	}
	r.leftover("messages.content", m, set("type", "image_url", "cache_control"))
	var source value
	scheme, _, _ := strings.Cut(url, ":")
	switch strings.ToLower(scheme) {
	case "http", "https":
		var o object
		o.setString("type", "url")
		o.setString("url", url)
		source = o.close()
	case "data":
		d, ok := parseData(url)
		if !ok {
			return nil, invalid(place+".image_url", "%s.image_url is not a data URL with a media type and base64.", place)
		}
		if d.media == "application/pdf" {
			return mediaBlock("document", d.source(), nil, m["cache_control"]), nil
		}
		source = d.source()
	default:
		return nil, invalid(place+".image_url", "%s.image_url must be a URL that begins with https:, http: or data:.", place)
	}
	return mediaBlock("image", source, nil, m["cache_control"]), nil
}

// readFile translates a file: its data, or the id that Anthropic's Files API gave.
func (r *request) readFile(place string, m map[string]value) (value, error) {
	file := fields(m["file"])
	r.leftover("messages.content", m, set("type", "file", "cache_control"))
	r.leftover("messages.content.file", file, set("file_data", "file_id", "filename"))
	cache, title := m["cache_control"], file["filename"]
	if id := file["file_id"]; id != nil && file["file_data"] == nil {
		var o object
		o.setString("type", "file")
		o.set("file_id", id)
		return mediaBlock("document", o.close(), title, cache), nil
	}
	d, ok := parseData(text(file["file_data"]))
	switch {
	case !ok:
		return nil, invalid(place+".file.file_data", "%s.file.file_data is not a data URL with a media type and base64.", place)
	case d.media == "application/pdf":
		return mediaBlock("document", d.source(), title, cache), nil
	case strings.HasPrefix(d.media, "image/"):
		return mediaBlock("image", d.source(), nil, cache), nil
	case d.media == "text/plain":
		plain, ok := d.text()
		if ok {
			return mediaBlock("document", plain, title, cache), nil
		}
	}
	return nil, invalid(place+".file", "%s.file has the media type %q; this model's API takes PDF, plain text in UTF-8, and images.", place, cut(d.media))
}

func mediaBlock(kind string, source, title, cache value) value {
	var o object
	o.setString("type", kind)
	o.set("source", source)
	o.setGiven("title", title)
	o.setGiven("cache_control", cache)
	return o.close()
}
