package messages

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/protocol/served"
	"github.com/callgate/callgate/gateway/wire"
)

// ranID begins the id of a call that the gateway has made. Behind it is the one that models know.
const ranID = "mcptoolu_cg_"

func appendRanID(dst []byte, id string) []byte {
	dst = append(append(dst, '"'), ranID...)
	return append(base64.RawURLEncoding.AppendEncode(dst, []byte(id)), '"')
}

// ranChatID is the id by which models know a call, from that of its block.
func ranChatID(id value) value {
	if code, ok := strings.CutPrefix(text(id), ranID); ok {
		if own, err := base64.RawURLEncoding.DecodeString(code); err == nil {
			return wire.AppendQuoted(nil, own)
		}
	}
	return id
}

// serve takes what has happened to a tool that the gateway runs. What servers have, and that a call
// waits for the client's word, there are no blocks for: such a call is an ordinary one.
func (b *blocks) serve(e *served.Event) error {
	switch e.Kind {
	case served.Started:
		return b.used(e)
	case served.Finished:
		if !slices.Contains(b.runs, e.ID) {
			if err := b.used(e); err != nil {
				return err
			}
		}
		return b.opaque(resultOf(e))
	}
	return nil
}

// used takes a call.
func (b *blocks) used(e *served.Event) error {
	b.runs = append(b.runs, e.ID)
	begin := appendRanID([]byte(`{"type":"mcp_tool_use","id":`), e.ID)
	begin = wire.AppendQuoted(append(begin, `,"name":`...), e.Name)
	begin = wire.AppendQuoted(append(begin, `,"server_name":`...), e.Server)
	return b.put(item{kind: ranBlock, text: append(begin, `,"input":`...), sign: inputOf(e.Arguments)})
}

// inputOf is the inner text of a call's arguments, which are to be an object.
func inputOf(arguments value) []byte {
	input := value(text(arguments))
	if !isObject(bytes.TrimSpace(input)) || !jsontext.Value(input).IsValid(jsontext.AllowDuplicateNames(true)) {
		return []byte("{}")
	}
	return inner(arguments)
}

// resultOf is the block of a call's result.
func resultOf(e *served.Event) value {
	b := appendRanID([]byte(`{"type":"mcp_tool_result","tool_use_id":`), e.ID)
	said := e.Output
	if e.Error != nil {
		b = append(b, `,"is_error":true`...)
		if said = find(e.Error, "message"); said == nil {
			said = wire.AppendQuoted(nil, e.Error)
		}
	} else {
		b = append(b, `,"is_error":false`...)
	}
	if len(inner(said)) == 0 {
		return append(b, `,"content":[]}`...)
	}
	return append(append(append(b, `,"content":[{"type":"text","text":`...), said...), "}]}"...)
}

// ranContent takes the content of a whole answer with what happened in between: each event has the
// number of bytes that stood before it.
func (r *reading) ranContent(content value, events []served.Event) error {
	all, said := []byte(text(content)), 0
	say := func(upTo int) error {
		upTo = min(upTo, len(all))
		if upTo <= said {
			return nil
		}
		piece := wire.AppendQuoted(nil, all[said:upTo])
		said = upTo
		return r.blocks.text(piece)
	}
	for i := range events {
		if err := say(events[i].After); err != nil {
			return err
		}
		if err := r.blocks.serve(&events[i]); err != nil {
			return err
		}
	}
	return say(len(all))
}
