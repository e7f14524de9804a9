package responses

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/served"
	"github.com/callgate/callgate/gateway/wire"
)

// addRan translates an item of a tool that the gateway runs: what has run is a call with its result.
func (t *translation) addRan(item object, kind, place string) error {
	switch kind {
	case mcpList:
		if !t.tools.serves {
			t.remarks.warn("item_dropped", kind)
		}
		if t.ownTools.listed == nil {
			t.ownTools.listed = map[string]bool{}
		}
		t.ownTools.listed[wire.Unquote(item.get("server_label"))] = true
		return nil
	case mcpResponse:
		return t.addApproval(item, place)
	}
	t.leading = false
	t.ownTools.ran = t.ownTools.ran || t.tools.serves // else an upstream of the API has run it
	server, name, args := wire.Unquote(item.get("server_label")), wire.Unquote(item.get("name")), item.get("arguments")
	switch {
	case name == "":
		return invalid(place+".name", "%s.name is missing: name the tool.", place)
	case !isString(args):
		return invalid(place+".arguments", "%s.arguments must be a string.", place)
	}
	id := wire.Unquote(item.get("id"))
	if kind == mcpRequest {
		signed, ok := strings.CutPrefix(id, approvalItem)
		if !ok || signed == "" {
			return invalid(place+".id", "%s.id is %s, which is not the id of a request that this gateway has made.", place, gateway.Excerpt(item.get("id")))
		}
		t.call(item, signed, chatCall{id: wire.AppendQuoted(nil, signed), name: served.Alias(server, name), args: args})
		return nil
	}
	if asked := wire.Unquote(item.get("approval_request_id")); asked != "" {
		t.forget(strings.TrimPrefix(asked, approvalItem))
	} else if own := wire.Unquote(item.get("call_id")); own != "" {
		id = own
	}
	if id == "" {
		return invalid(place+".id", "%s.id is missing.", place)
	}
	if t.calls[id] != nil { // some upstreams have the same ids in every answer
		id = wire.Unquote(item.get("id"))
	}
	call := chatCall{id: wire.AppendQuoted(nil, id), name: served.Alias(server, name), args: args}
	m := t.call(item, id, call)
	r := result{id: call.id, content: parts{item: place, member: "output"}}
	r.content.addText(wire.AppendQuoted(nil, served.Result(server, name, textOf(item.get("output")), item.get("error"))))
	m.results = append(m.results, r)
	return nil
}

// textOf is v if it is a string.
func textOf(v []byte) []byte {
	if isString(v) {
		return v
	}
	return nil
}

// call adds a call to what the model has said.
func (t *translation) call(item object, id string, c chatCall) *message {
	m := t.assistant(item)
	c.extra = t.extras[id]
	delete(t.extras, id) // some upstreams have the same ids in every answer
	m.calls = append(m.calls, c)
	if t.calls == nil {
		t.calls = map[string]*message{}
	}
	t.calls[id] = m
	return m
}

// forget takes a call that waited for the client's word out of the conversation, with the word: what
// became of it follows.
func (t *translation) forget(id string) {
	m := t.calls[id]
	if m == nil {
		return
	}
	quoted := wire.AppendQuoted(nil, id)
	m.calls = slices.DeleteFunc(m.calls, func(c chatCall) bool { return string(c.id) == string(quoted) })
	m.results = slices.DeleteFunc(m.results, func(r result) bool { return string(r.id) == string(quoted) })
	delete(t.calls, id)
	if len(m.calls) == 0 && !m.said && len(m.reasoning)+len(m.thoughts)+len(m.refusal) == 0 {
		t.list = slices.DeleteFunc(t.list, func(other *message) bool { return other == m })
		if t.open == m {
			t.open = nil
		}
	}
}

// addApproval translates the client's word on a call: it is what the gateway's loop of tools looks
// for in the place of a result.
func (t *translation) addApproval(item object, place string) error {
	asked := item.get("approval_request_id")
	id := strings.TrimPrefix(wire.Unquote(asked), approvalItem)
	m := t.calls[id]
	word := string(item.get("approve"))
	switch {
	case id == "":
		return invalid(place+".approval_request_id", "%s.approval_request_id is missing: name the request that this answers.", place)
	case m == nil:
		return invalid(place+".approval_request_id", "%s.approval_request_id names the request %s, which is nowhere in front of it: send the request too.", place, gateway.Excerpt(asked))
	case word != "true" && word != "false":
		return invalid(place+".approve", "%s.approve must be true or false.", place)
	}
	said := []byte(`{"approve":` + word)
	if reason := item.get("reason"); isString(reason) {
		said = append(append(said, `,"reason":`...), reason...)
	}
	r := result{id: wire.AppendQuoted(nil, id), content: parts{item: place, member: "approve"}}
	r.content.addText(wire.AppendQuoted(nil, append(said, '}')))
	m.results = append(m.results, r)
	return nil
}
