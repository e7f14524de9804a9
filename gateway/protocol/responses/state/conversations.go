package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/wire"
)

// maxDepth bounds how deep what is sent may nest; it is later a part of a request.
const maxDepth = gateway.MaxDepth - 8

// members reads an object of which some members are known; an empty body is one without any.
func members(c Call, known ...string) (map[string][]byte, error) {
	body, out := c.Body, map[string][]byte{}
	if len(body) == 0 {
		return out, nil
	}
	if _, err := c.Limits.Validate(body, maxDepth, c.Room); err != nil {
		return nil, err
	}
	ok := wire.Members(body, 0, func(key []byte, v wire.Span) bool {
		if slices.Contains(known, string(key)) && !v.IsNull(body) {
			out[string(key)] = v.Of(body)
		}
		return true
	})
	if !ok {
		return nil, invalid("", "The request body must be a JSON object.")
	}
	return out, nil
}

// metadata checks metadata, and writes it without what stands between its values.
func metadata(m []byte) ([]byte, error) {
	switch {
	case m == nil:
		return []byte("{}"), nil
	case m[0] != '{':
		return nil, invalid("metadata", "The field \"metadata\" must be an object, not %s.", gateway.Excerpt(m))
	}
	if err := responses.CheckMetadata("metadata", m); err != nil {
		return nil, err
	}
	return m, nil
}

// conversations are those that are stored. They answer the requests for them.
type conversations struct{ *shelf }

