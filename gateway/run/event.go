package run

import (
	"encoding/json"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/wire"
)

// event is something that happens to our tools, for protocols that have a form for it.
type event struct {
	Event     string       `json:"event"`
	ID        string       `json:"id,omitempty"`
	Server    string       `json:"server"`
	Name      string       `json:"name,omitempty"` // the tool's own
	Arguments *string      `json:"arguments,omitempty"`
	Output    *string      `json:"output,omitempty"`
	Error     any          `json:"error,omitempty"`
	Tools     []listedTool `json:"tools,omitempty"`
	After     *int         `json:"after,omitempty"`
}

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

// MarshalJSON writes the members that the event's kind has, null where there is nothing.
func (e *event) MarshalJSON() ([]byte, error) {
	b := wire.AppendQuoted([]byte(`{"event":`), e.Event)
	put := func(key string, v any) error {
		value, err := json.Marshal(v)
		b = append(wire.AppendKey(b, key), value...)
		return err
	}
	if e.Event == "listed" {
		tools := e.Tools
		if tools == nil {
			tools = []listedTool{}
		}
		_ = put("server", e.Server)
		if err := put("tools", tools); err != nil {
			return nil, err
		}
		_ = put("error", e.Error)
	} else {
		_ = put("id", e.ID)
		_ = put("server", e.Server)
		_ = put("name", e.Name)
		_ = put("arguments", e.Arguments)
	}
	if e.Event == "finished" {
		_ = put("output", e.Output)
		_ = put("error", e.Error)
	}
	if e.After != nil {
		b = wire.AppendInt(wire.AppendKey(b, "after"), *e.After)
	}
	return append(b, '}'), nil
}

// text is the event as JSON.
func (e *event) text() []byte {
	b, err := e.MarshalJSON()
	if err != nil { // a schema that is no JSON, which no catalogue gives
		b = []byte(`{"event":"listed","server":"","tools":[],"error":"the tools cannot be listed"}`)
	}
	return b
}

// listed are the events that say which tools the servers have that the client has named.
func (o *offer) listed() (events []*event) {
	for _, server := range o.named {
		e := &event{Event: "listed", Server: server}
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
