package memory

import (
	"context"
	"slices"

	"github.com/callgate/callgate/gateway/store"
)

// PutResponse implements store.Responses.
func (s *Store) PutResponse(_ context.Context, tenant string, r *store.Response, done bool) error {
	size := r.Size()
	if err := s.o.Limits.Check(size); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var into *conversation
	appended := 0
	if done && r.Conversation != "" {
		var err error
		if into, err = s.conversation(tenant, r.Conversation); err != nil {
			return err
		}
		appended = store.ItemsSize(r.Input) + store.ItemsSize(r.Output)
	}
	if old, _ := s.live(tenant, r.ID); old != nil {
		if !s.fits(s.tenants[tenant], usage{int64(size + appended), 1}) {
			return store.ErrFull
		}
		s.remove(tenant, old)
	}
	if err := s.room(tenant, size+appended, 1); err != nil {
		return err
	}
	kept := &response{Response: *r}
	kept.Input, kept.Output = told(r.Input), told(r.Output)
	created, expires := s.o.Stamp(r)
	kept.Created, kept.Expires, kept.expires = at(created), at(expires), expires
	s.add(tenant, kept)
	if into != nil {
		into.items = append(append(into.items, kept.Input...), kept.Output...)
		t := s.tenants[tenant]
		t.index(kept.Input)
		t.index(kept.Output)
		s.count(tenant, appended, 0)
	}
	return nil
}

// add puts a response in, for which there is room.
func (s *Store) add(tenant string, r *response) {
	t := s.tenant(tenant)
	t.responses[r.ID] = r
	t.place(r)
	t.indexTogether(r.Input)
	t.indexTogether(r.Output)
	t.spare, s.spare = t.spare.plus(r.Size(), 1), s.spare.plus(r.Size(), 1)
	s.count(tenant, r.Size(), 1)
}

// place puts a response among those that are used later or earlier. Mostly it is the last.
func (t *tenant) place(r *response) {
	e := t.used.Back()
	for e != nil && e.Value.(*response).expires > r.expires { //nolint:forcetypeassert // there are no others
		e = e.Prev()
	}
	if e == nil {
		r.place = t.used.PushFront(r)
		return
	}
	r.place = t.used.InsertAfter(r, e)
}

// GetResponse implements store.Responses.
func (s *Store) GetResponse(_ context.Context, tenant, id string) (*store.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.live(tenant, id)
	if err != nil {
		return nil, err
	}
	out := r.Response
	return &out, nil
}

// DeleteResponse implements store.Responses.
func (s *Store) DeleteResponse(_ context.Context, tenant, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.live(tenant, id)
	if err != nil {
		return err
	}
	s.remove(tenant, r)
	return nil
}

// Chain implements store.Responses.
func (s *Store) Chain(_ context.Context, tenant, id string, b store.Bounds) ([]store.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var chain []*response
	for bytes := 0; id != ""; {
		r, err := s.live(tenant, id)
		if err != nil {
			return nil, err
		}
		bytes += r.Size()
		if chain = append(chain, r); len(chain) > b.Responses || bytes > b.Bytes {
			return nil, store.ErrTooLong
		}
		if r.Conversation != "" {
			return nil, store.ErrInConversation
		}
		id = r.Previous
	}
	var items []store.Item
	expires, ifBefore := s.o.Prolonged()
	t := s.tenants[tenant]
	for _, r := range slices.Backward(chain) {
		items = append(append(items, r.Input...), r.Output...)
		if r.expires < ifBefore {
			t.used.Remove(r.place)
			r.expires, r.Expires = expires, at(expires)
			t.place(r)
		}
	}
	return items, nil
}

// GetItem implements store.Items.
func (s *Store) GetItem(_ context.Context, tenant, conversation, id string) (store.Item, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if conversation != "" {
		c, err := s.conversation(tenant, conversation)
		if err != nil {
			return store.Item{}, err
		}
		for _, i := range slices.Backward(c.items) {
			if i.ID == id {
				return i, nil
			}
		}
		return store.Item{}, store.ErrNotFound
	}
	s.sweep(tenant)
	if t := s.tenants[tenant]; t != nil {
		if same := t.items[id]; len(same) > 0 {
			return same[len(same)-1], nil
		}
	}
	return store.Item{}, store.ErrNotFound
}

// ListInput implements store.Items.
func (s *Store) ListInput(_ context.Context, tenant, response string, p store.Page) ([]store.Item, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := s.live(tenant, response)
	if err != nil {
		return nil, false, err
	}
	return page(r.Input, p)
}

// page cuts a page out of a list, which nobody changes but by appending.
func page(items []store.Item, p store.Page) ([]store.Item, bool, error) {
	from := 0
	if p.After != "" {
		at := slices.IndexFunc(items, func(i store.Item) bool { return i.ID == p.After })
		switch {
		case at < 0:
			return nil, false, store.ErrNotFound
		case p.Descending:
			items = items[:at]
		default:
			from = at + 1
		}
	}
	items = items[from:]
	more := len(items) > p.Limit
	if !p.Descending {
		return slices.Clip(items[:min(len(items), p.Limit)]), more, nil
	}
	list := slices.Clone(items[max(0, len(items)-p.Limit):])
	slices.Reverse(list)
	return list, more, nil
}
