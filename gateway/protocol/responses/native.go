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
	r.source = &gateway.Source{Protocol: Name, Body: r.nativeBody(), Metadata: r.Metadata(), Conversation: r.Conversation(), Foreign: r.remarks.foreign}
	return r.source
}

// Warnings implements [protocol.Front]. What a chat completion has no place for is not said of a
// request that went out as it came.
func (r *Request) Warnings() []string {
	if r.source == nil || !r.source.Sent() {
		return r.remarks.warnings
	}
	return slices.DeleteFunc(slices.Clone(r.remarks.warnings), func(w string) bool {
		kind, _, _ := strings.Cut(w, ":")
		return kind == "tool_dropped" || kind == "item_dropped" || kind == "grammar_not_enforced"
	})
}

// Foreign is why no upstream can take the request that does not speak the Responses API itself; nil if
// any can. It is there after Translate.
func (r *Request) Foreign() *gateway.Error { return r.remarks.foreign }

// nativeBody is the request for an upstream that speaks the Responses API, nil if there is none: the
// client's body, with earlier items in front of its own, and without what is this gateway's alone.
func (r *Request) nativeBody() []byte {
	if r.ours.ran {
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
	return len(digits) == 2*idBytes && strings.HasPrefix(digits[groupDigits:], "0000") || len(digits) == storedDigits
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

// isOwn reports whether the upstream speaks the Responses API. What is in its form is not believed of another one.
func (w *Writer) isOwn() bool { return w.summary.Protocol == Name }

// readOwn takes what an upstream of the Responses API says beside the chat completion.
func (w *Writer) readOwn(own object) {
	if !w.isOwn() {
		return
	}
	if m := own.get("message"); isObject(m) {
		w.waiting = append(w.waiting, &item{kind: messageItem, part: textPartKind, phase: bytes.Clone(object(m).get("phase")), fresh: true})
		w.advance()
	}
	if whole := object(own.get("response")); isObject(whole) { // of an answer that something was put into
		list := whole.get("output")
		wire.Elements(list, 0, func(_ int, at wire.Span) bool {
			one := object(at.Of(list))
			switch wire.Unquote(one.get("type")) {
			case "message", "reasoning", "function_call", "custom_tool_call":
			default:
				w.waiting = append(w.waiting, &item{kind: nativeKind, native: &native{item: bytes.Clone(one), over: true}})
			}
			return true
		})
		w.advance()
	}
	event := object(own.get("event"))
	if !isObject(event) {
		return
	}
	key := number(event.get("output_index"))
	w.size += len(event)
	kind := wire.Unquote(event.get("type"))
	if kind == "response.output_item.added" {
		it := &item{kind: nativeKind, native: &native{key: key, item: bytes.Clone(event.get("item"))}}
		w.natives = append(w.natives, it)
		w.waiting = append(w.waiting, it)
		w.advance()
		return
	}
	for _, it := range slices.Backward(w.natives) {
		if it.native.key != key || it.native.over {
			continue
		}
		if kind == "response.output_item.done" {
			it.native.item, it.native.over = bytes.Clone(event.get("item")), true
			if it == w.open {
				w.close(completed)
			}
			w.advance()
			return
		}
		if it == w.open {
			w.nativeEvent(it, event)
		} else {
			it.native.events = append(it.native.events, bytes.Clone(event))
		}
		return
	}
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

// startNative opens an item of the upstream's own.
func (m *machine) startNative(it *item) {
	m.size += itemSize
	it.index, it.id = len(m.items), wire.Unquote(object(it.native.item).get("id"))
	m.open = it
	m.raw("response.output_item.added", it.place(), appendLine(nil, it.native.item))
	for _, e := range it.native.events {
		m.nativeEvent(it, e)
	}
	it.native.events = nil
	if it.native.over {
		m.close(completed)
	}
}

// nativeEvent writes an event of such an item, at the place that the item has here.
func (m *machine) nativeEvent(it *item, event object) {
	kind := wire.Unquote(event.get("type"))
	if !isTheirs(kind) {
		return
	}
	members := wire.AppendOthers([]byte{'{'}, event, "type", "sequence_number", "output_index")
	b := wire.AppendInt([]byte(`,"output_index":`), it.index)
	if len(members) > 1 {
		b = append(append(b, ','), members[1:]...)
	}
	m.raw(kind, appendLine(nil, b))
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

// takeOutput takes the items of a whole answer as they came.
func (m *machine) takeOutput(list []byte) {
	wire.Elements(list, 0, func(_ int, at wire.Span) bool {
		stored := object(appendLine(nil, at.Of(list)))
		if !isObject(stored) {
			return true
		}
		id := wire.Unquote(stored.get("id"))
		if id == "" {
			id = itemID("item_", m.req.id, len(m.items))
			stored = append(wire.AppendOthers(wire.AppendQuoted([]byte(`{"id":`), id), stored, "id"), '}')
		}
		m.output = appendElements(m.output, m.shown(stored))
		m.items = append(m.items, Item{ID: id, Type: wire.Unquote(stored.get("type")), JSON: stored})
		return true
	})
}
