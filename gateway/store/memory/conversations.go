package memory

import (
	"context"
	"slices"

	"github.com/callgate/callgate/gateway/store"
)

// CreateConversation implements store.Conversations.
func (s *Store) CreateConversation(_ context.Context, tenant string, c *store.Conversation, items []store.Item) error {
	size := c.Size() + store.ItemsSize(items)
	if err := s.o.Limits.Check(size); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.room(tenant, size, 1); err != nil {
		return err
	}
	items = told(items)
	kept := &conversation{Conversation: *c, items: slices.Clone(items)}
	if kept.Created.IsZero() {
		kept.Created = at(s.o.Clock())
	}
	t := s.tenant(tenant)
	t.conversations[c.ID] = kept
	t.index(items)
	s.count(tenant, size, 1)
	return nil
}

// GetConversation implements store.Conversations.
func (s *Store) GetConversation(_ context.Context, tenant, id string) (*store.Conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.conversation(tenant, id)
	if err != nil {
		return nil, err
	}
	out := c.Conversation
	return &out, nil
}

// SetMetadata implements store.Conversations.
func (s *Store) SetMetadata(_ context.Context, tenant, id string, metadata []byte) (*store.Conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.conversation(tenant, id)
	if err != nil {
		return nil, err
	}
	if more := len(metadata) - len(c.Metadata); more > 0 {
		if err := s.o.Limits.Check(len(metadata)); err != nil {
			return nil, err
		}
		if err := s.room(tenant, more, 0); err != nil {
			return nil, err
		}
	}
	s.count(tenant, len(metadata)-len(c.Metadata), 0)
	c.Metadata = metadata
	out := c.Conversation
	return &out, nil
}

// DeleteConversation implements store.Conversations.
func (s *Store) DeleteConversation(_ context.Context, tenant, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.conversation(tenant, id)
	if err != nil {
		return err
	}
	t := s.tenants[tenant]
	delete(t.conversations, id)
	t.forget(c.items)
	s.count(tenant, -c.Size()-store.ItemsSize(c.items), -1)
	return nil
}

// ListItems implements store.Items.
func (s *Store) ListItems(_ context.Context, tenant, id string, p store.Page) ([]store.Item, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.conversation(tenant, id)
	if err != nil {
		return nil, false, err
	}
	return page(c.items, p)
}

// AddItems implements store.Items.
func (s *Store) AddItems(_ context.Context, tenant, id string, items []store.Item) error {
	size := store.ItemsSize(items)
	if err := s.o.Limits.Check(size); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.conversation(tenant, id)
	if err != nil {
		return err
	}
	if err := s.room(tenant, size, 0); err != nil {
		return err
	}
	items = told(items)
	c.items = append(c.items, items...)
	s.tenant(tenant).index(items)
	s.count(tenant, size, 0)
	return nil
}

// DeleteItem implements store.Items.
func (s *Store) DeleteItem(_ context.Context, tenant, id, item string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.conversation(tenant, id)
	if err != nil {
		return err
	}
	var kept, gone []store.Item
	for _, i := range c.items {
		if i.ID == item {
			gone = append(gone, i)
			continue
		}
		kept = append(kept, i)
	}
	if len(gone) == 0 {
		return store.ErrNotFound
	}
	c.items = kept
	s.tenants[tenant].forget(gone)
	s.count(tenant, -store.ItemsSize(gone), 0)
	return nil
}
