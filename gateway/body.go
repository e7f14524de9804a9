package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/gateway/internal/tools"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// Bytes are the request's body, which Places are places in. The caller must not change it.
func (r *Request) Bytes() []byte { return r.flat().body }

// Size is how many bytes Bytes has, which are not put together for that.
func (r *Request) Size() int { return len(r.body) + wire.Growth(r.edits) }

// Places are those of what matters in Bytes.
func (r *Request) Places() *Places { return &r.flat().places }

// flat has the edits spliced in.
func (r *Request) flat() *Request {
	if len(r.edits) > 0 {
		r.body, r.edits = wire.Splice(r.body, r.edits), nil
		r.locate()
		r.read.conversation, r.read.ledger = nil, nil
	}
	return r
}

// Edit returns the request with edits of Bytes, which must not overlap. They are spliced in
// when somebody asks for the bytes: all that are made until then cost one copy. What was
// read of the tools stays: edits of them do not change what they mean.
func (r *Request) Edit(edits ...wire.Edit) *Request {
	if len(edits) == 0 {
		return r
	}
	out := *r.flat()
	out.edits = edits
	out.read = &readings{tools: r.read.tools, conversation: r.read.conversation, ledger: r.read.ledger}
	return &out
}

// Remake is [Request.Edit] for edits that offer other tools than the client does. The memory of
// the longer body is the caller's to claim.
func (r *Request) Remake(edits ...wire.Edit) *Request {
	out := r.Edit(edits...)
	if out == r {
		return r
	}
	out.read = &readings{}
	if r.Source != nil { // the client's own request does not say the same any more
		source := *r.Source
		source.Body, source.sent = nil, false
		out.Source = &source
	}
	return out
}

// Remark returns the request with edits and, behind the client's messages, one of the
// gateway's own.
func (r *Request) Remark(text string, edits ...wire.Edit) *Request {
	out := r.Edit(append(edits, r.Message("user", text))...)
	out.Appended++
	return out
}

// Body returns the request as it goes upstream: the client's bytes with the upstream's name
// of the model, and with what was edited for the upstream. The caller must not change them.
func (r *Request) Body(model string) []byte { return r.With(model, nil).Join() }

// Chat returns the request as [Request.Body] does, but under the client's name of the model: for
// providers that write a request of another API from it, so that there is no copy between.
func (r *Request) Chat() []byte {
	if r.Source != nil {
		r.Source.sent = false
	}
	return r.Bytes()
}

// Announce tells the gateway which body is about to go to the upstream. Providers call
// it before they send one, and do not send it if there is an error: that is how tools
// which an adapter loses are noticed. Who keeps to Body or With has nothing to fear.
func (r *Request) Announce(body wire.Pieces) error {
	if r.Announced == nil {
		return nil
	}
	return r.Announced(body)
}

// Field is a member of a request, its value in JSON.
type Field struct{ Name, Value string }

// With returns the request as [Request.Body] does, in pieces of its bytes, with some fields set,
// and with further edits of Bytes. Fields that the client has set too are replaced.
func (r *Request) With(model string, fields []Field, further ...wire.Edit) wire.Pieces {
	if r.Source != nil {
		r.Source.sent = false
	}
	if len(fields) > 0 || len(further) > 0 {
		r = r.flat()
	}
	edits := append(slices.Clip(r.edits), further...)
	if model != r.Model {
		name, _ := json.Marshal(model) // a string cannot fail
		edits = append(edits, wire.Edit{At: r.places.Model, With: name})
	}
	if len(fields) > 0 {
		edits = append(edits, r.set(fields)...)
	}
	return wire.Lay(r.body, edits)
}

// set are the edits that give members of the body values.
func (r *Request) set(fields []Field) (edits []wire.Edit) {
	set := make([]bool, len(fields))
	wire.Members(r.body, 0, func(key []byte, v wire.Span) bool {
		if bytes.IndexByte(key, '\\') >= 0 {
			var plain string
			_ = json.Unmarshal(slices.Concat([]byte{'"'}, key, []byte{'"'}), &plain) // the body is valid
			key = []byte(plain)
		}
		if i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == string(key) }); i >= 0 {
			edits = append(edits, wire.Edit{At: v, With: []byte(fields[i].Value)})
			set[i] = true
		}
		return true
	})
	brace := bytes.IndexByte(r.body, '{') + 1
	var added []byte
	for i, f := range fields {
		if !set[i] {
			added = append(append(append(strconv.AppendQuote(added, f.Name), ':'), f.Value...), ',') // the model follows
		}
	}
	return append(edits, wire.Edit{At: wire.Span{Start: brace, End: brace}, With: added})
}

// Set is the edit of Bytes that gives a member a value; at is its place, empty if it is not
// there.
func (r *Request) Set(at wire.Span, name, value string) wire.Edit {
	if !at.Empty() {
		return wire.Edit{At: at, With: []byte(value)}
	}
	brace := bytes.IndexByte(r.Bytes(), '{') + 1
	return wire.Edit{At: wire.Span{Start: brace, End: brace}, With: fmt.Appendf(nil, "%q:%s,", name, value)} // the model follows
}

