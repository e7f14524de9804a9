package run

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/wire"
)

// memory is what a turn leaves behind that the client has to go on with: it has seen its own
// calls, and not ours.
type memory struct {
	Before  string `json:"before,omitempty"`  // messages in front of the turn, each with a comma
	Calls   string `json:"calls,omitempty"`   // entries of tool_calls, each with a comma behind it
	Results string `json:"results,omitempty"` // messages behind the turn, each with a comma in front
}

const (
	// lifetime is how long what ran is kept for the client's next request.
	lifetime = 10 * time.Minute
	// lookedUp is how many turns of a conversation may have left something behind.
	lookedUp = 8
)

// before are the messages of the rounds so far, each with a comma behind it, without the texts,
// which the client has.
func (l *ledger) before(o *offer) (messages []byte) {
	for _, r := range l.rounds {
		mute := *r.turn
		mute.text = nil
		messages = append(append(messages, mute.message(callsOf(r.done))...), ',')
		for _, d := range r.done {
			messages = append(append(messages, resultMessage(d.call.id, o.content(d, ""))...), ',')
		}
	}
	return messages
}

// remember keeps what has run, under the ids of all calls that the client gets.
func (r *Runner) remember(ctx context.Context, req *gateway.Request, l *ledger, w *work, o *offer) error {
	if r.o.Keeper == nil {
		return errors.New("there is no store")
	}
	m := memory{Before: string(l.before(o))}
	for _, d := range w.done {
		m.Calls += string(d.call.appendTo(nil)) + ","
		m.Results += "," + string(resultMessage(d.call.id, o.content(d, "")))
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	said := lastUser(req.Reading.Conversation(), len(req.Reading.Conversation().Messages))
	for _, c := range w.theirs {
		err = errors.Join(err, r.put(ctx, req.From.Tenant, turnKey(c.id, c.name, said), body))
	}
	return err
}

func (r *Runner) put(ctx context.Context, tenant, key string, body []byte) error {
	return r.o.Keeper.PutResponse(ctx, tenant, &store.Response{ID: key, Body: body, Expires: time.Now().Add(lifetime)}, false)
}

// get is what is kept under a key; nil if nothing is.
func (r *Runner) get(ctx context.Context, tenant, key string) ([]byte, error) {
	if r.o.Keeper == nil {
		return nil, nil
	}
	kept, err := r.o.Keeper.GetResponse(ctx, tenant, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return kept.Body, nil
}

// turnKey is what a turn is kept under. Ids alone will not do: some upstreams give the same in
// every conversation.
func turnKey(id, name, said string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", id, name, said))
	return "run_" + hex.EncodeToString(sum[:16])
}

func approvalKey(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "run_" + hex.EncodeToString(sum[:16])
}

// lastUser is the last text of the user before a message.
func lastUser(c *conversation.Conversation, before int) string {
	for i := before - 1; i >= 0; i-- {
		if c.Messages[i].Role == conversation.User {
			return c.Said(c.Messages[i])
		}
	}
	return ""
}

// resume puts back what earlier requests of the conversation have run, and runs the calls that
// the client has agreed to.
func (l *loop) resume(tenant string) error {
	if !l.req.Reading.MentionsTools() {
		return nil
	}
	c := l.req.Reading.Conversation()
	var edits []wire.Edit
	looked := 0
	for i := len(c.Messages) - 1; i >= 0; i-- {
		m := c.Messages[i]
		if m.Role != conversation.Assistant {
			continue
		}
		calls := c.Calls(m)
		if len(calls) == 0 {
			continue
		}
		if looked++; looked <= lookedUp {
			edits = append(edits, l.recall(tenant, c, i, calls)...)
		}
		approved, err := l.approvals(tenant, c, i, calls)
		if err != nil {
			return err
		}
		edits = append(edits, approved...)
	}
	if len(edits) > 0 {
		if err := l.req.Room.Grow(int64(max(0, wire.Growth(edits))) * inflight.Body); err != nil {
			return gateway.Errorf(gateway.MemorySpent, "", "The gateway has no memory for the results of tools that belong to this conversation.")
		}
		l.req = l.req.Edit(wire.Shifted(edits, l.req.Body.Places().Messages.Start)...)
	}
	c = l.req.Reading.Conversation()
	for _, m := range c.Messages {
		if m.Role == conversation.Assistant && !l.ledger.tainted {
			l.ledger.tainted = slices.ContainsFunc(c.Calls(m), func(call conversation.Call) bool {
				t := l.offer.find(call.Name)
				return t != nil && t.Untrusted
			})
		}
	}
	return nil
}

// isThere reports whether the conversation has one of the results already.
func (m *memory) isThere(c *conversation.Conversation) bool {
	for i := range c.Messages {
		if c.Messages[i].Role != conversation.Tool {
			continue
		}
		id, _ := conversation.Decode(c.Text, c.Messages[i].CallID)
		if quoted := `"tool_call_id":` + string(wire.AppendQuoted(nil, id)); strings.Contains(m.Before+m.Results, quoted) {
			return true
		}
	}
	return false
}

// recall is the edits that put back what ran beside a turn's calls.
func (l *loop) recall(tenant string, c *conversation.Conversation, i int, calls []conversation.Call) []wire.Edit {
	said := lastUser(c, i)
	for _, call := range calls[:1] { // it is kept under each of them
		body, err := l.runner.get(l.ctx, tenant, turnKey(call.ID, call.Name, said))
		if err != nil {
			l.asking.sum.Warn("tool_results_forgotten")
			return nil
		}
		var m memory
		if body == nil || json.Unmarshal(body, &m) != nil {
			continue
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
	return nil
}

// approvals is the edits that put results in the place of the client's word on calls, which are
// run where it has just agreed.
func (l *loop) approvals(tenant string, c *conversation.Conversation, i int, calls []conversation.Call) (edits []wire.Edit, err error) {
	w := &work{}
	var answers []int // the messages with the client's word on what is ready
	for _, asked := range calls {
		if !strings.HasPrefix(asked.ID, approvalMark) {
			continue
		}
		tool := l.offer.find(asked.Name)
		answer, pending := answerTo(c, i, asked.ID)
		if answer < 0 {
			continue
		}
		if tool == nil { // else the model would take the client's word for a result
			edits = append(edits, contentEdit(c, answer, l.withoutTool(tenant, asked, pending)))
			continue
		}
		r, known := l.agreed(tenant, c.Said(c.Messages[answer]), asked, tool, pending)
		if known != "" {
			edits = append(edits, contentEdit(c, answer, []byte(known)))
			continue
		}
		w.ready, answers = append(w.ready, r), append(answers, answer)
	}
	if len(w.ready) == 0 {
		return edits, nil
	}
	l.start(w)
	for l.work != nil {
		if l.wait(); l.err != nil {
			return nil, l.err
		}
	}
	l.ledger.add(w.done)
	for n, d := range w.done {
		content := l.offer.content(d, "")
		edits = append(edits, contentEdit(c, answers[n], content))
		if d.attempts > 0 {
			if err := l.runner.put(l.ctx, tenant, approvalKey(d.call.id), content); err != nil {
				l.asking.sum.Warn("tool_results_forgotten")
			}
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
func (l *loop) agreed(tenant, answer string, asked conversation.Call, tool *toolserver.Tool, pending bool) (r ready, known string) {
	made := &call{id: asked.ID, name: asked.Name, args: bytes.Clone(asked.Args()), owner: ours}
	refuse := func(kind toolserver.Kind, message string) (ready, string) {
		d := &done{call: made, tool: tool, err: &toolserver.Error{Kind: kind, Message: message}}
		return ready{}, string(l.offer.content(d, ""))
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
	if wrong := l.runner.signed(asked.ID, tenant, tool.Alias, made.args); wrong != "" && pending {
		l.asking.sum.Warn("approval_invalid")
		return refuse(toolserver.Denied, "The approval does not count: "+wrong+". Ask for it again, if the call is still wanted.")
	}
	body, err := l.claim(tenant, asked.ID, pending)
	switch {
	case err != nil:
		l.runner.o.Log.Warn("an approved call is not made: the store fails", "error", err)
		return refuse(toolserver.Unavailable, "The call was not made: the gateway cannot make sure that it is made once only.")
	case body != nil && string(body) != claimed:
		return ready{}, string(body)
	case body != nil || !pending:
		return refuse(toolserver.Timeout, unknownOutcome)
	}
	r = l.runner.hands.prepare(made, l.offer, &l.asking.sum.own)
	return r, ""
}

// withoutTool is what is told the model of a call whose tool is not there now: it may have been made
// while it was.
func (l *loop) withoutTool(tenant string, asked conversation.Call, pending bool) []byte {
	d := &done{call: &call{id: asked.ID, name: asked.Name}}
	body, err := l.runner.get(l.ctx, tenant, approvalKey(asked.ID))
	switch {
	case body != nil && string(body) != claimed:
		return body
	case body != nil || err != nil || !pending:
		d.err = &toolserver.Error{Kind: toolserver.Timeout, Message: unknownOutcome}
	default:
		d.err = &toolserver.Error{Kind: toolserver.Unavailable, Message: "The call was not made: its tool cannot be offered now."}
	}
	return l.offer.content(d, "")
}

// claimed is kept of an approved call as long as its result is not there.
const claimed = "-"

// claim sees that an approved call is made once: by the request that finds nothing kept of it.
func (l *loop) claim(tenant, id string, pending bool) ([]byte, error) {
	key := approvalKey(id)
	if l.runner.o.Keeper == nil {
		return nil, errors.New("there is no store")
	}
	if !pending {
		return l.runner.get(l.ctx, tenant, key)
	}
	release, err := l.runner.o.Keeper.Lock(l.ctx, tenant, key)
	if err != nil {
		return nil, err
	}
	defer release()
	body, err := l.runner.get(l.ctx, tenant, key)
	if body != nil || err != nil {
		return body, err
	}
	return nil, l.runner.put(l.ctx, tenant, key, []byte(claimed))
}
