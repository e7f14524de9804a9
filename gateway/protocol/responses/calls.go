package responses

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// calls are those of a response.
type calls struct {
	tools     *toolset
	response  string   // its id
	all       []*item  // to find one by its index
	last      *item    // the one that the last piece of a call was of
	approvals []string // ids of calls that wait for the client's word
}

// find finds the call with an index of the upstream's; nil where there is none yet, or where another one begins.
func (c *calls) find(key int, id, name []byte) *item {
	for _, it := range slices.Backward(c.all) {
		if it.call.key != key {
			continue
		}
		if len(name) > 2 && len(id) > 2 && it.call.name != "" && !bytes.Equal(id, it.call.id) {
			break
		}
		return it
	}
	return nil
}

// name names a call, which says what it is. It reports whether the client may get it.
func (c *calls) name(of *call, id []byte, name string) bool {
	t, known := c.tools.byName[name]
	if _, ok := c.tools.allowed("", name); !ok || c.isApproval(id) {
		return false
	}
	if !known {
		t.name = name
	}
	of.name, of.tool, of.id = name, t, slices.Clone(id)
	if len(id) <= 2 {
		of.id = append(append([]byte(`"call_`), itemID("", c.response, len(c.all))...), '"')
	}
	return true
}

// isApproval reports whether a call waits for the client's word: its item says so.
func (c *calls) isApproval(id []byte) bool {
	return len(c.approvals) > 0 && slices.Contains(c.approvals, wire.Unquote(id))
}

// begin adds a call as an upstream of the API begins it, where the client may have it. key is its index in the chunks.
func (c *calls) begin(it *item, said object, key int) bool {
	callID, name, space := said.get("call_id"), wire.Unquote(said.get("name")), wire.Unquote(said.get("namespace"))
	known, ok := c.tools.allowed(space, name)
	if !ok || key < 0 || c.find(key, nil, nil) != nil || c.isApproval(callID) || len(callID) <= len(`""`) || name == "" {
		return false
	}
	custom := wire.Unquote(said.get("type")) == "custom_tool_call"
	it.kind = callItem
	it.call = &call{key: key, id: bytes.Clone(callID), name: known, tool: tool{name: name, space: space, custom: custom}}
	c.all = append(c.all, it)
	it.before = append(it.head(), deltaMember...)
	if custom {
		it.text = []byte(customBegin)
	}
	return true
}

// may reports whether the client may get all calls of a whole answer.
func (c *calls) may(output []byte) bool {
	may := true
	wire.Elements(output, 0, func(_ int, at wire.Span) bool {
		switch item := object(at.Of(output)); wire.Unquote(item.get("type")) {
		case "function_call", "custom_tool_call":
			may = c.mayBe(item)
		}
		return may
	})
	return may
}

// mayBe reports whether the client may get a call.
func (c *calls) mayBe(item object) bool {
	_, ok := c.tools.allowed(wire.Unquote(item.get("namespace")), wire.Unquote(item.get("name")))
	return ok && !c.isApproval(item.get("call_id"))
}

// theirs are the items of calls as an upstream of the API has them, by their call_id, and of messages by their id: what nobody
// here reads of them stays where the gateway writes the item itself.
type theirs map[string]object

// keep takes an item as it begins, or as it ends.
func (t *theirs) keep(item object) (size int) {
	key := ""
	switch itemType(item) {
	case "function_call", "custom_tool_call":
		key = callName(item.get("call_id"))
	case "message":
		key = wire.Unquote(item.get("id"))
	}
	if key == "" || (*t)[key] == nil && len(*t) >= maxCalls {
		return 0
	}
	if *t == nil {
		*t = theirs{}
	}
	if before := (*t)[key]; before != nil && !bytes.Equal(before.get("id"), item.get("id")) {
		item = object("{}") // of two calls with one id nobody knows whose is what
	}
	(*t)[key] = bytes.Clone(item)
	return len(item)
}

// callName is the name of a call among the items, "" for one without an id. None of a message has a space.
func callName(id []byte) string {
	if len(id) <= len(`""`) {
		return ""
	}
	return "call " + wire.Unquote(id)
}

// beside are the members of an item that nobody here reads, each with a comma in front.
func (t theirs) beside(it *item) []byte {
	var item object
	switch {
	case it.call != nil:
		item = t[callName(it.call.id)]
	case it.kind == messageItem:
		item = t[it.id]
	}
	if item == nil {
		return nil
	}
	return wire.AppendOthers([]byte{','}, item, "id", "type", "status", "call_id", "name", "namespace", "arguments", "input", "content", "role", "phase")[1:]
}

// callAt is the call with an index of the upstream's, a new one where there is none yet or
// where another one begins.
func (m *machine) callAt(key int, id, name []byte) *item {
	it := m.calls.find(key, id, name)
	if it == nil {
		it = &item{kind: callItem, call: &call{key: key}}
		m.calls.all = append(m.calls.all, it)
		m.waiting = append(m.waiting, it)
	}
	return it
}

// addCall takes a piece of a call. What is nil or empty is not in it.
func (m *machine) addCall(key int, id, name, args []byte) error {
	it := m.callAt(key, id, name)
	c := it.call
	m.calls.last = it
	m.output.size += len(args)
	if c.dropped {
		return nil
	}
	if it.over {
		if !wire.Blank(wire.AppendDecoded(nil, slices.Concat([]byte{'"'}, args, []byte{'"'}))) {
			return &gateway.Error{Kind: gateway.Unavailable, Message: "The upstream has sent more of a call whose arguments were complete."}
		}
		return nil
	}
	if c.name == "" && len(name) > 2 {
		m.name(it, id, wire.Unquote(name))
	}
	switch {
	case it.over || c.dropped:
	case it == m.open:
		m.put(args, nil)
	default:
		it.text = append(it.text, args...)
	}
	if len(m.waiting) > 0 {
		m.advance()
	}
	return nil
}

// name takes the name of a call. One that the client may not get is dropped.
func (m *machine) name(it *item, id []byte, name string) {
	if m.calls.name(it.call, id, name) {
		return
	}
	it.call.dropped = true
	m.waiting = slices.DeleteFunc(m.waiting, func(other *item) bool { return other == it })
	if !m.calls.isApproval(id) {
		m.summary.Warn("call_dropped:" + gateway.ExcerptOf(name, maxName))
	}
}

// more takes a further piece of the arguments of a call that was open.
func (m *machine) more(it *item, piece []byte) error {
	if it == m.open && len(m.waiting) == 0 {
		m.output.size += len(piece)
		m.put(piece, nil)
		return nil
	}
	return m.addCall(it.call.key, nil, nil, piece)
}
