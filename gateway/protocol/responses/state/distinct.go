package state

import (
	"cmp"
	"context"
	"errors"

	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/store"
)

// distinct gives items that have the id of another one of their conversation, or of each other, ids of
// their own: a list goes on behind an id, which two of them would make one place of. conversation is ""
// for a new one.
func (s *shelf) distinct(ctx context.Context, tenant, conversation string, items []store.Item) error {
	seen := map[string]bool{}
	for i := range items {
		twice := seen[items[i].ID]
		if !twice && conversation != "" {
			switch _, err := s.store.GetItem(ctx, tenant, conversation, items[i].ID); {
			case err == nil:
				twice = true
			case !errors.Is(err, store.ErrNotFound):
				return s.failed(err, "Conversation", conversation)
			}
		}
		if twice {
			items[i] = renamed(items[i].Body, givenID(responses.ItemType(items[i].Body)))
		}
		seen[items[i].ID] = true
	}
	return nil
}

// givenID makes an id for an input item.
func givenID(kind string) string {
	id := newID(cmp.Or(prefixes[kind], "item_"))
	return id[:len(id)-48+idDigits]
}
