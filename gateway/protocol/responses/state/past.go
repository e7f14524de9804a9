package state

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/wire"
)

// past reads what requests go on from.
type past struct {
	*shelf
	responses int          // the largest number of them behind previous_response_id
	bytes     atomic.Int64 // the most that earlier items may have together
}

func (p *past) maxBytes() int { return int(p.bytes.Load()) }

// chain reads the items of a response and of all before it.
func (p *past) chain(ctx context.Context, tenant, id string) (items []store.Item, err error) {
	err = store.ErrNotFound
	if !strings.HasPrefix(id, summaryPrefix) {
		items, err = p.store.Chain(ctx, tenant, id, store.Bounds{Responses: p.responses, Bytes: p.maxBytes()})
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, &gateway.Error{Kind: gateway.Invalid, Code: "previous_response_not_found", Param: "previous_response_id",
			Message: "Previous response with id \"" + gateway.ExcerptOf(id, 80) + "\" not found."}
	case errors.Is(err, store.ErrTooLong):
		return nil, invalid("previous_response_id", "The responses before this one are more than %d, or have more than %d bytes: begin a new chain, with what is needed of this one as input.",
			p.responses, p.maxBytes())
	case errors.Is(err, store.ErrInConversation):
		return nil, invalid("previous_response_id", "The response %q is in a conversation, or goes on from one that is: name the conversation in \"conversation\" instead.", gateway.ExcerptOf(id, 80))
	case err != nil:
		return nil, p.failed(err, "Response", id)
	}
	return items, nil
}

// lock takes the lock of a conversation.
func (p *past) lock(ctx context.Context, tenant, id string) (release func(), err error) {
	if _, err := p.store.GetConversation(ctx, tenant, id); err != nil {
		return nil, p.failed(err, "Conversation", id)
	}
	wait, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	release, err = p.store.Lock(wait, tenant, id)
	switch {
	case err == nil:
		return release, nil
	case ctx.Err() != nil:
		return nil, gateway.Ended(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, &gateway.Error{Kind: gateway.Overloaded, Status: 409, Code: "conversation_locked", Param: "conversation", RetryAfter: 5 * time.Second,
			Message: "Another request of this conversation is not over yet: send one after the other."}
	}
	return nil, p.failed(err, "Conversation", id)
}

// whole reads all items of a conversation.
func (p *past) whole(ctx context.Context, tenant, id string) (all []store.Item, err error) {
	const once = 500
	bytes := 0
	for page := (store.Page{Limit: once}); ; page.After = all[len(all)-1].ID {
		items, more, err := p.store.ListItems(ctx, tenant, id, page)
		if err != nil {
			return nil, p.failed(err, "Conversation", id)
		}
		for _, i := range items {
			bytes += i.Size()
		}
		if bytes > p.maxBytes() {
			return nil, invalid("conversation", "The conversation has more than %d bytes: begin a new one, with what is needed of this one.", p.maxBytes())
		}
		if all = append(all, items...); !more || len(items) == 0 {
			return p.shortened(ctx, tenant, id, all)
		}
	}
}

// shortened is a conversation with its summary in the place of what that stands for.
func (p *past) shortened(ctx context.Context, tenant, id string, items []store.Item) ([]store.Item, error) {
	r, err := p.store.GetResponse(ctx, tenant, summaryPrefix+id)
	if errors.Is(err, store.ErrNotFound) {
		return items, nil
	}
	if err != nil {
		return nil, p.failed(err, "Conversation", id)
	}
	last := wire.Unquote(valueOf(r.Body, "last"))
	at := slices.IndexFunc(items, func(i store.Item) bool { return i.ID == last })
	if at < 0 { // it was deleted: the summary may say what nobody is to know any more
		return items, nil
	}
	return slices.Concat(r.Input, items[at+1:]), nil
}
