package run

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/wire"
)

// resumption goes on with what earlier requests of a conversation have left.
type resumption struct {
	runner    *Runner // whose signatures approvals have
	carryover carryover
	executor  *executor
}

// resume puts back what earlier requests of the conversation have run, and runs the calls that
// the client has agreed to.
func (b *resumption) resume(ctx context.Context, req *gateway.Request) (*gateway.Request, error) {
	if !req.Reading.MentionsTools() {
		return req, nil
	}
	c := req.Reading.Conversation()
	var edits []wire.Edit
	looked := 0
	for i, m := range slices.Backward(c.Messages) {
		if m.Role != conversation.Assistant {
			continue
		}
		calls := c.Calls(m)
		if len(calls) == 0 {
			continue
		}
		if looked++; looked <= lookedUp {
			edits = append(edits, b.recall(ctx, c, i, calls)...)
		}
		approved, err := b.approvals(ctx, c, i, calls)
		if err != nil {
			return nil, err
		}
		edits = append(edits, approved...)
	}
	if len(edits) > 0 {
		if err := req.Room.Grow(int64(max(0, wire.Growth(edits))) * inflight.Body); err != nil {
			return nil, gateway.Errorf(gateway.MemorySpent, "", "The gateway has no memory for the results of tools that belong to this conversation.")
		}
		req = req.Edit(wire.Shifted(edits, req.Body.Places().Messages.Start)...)
	}
	c = req.Reading.Conversation()
	for _, m := range c.Messages {
		if m.Role == conversation.Assistant && !b.executor.ledger.tainted {
			b.executor.ledger.tainted = slices.ContainsFunc(c.Calls(m), func(call conversation.Call) bool {
				t := b.executor.offer.find(call.Name)
				return t != nil && t.Untrusted
			})
		}
	}
	return req, nil
}

// isThere reports whether the conversation has one of the calls already. Ids alone do not tell: the client's own calls
// may have the same.
func (m *leftover) isThere(c *conversation.Conversation) bool {
	kept := m.Before + m.Calls
	return slices.ContainsFunc(c.Messages, func(said conversation.Message) bool {
		return said.Role == conversation.Assistant && slices.ContainsFunc(c.Calls(said), func(made conversation.Call) bool {
			return strings.Contains(kept, string(appendHead(nil, made.ID, made.Name)))
		})
	})
}

// recall is the edits that put back what ran beside a turn's calls, of which there is at least one.
func (b *resumption) recall(ctx context.Context, c *conversation.Conversation, i int, calls []conversation.Call) []wire.Edit {
	turn := placeOf(c, i)
	body, err := b.carryover.get(ctx, turn.key(calls[0].ID, calls[0].Name)) // what ran is kept under each of them
	if err != nil {
		b.executor.sum.Warn("tool_results_forgotten")
		return nil
	}
	var m leftover
	if body == nil || json.Unmarshal(body, &m) != nil {
		return nil
	}
	if m.isThere(c) { // of a protocol in which the client sends what has run too
		return nil
	}
	at := c.Messages[i]
	insert := func(place int, text string) wire.Edit {
		return wire.Edit{At: wire.Span{Start: place, End: place}, With: []byte(text)}
	}
	var edits []wire.Edit
	for _, e := range []wire.Edit{insert(at.At.Start, m.Before), insert(at.Calls.Start+1, m.Calls), insert(at.At.End, m.Results)} {
		if len(e.With) > 0 {
			edits = append(edits, e)
		}
	}
	return edits
}

// approvals is the edits that put results in the place of the client's word on calls, which are
// run where it has just agreed.
func (b *resumption) approvals(ctx context.Context, c *conversation.Conversation, i int, calls []conversation.Call) (edits []wire.Edit, err error) {
	w := &work{}
	var answers []int // the messages with the client's word on what is ready
	for _, asked := range calls {
		if !strings.HasPrefix(asked.ID, approvalMark) {
			continue
		}
		tool := b.executor.offer.find(asked.Name)
		answer, pending := answerTo(c, i, asked.ID)
		if answer < 0 {
			continue
		}
		if tool == nil { // else the model would take the client's word for a result
			edits = append(edits, contentEdit(c, answer, b.withoutTool(ctx, asked, pending)))
			continue
		}
		r, known := b.agreed(ctx, c.Said(c.Messages[answer]), asked, tool, pending)
		if known != "" {
			edits = append(edits, contentEdit(c, answer, []byte(known)))
			continue
		}
		w.ready, answers = append(w.ready, r), append(answers, answer)
	}
	if len(w.ready) == 0 {
		return edits, nil
	}
	if err := b.executor.run(ctx, w); err != nil {
		return nil, err
	}
	b.executor.ledger.add(w.done)
	for n, d := range w.done {
		content := b.executor.offer.content(d, "")
		edits = append(edits, contentEdit(c, answers[n], content))
		if err := b.carryover.put(ctx, approvalKey(d.call.id), content); err != nil {
			b.executor.sum.Warn("tool_results_forgotten")
		}
	}
	return edits, nil
}

