package rows

import (
	"context"
	"errors"
	"time"

	"github.com/callgate/callgate/gateway/store"
)

func isMissing(err error) bool { return errors.Is(err, store.ErrNotFound) }

// GetItem implements store.Items.
func (s *Store) GetItem(ctx context.Context, tenant, conversation, id string) (item store.Item, err error) {
	item.ID = id
	err = s.look(ctx, func(tx *tx) error {
		if conversation == "" {
			return tx.one([]any{&item.Body}, "SELECT body FROM callgate_items WHERE tenant = $1 AND id = $2 AND expires > $3 ORDER BY place DESC LIMIT 1",
				tenant, id, s.o.Clock())
		}
		if err := tx.has(tenant, conversation); err != nil {
			return err
		}
		return tx.one([]any{&item.Body}, "SELECT body FROM callgate_items WHERE tenant = $1 AND owner = $2 AND part = $3 AND id = $4 ORDER BY place DESC LIMIT 1",
			tenant, conversation, input, id)
	})
	if err != nil {
		return store.Item{}, err
	}
	return item, nil
}

// ListInput implements store.Items.
func (s *Store) ListInput(ctx context.Context, tenant, response string, p store.Page) (items []store.Item, more bool, err error) {
	err = s.look(ctx, func(tx *tx) error {
		var there int
		err := tx.one([]any{&there}, "SELECT 1 FROM callgate_responses WHERE tenant = $1 AND id = $2 AND expires > $3", tenant, response, s.o.Clock())
		if err != nil {
			return err
		}
		items, more, err = tx.page(tenant, response, p)
		return err
	})
	return items, more, err
}

// ListItems implements store.Items.
func (s *Store) ListItems(ctx context.Context, tenant, conversation string, p store.Page) (items []store.Item, more bool, err error) {
	err = s.look(ctx, func(tx *tx) error {
		if err := tx.has(tenant, conversation); err != nil {
			return err
		}
		items, more, err = tx.page(tenant, conversation, p)
		return err
	})
	return items, more, err
}

// has returns ErrNotFound if there is no such conversation.
func (t *tx) has(tenant, conversation string) error {
	var there int
	return t.one([]any{&there}, "SELECT 1 FROM callgate_conversations WHERE tenant = $1 AND id = $2", tenant, conversation)
}

// page reads a page of an owner's first part.
func (t *tx) page(tenant, owner string, p store.Page) (items []store.Item, more bool, err error) {
	place, query := int64(0), "SELECT id, body FROM callgate_items WHERE tenant = $1 AND owner = $2 AND part = $3 AND place > $4 ORDER BY place LIMIT $5"
	if p.Descending {
		place, query = never, "SELECT id, body FROM callgate_items WHERE tenant = $1 AND owner = $2 AND part = $3 AND place < $4 ORDER BY place DESC LIMIT $5"
	}
	if p.After != "" {
		err := t.one([]any{&place}, "SELECT place FROM callgate_items WHERE tenant = $1 AND owner = $2 AND part = $3 AND id = $4 ORDER BY place LIMIT 1", tenant, owner, input, p.After)
		if err != nil {
			return nil, false, err
		}
	}
	if items, err = t.items(query, tenant, owner, input, place, p.Limit+1); err != nil {
		return nil, false, err
	}
	if len(items) > p.Limit {
		return items[:p.Limit], true, nil
	}
	return items, false, nil
}

// extend appends to a conversation whose tenant is locked.
func (t *tx) extend(tenant, conversation string, size int, lists ...[]store.Item) error {
	n, err := t.exec("UPDATE callgate_conversations SET size = size + $3 WHERE tenant = $1 AND id = $2", tenant, conversation, size)
	if err != nil {
		return err
	}
	if n == 0 {
		return store.ErrNotFound
	}
	for _, items := range lists {
		if err := t.add(tenant, conversation, input, never, items); err != nil {
			return err
		}
	}
	return nil
}

// AddItems implements store.Items.
func (s *Store) AddItems(ctx context.Context, tenant, conversation string, items []store.Item) error {
	size := store.ItemsSize(items)
	if err := s.o.Limits.Check(size); err != nil {
		return err
	}
	return s.grow(ctx, tenant, size, 0, func(tx *tx) error { return tx.extend(tenant, conversation, size, items) })
}

