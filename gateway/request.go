package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/gateway/internal/tools"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/internal/plaintext"
)

// MaxDepth is how deep a request's JSON may nest. Tool schemas nest some twenty
// deep at most; parsers of JSON disagree about what is deeper than their own
// limit, so what is passed on stays far below all of them.
const MaxDepth = 128

// maxModel is how many bytes a model's name may have. It goes into headers and logs.
const maxModel = 256

// Request is a client's chat completion request. Its bytes are validated once and kept;
// fields are read by their places, and what goes upstream is the same bytes with a few
// edits spliced in. A request is not changed once it was parsed: who wants another one
// makes it by [Request.Edit]. It is used by one goroutine.
type Request struct {
	// ID names the request in logs and in the header x-request-id.
	ID string
	// Header holds the client's headers that may travel on. It may be nil.
	Header http.Header
	// Tenant is who asks: what was learnt of one tenant's prompts is of no use for
	// another's. It may be empty.
	Tenant string
	// Client is the key that it came with; nil if the gateway has no keys.
	Client *Client
	// Model is the name that the client asked for.
	Model string
	// Stream says that the client wants server-sent events.
	Stream bool
	// MaxRetries is how many further attempts the client allows, instead of the
	// provider's number; nil if it does not say.
	MaxRetries *int
	// BaseDelay and MaxDelay are the first and the longest wait between attempts that the
	// client wants, instead of the provider's; 0 where it does not say.
	BaseDelay, MaxDelay time.Duration
	// ArmAsked is the arm of a rollout that the client asks for, as rollout/arm; "" for none.
	ArmAsked string
	// Arm is the arm that it is in. The gateway sets it, and further rounds of tools keep it.
	Arm *ArmChoice
	// Mirror says that it is a copy, whose answer nobody gets and that nobody pays for.
	Mirror bool
	// ClientRetries is how often the client's SDK has sent this request before. They
	// count against the retries.
	ClientRetries int

	// Source is the request in the client's own protocol; nil if that is chat completions. A
	// provider asks [Request.Native] and [Request.Foreign] of it.
	Source *Source
	// RawText asks the upstream for the model's text unparsed. The gateway sets it
	// for a target that wants it.
	RawText bool
	// RawServer is the upstream's software, which RawText depends on, where the gateway has
	// found out; "" for what the provider knows.
	RawServer string
	// Announced is told of the body that goes to the upstream, by Announce. The gateway
	// sets it, and so do the tests of providers.
	Announced func(body wire.Pieces) error
	// Route is the entry of the configuration that was taken; the gateway sets it.
	Route string
	// Appended is how many messages at the end are the gateway's own: they are not there in the
	// next turn.
	Appended int
	// Room is the memory of the request and of its answer; nil has no bound.
	Room *inflight.Claim
	// Warnings are said with the answer, in front of what it gives rise to itself.
	Warnings []string
	// Ran says what is certain of calls in the messages, since the gateway ran them itself: the
	// guards take it in place of what they would guess.
	Ran []Fact
	// ToolCache keeps what is read of lists of tools; the gateway sets it. It may be nil.
	ToolCache *tools.Cache

	body   []byte
	places Places
	edits  []wire.Edit // of body, not spliced in yet
	origin []byte      // the body as it was when Source was the same
	read   *readings
	limits Limits
}

// Source is a request in another protocol than chat completions.
type Source struct {
	Protocol string // "responses" or "messages"
	Body     []byte // nil if the client's own does not say all that is asked
	// Metadata is the client's, an object in JSON, where the chat completion does not have it:
	// rules route by it, and it goes to no upstream of another protocol. nil if there is none.
	Metadata []byte
	// Conversation is the id of the conversation that the gateway keeps and the request is a part of, "" for
	// none. Costs are known by it.
	Conversation string
	// Closed says that the request is the gateway's own work, such as a summary: no tools are
	// attached to it, since a model could do again what it reads of.
	Closed bool
	// Foreign is why no upstream can take the request that does not speak the protocol; nil if
	// any can.
	Foreign *Error
	sent    bool
}

// Sent reports whether the latest upstream that was asked has got Body, and not a chat completion: what
// that leaves out is not left out then.
func (s *Source) Sent() bool { return s.sent }

// Foreign is what a provider answers that does not send [Request.Native]: why no upstream can
// take the request as a chat completion; nil if any can.
func (r *Request) Foreign() *Error {
	if r.Source == nil {
		return nil
	}
	return r.Source.Foreign
}

// Again is the same request with another body, within the limits of the first, and with what that is
// in the client's own protocol.
func (r *Request) Again(body []byte, source *Source) (*Request, error) {
	out, err := r.limits.Parse(body, r.Room)
	if err != nil {
		return nil, err
	}
	out.ID, out.Header, out.Tenant, out.Client, out.MaxRetries, out.ClientRetries = r.ID, r.Header, r.Tenant, r.Client, r.MaxRetries, r.ClientRetries
	out.BaseDelay, out.MaxDelay, out.Source, out.ArmAsked = r.BaseDelay, r.MaxDelay, source, r.ArmAsked
	return out.Capped()
}

