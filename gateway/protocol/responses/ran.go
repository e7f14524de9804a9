package responses

import (
	"bytes"
	"strings"

	"github.com/callgate/callgate/gateway/protocol/served"
	"github.com/callgate/callgate/gateway/wire"
)

// ran is what the gateway has done with a tool of its own, as an item has it.
type ran struct {
	served.Event
	over bool
}

// The types of items of tools that the gateway runs.
const (
	mcpList     = "mcp_list_tools"
	mcpCall     = "mcp_call"
	mcpRequest  = "mcp_approval_request"
	mcpResponse = "mcp_approval_response"
)

// approvalItem begins the id of a request for the client's word; behind it stands the id of the call,
// which the gateway has signed.
const approvalItem = "mcpr_"

func (r *ran) typeName() string {
	switch r.Kind {
	case served.Listed:
		return mcpList
	case served.Approval:
		return mcpRequest
	}
	return mcpCall
}

// serve takes what has happened to tools of the gateway's own.
func (m *machine) serve(e *served.Event) {
	e.Arguments, e.Output, e.Error, e.Tools = bytes.Clone(e.Arguments), bytes.Clone(e.Output), bytes.Clone(e.Error), bytes.Clone(e.Tools)
	m.output.size += len(e.Arguments) + len(e.Output) + len(e.Error) + len(e.Tools)
	switch {
	case e.Kind == served.Finished:
		if it := m.runs.running(e.ID); it != nil {
			it.ran.Output, it.ran.Error, it.ran.over = e.Output, e.Error, true
			if it == m.open {
				m.close(completed)
			}
			m.advance()
			return
		}
	case e.Kind == served.Listed && m.listed[e.Server]: // the history has it
		return
	case e.Kind == served.Approval:
		m.calls.approvals = append(m.calls.approvals, e.ID)
	}
	it := &item{kind: ranItem, ran: &ran{Event: *e, over: e.Kind != served.Started}}
	if e.Kind == served.Started {
		m.runs = append(m.runs, it)
	}
	m.waiting = append(m.waiting, it)
	m.advance()
}

// runs are calls that the gateway has made.
type runs []*item

// running is the one with an id that is not over, or nil.
func (r runs) running(id string) *item {
	for _, it := range r {
		if it.ran.ID == id && !it.ran.over {
			return it
		}
	}
	return nil
}

// startRan opens the item of a tool, with all that is known of it.
func (m *machine) startRan(it *item) {
	m.start(it)
	m.ranAdded(it)
	if it.ran.over {
		m.close(completed)
	}
}

// arguments are those of a call, a string.
func (r *ran) arguments() []byte {
	if !isString(r.Arguments) {
		return []byte(`""`)
	}
	return r.Arguments
}

// appendTo appends the item's own members, up to the end. status is that of the response, or of the
// item's beginning.
func (r *ran) appendTo(b []byte, status string) []byte {
	began := status == inProgress
	b = append(append(b, r.typeName()...), `","server_label":`...)
	b = wire.AppendQuoted(b, r.Server)
	if r.Kind == served.Listed {
		b = append(b, `,"tools":`...)
		if began || !isArray(r.Tools) {
			b = append(b, "[]"...)
		} else {
			b = appendLine(b, r.Tools)
		}
		return append(appendLine(append(b, `,"error":`...), orNull(r.Error)), '}')
	}
	b = wire.AppendQuoted(append(b, `,"name":`...), r.Name)
	b = append(b, `,"arguments":`...)
	if began && r.Kind != served.Approval { // they follow
		b = append(b, `""`...)
	} else {
		b = append(b, r.arguments()...)
	}
	if r.Kind == served.Approval {
		return append(b, '}')
	}
	switch {
	case began:
	case !r.over:
		status = incomplete
	case r.Error != nil:
		status = failed
	default:
		status = completed
	}
	b = append(append(append(b, `,"status":"`...), status...), `","output":`...)
	if began {
		b = append(b, `null,"error":null`...)
	} else {
		b = appendLine(b, orNull(r.Output))
		b = appendFailed(append(b, `,"error":`...), r.Error)
	}
	b = append(b, `,"approval_request_id":`...)
	if strings.HasPrefix(r.ID, "apr_") {
		b = wire.AppendQuoted(b, approvalItem+r.ID)
	} else {
		b = append(b, "null"...)
	}
	// What the upstream knows the call by: with it the next request begins as this one did.
	return append(wire.AppendQuoted(append(b, `,"call_id":`...), r.ID), '}')
}

// appendFailed appends why a call has given nothing, in one of the API's three forms.
func appendFailed(b, failure []byte) []byte {
	if failure == nil {
		return append(b, "null"...)
	}
	message := failure
	if isObject(failure) {
		message = object(failure).get("message")
	}
	if !isString(message) {
		message = wire.AppendQuoted(nil, failure)
	}
	switch wire.Unquote(object(failure).get("type")) {
	case "timeout":
		return append(append(append(b, `{"type":"http_error","code":504,"message":`...), message...), '}')
	case "unavailable":
		return append(append(append(b, `{"type":"http_error","code":503,"message":`...), message...), '}')
	case "unknown_tool", "invalid_arguments":
		return append(append(append(b, `{"type":"mcp_protocol_error","code":-32602,"message":`...), message...), '}')
	}
	b = append(b, `{"type":"mcp_tool_execution_error","content":[{"type":"text","text":`...)
	return append(append(b, message...), "}]}"...)
}

func orEmpty(text []byte) []byte {
	if !isString(text) {
		return []byte(`""`)
	}
	return text
}