// grow runs a transaction after which a tenant has more.
func (s *Store) grow(ctx context.Context, tenant string, bytes, entries int, do func(*tx) error) error {
	err := s.change(ctx, func(tx *tx) error {
		u, err := tx.count(tenant, bytes, entries)
		if err != nil {
			return err
		}
		if err := do(tx); err != nil {
			return err
		}
		return s.room(tx, tenant, "", u)
	})
	if err != nil {
		return err
	}
	s.grown(ctx, bytes, entries)
	return nil
}

// DeleteItem implements store.Items.
func (s *Store) DeleteItem(ctx context.Context, tenant, conversation, id string) error {
	return s.change(ctx, func(tx *tx) error {
		if _, err := tx.count(tenant, 0, 0); err != nil {
			return err
		}
		if err := tx.has(tenant, conversation); err != nil {
			return err
		}
		size, n, one := 0, 0, 0
		err := tx.all([]any{&one}, func() { size, n = size+one, n+1 },
			"DELETE FROM callgate_items WHERE tenant = $1 AND owner = $2 AND id = $3 RETURNING size", tenant, conversation, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return store.ErrNotFound
		}
		if _, err := tx.exec("UPDATE callgate_conversations SET size = size - $3 WHERE tenant = $1 AND id = $2", tenant, conversation, size); err != nil {
			return err
		}
		_, err = tx.count(tenant, -size, 0)
		return err
	})
}

// CreateConversation implements store.Conversations.
func (s *Store) CreateConversation(ctx context.Context, tenant string, c *store.Conversation, items []store.Item) error {
	size := c.Size() + store.ItemsSize(items)
	if err := s.o.Limits.Check(size); err != nil {
		return err
	}
	created := s.o.Clock()
	if !c.Created.IsZero() {
		created = c.Created.UnixMilli()
	}
	return s.grow(ctx, tenant, size, 1, func(tx *tx) error {
		_, err := tx.exec("INSERT INTO callgate_conversations (tenant, id, created, size, metadata) VALUES ($1, $2, $3, $4, $5)", tenant, c.ID, created, size, nonNil(c.Metadata))
		if err != nil {
			return err
		}
		return tx.add(tenant, c.ID, input, never, items)
	})
}

// GetConversation implements store.Conversations.
func (s *Store) GetConversation(ctx context.Context, tenant, id string) (c *store.Conversation, err error) {
	err = s.look(ctx, func(tx *tx) error {
		c, err = tx.conversation(tenant, id)
		return err
	})
	return c, err
}

func (t *tx) conversation(tenant, id string) (*store.Conversation, error) {
	c, created := &store.Conversation{ID: id}, int64(0)
	if err := t.one([]any{&created, &c.Metadata}, "SELECT created, metadata FROM callgate_conversations WHERE tenant = $1 AND id = $2", tenant, id); err != nil {
		return nil, err
	}
	c.Created = time.UnixMilli(created)
	return c, nil
}

// SetMetadata implements store.Conversations.
func (s *Store) SetMetadata(ctx context.Context, tenant, id string, metadata []byte) (c *store.Conversation, err error) {
	if err := s.o.Limits.Check(len(metadata)); err != nil {
		return nil, err
	}
	err = s.grow(ctx, tenant, 0, 0, func(tx *tx) error {
		if c, err = tx.conversation(tenant, id); err != nil {
			return err
		}
		more := len(metadata) - len(c.Metadata)
		c.Metadata = metadata
		if _, err := tx.exec("UPDATE callgate_conversations SET metadata = $3, size = size + $4 WHERE tenant = $1 AND id = $2", tenant, id, nonNil(metadata), more); err != nil {
			return err
		}
		u, err := tx.count(tenant, more, 0)
		if err != nil {
			return err
		}
		return s.room(tx, tenant, "", u)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// DeleteConversation implements store.Conversations.
func (s *Store) DeleteConversation(ctx context.Context, tenant, id string) error {
	return s.change(ctx, func(tx *tx) error {
		if _, err := tx.count(tenant, 0, 0); err != nil {
			return err
		}
		var size int
		if err := tx.one([]any{&size}, "DELETE FROM callgate_conversations WHERE tenant = $1 AND id = $2 RETURNING size", tenant, id); err != nil {
			return err
		}
		if _, err := tx.exec("DELETE FROM callgate_items WHERE tenant = $1 AND owner = $2", tenant, id); err != nil {
			return err
		}
		_, err := tx.count(tenant, -size, -1)
		return err
	})
}
