package responses

import (
	"bytes"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/wire"
)

// passItem takes an event of an item, and says which one it is of. Several may be open at a time.
func (p *passage) passItem(c *upstreamEvent, call int) (it *item, ok bool) {
	if c.kind == "response.output_item.added" {
		return p.passAdded(c, call)
	}
	switch it = p.items[c.at]; {
	case it == nil:
		return nil, false
	case c.kind == "response.output_item.done":
		return it, p.passDone(it, c)
	}
	return it, (c.id == "" || c.id == it.id) && it.passWithin(c)
}

// passAdded begins an item.
func (p *passage) passAdded(c *upstreamEvent, call int) (it *item, ok bool) {
	id := wire.Unquote(c.item.get("id"))
	if c.at != p.next || !isItemID(id) || p.ids[id] {
		return nil, false
	}
	it = &item{index: p.machine.output.begun, id: id}
	kind := wire.Unquote(c.item.get("type"))
	if hasPieces[kind] && !isEmptyItem(c.item) {
		return nil, false
	}
	switch kind {
	case "message":
		it.kind, it.phase = messageItem, bytes.Clone(c.item.get("phase"))
		p.machine.theirs.keep(c.item) // as with a call
	case "reasoning":
		it.kind = reasoningItem
	case "function_call", "custom_tool_call":
		if !p.machine.calls.begin(it, c.item, call) {
			return nil, false
		}
		p.machine.theirs.keep(c.item) // the machine may have to end it
	case "":
		return nil, false
	default:
		it.kind, it.native = nativeKind, &native{key: c.at, item: bytes.Clone(c.item)}
		p.machine.natives = append(p.machine.natives, it)
	}
	if p.ids == nil {
		p.ids, p.items = map[string]bool{}, map[int]*item{}
	}
	p.ids[id], p.items[c.at] = true, it
	p.next++
	p.machine.output.begin()
	p.machine.output.size += itemSize
	return it, true
}

// hasPieces are the types of items that the machine may have to go on with. Others, such as mcp_approval_request, say at once
// what they have.
var hasPieces = map[string]bool{"message": true, "reasoning": true, "function_call": true, "custom_tool_call": true}

// isEmptyItem reports whether nothing has been said of an item yet.
func isEmptyItem(item object) bool {
	for _, name := range [...]string{"content", "summary", "arguments", "input"} {
		if v := item.get(name); v != nil && !isEmptyValue(v) {
			return false
		}
	}
	return true
}

// The arguments of a chat completion's call of a custom tool, around the input.
const (
	customBegin = `{\"input\":\"`
	customEnd   = `\"}`
)

const maxItemID = 256

