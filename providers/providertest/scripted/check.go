package scripted

import (
	"encoding/json"
)

// fault is what is wrong with a conversation. Each vendor has its own words for it.
type fault struct {
	kind    faultKind
	message int      // its index among the messages
	call    int      // its index among the message's calls
	ids     []string // of the calls at fault
}

type faultKind int

const (
	orphan       faultKind = iota // a result whose call is not in the message in front of the results
	unanswered                    // a call without its result
	badArguments                  // arguments that are no JSON object
	badID                         // an id of a form that the vendor does not take
	unknownRole
	noMessages
)

// rules are what a vendor checks beside the pairs of calls and results.
type rules struct {
	arguments bool
	id        func(c call) bool // nil takes every id
}

// check returns the first fault of a conversation, or nil.
func (c conversation) check(r rules) *fault {
	if len(c.messages) == 0 {
		return &fault{kind: noMessages}
	}
	waiting := map[string]bool{} // the calls of the last message without a result yet
	from := 0
	for i, m := range c.messages {
		if m.role == "tool" {
			if !waiting[m.answer] {
				return &fault{kind: orphan, message: i, ids: []string{m.answer}}
			}
			delete(waiting, m.answer)
			continue
		}
		if len(waiting) > 0 {
			break
		}
		from = i
		if f := m.check(i, r); f != nil {
			return f
		}
		for _, call := range m.calls {
			waiting[call.id] = true
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	f := &fault{kind: unanswered, message: from}
	for _, call := range c.messages[from].calls {
		if waiting[call.id] {
			f.ids = append(f.ids, call.id)
		}
	}
	return f
}

// check returns the first fault of a message that is no result; i is its index.
func (m message) check(i int, r rules) *fault {
	switch m.role {
	case "system", "developer", "user", "assistant":
	default:
		return &fault{kind: unknownRole, message: i}
	}
	for n, call := range m.calls {
		if r.id != nil && !r.id(call) {
			return &fault{kind: badID, message: i, call: n, ids: []string{call.id}}
		}
		if r.arguments && json.Unmarshal([]byte(call.arguments), &map[string]any{}) != nil {
			return &fault{kind: badArguments, message: i, call: n, ids: []string{call.id}}
		}
	}
	return nil
}