// Copy is the same request with bytes of its own, for who asks it again beside the first one. What it
// and its answer take is claimed of room.
func (r *Request) Copy(room *inflight.Claim) (*Request, error) {
	body := bytes.Clone(r.Bytes())
	if err := noRoom(room.Grow(int64(len(body)) * inflight.Body)); err != nil {
		return nil, err
	}
	out, err := r.limits.Parse(body, room)
	if err != nil {
		return nil, err
	}
	out.ID, out.Header, out.Tenant, out.Client, out.Appended, out.Ran = r.ID, r.Header, r.Tenant, r.Client, r.Appended, slices.Clone(r.Ran)
	if r.Source != nil {
		source := *r.Source
		source.Body, source.Metadata, source.sent = bytes.Clone(source.Body), bytes.Clone(source.Metadata), false
		out.Source = &source
	}
	return out, nil
}

// Places are those of what matters in a request's body; those that are not there are empty.
type Places struct {
	Model, Stream, Tools, ToolChoice, Messages wire.Span
	ResponseFormat, WebSearch, Parallel        wire.Span // web_search_options, parallel_tool_calls
	Metadata, CacheKey, Stop                   wire.Span // prompt_cache_key
	StreamOptions                              wire.Span
	MaxTokens, MaxCompletionTokens, N          wire.Span
}

// readings are what was read of a body, each when it is first asked for.
type readings struct {
	tools        *tools.List
	conversation *conversation.Conversation
	ledger       *ledger.Ledger
}

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
	r := &Request{body: body, origin: body, read: &readings{}, Room: room, limits: l}
	odd, meant, ok := r.locate()
	if !ok {
		return nil, invalid("", "The request body must be a JSON object.")
	}
	if odd != "" {
		return nil, invalid(Excerpt([]byte(odd)), fmt.Sprintf("The field %q must be written %q: servers disagree about whether they are the same.", Excerpt([]byte(odd)), meant))
	}
	if err := r.readFields(); err != nil {
		return nil, err
	}
	if err := l.withDefaults().checkParts(r, values); err != nil {
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

// locate finds the members of the body that matter. odd is one that some servers take
// for the one that is meant, or "".
func (r *Request) locate() (odd, meant string, ok bool) {
	p := &r.places
	*p = Places{}
	ok = wire.Members(r.body, 0, func(key []byte, v wire.Span) bool {
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

// misspelt finds a key that some parsers of JSON, Go's among them, take for one of those
// that decide where a request goes and how it is read; name is "" if it is none.
func misspelt(key []byte) (name, meant string) {
	if len(key) > maxFolded {
		return "", ""
	}
	if bytes.IndexByte(key, '\\') >= 0 {
		key = []byte(wire.Unquote(slices.Concat([]byte{'"'}, key, []byte{'"'})))
	}
	for _, known := range [...]string{"model", "messages", "stream", "tools", "tool_choice"} {
		if bytes.EqualFold(key, []byte(known)) {
			return string(key), known
		}
	}
	return "", ""
}

// maxFolded is the length of the longest such key, with every letter escaped.
const maxFolded = 6 * len("tool_choice")

func (r *Request) readFields() error {
	p := &r.places
	if p.Model.Empty() {
		return invalid("model", "The field \"model\" is missing: name the model to use.")
	}
	if r.Model = wire.Unquote(p.Model.Of(r.body)); r.Model == "" {
		return invalid("model", fmt.Sprintf("The field \"model\" must be a non-empty string, not %s.", Excerpt(p.Model.Of(r.body))))
	}
	if len(r.Model) > maxModel {
		return invalid("model", fmt.Sprintf("The field \"model\" is %d bytes long; a name has at most %d.", len(r.Model), maxModel))
	}
	switch stream := string(p.Stream.Of(r.body)); {
	case stream == "true":
		r.Stream = true
	case stream != "false" && !p.Stream.IsNull(r.body):
		return invalid("stream", fmt.Sprintf("The field \"stream\" must be true or false, not %s.", Excerpt(p.Stream.Of(r.body))))
	}
	if !p.Tools.IsNull(r.body) && r.body[p.Tools.Start] != '[' {
		return invalid("tools", fmt.Sprintf("The field \"tools\" must be an array, not %s.", Excerpt(p.Tools.Of(r.body))))
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
			return invalid("", "The request body is not JSON: it is empty or more than one value.")
		}
		return invalid(place(syntax.JSONPointer), fmt.Sprintf("The request body is not valid JSON at byte %d%s: %s.",
			syntax.ByteOffset, at(syntax.JSONPointer), reason(syntax)))
	}
}

// twice lets the library pass over names that an object has twice.
var twice = jsontext.AllowDuplicateNames(true)

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
	return Excerpt([]byte(b.String()))
}

// Excerpt is b cut to a length that an error message can carry.
func Excerpt(b []byte) string { return ExcerptOf(string(b), 80) }

// ExcerptOf is s cut to limit bytes, with a mark if it was longer.
func ExcerptOf(s string, limit int) string { return plaintext.Excerpt(s, limit) }

func invalid(param, message string) *Error {
	return &Error{Kind: Invalid, Param: param, Message: message}
}
