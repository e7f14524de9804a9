package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// MaxDepth is how deep a request's JSON may nest. Tool schemas nest some twenty
// deep at most; parsers of JSON disagree about what is deeper than their own
// limit, so what is passed on stays far below all of them.
const MaxDepth = 128

// maxModel is how many bytes a model's name may have. It goes into headers and logs.
const maxModel = 256

// Request is a client's chat completion request. Its bytes are validated once and
// kept; fields are read by span, and what goes upstream is the same bytes with the
// model's name replaced.
type Request struct {
	// ID names the request in logs and in the header x-request-id.
	ID string
	// Header holds the client's headers that may travel on. It may be nil.
	Header http.Header
	// Tenant is who asks: what was learnt of one tenant's prompts is of no use for
	// another's. It may be empty.
	Tenant string
	// Model is the name that the client asked for.
	Model string
	// Stream says that the client wants server-sent events.
	Stream bool

	// RawText asks the upstream for the model's text unparsed. The gateway sets it
	// for a target that wants it.
	RawText bool
	// Announced is told of the body that goes to the upstream, by Announce. The gateway
	// sets it, and so do the tests of providers.
	Announced func(wire []byte) error
	// MaxRetries is how many further attempts the client allows, instead of the
	// provider's number; nil if it does not say.
	MaxRetries *int
	// ClientRetries is how often the client's SDK has sent this request before. They
	// count against the retries.
	ClientRetries int
	// Route is the entry of the configuration that was taken; the gateway sets it.
	Route string

	body []byte
	members
	stops   bool   // the client has stop sequences of its own
	remarks int    // messages at the end that are the gateway's own
	key     string // for the upstream's cache; "" is none
	read    func() *toolList
	talk    func() *conversation.Conversation
}

// members are the places of what matters in a body; those that are not there are empty.
type members struct {
	model, stream, tools, toolChoice, messages wire.Span
	format                                     wire.Span // response_format
	webSearch                                  wire.Span // web_search_options
	parallel                                   wire.Span // parallel_tool_calls
	metadata                                   wire.Span
	cacheKey                                   wire.Span // prompt_cache_key
}

// ParseRequest validates the body of a chat completion request and reads what the
// gateway needs of it. It refuses what two JSON parsers could read differently:
// duplicate keys, invalid UTF-8, nesting deeper than MaxDepth. The error is an
// *Error of Kind Invalid that names the place. The request keeps body.
func ParseRequest(body []byte) (*Request, error) {
	if err := validate(body); err != nil {
		return nil, err
	}
	r := &Request{body: body}
	r.read = sync.OnceValue(func() *toolList { return readToolList(r.Tools()) })
	odd, meant, ok := r.locate()
	if !ok {
		return nil, invalid("", "The request body must be a JSON object.")
	}
	if odd != "" {
		return nil, invalid(excerpt([]byte(odd)), fmt.Sprintf("The field %q must be written %q: servers disagree about whether they are the same.", excerpt([]byte(odd)), meant))
	}
	if err := r.readFields(); err != nil {
		return nil, err
	}
	return r, nil
}

// locate finds the members of the body that matter. odd is one that some servers take
// for the one that is meant, or "".
func (r *Request) locate() (odd, meant string, ok bool) {
	r.members = members{}
	r.talk = sync.OnceValue(func() *conversation.Conversation {
		if r.messages.IsNull(r.body) {
			return &conversation.Conversation{}
		}
		return conversation.Read(r.messages.Of(r.body))
	})
	ok = wire.Members(r.body, 0, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "model":
			r.model = v
		case "stream":
			r.stream = v
		case "tools":
			r.tools = v
		case "tool_choice":
			r.toolChoice = v
		case "messages":
			r.messages = v
		case "response_format":
			r.format = v
		case "web_search_options":
			r.webSearch = v
		case "parallel_tool_calls":
			r.parallel = v
		case "metadata":
			r.metadata = v
		case "prompt_cache_key":
			r.cacheKey = v
		case "stop":
			r.stops = !v.IsNull(r.body)
		default:
			if odd == "" {
				odd, meant = misspelt(key)
			}
		}
		return true
	})
	return odd, meant, ok
}

// misspelt finds a key that some parsers of JSON, Go's among them, take for one of those
// that decide where a request goes and how it is read; name is "" if it is none.
func misspelt(key []byte) (name, meant string) {
	if len(key) > maxFolded {
		return "", ""
	}
	name = wire.Unquote(slices.Concat([]byte{'"'}, key, []byte{'"'}))
	for _, known := range [...]string{"model", "messages", "stream", "tools", "tool_choice"} {
		if strings.EqualFold(name, known) {
			return name, known
		}
	}
	return "", ""
}

