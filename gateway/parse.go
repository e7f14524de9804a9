package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/internal/plaintext"
)

// MaxDepth is how deep a request's JSON may nest. Tool schemas nest some twenty
// deep at most; parsers of JSON disagree about what is deeper than their own
// limit, so what is passed on stays far below all of them.
const MaxDepth = 128

// maxModel is how many bytes a model's name may have. It goes into headers and logs.
const maxModel = 256

// ParseRequest is [Limits.Parse] with the default limits, for who has no budget of memory.
func ParseRequest(body []byte) (*Request, error) { return Limits{}.Parse(body, nil) }

// Parse validates the body of a chat completion request and reads what the
// gateway needs of it. It refuses what two JSON parsers could read differently:
// duplicate keys, invalid UTF-8, nesting deeper than MaxDepth; and what is beyond the limits.
// The error is an *Error of Kind Invalid or TooLarge that names the place, or MemorySpent where
// room, which has the body's own bytes already, has none for what is in it. The request keeps
// body and room.
func (l Limits) Parse(body []byte, room *inflight.Claim) (*Request, error) {
	values, err := l.Validate(body, MaxDepth, room)
	if err != nil {
		return nil, err
	}
	w := &struct {
		whole
		original original
	}{whole{request: Request{Room: room}, body: Body{text: body}}, original{body, l}}
	r := w.joined()
	r.original = &w.original
	odd, meant, ok := r.Body.locate()
	if !ok {
		return nil, invalid("", "The request body must be a JSON object.")
	}
	if odd != "" {
		return nil, invalid(Excerpt([]byte(odd)), fmt.Sprintf("The field %q must be written %q: servers disagree about whether they are the same.", Excerpt([]byte(odd)), meant))
	}
	if err := r.readFields(); err != nil {
		return nil, err
	}
	if err := l.withDefaults().checkParts(r.Body, values); err != nil {
		return nil, err
	}
	return r, nil
}

// Validate checks the JSON of a request's body once, strictly, and says where it is at fault,
// as [Limits.Parse] does: at most so deep, and with room for the values that are in it, whose
// number it returns. Other protocols call it before they translate a body.
func (l Limits) Validate(body []byte, depth int, room *inflight.Claim) (values int, err error) {
	l = l.withDefaults()
	m, valid := wire.Valid(body, depth)
	if !valid { // perhaps
		m = wire.Measure(body, depth)
	}
	if m.TooDeep >= 0 {
		return 0, invalid("", fmt.Sprintf("The request body nests deeper than %d levels at byte %d.", depth, m.TooDeep))
	}
	if m.Values > l.Values {
		return 0, invalid("", fmt.Sprintf("The request body has %d values (members, elements, objects and lists); at most %d are taken (limits.values).", m.Values, l.Values))
	}
	if err := noRoom(room.Grow(int64(m.Values) * valueCost)); err != nil {
		return 0, err
	}
	if valid {
		return m.Values, nil
	}
	return m.Values, validate(body, m.Open)
}

// ModelRequest is a request that names a model and nothing else, for what is asked in another
// form than JSON.
func ModelRequest(model string) (*Request, error) {
	name, _ := json.Marshal(model) // a string cannot fail
	return ParseRequest(append(append([]byte(`{"model":`), name...), '}'))
}

// misspelt finds a key that some parsers of JSON, Go's among them, take for one of those
// that decide where a request goes and how it is read; name is "" if it is none.
func misspelt(key []byte) (name, meant string) {
	if len(key) > maxFolded {
		return "", ""
	}
	key = wire.Key(key)
	for _, known := range [...]string{"model", "messages", "stream", "tools", "tool_choice"} {
		if bytes.EqualFold(key, []byte(known)) {
			return string(key), known
		}
	}
	return "", ""
}

// maxFolded is the length of the longest such key, with every letter escaped.
const maxFolded = 6 * len("tool_choice")

