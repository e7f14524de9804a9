package responses

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// callAt finds the call with an index of the upstream's, a new one where there is none yet or
// where another one begins.
func (m *machine) callAt(key int, id, name []byte) *item {
	for _, it := range slices.Backward(m.calls) {
		if it.call.key != key {
			continue
		}
		if len(name) > 2 && len(id) > 2 && it.call.name != "" && !bytes.Equal(id, it.call.id) {
			break
		}
		return it
	}
	it := &item{kind: callItem, call: &call{key: key}}
	m.calls = append(m.calls, it)
	m.waiting = append(m.waiting, it)
	return it
}

// addCall takes a piece of a call. What is nil or empty is not in it.
func (m *machine) addCall(key int, id, name, args []byte) error {
	it := m.callAt(key, id, name)
	c := it.call
	m.last = it
	m.size += len(args)
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

// name takes the name of a call, which says what it is and whether the client may get it.
func (m *machine) name(it *item, id []byte, name string) {
	c, set := it.call, &m.req.tools
	t, known := set.byName[name]
	if m.isApproval(id) {
		c.dropped = true
		m.waiting = slices.DeleteFunc(m.waiting, func(other *item) bool { return other == it })
		return
	}
	if _, ok := set.allowed("", name); !ok {
		c.dropped = true
		m.waiting = slices.DeleteFunc(m.waiting, func(other *item) bool { return other == it })
		m.summary.Warn("call_dropped:" + gateway.ExcerptOf(name, maxName))
		return
	}
	if !known {
		t.name = name
	}
	c.name, c.tool, c.id = name, t, slices.Clone(id)
	if len(id) <= 2 {
		c.id = append(append([]byte(`"call_`), itemID("", m.req.id, len(m.calls))...), '"')
	}
}

// more takes a further piece of the arguments of a call that was open.
func (m *machine) more(it *item, piece []byte) error {
	if it == m.open && len(m.waiting) == 0 {
		m.size += len(piece)
		m.put(piece, nil)
		return nil
	}
	return m.addCall(it.call.key, nil, nil, piece)
}
