package state

import (
	"context"
	"slices"
	"strconv"

	"github.com/callgate/callgate/gateway"
	count "github.com/callgate/callgate/gateway/internal/tokens"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/wire"
)

const (
	// keptTurns is how many of the user's turns stay as they are when older ones are
	// summarized.
	keptTurns = 2
	// summaryPrefix begins the id of the record of a conversation's summary. It is no
	// response's.
	summaryPrefix = "cmp_"
)

// tokens is about how many tokens items have.
func tokens(items []store.Item) int {
	n := 0
	for _, i := range items {
		n += count.JSON(i.Body)
	}
	return n
}

// isLong reports whether earlier items are more than is set, and enough of them old: what the
// last turns have alone is not worth a summary with each further one.
func (e *exchange) isLong() bool {
	const share = 4
	if len(e.earlier) == 0 {
		return false
	}
	if most := e.service.o.CompactTurns; most > 0 && turns(e.earlier) > most {
		return true
	}
	most := e.service.o.CompactTokens
	if most == 0 {
		most = e.service.contexts.room(e.tenant, e.Model())
	}
	return most > 0 && tokens(e.earlier) > most && tokens(e.earlier[:older(e.earlier)]) > most/share
}

// Shorten implements [protocol.Shortener].
func (e *exchange) Shorten(ctx context.Context, why *gateway.Error) bool {
	if why.Code != gateway.CodeOverflow {
		return false
	}
	e.service.contexts.learn(e.tenant, e.Model(), why.Overflow)
	if e.Truncates() {
		return e.Request.Shorten(ctx, why)
	}
	ok, err := e.shorten(ctx)
	if err != nil {
		e.service.o.Log.Warn("a conversation that is too long for its model was not compacted", "id", e.ID(), "error", err)
	}
	return ok && err == nil
}

// shorten puts a model's summary in the place of older items. Of what is stored nothing is
// lost.
func (e *exchange) shorten(ctx context.Context) (bool, error) {
	const few = 2
	at := older(e.earlier)
	if e.shorter || at < few {
		return false, nil
	}
	text, err := e.summarize(ctx, bodies(e.earlier[:at]))
	if err != nil {
		return false, err
	}
	b := wire.AppendQuoted([]byte(`{"role":"user","content":`), text)
	item, _, err := nameItems([][]byte{append(b, '}')}, "input")
	if err != nil {
		return false, err
	}
	summary := normal(item)
	if id := e.Conversation(); id != "" {
		e.remember(ctx, id, summary, e.earlier[at-1].ID)
	}
	e.Warn("compacted", strconv.Itoa(at))
	e.shorter, e.earlier = true, slices.Concat(summary, e.earlier[at:])
	e.SetEarlier(bodies(e.earlier))
	return true, e.Translate()
}

// older is how many items may be summarized: those before the user's last turns, or, where
// one turn is all there is, three quarters of it. A call stays with its result.
func older(items []store.Item) (at int) {
	last := len(items) * 3 / 4
	turns := 0
	for i, item := range slices.Backward(items) {
		if isUser(item.Body) {
			if turns++; turns == keptTurns && i > 0 {
				last = i
				break
			}
		}
	}
	open := map[string]bool{}
	for i, item := range items[:last] {
		call := wire.Unquote(valueOf(item.Body, "call_id"))
		switch responses.ItemType(item.Body) {
		case "function_call", "custom_tool_call":
			open[call] = true
		case "function_call_output", "custom_tool_call_output":
			delete(open, call)
		case "mcp_approval_request":
			open[wire.Unquote(valueOf(item.Body, "id"))] = true
		case "mcp_approval_response":
			delete(open, wire.Unquote(valueOf(item.Body, "approval_request_id")))
		}
		// Reasoning goes with what follows it.
		if len(open) == 0 && responses.ItemType(item.Body) != "reasoning" {
			at = i + 1
		}
	}
	return at
}

// turns is how many turns of the user items have. A summary counts as one.
func turns(items []store.Item) (n int) {
	for _, i := range items {
		if isUser(i.Body) {
			n++
		}
	}
	return n
}

func isUser(item []byte) bool {
	return responses.ItemType(item) == "message" && wire.Unquote(valueOf(item, "role")) == "user"
}

// summarize asks the request's model for a summary of items.
func (e *exchange) summarize(ctx context.Context, items [][]byte) (string, error) {
	s := e.service
	if refused := e.client.CheckModel(e.Model()); refused != nil {
		return "", refused
	}
	body := wire.AppendQuoted([]byte(`{"input":[],"model":`), e.Model())
	r, err := responses.Parse(append(body, '}'), responses.Options{Sealer: s.o.Sealer, Tenant: e.tenant})
	if err != nil {
		return "", err
	}
	r.Prepend(items)
	c, err := responses.Compact(r)
	if err != nil {
		return "", err
	}
	req, err := e.limits.Parse(c.Chat(), e.room)
	if err != nil {
		return "", err
	}
	req.From.Tenant, req.From.Client = e.tenant, e.client
	req.Source = c.Source()
	req.Source.Metadata = e.Metadata() // rules that keep a conversation with a provider keep its summary there
	req.Source.Conversation = e.Conversation()
	resp, err := s.o.Gateway.Chat(ctx, req)
	if err != nil {
		return "", err
	}
	defer resp.Close()
	return c.Summary(resp)
}

// remember stores a conversation's summary, so that the next turn need not make it again.
func (e *exchange) remember(ctx context.Context, conversation string, summary []store.Item, last string) {
	body := append(wire.AppendQuoted([]byte(`{"last":`), last), '}')
	err := e.service.shelf.store.PutResponse(ctx, e.tenant, &store.Response{ID: summaryPrefix + conversation, Body: body, Input: summary}, false)
	if err != nil {
		e.service.o.Log.Warn("the summary of a conversation was not stored", "error", err)
	}
}
