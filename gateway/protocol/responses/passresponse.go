package responses

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/wire"
)

// passLifecycle takes an event of the response itself. The last one is kept until the response is stored.
func (w *Writer) passLifecycle(e object, c *came) bool {
	p := &w.passage
	switch kind := strings.TrimPrefix(c.kind, "response."); kind {
	case "created", "queued", inProgress:
		return w.passBegin(e, c, kind)
	case completed, incomplete:
		if !p.going || w.open != nil || wire.Unquote(c.response.get("status")) != kind || p.final != nil {
			return false
		}
		p.final = bytes.Clone(e)
		return true
	}
	return false
}

// passBegin takes an event from before the first item.
func (w *Writer) passBegin(e object, c *came, kind string) bool {
	p := &w.passage
	due := begun
	if kind == "created" {
		due = fresh
	}
	if p.going || w.phase != due || len(w.items) > 0 || w.open != nil {
		return false
	}
	w.phase = begun
	if kind == "created" {
		w.takeCreated(c.response)
	}
	if model := c.response.get("model"); isString(model) {
		w.model = slices.Clone(model)
	}
	if kind == "queued" || kind == "created" && w.req.said > 0 {
		return true
	}
	p.going = kind == inProgress
	w.passResponse(e, c, w.ownResponse(c.response, ending{status: inProgress}))
	return true
}

// takeCreated takes the time of the upstream's, unless the client knows another one.
func (w *Writer) takeCreated(response object) {
	if at, err := strconv.ParseInt(string(response.get("created_at")), 10, 64); err == nil && !w.req.Background() {
		w.passage.created = at
	}
}

func (w *Writer) passResponse(e object, c *came, response []byte) {
	edits := []wire.Edit{{At: wire.Find(e, wire.Span{End: len(e)}, "response"), With: response}}
	w.passRaw(c.kind, wire.Splice(e, sorted(append(edits, w.numbering(e, c)...))))
}

// ownResponse is a response of the upstream's as the client gets it: under this gateway's id and with
// what is this gateway's to say, with the items that the client has got, and with the members that the
// upstream has left out.
func (w *Writer) ownResponse(response object, end ending) []byte {
	when := int64(0)
	if end.status != inProgress {
		when = time.Now().Unix()
	}
	ours := object(w.appendResponse(nil, end, when))
	have := map[string]bool{}
	var edits []wire.Edit
	finish := 0 // where the last member ends
	wire.Members(response, 0, func(key []byte, at wire.Span) bool {
		name := string(key)
		have[name], finish = true, at.End
		v := at.Of(response)
		switch name {
		case "output":
			edits = append(edits, wire.Shifted(w.outputEdits(v), at.Start)...)
		case "id", "created_at", "previous_response_id", "conversation", "store", "background", "instructions", "tool_choice":
			if with := orNull(ours.get(name)); !bytes.Equal(with, v) {
				edits = append(edits, wire.Edit{At: at, With: with})
			}
		default:
			if v[0] == 'n' && neverNull[name] {
				edits = append(edits, wire.Edit{At: at, With: orNull(ours.get(name))})
			}
		}
		return true
	})
	more := []byte{'{'}
	wire.Members(ours, 0, func(key []byte, at wire.Span) bool {
		if !have[string(key)] {
			more = append(wire.AppendKey(more, string(key)), at.Of(ours)...)
		}
		return true
	})
	if len(have) == 0 {
		return ours
	}
	if more[0] = ','; len(more) > 1 {
		edits = append(edits, wire.Edit{At: wire.Span{Start: finish, End: finish}, With: more})
	}
	return wire.Splice(response, edits)
}

// neverNull are the members, besides those that are the gateway's to say, that every response has with a value: clients
// read them without a look. Some servers of the API give null for those that a request has not set.
var neverNull = map[string]bool{"tools": true, "truncation": true, "parallel_tool_calls": true, "text": true, "top_p": true, "temperature": true, "presence_penalty": true,
	"frequency_penalty": true, "top_logprobs": true, "service_tier": true, "metadata": true, "object": true, "status": true, "model": true}

// outputEdits make a list of items what the client has got of them: nothing, where it says that.
func (w *Writer) outputEdits(list []byte) (edits []wire.Edit) {
	n, same := 0, isArray(list)
	wire.Elements(list, 0, func(i int, at wire.Span) bool {
		item := object(at.Of(list))
		if n++; i >= len(w.items) || !bytes.Equal(item, w.items[i].JSON) && !bytes.Equal(appendLine(nil, item), w.items[i].JSON) {
			same = false
			return false
		}
		if len(w.shown(item)) != len(item) {
			edits = append(edits, wire.Shifted(wire.Remove(item, "encrypted_content"), at.Start)...)
		}
		return true
	})
	if same && n == len(w.items) {
		return edits
	}
	return []wire.Edit{{At: wire.Span{End: len(list)}, With: slices.Concat([]byte{'['}, w.output, []byte{']'})}}
}

// mayCall reports whether the client may get all calls of a whole answer.
func (w *Writer) mayCall(output []byte) bool {
	may := true
	wire.Elements(output, 0, func(_ int, at wire.Span) bool {
		switch item := object(at.Of(output)); wire.Unquote(item.get("type")) {
		case "function_call", "custom_tool_call":
			_, may = w.req.tools.allowed(wire.Unquote(item.get("namespace")), wire.Unquote(item.get("name")))
			may = may && !w.isApproval(item.get("call_id"))
		}
		return may
	})
	return may
}
