package responses

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/gateway/wire"
)

// output are the items of a response that are over.
type output struct {
	items []Item
	json  []byte // the same as elements, as the client gets them
	begun int    // how many items have begun, which is the place of the next one
	late  map[int]lateItem
	asked bool // the client wants encrypted reasoning
	size  int  // of what is kept until the end, with what is not over yet, about
}

// lateItem is one that is over while another one in front of it is not.
type lateItem struct {
	item  Item
	shown []byte
}

// begin is the place of a further item.
func (o *output) begin() int {
	o.begun++
	return o.begun - 1
}

// add adds an item at its place, and what the client gets of it. Nobody changes either any more.
func (o *output) add(place int, it Item, shown []byte) {
	if place != len(o.items) {
		if o.late == nil {
			o.late = map[int]lateItem{}
		}
		o.late[place] = lateItem{it, shown}
		return
	}
	for ok := true; ok; {
		o.json = addElement(o.json, shown)
		o.items = append(o.items, it)
		var next lateItem
		next, ok = o.late[len(o.items)]
		it, shown = next.item, next.shown
	}
}

// appendElements appends elements behind others.
func appendElements(b, more []byte) []byte {
	if len(more) > 0 && len(b) > 0 {
		b = append(b, ',')
	}
	return append(b, more...)
}

// addElement does so with an element that nobody changes any more: the first of a list is the list.
func addElement(b, element []byte) []byte {
	if len(b) == 0 {
		return slices.Clip(element)
	}
	return appendElements(b, element)
}

// shown is an item as the client gets it: encrypted reasoning only if it has asked for that. A compaction
// is nothing without what it holds.
func (o *output) shown(item object) []byte {
	if o.asked || item.get("encrypted_content") == nil || itemType(item) != "reasoning" {
		return item
	}
	return wire.Splice(item, wire.Remove(item, "encrypted_content"))
}

// take takes the items of a whole answer as they came.
func (o *output) take(list []byte, response string) {
	wire.Elements(list, 0, func(_ int, at wire.Span) bool {
		stored := object(appendLine(nil, at.Of(list)))
		if !isObject(stored) {
			return true
		}
		id := wire.Unquote(stored.get("id"))
		if id == "" {
			id = itemID("item_", response, len(o.items))
			stored = append(wire.AppendOthers(wire.AppendQuoted([]byte(`{"id":`), id), stored, "id"), '}')
		}
		o.add(o.begin(), Item{ID: id, Type: wire.Unquote(stored.get("type")), JSON: stored}, o.shown(stored))
		return true
	})
}

// edits make a list of items what the client has got of them: nothing, where it says that. OpenAI encrypts reasoning anew
// each time it sends it.
func (o *output) edits(list []byte) (edits []wire.Edit) {
	n, same := 0, isArray(list)
	wire.Elements(list, 0, func(i int, at wire.Span) bool {
		item := object(at.Of(list))
		if n++; i >= len(o.items) || !sameItem(item, o.items[i].JSON) && !sameItem(appendLine(nil, item), o.items[i].JSON) {
			same = false
			return false
		}
		if len(o.shown(item)) != len(item) {
			edits = append(edits, wire.Shifted(wire.Remove(item, "encrypted_content"), at.Start)...)
		}
		return true
	})
	if same && n == len(o.items) {
		return edits
	}
	return []wire.Edit{{At: wire.Span{End: len(list)}, With: slices.Concat([]byte{'['}, o.json, []byte{']'})}}
}

// sameItem reports whether two items are the same but for what is encrypted, of which both have some or neither.
func sameItem(a, b object) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if itemType(a) != "reasoning" || wire.Unquote(a.get("encrypted_content")) == "" || wire.Unquote(b.get("encrypted_content")) == "" {
		return false
	}
	return bytes.Equal(wire.Splice(a, wire.Remove(a, "encrypted_content")), wire.Splice(b, wire.Remove(b, "encrypted_content")))
}
