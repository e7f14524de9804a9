package gateway

import (
	"bytes"
	"strconv"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/gateway/internal/tools"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// Reading is what a request's body says, each thing read when it is first asked for. It is used by
// one goroutine.
type Reading struct {
	// Cache keeps what is read of lists of tools; the gateway sets it. It may be nil.
	Cache *tools.Cache
	// Ran says what is certain of calls in the messages, since the gateway ran them itself: the
	// guards take it in place of what they would guess.
	Ran []Fact

	body         *Body
	tools        *tools.List
	conversation *conversation.Conversation
	ledger       *ledger.Ledger
}

// Tools is what was read of the offered tools.
func (r *Reading) Tools() *tools.List {
	if r.tools == nil {
		if r.Cache != nil {
			r.tools = r.Cache.Read(r.ToolsJSON())
		} else {
			r.tools = tools.NewList(r.ToolsJSON())
		}
	}
	return r.tools
}

// ToolsJSON is the JSON of the offered tools, or nil.
func (r *Reading) ToolsJSON() []byte {
	if at := r.body.Places().Tools; !at.IsNull(r.body.text) {
		return at.Of(r.body.text)
	}
	return nil
}

// Conversation is what was read of the messages. It is used by one goroutine.
func (r *Reading) Conversation() *conversation.Conversation {
	at := r.body.Places().Messages
	if r.conversation == nil {
		r.conversation = &conversation.Conversation{}
		if !at.IsNull(r.body.text) {
			r.conversation = conversation.Read(at.Of(r.body.text))
		}
	}
	return r.conversation
}

// Ledger is the account of the calls in the messages, which the guards share. It is used by one
// goroutine.
func (r *Reading) Ledger() *ledger.Ledger {
	if c := r.Conversation(); r.ledger == nil {
		r.ledger = ledger.New(c, r.ToolsJSON(), r.Ran...)
	}
	return r.ledger
}

// WantsUsage reports whether the client of a stream asks for its usage.
func (r *Reading) WantsUsage() bool {
	at := r.body.Places().StreamOptions
	return !at.IsNull(r.body.text) && r.body.text[at.Start] == '{' && string(wire.Find(r.body.text, at, "include_usage").Of(r.body.text)) == "true"
}

// Choices is how many answers are asked for at once, at most [wire.MaxChoices]; 1 where the request does not say.
func (r *Reading) Choices() int {
	n, err := strconv.Atoi(string(r.body.Places().N.Of(r.body.text)))
	if err != nil { // it is not there, or no number that an upstream would take
		return 1
	}
	return min(max(n, 1), wire.MaxChoices)
}

// HasMessages reports whether there is an array of messages.
func (r *Reading) HasMessages() bool {
	at := r.body.Places().Messages
	return !at.IsNull(r.body.text) && r.body.text[at.Start] == '['
}

// IsEmpty reports whether there is no message: upstreams refuse that, and nothing that is
// added must hide it.
func (r *Reading) IsEmpty() bool {
	at := r.body.Places().Messages
	return !r.HasMessages() || wire.Blank(r.body.text[at.Start+1:at.End-1])
}

// MentionsTools reports whether there can be a call or a result in the messages. It is
// a search in place of a reading: most conversations have neither.
func (r *Reading) MentionsTools() bool {
	return r.HasMessages() && bytes.Contains(r.body.places.Messages.Of(r.body.text), []byte(`"tool`))
}

// OffersTools says whether the model may call a tool: the request offers at least
// one and does not forbid them all with a tool_choice of "none".
func (r *Reading) OffersTools() bool {
	p := r.body.Places()
	if p.Tools.IsNull(r.body.text) || string(p.ToolChoice.Of(r.body.text)) == `"none"` {
		return false
	}
	offers := false
	wire.Elements(r.body.text, p.Tools.Start, func(int, wire.Span) bool {
		offers = true
		return false
	})
	return offers
}

// ToolChoice is what tool_choice says.
type ToolChoice struct {
	// None and Required are its words; Tool is the one function that must be called, which
	// is Required too.
	None, Required bool
	Tool           string
	// Other says that it is of a kind that is not known here, such as allowed_tools.
	Other bool
}

// IsAuto reports whether it is left to the model to call a tool.
func (c ToolChoice) IsAuto() bool { return c == ToolChoice{} }

// Choice reads tool_choice.
func (r *Reading) Choice() ToolChoice {
	at := r.body.Places().ToolChoice
	if at.IsNull(r.body.text) {
		return ToolChoice{}
	}
	switch wire.Unquote(at.Of(r.body.text)) {
	case "auto":
		return ToolChoice{}
	case "none":
		return ToolChoice{None: true}
	case "required", "any": // "any" is Mistral's word
		return ToolChoice{Required: true}
	}
	if r.body.text[at.Start] == '{' {
		function := wire.Find(r.body.text, at, "function")
		if !function.IsNull(r.body.text) && r.body.text[function.Start] == '{' {
			if name := wire.Unquote(wire.Find(r.body.text, function, "name").Of(r.body.text)); name != "" {
				return ToolChoice{Required: true, Tool: name}
			}
		}
	}
	return ToolChoice{Other: true}
}

// Format is the form that a request wants its answer in.
type Format struct {
	// JSON says that it is to be JSON, and Schema is what it is to fit, or nil.
	JSON   bool
	Schema []byte
}

// Format reads response_format. A kind that is not known here, such as a grammar, is none.
func (r *Reading) Format() Format {
	at := r.body.Places().ResponseFormat
	if at.IsNull(r.body.text) || r.body.text[at.Start] != '{' {
		return Format{}
	}
	switch wire.Unquote(wire.Find(r.body.text, at, "type").Of(r.body.text)) {
	case "json_object":
		schema := wire.Find(r.body.text, at, "schema").Of(r.body.text) // as Together and llama.cpp have it
		return Format{JSON: true, Schema: objectOr(schema)}
	case "json_schema":
		f := Format{JSON: true}
		if inner := wire.Find(r.body.text, at, "json_schema"); !inner.IsNull(r.body.text) && r.body.text[inner.Start] == '{' {
			f.Schema = objectOr(wire.Find(r.body.text, inner, "schema").Of(r.body.text))
		}
		return f
	}
	return Format{}
}

// objectOr is a value that is an object, or nil.
func objectOr(v []byte) []byte {
	if len(v) == 0 || v[0] != '{' {
		return nil
	}
	return v
}

// ReadTools reads the tools of a request, in OpenAI's form or as bare function objects, into
// what a parser needs to know of them.
func ReadTools(list []byte) ([]abi.Tool, error) { return tools.Read(list) }
