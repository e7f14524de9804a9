package messages

import (
	"bytes"
	"strings"

	"github.com/callgate/callgate/gateway"
)

// media turns a block of a user, or of a result, that is no plain text into a part.
func (r *remarks) media(place, kind string, b value) (part, error) {
	m := fields(b)
	switch kind {
	case "image":
		r.leftover("messages.", b, knownImage)
		return r.image(place, m["source"])
	case "document":
		r.leftover("messages.", b, knownDocument)
		return r.document(place, m)
	case "search_result":
		r.leftover("messages.", b, knownFound)
		return r.searchResult(place, m)
	}
	r.needsOwn(invalid(place+".type", "%s has the type %q, which this model's API does not take from the user.", place, gateway.ExcerptOf(kind, 40)))
	return part{}, nil
}

// image turns an image into an image_url.
func (r *remarks) image(place string, source value) (part, error) {
	r.leftover("messages.source.", source, knownSource)
	m := fields(source)
	url := m["url"]
	switch kind := text(m["type"]); {
	case kind == "base64" && isString(m["data"]) && isString(m["media_type"]):
		url = dataURL(m)
	case kind == "url" && isString(url):
	case kind == "file":
		r.needsOwn(invalid(place+".source", "%s is an image of the Files API, which this model's API does not have: send it as base64 or a URL.", place))
		return part{}, nil
	default:
		return part{}, invalid(place+".source", "%s.source must be an object of the type base64, with media_type and data, or of the type url, with a url.", place)
	}
	return part{other: bytes.Join([][]byte{[]byte(`{"type":"image_url","image_url":{"url":`), url, []byte(`}}`)}, nil)}, nil
}

// dataURL is the data of a source as a data URL, a string.
func dataURL(source map[string]value) value {
	media, data := inner(source["media_type"]), inner(source["data"])
	url := append(make(value, 0, len(media)+len(data)+len(`"data:;base64,"`)), `"data:`...)
	return append(append(append(append(url, media...), ";base64,"...), data...), '"')
}

// document turns a document into text, or a PDF into a file.
func (r *remarks) document(place string, m map[string]value) (part, error) {
	r.leftover("messages.source.", m["source"], knownSource)
	source := fields(m["source"])
	var whole prose
	if title := inner(m["title"]); len(title) > 0 {
		whole.add([]byte("Document: "), title)
	}
	if context := inner(m["context"]); len(context) > 0 {
		whole.add(context)
	}
	switch kind := text(source["type"]); {
	case kind == "text" && isString(source["data"]):
		whole.add(inner(source["data"]))
		return part{text: whole}, nil
	case kind == "content" && source["content"] != nil:
		err := r.eachBlock("messages.", place+".source.content", source["content"], func(inner []byte) { whole.add(inner) }, func(at, kind string, _ value) error {
			r.needsOwn(invalid(at+".type", "%s has the type %q; this model's API takes the text of a document alone.", at, gateway.ExcerptOf(kind, 40)))
			return nil
		})
		return part{text: whole}, err
	case kind == "base64" && isString(source["data"]) && isString(source["media_type"]):
		if strings.HasPrefix(text(source["media_type"]), "text/") {
			r.needsOwn(invalid(place+".source", "%s is a text in base64; send it as a source of the type text.", place))
		}
		name := m["title"]
		if len(inner(name)) == 0 {
			name = value(`"document.pdf"`)
		}
		return part{other: bytes.Join([][]byte{[]byte(`{"type":"file","file":{"filename":`), name, []byte(`,"file_data":`), dataURL(source), []byte(`}}`)}, nil)}, nil
	case kind == "url" || kind == "file":
		r.needsOwn(invalid(place+".source", "%s is a document of the type %q, which this model's API cannot fetch: send it as base64.", place, kind))
		return part{}, nil
	}
	return part{}, invalid(place+".source", "%s.source must be an object of the type base64, text, content, url or file, with what that needs.", place)
}

// searchResult turns what the client's own search has found into text.
func (r *remarks) searchResult(place string, m map[string]value) (part, error) {
	var whole prose
	whole.add([]byte("Search result: "), inner(m["title"]), []byte(" ("), inner(m["source"]), []byte(")"))
	if m["content"] == nil {
		return part{text: whole}, nil
	}
	err := r.eachBlock("messages.", place+".content", m["content"], func(inner []byte) { whole.add(inner) }, func(at, kind string, _ value) error {
		return invalid(at+".type", "%s has the type %q; a search result holds text.", at, gateway.ExcerptOf(kind, 40))
	})
	return part{text: whole}, err
}