// answerTo finds the client's word on a call: the message, -1 for none, and whether the model has
// not seen it yet.
func answerTo(c *conversation.Conversation, from int, id string) (at int, pending bool) {
	at, pending = -1, true
	for i := from + 1; i < len(c.Messages); i++ {
		switch c.Messages[i].Role {
		case conversation.Tool:
			if got, _ := conversation.Decode(c.Text, c.Messages[i].CallID); at < 0 && string(got) == id {
				at = i
			}
		case conversation.Assistant:
			return at, false
		}
	}
	return at, pending
}

// contentEdit puts a text in the place of a message's content.
func contentEdit(c *conversation.Conversation, i int, text []byte) wire.Edit {
	return wire.Edit{At: c.Messages[i].Content, With: wire.AppendQuoted(nil, text)}
}

// unknownOutcome is what is said of a call that may have run, and whose result is not there.
const unknownOutcome = "What this call gave is not kept any more; it may have been done. Check before you repeat it."

// agreed is a call that the client has agreed to, ready to be run; or what is to be told the model
// in its place.
func (b *resumption) agreed(ctx context.Context, answer string, asked conversation.Call, tool *toolserver.Tool, pending bool) (r ready, known string) {
	made := &call{id: asked.ID, name: asked.Name, args: bytes.Clone(asked.Args()), owner: ours}
	refuse := func(kind toolserver.Kind, message string) (ready, string) {
		d := &done{call: made, tool: tool, err: &toolserver.Error{Kind: kind, Message: message}}
		return ready{}, string(b.executor.offer.content(d, ""))
	}
	said, ok := readWord(answer)
	switch {
	case !ok:
		return refuse(toolserver.Denied, "The user has not agreed to this call.")
	case !*said.Approve:
		message := "The user does not want this call to be made."
		if said.Reason != "" {
			message += " The reason: " + gateway.ExcerptOf(said.Reason, 500)
		}
		return refuse(toolserver.Denied, message)
	}
	if wrong := b.runner.signed(asked.ID, b.carryover.tenant, tool.Alias, made.args); wrong != "" && pending {
		b.executor.sum.Warn("approval_invalid")
		return refuse(toolserver.Denied, "The approval does not count: "+wrong+". Ask for it again, if the call is still wanted.")
	}
	may := b.executor.offer.most != 0
	body, err := b.carryover.claim(ctx, asked.ID, pending && may)
	switch {
	case err != nil:
		b.runner.o.Log.Warn("an approved call is not made: the store fails", "error", err)
		return refuse(toolserver.Unavailable, "The call was not made: the gateway cannot make sure that it is made once only.")
	case body != nil && string(body) != claimed:
		return ready{}, string(body)
	case body != nil || !pending:
		return refuse(toolserver.Timeout, unknownOutcome)
	case !may:
		return refuse(toolserver.Denied, noneLeft)
	}
	if r = b.executor.prepare(made); r.err == nil {
		b.executor.offer.spend()
	}
	return r, ""
}

// withoutTool is what is told the model of a call whose tool is not there now: it may have been made
// while it was.
func (b *resumption) withoutTool(ctx context.Context, asked conversation.Call, pending bool) []byte {
	d := &done{call: &call{id: asked.ID, name: asked.Name}}
	body, err := b.carryover.get(ctx, approvalKey(asked.ID))
	switch {
	case body != nil && string(body) != claimed:
		return body
	case body != nil || err != nil || !pending:
		d.err = &toolserver.Error{Kind: toolserver.Timeout, Message: unknownOutcome}
	default:
		d.err = &toolserver.Error{Kind: toolserver.Unavailable, Message: "The call was not made: its tool cannot be offered now."}
	}
	return b.executor.offer.content(d, "")
}
