package anthropic

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate/internal/plaintext"
)

// data is what a data URL holds.
type data struct {
	media  string // its type, in lower case and without parameters
	base64 string
}

// parseData reads a data URL in base64, "data:image/png;base64,…" (RFC 2397). It does
// not look at the base64, which Anthropic judges.
func parseData(url string) (d data, ok bool) {
	if len(url) < len("data:") || !strings.EqualFold(url[:len("data:")], "data:") {
		return d, false
	}
	head, body, ok := strings.Cut(url[len("data:"):], ",")
	if !ok || body == "" {
		return d, false
	}
	media, parameters, _ := strings.Cut(strings.ToLower(head), ";")
	if media == "" || parameters != "base64" && !strings.HasSuffix(parameters, ";base64") {
		return d, false
	}
	if media == "image/jpg" { // a name that is used and does not exist
		media = "image/jpeg"
	}
	return data{media, body}, true
}

// source is the data as the source of an image or a document.
func (d data) source() value {
	var o object
	o.setString("type", "base64")
	o.setString("media_type", d.media)
	o.setString("data", d.base64)
	return o.close()
}

// text is the data as a source of plain text, if it is UTF-8.
func (d data) text() (value, bool) {
	b, err := base64.StdEncoding.DecodeString(d.base64)
	if err != nil || !utf8.Valid(b) {
		return nil, false
	}
	var o object
	o.setString("type", "text")
	o.setString("media_type", d.media)
	o.set("data", quote(b))
	return o.close(), true
}

// cut is a text of the client's, cut to a length that a message can carry.
func cut(s string) string { return plaintext.Excerpt(s, 40) }