// maxFolded is the length of the longest such key, with every letter escaped.
const maxFolded = 6 * len("tool_choice")

func (r *Request) readFields() error {
	if r.model.Empty() {
		return invalid("model", "The field \"model\" is missing: name the model to use.")
	}
	if json.Unmarshal(r.model.Of(r.body), &r.Model) != nil || r.Model == "" {
		return invalid("model", fmt.Sprintf("The field \"model\" must be a non-empty string, not %s.", excerpt(r.model.Of(r.body))))
	}
	if len(r.Model) > maxModel {
		return invalid("model", fmt.Sprintf("The field \"model\" is %d bytes long; a name has at most %d.", len(r.Model), maxModel))
	}
	if !r.stream.IsNull(r.body) && json.Unmarshal(r.stream.Of(r.body), &r.Stream) != nil {
		return invalid("stream", fmt.Sprintf("The field \"stream\" must be true or false, not %s.", excerpt(r.stream.Of(r.body))))
	}
	if !r.tools.IsNull(r.body) && r.body[r.tools.Start] != '[' {
		return invalid("tools", fmt.Sprintf("The field \"tools\" must be an array, not %s.", excerpt(r.tools.Of(r.body))))
	}
	return nil
}

// hasMessages reports whether there is an array of messages.
func (r *Request) hasMessages() bool {
	return !r.messages.IsNull(r.body) && r.body[r.messages.Start] == '['
}

// isEmpty reports whether there is no message: upstreams refuse that, and nothing that is
// added must hide it.
func (r *Request) isEmpty() bool {
	return !r.hasMessages() || wire.Blank(r.body[r.messages.Start+1:r.messages.End-1])
}

// mentionsTools reports whether there can be a call or a result in the messages. It is
// a search in place of a reading: most conversations have neither.
func (r *Request) mentionsTools() bool {
	return r.hasMessages() && bytes.Contains(r.messages.Of(r.body), []byte(`"tool`))
}

// LeavesChoice says whether the request offers tools and leaves it to the model to
// call one, which is what tool_choice means by "auto" and what it means if it is
// not there.
func (r *Request) LeavesChoice() bool {
	choice := string(bytes.TrimSpace(r.toolChoice.Of(r.body)))
	return r.OffersTools() && (r.toolChoice.IsNull(r.body) || choice == `"auto"`)
}

// OffersTools says whether the model may call a tool: the request offers at least
// one and does not forbid them all with a tool_choice of "none".
func (r *Request) OffersTools() bool {
	if r.tools.IsNull(r.body) || string(bytes.TrimSpace(r.toolChoice.Of(r.body))) == `"none"` {
		return false
	}
	offers := false
	wire.Elements(r.body, r.tools.Start, func(int, wire.Span) bool {
		offers = true
		return false
	})
	return offers
}

// Tools returns the JSON of the offered tools, or nil.
func (r *Request) Tools() []byte {
	if r.tools.IsNull(r.body) {
		return nil
	}
	return r.tools.Of(r.body)
}

// offered is what a parser needs to know of the offered tools, read once.
func (r *Request) offered() []abi.Tool { return r.read().tools }

// validate checks the body's JSON once, strictly, and says where it is at fault.
// The text that is good passes a plain check; only bad text is read a second time
// to find the place.
func validate(body []byte) error {
	if _, at := wire.Depth(body, MaxDepth); at >= 0 {
		return invalid("", fmt.Sprintf("The request body nests deeper than %d levels at byte %d.", MaxDepth, at))
	}
	if jsontext.Value(body).IsValid() {
		return nil
	}
	d := jsontext.NewDecoder(bytes.NewReader(body))
	for {
		_, err := d.ReadToken()
		if err == nil {
			continue
		}
		var syntax *jsontext.SyntacticError
		if !errors.As(err, &syntax) {
			return invalid("", "The request body is not JSON: it is empty or more than one value.")
		}
		return invalid(place(syntax.JSONPointer), fmt.Sprintf("The request body is not valid JSON at byte %d%s: %s.",
			syntax.ByteOffset, at(syntax.JSONPointer), reason(syntax)))
	}
}

// reason is the library's word for what is wrong, without its own prefix.
func reason(e *jsontext.SyntacticError) string {
	if e.Err == nil {
		return "syntax error"
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
	return excerpt([]byte(b.String()))
}

// excerpt is b cut to a length that an error message can carry.
func excerpt(b []byte) string { return excerptOf(string(b), 80) }

// excerptOf is s cut to limit bytes, with a mark if it was longer.
func excerptOf(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

func invalid(param, message string) *Error {
	return &Error{Kind: Invalid, Param: param, Message: message}
}
