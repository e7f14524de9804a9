package state

import (
	"context"
	"errors"
	"sync"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/store"
)

// Parse reads a request and puts in front of it what it goes on from. It implements
// [protocol.Parser]. The lock of a conversation is held until the response is stored, or
// until ctx ends.
func (s *Service) Parse(ctx context.Context, body []byte, c protocol.Client) (protocol.Front, error) {
	r, err := responses.Parse(body, s.options(c))
	if err != nil {
		return nil, err
	}
	e := &exchange{Request: r, service: s, tenant: c.Tenant, client: c.Key, limits: c.Limits, room: c.Room, session: sessionOf(ctx), unlock: func() {}}
	if err := e.resolve(ctx); err != nil {
		e.unlock()
		return nil, err
	}
	e.keepUntil(ctx)
	err = e.prepare(ctx)
	if err == nil && e.isLong() {
		_, err = e.shorten(ctx)
	}
	if err != nil {
		e.unlock()
		return nil, err
	}
	if r.Background() {
		return &background{exchange: e}, nil
	}
	return e, nil
}

// ParseCompact reads a request for a summary of a conversation, as Parse does. It implements
// [protocol.Parser]. Nothing is stored.
func (s *Service) ParseCompact(ctx context.Context, body []byte, c protocol.Client) (protocol.Front, error) {
	r, err := s.look(ctx, body, c)
	if err != nil {
		return nil, err
	}
	return responses.Front(responses.Compact(r))
}

// ParseCount reads a request whose tokens are to be counted, as Parse does. It implements
// [protocol.Parser]. Nothing is stored, and nobody is asked for a summary.
func (s *Service) ParseCount(ctx context.Context, body []byte, c protocol.Client) (protocol.Front, error) {
	r, err := s.look(ctx, body, c)
	if err != nil {
		return nil, err
	}
	return r, r.Translate()
}

// look reads a request that changes nothing, with what it goes on from.
func (s *Service) look(ctx context.Context, body []byte, c protocol.Client) (*responses.Request, error) {
	r, err := responses.Parse(body, s.options(c))
	if err != nil {
		return nil, err
	}
	e := &exchange{Request: r, service: s, tenant: c.Tenant, client: c.Key, room: c.Room, session: sessionOf(ctx), unlock: func() {}}
	defer func() { e.unlock() }()
	return r, e.resolve(ctx)
}

// exchange is a request with what it needs of the store.
type exchange struct {
	*responses.Request
	service *Service
	tenant  string
	client  *gateway.Client
	limits  gateway.Limits
	room    *inflight.Claim // the request's memory
	given   []named         // the request's own items, if they are to be stored
	input   []store.Item    // the same as they are stored; see stored
	earlier []store.Item    // what it goes on from
	shorter bool            // a summary is in the place of earlier ones
	apart   bool            // they are the session's, and not in the store
	session *Session        // of the connection that the request came on; nil for most
	unlock  func()          // may be called several times
	// stays takes the end of the request's context away from unlock; it reports whether that was
	// in time.
	stays func() bool
}

// keepUntil frees the lock when ctx has ended, if nobody has done so before. Only a conversation has one: for others
// it would cost each request a goroutine.
func (e *exchange) keepUntil(ctx context.Context) {
	e.stays = func() bool { return ctx.Err() == nil }
	if e.Conversation() != "" {
		e.stays = context.AfterFunc(ctx, e.unlock)
	}
}

// resolve puts earlier items in front, and those that references stand for in their place.
func (e *exchange) resolve(ctx context.Context) error {
	s := e.service
	var earlier []store.Item
	var err error
	previous, conversation := e.PreviousResponseID(), e.Conversation()
	switch {
	case previous != "":
		if earlier, e.apart = e.session.find(e.tenant, previous); !e.apart {
			earlier, err = s.before(ctx, e.tenant, previous)
		}
	case conversation != "":
		release, refused := s.past.lock(ctx, e.tenant, conversation)
		if refused != nil {
			return refused
		}
		e.unlock = sync.OnceFunc(release)
		earlier, err = s.past.whole(ctx, e.tenant, conversation)
	}
	if err != nil {
		return err
	}
	size := 0
	for _, i := range earlier {
		size += len(i.Body)
	}
	if err := e.claim((inflight.Body - 1) * size); err != nil { // Translate takes the last part
		return err
	}
	if e.earlier = earlier; len(earlier) > 0 {
		e.Prepend(bodies(earlier))
	}
	return e.dereference(ctx)
}

// before reads the items of a response and of all before it. One that is not over, here or at another gateway,
// is refused: what it says would be missing.
func (s *Service) before(ctx context.Context, tenant, id string) ([]store.Item, error) {
	notOver := invalid("previous_response_id", "The response %q is not over yet: what it says would be missing. Wait for its end, or cancel it.", gateway.ExcerptOf(id, 80))
	if run := s.runs.find(tenant, id); run != nil && !run.isOver() {
		return nil, notOver
	}
	items, err := s.past.chain(ctx, tenant, id)
	last := store.Item{}
	if len(items) > 0 {
		last = items[len(items)-1]
	}
	if err != nil || responses.IsItemOf(last.ID, id) { // as nearly always: it is over, since it has its output
		return items, err
	}
	r, err := s.response(ctx, Call{Tenant: tenant, ID: id})
	switch {
	case err != nil:
		return nil, err
	case isRunning(r.Body):
		return nil, notOver
	case len(r.Output) > 0 && r.Output[len(r.Output)-1].ID != last.ID: // it has ended between the two looks
		return s.past.chain(ctx, tenant, id)
	}
	return items, nil
}

// claim takes memory for so many bytes that were not in the request's body, but will be in what
// goes upstream.
func (e *exchange) claim(n int) error {
	if err := e.room.Grow(int64(n)); err != nil {
		return gateway.NoRoom(err, "The items that this request goes on from need more memory than one may have (limits.memory): begin anew with what is needed of them.")
	}
	return nil
}

func bodies(items []store.Item) [][]byte {
	out := make([][]byte, len(items))
	for i, item := range items {
		out[i] = item.Body
	}
	return out
}

// dereference puts stored items in the place of references to them.
func (e *exchange) dereference(ctx context.Context) error {
	references := e.References()
	if len(references) == 0 {
		return nil
	}
	items := append([][]byte(nil), e.NewItems()...)
	bytes := 0
	for _, r := range references {
		item, err := e.service.shelf.store.GetItem(ctx, e.tenant, "", r.ID)
		if errors.Is(err, store.ErrNotFound) {
			return &gateway.Error{Kind: gateway.NotFound, Param: "input", Message: "Item with id \"" + gateway.ExcerptOf(r.ID, 80) +
				"\" not found. Items are not stored when \"store\" is false: set it to true, or send the item itself."}
		}
		if err != nil {
			return e.service.shelf.failed(err, "Item", r.ID)
		}
		if bytes += item.Size(); bytes > e.service.past.maxBytes() {
			return invalid("input", "The items that are referred to have more than %d bytes.", e.service.past.maxBytes())
		}
		if err := e.claim(inflight.Body * len(item.Body)); err != nil {
			return err
		}
		items[r.At] = item.Body
	}
	e.SetItems(items)
	return nil
}