// readFields reads what decides where the request goes and how it is answered.
func (r *Request) readFields() error {
	p, body := &r.Body.places, r.Body.text
	if p.Model.Empty() {
		return invalid("model", "The field \"model\" is missing: name the model to use.")
	}
	if r.Model = wire.Unquote(p.Model.Of(body)); r.Model == "" {
		return invalid("model", fmt.Sprintf("The field \"model\" must be a non-empty string, not %s.", Excerpt(p.Model.Of(body))))
	}
	if len(r.Model) > maxModel {
		return invalid("model", fmt.Sprintf("The field \"model\" is %d bytes long; a name has at most %d.", len(r.Model), maxModel))
	}
	switch stream := string(p.Stream.Of(body)); {
	case stream == "true":
		r.Stream = true
	case stream != "false" && !p.Stream.IsNull(body):
		return invalid("stream", fmt.Sprintf("The field \"stream\" must be true or false, not %s.", Excerpt(p.Stream.Of(body))))
	}
	if !p.Tools.IsNull(body) && body[p.Tools.Start] != '[' {
		return invalid("tools", fmt.Sprintf("The field \"tools\" must be an array, not %s.", Excerpt(p.Tools.Of(body))))
	}
	return nil
}

// validate checks the body's JSON once, strictly, and says where it is at fault.
// The text that is good passes a plain check; only bad text is read a second time
// to find the place. open is how many names are open in it: they are looked at apart, because
// the library keeps each of them, and a map of them, for as long as its object is open.
func validate(body []byte, open int) error {
	end := len(body) // the fault comes no later
	if jsontext.Value(body).IsValid(twice) {
		at := wire.Repeated(body, MaxDepth, open)
		if at < 0 {
			return nil
		}
		end = at
	}
	d := jsontext.NewDecoder(bytes.NewReader(body), twice)
	for {
		_, err := d.ReadToken()
		if err == nil && d.InputOffset() > int64(end) { // it is the name that is there twice
			p := d.StackPointer()
			return invalid(place(p), fmt.Sprintf("The request body is not valid JSON at byte %d%s: duplicate object member name.", end, at(p)))
		}
		if err == nil {
			continue
		}
		var syntax *jsontext.SyntacticError
		if !errors.As(err, &syntax) {
			return invalid("", "The request body is "+count(body)+": send one JSON object.")
		}
		return invalid(place(syntax.JSONPointer), fmt.Sprintf("The request body is not valid JSON at byte %d%s: %s.",
			syntax.ByteOffset, at(syntax.JSONPointer), reason(syntax, body)))
	}
}

// twice lets the library pass over names that an object has twice.
var twice = jsontext.AllowDuplicateNames(true)

// count says how many values a body has that the library finds no fault with, in the place of one.
func count(body []byte) string {
	if wire.Blank(body) {
		return "empty"
	}
	return "more than one JSON value"
}

// reason is the library's word for what is wrong, without its own prefix. The library takes a comma with
// nothing behind it for the beginning of a value, which does not help whoever wrote it.
func reason(e *jsontext.SyntacticError, body []byte) string {
	if e.Err == nil {
		return "syntax error"
	}
	if rest, comma := bytes.CutPrefix(body[min(e.ByteOffset, int64(len(body))):], []byte{','}); comma {
		rest = bytes.TrimLeft(rest, " \t\r\n")
		if len(rest) > 0 && (rest[0] == '}' || rest[0] == ']') {
			return fmt.Sprintf("nothing follows the comma in front of %q", rest[:1])
		}
	}
	return strings.TrimPrefix(e.Err.Error(), "jsontext: ")
}

func at(p jsontext.Pointer) string {
	if p == "" {
		return ""
	}
	return fmt.Sprintf(" (in %q)", place(p))
}

// place writes a JSON pointer the way OpenAI's error.param does: messages[2].content.
func place(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		switch {
		case strings.Trim(token, "0123456789") == "" && token != "":
			fmt.Fprintf(&b, "[%s]", token)
		case b.Len() > 0:
			b.WriteString("." + token)
		default:
			b.WriteString(token)
		}
	}
	return Excerpt([]byte(b.String()))
}

// Excerpt is b cut to a length that an error message can carry.
func Excerpt(b []byte) string { return ExcerptOf(string(b), 80) }

// ExcerptOf is s cut to limit bytes, with a mark if it was longer.
func ExcerptOf(s string, limit int) string { return plaintext.Excerpt(s, limit) }

func invalid(param, message string) *Error {
	return &Error{Kind: Invalid, Param: param, Message: message}
}