func isItemID(id string) bool {
	return id != "" && len(id) <= maxItemID && strings.IndexFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// passDone ends an item.
func (p *passage) passDone(it *item, c *upstreamEvent) bool {
	status := wire.Unquote(c.item.get("status"))
	switch {
	case wire.Unquote(c.item.get("id")) != it.id, wire.Unquote(c.item.get("type")) != it.typeName(), it.part != noPart:
		return false
	case it.kind == callItem && !it.isSaid(c.item), (it.kind == messageItem || it.kind == reasoningItem) && !it.hasParts(c.item):
		return false
	case (it.kind == callItem || it.kind == messageItem) && status != completed && status != incomplete:
		return false
	}
	if it.native != nil {
		it.native.over = true
	}
	stored, out := bytes.Clone(c.item), &p.machine.output
	out.add(it.index, Item{ID: it.id, Type: it.typeName(), JSON: stored}, out.shown(stored))
	delete(p.items, c.at)
	it.over, it.text, it.parts = true, nil, nil
	return true
}

// isSaid reports whether the end of a call is what was said of it: what is checked is that.
func (it *item) isSaid(end object) bool {
	text := end.get("arguments")
	if it.call.tool.custom {
		text = end.get("input")
	}
	return it.told && bytes.Equal(end.get("call_id"), it.call.id) && wire.Unquote(end.get("name")) == it.call.tool.name &&
		wire.Unquote(end.get("namespace")) == it.call.tool.space && it.isWhole(text)
}

// hasParts reports whether the end of an item has the texts of the parts that were sent.
func (it *item) hasParts(end object) bool {
	name := "content"
	if it.kind == reasoningItem {
		name = "summary"
	}
	return slices.Equal(texts(end.get(name)), texts(slices.Concat([]byte{'['}, it.parts, []byte{']'})))
}

// texts are those of a list of parts, with the types.
func texts(list []byte) (out []string) {
	wire.Elements(list, 0, func(_ int, at wire.Span) bool {
		part := object(at.Of(list))
		text := part.get("text")
		if text == nil {
			text = part.get("refusal")
		}
		out = append(out, wire.Unquote(part.get("type"))+" "+wire.Unquote(text))
		return true
	})
	return out
}

// textEvents are what events about a text begin with, and the part that it is of.
var textEvents = map[string]partKind{"response.output_text.": textPartKind, "response.refusal.": refusalPartKind, "response.reasoning_summary_text.": textPartKind,
	"response.function_call_arguments.": noPart, "response.custom_tool_call_input.": noPart}

// passWithin takes an event of the item.
func (it *item) passWithin(c *upstreamEvent) bool {
	if it.kind == nativeKind {
		return isTheirs(c.kind)
	}
	family := c.kind[:strings.LastIndexByte(c.kind, '.')+1]
	switch family {
	case "response.output_text.annotation.":
		return !strings.HasSuffix(c.kind, ".added") || it.takeNote(c)
	case "response.content_part.":
		return it.kind != messageItem || it.passPart(c)
	case "response.reasoning_summary_part.":
		return it.kind == reasoningItem && it.passPart(c)
	}
	if part, ok := textEvents[family]; ok {
		return it.passText(c, part)
	}
	return !strings.HasPrefix(c.kind, "response.mcp_") // nothing that the machine would write
}

// passText takes an event about a text of the item, which is of a part, or the arguments of a call.
func (it *item) passText(c *upstreamEvent, part partKind) bool {
	switch {
	case strings.HasPrefix(c.kind, "response.reasoning") != (it.kind == reasoningItem), (part == noPart) != (it.kind == callItem), it.told:
		return false
	case it.kind == callItem && strings.HasPrefix(c.kind, "response.custom") != it.call.tool.custom, part != noPart && (it.part != part || c.number != it.number):
		return false
	case strings.HasSuffix(c.kind, ".delta"):
		return it.take(c)
	case !strings.HasSuffix(c.kind, ".done"), !it.isWhole(c.text):
		return false
	}
	switch {
	case it.kind != callItem:
	case it.call.tool.custom:
		it.text = append(it.text, customEnd...)
	case !it.call.args.complete(it.text): // what it lacks may be put there yet
		return false
	}
	it.told = true
	return true
}

// takeNote takes an annotation of the text that is open.
func (it *item) takeNote(c *upstreamEvent) bool {
	if it.kind != messageItem || it.part != textPartKind || it.told || c.note == nil || c.noted != it.noted || c.number != it.number {
		return false
	}
	it.notes = appendElements(it.notes, c.note)
	it.noted++
	return true
}

// take takes a piece of a text that goes on as it is.
func (it *item) take(c *upstreamEvent) bool {
	if !isString(c.piece) {
		return false
	}
	piece := inner(c.piece)
	if rest := clean(piece); !bytes.Equal(rest, piece) || hasHalf(piece) {
		return false
	}
	if it.kind == callItem && it.call.tool.custom {
		it.sent += len(piece)
		piece = inner(wire.AppendQuoted(nil, piece))
	}
	it.text = append(it.text, piece...)
	if isArray(c.logprobs) && !isEmptyValue(c.logprobs) {
		it.logprobs = appendElements(it.logprobs, bytes.TrimSpace(inner(c.logprobs)))
	}
	return true
}

// isWhole reports whether a text is what its pieces were.
func (it *item) isWhole(text []byte) bool {
	have := it.text
	switch {
	case it.kind != callItem || !it.call.tool.custom:
	case it.told:
		have = customInput(have)
	default:
		have = customInput(append(slices.Clip(have), customEnd...))
	}
	if !isString(text) {
		return false
	}
	return bytes.Equal(inner(text), have) || wire.Unquote(text) == wire.Unquote(slices.Concat([]byte{'"'}, have, []byte{'"'}))
}

// passPart begins or ends a part of the item.
func (it *item) passPart(c *upstreamEvent) bool {
	kind, says := partOf(c.part)
	if kind == noPart || !isString(says) || c.number != it.number {
		return false
	}
	if strings.HasSuffix(c.kind, ".added") {
		if it.part != noPart || len(says) > len(`""`) {
			return false
		}
		it.part, it.told = kind, false
		it.before = append(it.partHead(), deltaMember...)
		return true
	}
	notes := 0
	wire.Elements(c.part.get("annotations"), 0, func(int, wire.Span) bool { notes++; return true })
	if it.part != kind || !it.told || notes != it.noted || !it.isWhole(says) {
		return false
	}
	it.endPart(appendElements(it.parts, c.part))
	return true
}

// partOf is the kind of a part and its text; noPart is one that is unknown, or without members that every text has.
func partOf(part object) (partKind, []byte) {
	switch wire.Unquote(part.get("type")) {
	case "output_text":
		if isArray(part.get("annotations")) && isArray(part.get("logprobs")) {
			return textPartKind, part.get("text")
		}
	case "summary_text":
		return textPartKind, part.get("text")
	case "refusal":
		return refusalPartKind, part.get("refusal")
	}
	return noPart, nil
}
