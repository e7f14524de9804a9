package run

import (
	"encoding/json"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/wire"
)

// event is something that happens to our tools, for protocols that have a form for it.
type event struct {
	Event     string
	ID        string
	Server    string
	Name      string // the tool's own
	Arguments string
	Output    *string
	Error     any // a failure; of a list a text
	Tools     []listedTool
	After     *int // bytes of the text that stood before it
}

// The kinds of events.
const (
	listedEvent   = "listed"
	startedEvent  = "started"
	finishedEvent = "finished"
	approvalEvent = "approval"
)

// listedTool is a tool in the event that lists a server's.
type listedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
}

// failure is why a call has given nothing.
type failure struct {
	Type    toolserver.Kind `json:"type"`
	Message string          `json:"message"`
}

// text is the event as JSON: the members that its kind has, null where there is nothing.
func (e *event) text() []byte {
	size := 256
	if e.Output != nil {
		size += len(*e.Output) + len(*e.Output)/8
	}
	b := wire.AppendQuoted(append(make([]byte, 0, size), `{"event":`...), e.Event)
	put := func(key, value string) { b = wire.AppendQuoted(wire.AppendKey(b, key), value) }
	other := func(key string, value any) { b = append(wire.AppendKey(b, key), marshal(value)...) }
	if e.Event == listedEvent {
		put("server", e.Server)
		other("tools", append([]listedTool{}, e.Tools...))
		other("error", e.Error)
	} else {
		put("id", e.ID)
		put("server", e.Server)
		put("name", e.Name)
		put("arguments", e.Arguments)
	}
	if e.Event == finishedEvent {
		if e.Output != nil {
			put("output", *e.Output)
		} else {
			b = append(wire.AppendKey(b, "output"), "null"...)
		}
		other("error", e.Error)
	}
	if e.After != nil {
		b = wire.AppendInt(wire.AppendKey(b, "after"), *e.After)
	}
	return append(b, '}')
}

// listed are the events that say which tools the servers have that the client has named.
func (o *offer) listed() (events []*event) {
	for _, server := range o.named {
		e := &event{Event: listedEvent, Server: server}
		for _, t := range o.list {
			if t.Server == server {
				schema := t.Parameters
				if len(schema) == 0 {
					schema = json.RawMessage(`{"type":"object"}`)
				}
				e.Tools = append(e.Tools, listedTool{t.Name, t.Description, schema})
			}
		}
		for _, m := range o.missing {
			if m.Server == server && m.Tool == "" {
				e.Error = m.Why
			}
		}
		events = append(events, e)
	}
	return events
}
