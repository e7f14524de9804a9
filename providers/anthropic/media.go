package anthropic

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/internal/plaintext"
)

// data is what a data URL holds.
type data struct {
	media  string // its type, in lower case and without parameters
	base64 []byte // as it may be a part of the request
}

// parseData reads a data URL in base64, "data:image/png;base64,…" (RFC 2397). It does
// not look at the base64, which Anthropic judges.
func parseData(url []byte) (d data, ok bool) {
	if len(url) < len("data:") || !strings.EqualFold(string(url[:len("data:")]), "data:") {
		return d, false
	}
	head, body, ok := bytes.Cut(url[len("data:"):], []byte(","))
	if !ok || len(body) == 0 {
		return d, false
	}
	media, parameters, _ := strings.Cut(strings.ToLower(string(head)), ";")
	if media == "" || parameters != "base64" && !strings.HasSuffix(parameters, ";base64") {
		return d, false
	}
	if media == "image/jpg" { // a name that is used and does not exist
		media = "image/jpeg"
	}
	return data{media, body}, true
}

// source is the data as the source of an image or a document, an object that is open.
func (d data) source() *rope {
	r := &rope{}
	r.open("base64")
	r.set("media_type", quote(d.media))
	r.key("data")
	if wire.Plain(d.base64) {
		r.say(`"`)
		r.add(d.base64)
		r.say(`"`)
	} else {
		r.add(quote(d.base64))
	}
	return r
}

// text is the data as a source of plain text, if it is UTF-8.
func (d data) text() (*rope, bool) {
	b, err := base64.StdEncoding.AppendDecode(nil, d.base64)
	if err != nil || !utf8.Valid(b) {
		return nil, false
	}
	r := &rope{}
	r.open("text")
	r.set("media_type", quote(d.media))
	r.set("data", quote(b))
	return r, true
}

// cut is a text of the client's, cut to a length that a message can carry.
func cut(s string) string { return plaintext.Excerpt(s, 40) }
