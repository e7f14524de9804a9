package responses

import (
	"bytes"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// Source implements [protocol.Front]: the client's body, with the items that it goes on from.
func (r *Request) Source() *gateway.Source {
	r.source = &gateway.Source{Protocol: Name, Body: r.nativeBody(), Metadata: r.Metadata(), Conversation: r.Conversation(), Foreign: r.remarks.foreign, Hosted: r.remarks.hosted}
	return r.source
}

// Warnings implements [protocol.Front]. What a chat completion has no place for is not said of a
// request that went out as it came.
func (r *Request) Warnings() []string {
	if r.source == nil || !r.source.Sent() {
		return r.remarks.warnings
	}
	said := slices.DeleteFunc(slices.Clone(r.remarks.warnings), func(w string) bool {
		kind, _, _ := strings.Cut(w, ":")
		return kind == "dropped" || kind == "tool_dropped" || kind == "item_dropped" || kind == "grammar_not_enforced"
	})
	if r.lost {
		said = append(said, "item_dropped:reasoning")
	}
	return said
}

// Foreign is why no upstream can take the request that does not speak the Responses API itself; nil if
// any can. It is there after Translate.
func (r *Request) Foreign() *gateway.Error { return r.remarks.foreign }

// nativeBody is the request for an upstream that speaks the Responses API, nil if there is none: the
// client's body, with earlier items in front of its own, and without what is this gateway's alone.
func (r *Request) nativeBody() []byte {
	if r.ownTools.ran {
		return nil
	}
	own := len(r.earlier) > 0 || r.replaced || r.fields[fInput] == nil
	if !own && !bytes.Contains(r.fields[fInput], []byte(sealed)) && !bytes.Contains(r.fields[fInput], []byte(`"compaction"`)) {
		return r.body
	}
	size := len(r.body)
	for _, item := range r.earlier {
		size += len(item)
	}
	if r.options.Room.Grow(int64(size)) != nil { // as a chat completion it has its room already
		return nil
	}
	input, vault := append(make([]byte, 0, size), '['), r.vault()
	for _, item := range slices.Concat(r.earlier, r.items) {
		native := vault.native(item)
		if native == nil {
			r.lost = true
			continue
		}
		if len(input) > 1 {
			input = append(input, ',')
		}
		input = append(input, native...)
	}
	input = append(input, ']')
	if at := wire.Find(r.body, wire.Span{End: len(r.body)}, fieldNames[fInput]); !at.Empty() {
		return wire.Splice(r.body, []wire.Edit{{At: at, With: input}})
	}
	begin := bytes.IndexByte(r.body, '{') + 1
	return wire.Splice(r.body, []wire.Edit{{At: wire.Span{Start: begin, End: begin}, With: slices.Concat([]byte(`"input":`), input, []byte{','})}})
}

// openAIFormat is what OpenRouter calls reasoning that OpenAI has encrypted, in reasoning_details.
const openAIFormat = "openai-responses-v1"

// native is an item for an upstream that speaks the API, nil for one that only this gateway
// understands.
func (v vault) native(item object) []byte {
	switch kind := itemType(item); kind {
	case "reasoning":
		if !strings.HasPrefix(wire.Unquote(item.get("encrypted_content")), sealed) {
			return item
		}
		return v.nativeReasoning(item)
	case "compaction":
		opened, err := v.open(wire.Unquote(item.get("encrypted_content")))
		if err != nil {
			return item
		}
		return append(append([]byte(`{"role":"user","content":`), object(opened).get("text")...), '}')
	case "message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output":
		// Ids of ours mean nothing there: nothing is stored.
		if _, digits, ok := strings.Cut(wire.Unquote(item.get("id")), "_"); ok && isOurs(digits) {
			return wire.Splice(item, wire.Remove(item, "id"))
		}
	}
	return item
}

// isOurs reports whether an id is one that this gateway has given to an item of an answer, or to one of
// an input.
func isOurs(digits string) bool {
	return isItemOfOurs(digits) || len(digits) == storedDigits
}

// isItemOfOurs reports whether an id is one that this gateway has given to an item of an answer.
func isItemOfOurs(digits string) bool {
	return len(digits) == 2*idBytes && strings.HasPrefix(digits[groupDigits:], "0000")
}

// storedDigits is how many digits package state gives to ids of input items.
const storedDigits = 32

// nativeReasoning is reasoning that this gateway has sealed, if OpenAI has encrypted it before.
func (v vault) nativeReasoning(item object) []byte {
	opened, err := v.open(wire.Unquote(item.get("encrypted_content")))
	if err != nil {
		return nil
	}
	var data []byte
	details := object(opened).get("reasoning_details")
	wire.Elements(details, 0, func(_ int, at wire.Span) bool {
		if d := object(at.Of(details)); wire.Unquote(d.get("format")) == openAIFormat && isString(d.get("data")) {
			data = d.get("data")
		}
		return data == nil
	})
	if data == nil {
		return nil
	}
	summary := item.get("summary")
	if !isArray(summary) {
		summary = []byte("[]")
	}
	return append(append(append(append([]byte(`{"type":"reasoning","summary":`), summary...), `,"encrypted_content":`...), data...), '}')
}

// native is an item of a type that chat completions have no form for, as an upstream of the API gives
// it: with its own events.
type native struct {
	key    int // the upstream's output_index
	item   []byte
	events [][]byte // that wait
	over   bool
}

// natives are such items of a response.
type natives []*item

// find is the one with an upstream's output_index that is not over, or nil.
func (n natives) find(key int) *item {
	for _, it := range slices.Backward(n) {
		if it.native.key == key && !it.native.over {
			return it
		}
	}
	return nil
}

// addNative takes the beginning of such an item.
func (m *machine) addNative(key int, begun []byte) {
	it := &item{kind: nativeKind, native: &native{key: key, item: begun}}
	m.natives = append(m.natives, it)
	m.waiting = append(m.waiting, it)
	m.advance()
}

// takeNative takes a further event of such an item; the last one says what it is in the end.
func (m *machine) takeNative(key int, event object) {
	it := m.natives.find(key)
	switch {
	case it == nil:
	case wire.Unquote(event.get("type")) == "response.output_item.done":
		it.native.item, it.native.over = bytes.Clone(event.get("item")), true
		if it == m.open {
			m.close(completed)
		}
		m.advance()
	case it == m.open:
		m.native(it, event)
	default:
		it.native.events = append(it.native.events, bytes.Clone(event))
	}
}

// startNative opens an item of the upstream's own.
func (m *machine) startNative(it *item) {
	m.output.size += itemSize
	it.index, it.id = m.output.begin(), wire.Unquote(object(it.native.item).get("id"))
	m.open = it
	m.raw("response.output_item.added", it.place(), appendLine(nil, it.native.item))
	m.sayNative(it)
}

// sayNative says what has waited of such an item, which is open.
func (m *machine) sayNative(it *item) {
	for _, e := range it.native.events {
		m.native(it, e)
	}
	it.native.events = nil
	if it.native.over {
		m.close(completed)
	}
}

// ownResponse is a whole answer as an upstream of the API has given it, nil if it is none.
func ownResponse(body object) object {
	own := object(body.get("provider_specific_fields"))
	if !isObject(own) {
		return nil
	}
	if own = own.get("responses"); !isObject(own) {
		return nil
	}
	if own = own.get("response"); isObject(own) && isArray(own.get("output")) {
		return own
	}
	return nil
}

func number(v []byte) (n int) {
	for _, c := range v {
		if c < '0' || c > '9' || n > 1<<20 {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	return n
}
