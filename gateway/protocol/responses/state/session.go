package state

import (
	"context"
	"slices"
	"sync"

	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/store"
)

// Session is what one connection remembers of responses that its client does not want stored
// (store: false), so that the next request on it may go on from them: the latest few, in memory,
// until the connection ends. It is safe for concurrent use.
type Session struct {
	memory *inflight.Budget

	mu   sync.Mutex
	kept []remembered // the latest is the last
}

// remembered is all that a request goes on from that names a response.
type remembered struct {
	tenant, id string
	items      []store.Item
	room       *inflight.Claim
}

// maxRemembered is how many responses a session remembers: several lanes of one connection may each go on
// from their own.
const maxRemembered = 8

// NewSession begins a session. Its memory is of that for requests in progress, of which sessions get a small
// part. Close ends it.
func NewSession(memory *inflight.Budget) *Session { return &Session{memory: memory} }

// Close forgets all.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.kept {
		r.room.Close()
	}
	s.kept = nil
}

type sessionKey struct{}

// WithSession is a context for the requests of a session.
func WithSession(ctx context.Context, s *Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// sessionOf is the session that a request is of; nil for most.
func sessionOf(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}

// find returns what a response stands for, if the session remembers it. It may be called for nil.
func (s *Session) find(tenant, id string) (items []store.Item, ok bool) {
	if s == nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.kept {
		if r.tenant == tenant && r.id == id {
			return r.items, true
		}
	}
	return nil, false
}

// keep remembers a response, and forgets the oldest where there are too many.
func (s *Session) keep(tenant, id string, items []store.Item) error {
	size := 0
	for _, i := range items {
		size += i.Size()
	}
	room := s.memory.Lasting()
	if err := room.Grow(int64(size)); err != nil {
		room.Close()
		return &responses.NotStoredError{Why: "memory", Err: err}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.kept) == maxRemembered {
		s.kept[0].room.Close()
		s.kept = slices.Delete(s.kept, 0, 1)
	}
	s.kept = append(s.kept, remembered{tenant, id, items, room})
	return nil
}

// keepApart keeps a response that is not to be stored, for its connection.
func (e *exchange) keepApart(r responses.Result) error {
	if r.Status != responses.Completed && r.Status != responses.Incomplete {
		return nil
	}
	items := slices.Concat(e.earlier, e.stored())
	for _, item := range r.Items {
		items = append(items, store.Item{ID: item.ID, Body: item.JSON})
	}
	return e.session.keep(e.tenant, r.ID, items)
}
