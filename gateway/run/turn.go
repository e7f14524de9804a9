package run

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/callgate/callgate/gateway/wire"
)

// turn is what the model says in one round.
type turn struct {
	text   []byte
	others []member // of the message, such as its reasoning, which some models want back
	calls  []*call
	finish string
	usage  json.RawMessage // nil if the upstream did not count
}

// member is a member of an object, its value in JSON.
type member struct {
	key   string
	value json.RawMessage
}

// call is a call of the model.
type call struct {
	index  int // the model's; -1 without one
	id     string
	name   string
	args   []byte
	others []member // of the entry, such as signatures of its thoughts
	owner  owner
	place  int  // among the calls that the client sees
	shown  bool // the client has its beginning
}

// owner is whose tool a call is of.
type owner uint8

const (
	undecided owner = iota
	ours            // the gateway runs it, or says why it cannot
	client
)

// add reads the first choice of a frame, a chunk or a completion. each is called for every entry
// of tool_calls, with the call that it is of, and may be nil.
func (t *turn) add(f *wire.Frame, each func(c *call, entry []byte)) {
	if u := f.Usage(); len(u) > 0 && u[0] == '{' {
		t.usage = bytes.Clone(u)
	}
	for i := range f.Choices() {
		c := &f.Choices()[i]
		if c.Index != 0 {
			continue
		}
		if c.Reason != "" {
			t.finish = c.Reason
		}
		t.body(f.Data, c.Body, f.Whole, each)
	}
}

func (t *turn) body(data []byte, body wire.Span, whole bool, each func(*call, []byte)) {
	if body.Empty() || data[body.Start] != '{' {
		return
	}
	wire.Members(data, body.Start, func(key []byte, v wire.Span) bool {
		value := v.Of(data)
		switch name := string(key); {
		case name == "content" && value[0] == '"':
			t.text = wire.AppendDecoded(t.text, value)
		case name == "tool_calls" && value[0] == '[':
			wire.Elements(data, v.Start, func(n int, at wire.Span) bool {
				if data[at.Start] == '{' {
					c := t.call(at.Of(data), n, whole)
					if each != nil {
						each(c, at.Of(data))
					}
				}
				return true
			})
		case name == "role" || name == "content" || v.IsNull(data):
		default:
			t.others = joined(t.others, name, value)
		}
		return true
	})
}

// call is the call that an entry of tool_calls is of, with what the entry adds to it. Each entry of a whole answer is
// one of its own.
func (t *turn) call(entry []byte, place int, whole bool) *call {
	root := wire.Span{End: len(entry)}
	index, err := strconv.Atoi(string(wire.Find(entry, root, "index").Of(entry)))
	switch {
	case whole:
		index = place
	case err != nil:
		index = -1
	}
	id := wire.Unquote(wire.Find(entry, root, "id").Of(entry))
	c := t.find(index, id)
	if c == nil {
		c = &call{index: index, id: id}
		if index < 0 {
			c.index = place
		}
		t.calls = append(t.calls, c)
	}
	wire.Members(entry, 0, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "index", "id", "type":
		case "function":
			c.function(entry, v)
		default:
			c.others = joined(c.others, string(key), v.Of(entry))
		}
		return true
	})
	return c
}

// find is the call that an entry goes on with; nil if it begins one.
func (t *turn) find(index int, id string) *call {
	for _, c := range slices.Backward(t.calls) {
		if index >= 0 && c.index == index && (id == "" || id == c.id) || index < 0 && id != "" && id == c.id {
			return c
		}
	}
	if index < 0 && id == "" && len(t.calls) > 0 {
		return t.calls[len(t.calls)-1]
	}
	return nil
}

func (c *call) function(entry []byte, function wire.Span) {
	if entry[function.Start] != '{' {
		return
	}
	wire.Members(entry, function.Start, func(key []byte, v wire.Span) bool {
		value := v.Of(entry)
		switch {
		case string(key) == "name" && value[0] == '"':
			c.name += wire.Unquote(value)
		case string(key) == "arguments" && value[0] == '"':
			c.args = wire.AppendDecoded(c.args, value)
		case string(key) == "arguments" && !v.IsNull(entry):
			c.args = append(c.args, value...)
		}
		return true
	})
}

// joined adds a member to those of an object that came in pieces: texts and lists are joined,
// and of anything else the last one counts.
func joined(list []member, key string, value []byte) []member {
	for i := range list {
		if list[i].key != key {
			continue
		}
		before := list[i].value
		switch {
		case before[0] == '"' && value[0] == '"':
			before = append(before[:len(before)-1], value[1:]...)
			list[i].value = before
		case before[0] == '[' && value[0] == '[' && len(before) > 2 && len(value) > 2:
			before = append(append(before[:len(before)-1], ','), value[1:]...)
			list[i].value = before
		case before[0] == '[' && value[0] == '[' && len(value) <= 2:
		default:
			list[i].value = bytes.Clone(value)
		}
		return list
	}
	return append(list, member{key, bytes.Clone(value)})
}

// sort tells the calls of the turn apart.
func (t *turn) sort(decide func(*call) owner) (mine, theirs []*call) {
	for _, c := range t.calls {
		if c.owner == undecided {
			c.owner = decide(c)
		}
		if c.owner == client {
			theirs = append(theirs, c)
		} else {
			mine = append(mine, c)
		}
	}
	return mine, theirs
}

// message is the turn as a message of the conversation, with some of its calls.
func (t *turn) message(calls []*call) []byte {
	b := []byte(`{"role":"assistant","content":`)
	if len(t.text) == 0 {
		b = append(b, "null"...)
	} else {
		b = wire.AppendQuoted(b, t.text)
	}
	for _, m := range t.others {
		b = append(wire.AppendKey(b, m.key), m.value...)
	}
	b = append(b, `,"tool_calls":[`...)
	for i, c := range calls {
		if i > 0 {
			b = append(b, ',')
		}
		b = c.appendTo(b)
	}
	return append(b, `]}`...)
}

// appendTo appends the call as an entry of tool_calls.
func (c *call) appendTo(b []byte) []byte {
	b = appendHead(b, c.id, c.name)
	b = append(wire.AppendQuoted(append(b, `,"arguments":`...), c.args), '}')
	for _, m := range c.others {
		b = append(wire.AppendKey(b, m.key), m.value...)
	}
	return append(b, '}')
}

// appendHead appends the beginning of a call's entry.
func appendHead(b []byte, id, name string) []byte {
	b = wire.AppendQuoted(append(b, `{"id":`...), id)
	return wire.AppendQuoted(append(b, `,"type":"function","function":{"name":`...), name)
}

// resultMessage is what a call has given, as a message of the conversation.
func resultMessage(id string, content []byte) []byte {
	b := wire.AppendQuoted([]byte(`{"role":"tool","tool_call_id":`), id)
	return append(wire.AppendQuoted(append(b, `,"content":`...), content), '}')
}
