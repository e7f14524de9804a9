package responses

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/observe"
	"github.com/callgate/callgate/gateway/wire"
)

// answer is the response itself, around its items.
type answer struct {
	req     *Request
	machine *machine
	phase   phase
	model   []byte // JSON
	finish  string
	counts  counts
	created int64 // what the client was told; 0: nothing
}

// phase is how far a response is.
type phase uint8

const (
	fresh phase = iota
	begun
	over
)

// begin writes how a response begins.
func (a *answer) begin() {
	if a.phase != fresh {
		return
	}
	a.phase = begun
	if a.machine.quiet {
		return
	}
	if a.req.said == 0 {
		a.announce("response.created", inProgress)
	}
	a.announce("response.in_progress", inProgress)
}

// beginWith does so with the first chunk, which names the model.
func (a *answer) beginWith(f *wire.Frame) {
	if a.phase == fresh {
		a.readModel(f)
		a.begin()
	}
}

// readModel reads the model's name, which all events say alike.
func (a *answer) readModel(f *wire.Frame) {
	if model := object(f.Data).get("model"); isString(model) && len(model) > 2 && jsontext.Value(model).IsValid() {
		a.model = slices.Clone(model)
	}
}

// readSide reads what the end of the response needs of a chunk whose event goes on by itself.
func (a *answer) readSide(f *wire.Frame) {
	for i := range f.Choices() {
		if c := &f.Choices()[i]; c.Reason != "" {
			a.finish = c.Reason
		}
	}
	if raw := f.Usage(); raw != nil {
		a.counts = readCounts(raw)
	}
}

// takeCreated takes the time of the upstream's, unless the client knows another one.
func (a *answer) takeCreated(response object) {
	if at, err := strconv.ParseInt(string(response.get("created_at")), 10, 64); err == nil && !a.req.Background() {
		a.created = at
	}
}

// announce writes an event with the response as it is now, in the place where it goes out.
func (a *answer) announce(kind, status string) {
	m := a.machine
	m.eventHead(kind)
	m.out = a.appendTo(append(m.out, `,"response":`...), ending{status: status}, 0)
	m.eventEnd()
}

// end ends all items, and says how the response ends. The error is that of an answer which the upstream has
// given up.
func (a *answer) end() (ending, error) {
	if e := gateway.GivenUp(a.finish); e != nil {
		return ending{}, e
	}
	end := ending{status: completed}
	switch gateway.CutBy(a.finish) {
	case "length":
		end = ending{status: incomplete, reason: "max_output_tokens"}
	case "content_filter":
		end = ending{status: incomplete, reason: "content_filter"}
	}
	a.machine.drain(end.status)
	return end, nil
}

// save hands the response to whoever stores it, before the client knows that it is over.
func (a *answer) save(end ending, response []byte) error {
	if a.req.Save == nil {
		return nil
	}
	err := a.req.Save(Result{ID: a.req.id, Status: end.status, Response: response, Items: a.machine.output.items})
	if not, ok := errors.AsType[*NotStoredError](err); ok {
		a.machine.summary.Warn("not_stored:" + not.Why)
		return nil
	}
	return err
}

// responseSize is about how many bytes a response has besides what the client and the model have said.
const responseSize = 1 << 10

// appendTo appends the response as it is now.
func (a *answer) appendTo(b []byte, end ending, completed int64) []byte {
	b = slices.Grow(b, responseSize+len(a.machine.output.json)+len(end.failure)+len(a.req.fields[fInstructions])+a.req.tools.echoSize())
	b = append(append(b, `{"id":"`...), a.req.id...)
	created := a.req.created
	if a.created > 0 {
		created = a.created
	}
	b = strconv.AppendInt(append(b, `","object":"response","created_at":`...), created, 10)
	b = append(append(append(b, `,"status":"`...), end.status...), `","completed_at":`...)
	if completed > 0 {
		b = strconv.AppendInt(b, completed, 10)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"error":`...)
	if end.failure != nil {
		b = append(b, end.failure...)
	} else {
		b = append(b, "null"...)
	}
	b = append(b, `,"incomplete_details":`...)
	if end.reason != "" {
		b = append(append(append(b, `{"reason":"`...), end.reason...), `"}`...)
	} else {
		b = append(b, "null"...)
	}
	b = append(append(b, `,"model":`...), a.model...)
	b = append(append(append(b, `,"output":[`...), a.machine.output.json...), ']')
	b = append(a.req.appendEcho(b), `,"usage":`...)
	if end.status == inProgress {
		b = append(b, "null"...)
	} else {
		b = a.counts.appendTo(b)
		if a.machine.summary != nil && a.machine.summary.Execution {
			b = append(append(b, `,"execution":`...), observe.Execution(a.machine.summary, !a.machine.quiet)...)
		}
	}
	return append(b, '}')
}

// final is the response as it ends; own is what the upstream has said of it, nil for nothing.
func (a *answer) final(own object, end ending) []byte {
	if own == nil {
		return a.appendTo(nil, end, time.Now().Unix())
	}
	return a.own(own, end)
}

// own is a response of the upstream's as the client gets it: under this gateway's id and with
// what is this gateway's to say, with the items that the client has got, and with the members that the
// upstream has left out. Of one that was changed, the end and the count are the upstream's as long as
// they are what the chunks have said too.
func (a *answer) own(response object, end ending) []byte {
	when := int64(0)
	if end.status != inProgress {
		when = time.Now().Unix()
	}
	ours := object(a.appendTo(nil, end, when))
	others := a.others(response, end)
	have := map[string]bool{}
	var edits []wire.Edit
	finish := 0 // where the last member ends
	wire.Members(response, 0, func(key []byte, at wire.Span) bool {
		name := string(key)
		have[name], finish = true, at.End
		v := at.Of(response)
		switch name {
		case "output":
			edits = append(edits, wire.Shifted(a.machine.output.edits(v), at.Start)...)
		case "id", "created_at", "previous_response_id", "conversation", "store", "background", "instructions", "tool_choice":
			if with := orNull(ours.get(name)); !bytes.Equal(with, v) {
				edits = append(edits, wire.Edit{At: at, With: with})
			}
		default:
			if v[0] == 'n' && neverNull[name] || slices.Contains(others, name) {
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

// others are the members by which a response of the upstream's has ended otherwise than the client's does, or counts otherwise.
func (a *answer) others(response object, end ending) (names []string) {
	if wire.Unquote(response.get("status")) != end.status {
		names = append(names, "status", "completed_at", "error", "incomplete_details")
	}
	if end.status != inProgress && a.counts.Reported && readCounts(response.get("usage")) != a.counts {
		names = append(names, "usage")
	}
	return names
}

// neverNull are the members, besides those that are the gateway's to say, that every response has with a value: clients
// read them without a look. Some servers of the API give null for those that a request has not set.
var neverNull = map[string]bool{"tools": true, "truncation": true, "parallel_tool_calls": true, "text": true, "top_p": true, "temperature": true, "presence_penalty": true,
	"frequency_penalty": true, "top_logprobs": true, "service_tier": true, "metadata": true, "object": true, "status": true, "model": true}