// Message is the edit of Bytes that puts a message behind the others.
func (r *Request) Message(role, text string) wire.Edit {
	list := r.Places().Messages
	end := list.End - 1 // in front of the bracket
	message := wire.AppendQuoted(fmt.Appendf(nil, `,{"role":%q,"content":`, role), text)
	if wire.Blank(r.body[list.Start+1 : end]) {
		message = message[1:]
	}
	return wire.Edit{At: wire.Span{Start: end, End: end}, With: append(message, '}')}
}

// Tools is what was read of the offered tools.
func (r *Request) Tools() *tools.List {
	if r.read.tools == nil {
		if r.ToolCache != nil {
			r.read.tools = r.ToolCache.Read(r.ToolsJSON())
		} else {
			r.read.tools = tools.NewList(r.ToolsJSON())
		}
	}
	return r.read.tools
}

// ToolsJSON is the JSON of the offered tools, or nil.
func (r *Request) ToolsJSON() []byte {
	if at := r.Places().Tools; !at.IsNull(r.body) {
		return at.Of(r.body)
	}
	return nil
}

// Conversation is what was read of the messages. It is used by one goroutine.
func (r *Request) Conversation() *conversation.Conversation {
	at := r.Places().Messages
	if r.read.conversation == nil {
		r.read.conversation = &conversation.Conversation{}
		if !at.IsNull(r.body) {
			r.read.conversation = conversation.Read(at.Of(r.body))
		}
	}
	return r.read.conversation
}

// Ledger is the account of the calls in the messages, which the guards share. It is used by one
// goroutine.
func (r *Request) Ledger() *ledger.Ledger {
	if c := r.Conversation(); r.read.ledger == nil {
		r.read.ledger = ledger.New(c, r.ToolsJSON(), r.Ran...)
	}
	return r.read.ledger
}

// WantsUsage reports whether the client of a stream asks for its usage.
func (r *Request) WantsUsage() bool {
	at := r.Places().StreamOptions
	return !at.IsNull(r.body) && r.body[at.Start] == '{' && string(wire.Find(r.body, at, "include_usage").Of(r.body)) == "true"
}

// HasMessages reports whether there is an array of messages.
func (r *Request) HasMessages() bool {
	at := r.Places().Messages
	return !at.IsNull(r.body) && r.body[at.Start] == '['
}

// IsEmpty reports whether there is no message: upstreams refuse that, and nothing that is
// added must hide it.
func (r *Request) IsEmpty() bool {
	at := r.Places().Messages
	return !r.HasMessages() || wire.Blank(r.body[at.Start+1:at.End-1])
}

// MentionsTools reports whether there can be a call or a result in the messages. It is
// a search in place of a reading: most conversations have neither.
func (r *Request) MentionsTools() bool {
	return r.HasMessages() && bytes.Contains(r.places.Messages.Of(r.body), []byte(`"tool`))
}

// OffersTools says whether the model may call a tool: the request offers at least
// one and does not forbid them all with a tool_choice of "none".
func (r *Request) OffersTools() bool {
	p := r.Places()
	if p.Tools.IsNull(r.body) || string(p.ToolChoice.Of(r.body)) == `"none"` {
		return false
	}
	offers := false
	wire.Elements(r.body, p.Tools.Start, func(int, wire.Span) bool {
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
func (r *Request) Choice() ToolChoice {
	at := r.Places().ToolChoice
	if at.IsNull(r.body) {
		return ToolChoice{}
	}
	switch wire.Unquote(at.Of(r.body)) {
	case "auto":
		return ToolChoice{}
	case "none":
		return ToolChoice{None: true}
	case "required", "any": // "any" is Mistral's word
		return ToolChoice{Required: true}
	}
	if r.body[at.Start] == '{' {
		function := wire.Find(r.body, at, "function")
		if !function.IsNull(r.body) && r.body[function.Start] == '{' {
			if name := wire.Unquote(wire.Find(r.body, function, "name").Of(r.body)); name != "" {
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
func (r *Request) Format() Format {
	at := r.Places().ResponseFormat
	if at.IsNull(r.body) || r.body[at.Start] != '{' {
		return Format{}
	}
	switch wire.Unquote(wire.Find(r.body, at, "type").Of(r.body)) {
	case "json_object":
		schema := wire.Find(r.body, at, "schema").Of(r.body) // as Together and llama.cpp have it
		return Format{JSON: true, Schema: objectOr(schema)}
	case "json_schema":
		f := Format{JSON: true}
		if inner := wire.Find(r.body, at, "json_schema"); !inner.IsNull(r.body) && r.body[inner.Start] == '{' {
			f.Schema = objectOr(wire.Find(r.body, inner, "schema").Of(r.body))
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