// CreateConversation answers POST /v1/conversations.
func (s conversations) CreateConversation(ctx context.Context, c Call) ([]byte, error) {
	m, err := members(c, "items", "metadata")
	if err != nil {
		return nil, err
	}
	conversation := &store.Conversation{ID: newID("conv_"), Created: time.Now()}
	if conversation.Metadata, err = metadata(m["metadata"]); err != nil {
		return nil, err
	}
	var items []store.Item
	if m["items"] != nil {
		if items, err = s.items(m["items"]); err == nil {
			err = s.distinct(ctx, c.Tenant, "", items)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := s.store.CreateConversation(ctx, c.Tenant, conversation, items); err != nil {
		return nil, s.failed(err, "Conversation", conversation.ID)
	}
	return object(conversation), nil
}

// object is a conversation as clients see it.
func object(c *store.Conversation) []byte {
	b := wire.AppendQuoted([]byte(`{"id":`), c.ID)
	b = strconv.AppendInt(append(b, `,"object":"conversation","created_at":`...), c.Created.Unix(), 10)
	return append(append(append(b, `,"metadata":`...), c.Metadata...), '}')
}

// items reads items that are to be put into a conversation.
func (s conversations) items(list []byte) ([]store.Item, error) {
	const most = 20
	if list[0] != '[' {
		return nil, invalid("items", "The field \"items\" must be an array, not %s.", gateway.Excerpt(list))
	}
	var items [][]byte
	var err error
	wire.Elements(list, 0, func(n int, v wire.Span) bool {
		if n == most {
			err = invalid("items", "The field \"items\" has more than %d items: send them in several requests.", most)
			return false
		}
		err = checkItem(v.Of(list), fmt.Sprintf("items[%d]", n))
		items = append(items, v.Of(list))
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	all, _, err := nameItems(items, "items")
	if err != nil {
		return nil, err
	}
	return normal(all), nil
}

// checkItem refuses an item that no request could have. A result of a call may stand alone,
// since the call may be there already.
func checkItem(item []byte, place string) error {
	if item[0] != '{' {
		return invalid(place, "%s must be an object, not %s.", place, gateway.Excerpt(item))
	}
	switch kind := responses.ItemType(item); kind {
	case "item_reference":
		return invalid(place, "%s is a reference: send the item itself.", place)
	case "function_call_output", "custom_tool_call_output":
		if wire.Unquote(valueOf(item, "call_id")) == "" || valueOf(item, "output") == nil {
			return invalid(place, "%s needs \"call_id\" and \"output\".", place)
		}
		return nil
	case "mcp_approval_response":
		if wire.Unquote(valueOf(item, "approval_request_id")) == "" {
			return invalid(place, "%s needs \"approval_request_id\".", place)
		}
		return nil
	}
	r, err := responses.Parse(slices.Concat([]byte(`{"model":"m","input":[`), item, []byte("]}")), responses.Options{})
	if err == nil {
		err = r.Translate()
		if foreign := r.Foreign(); err == nil && foreign != nil { // whichever model the conversation has next
			err = foreign
		}
	}
	if e, ok := errors.AsType[*gateway.Error](err); ok {
		const here = "input[0]"
		e.Param, e.Message = strings.ReplaceAll(e.Param, here, place), strings.ReplaceAll(e.Message, here, place)
		return e
	}
	return err
}

// GetConversation answers GET /v1/conversations/{id}.
func (s conversations) GetConversation(ctx context.Context, c Call) ([]byte, error) {
	got, err := s.store.GetConversation(ctx, c.Tenant, c.ID)
	if err != nil {
		return nil, s.failed(err, "Conversation", c.ID)
	}
	return object(got), nil
}

// UpdateConversation answers POST /v1/conversations/{id}.
func (s conversations) UpdateConversation(ctx context.Context, c Call) ([]byte, error) {
	m, err := members(c, "metadata")
	if err != nil {
		return nil, err
	}
	if m["metadata"] == nil {
		return nil, invalid("metadata", "The field \"metadata\" is missing: nothing else of a conversation can be changed.")
	}
	meta, err := metadata(m["metadata"])
	if err != nil {
		return nil, err
	}
	got, err := s.store.SetMetadata(ctx, c.Tenant, c.ID, meta)
	if err != nil {
		return nil, s.failed(err, "Conversation", c.ID)
	}
	return object(got), nil
}

// DeleteConversation answers DELETE /v1/conversations/{id}.
func (s conversations) DeleteConversation(ctx context.Context, c Call) ([]byte, error) {
	if err := s.store.DeleteConversation(ctx, c.Tenant, c.ID); err != nil {
		return nil, s.failed(err, "Conversation", c.ID)
	}
	return deleted(c.ID, "conversation.deleted"), s.forget(ctx, c)
}

// AddItems answers POST /v1/conversations/{id}/items.
func (s conversations) AddItems(ctx context.Context, c Call) ([]byte, error) {
	m, err := members(c, "items")
	if err != nil {
		return nil, err
	}
	if m["items"] == nil {
		return nil, invalid("items", "The field \"items\" is missing: send an array of items.")
	}
	items, err := s.items(m["items"])
	if err == nil {
		err = s.distinct(ctx, c.Tenant, c.ID, items)
	}
	if err != nil {
		return nil, err
	}
	if err := s.store.AddItems(ctx, c.Tenant, c.ID, items); err != nil {
		return nil, s.failed(err, "Conversation", c.ID)
	}
	return listOf(items, false, c.includes()), nil
}

// ListItems answers GET /v1/conversations/{id}/items.
func (s conversations) ListItems(ctx context.Context, c Call) ([]byte, error) {
	return s.list(ctx, c, "Conversation", s.store.ListItems)
}

// GetItem answers GET /v1/conversations/{id}/items/{item}.
func (s conversations) GetItem(ctx context.Context, c Call) ([]byte, error) {
	item, err := s.store.GetItem(ctx, c.Tenant, c.ID, c.Item)
	if err != nil {
		return nil, s.failed(err, "Item", c.Item)
	}
	return shown(item.Body, c.includes()), nil
}

// DeleteItem answers DELETE /v1/conversations/{id}/items/{item}, with the conversation.
func (s conversations) DeleteItem(ctx context.Context, c Call) ([]byte, error) {
	if err := s.store.DeleteItem(ctx, c.Tenant, c.ID, c.Item); err != nil {
		return nil, s.failed(err, "Item", c.Item)
	}
	if err := s.forget(ctx, c); err != nil {
		return nil, err
	}
	return s.GetConversation(ctx, c)
}

// forget deletes a conversation's summary, which may say what was deleted.
func (s conversations) forget(ctx context.Context, c Call) error {
	err := s.store.DeleteResponse(ctx, c.Tenant, summaryPrefix+c.ID)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return s.failed(err, "Conversation", c.ID)
}
