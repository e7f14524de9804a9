package state

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/wire"
)

// page reads limit, order and after of a query.
func (c *Call) page() (store.Page, error) {
	const most, usual = 100, 20
	p := store.Page{Limit: usual, Descending: true, After: c.Query.Get("after")}
	if text := c.Query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > most {
			return p, invalid("limit", "The parameter \"limit\" must be a number from 1 to %d, not %.40q.", most, text)
		}
		p.Limit = n
	}
	switch order := c.Query.Get("order"); order {
	case "", "desc":
	case "asc":
		p.Descending = false
	default:
		return p, invalid("order", "The parameter \"order\" must be \"asc\" or \"desc\", not %.40q.", order)
	}
	return p, nil
}

// reader reads a page of some owner's items.
type reader func(ctx context.Context, tenant, owner string, p store.Page) ([]store.Item, bool, error)

// list answers with a page.
func (s *shelf) list(ctx context.Context, c Call, what string, read reader) ([]byte, error) {
	p, err := c.page()
	if err != nil {
		return nil, err
	}
	items, more, err := read(ctx, c.Tenant, c.ID, p)
	if errors.Is(err, store.ErrNotFound) && p.After != "" {
		if _, _, owner := read(ctx, c.Tenant, c.ID, store.Page{Limit: 1}); owner == nil {
			return nil, invalid("after", "The parameter \"after\" names no item of this list: %.80q.", p.After)
		}
	}
	if err != nil {
		return nil, s.failed(err, what, c.ID)
	}
	// A page of large items ends early: there is more then.
	size := 0
	for n, i := range items {
		if size += len(i.Body); size > maxPage && n > 0 {
			items, more = items[:n], true
			break
		}
	}
	return listOf(items, more, c.includes()), nil
}

// maxPage is about how many bytes a page has at most.
const maxPage = 8 << 20

// listOf is a list of items.
func listOf(items []store.Item, more, sealed bool) []byte {
	b := []byte(`{"object":"list","data":[`)
	b = appendItems(b, items, sealed)
	first, last := "null", "null"
	if len(items) > 0 {
		first, last = string(wire.AppendQuoted(nil, items[0].ID)), string(wire.AppendQuoted(nil, items[len(items)-1].ID))
	}
	b = append(append(append(append(b, `],"first_id":`...), first...), `,"last_id":`...), last...)
	return append(strconv.AppendBool(append(b, `,"has_more":`...), more), '}')
}

// includes reports whether the query asks for sealed reasoning.
func (c *Call) includes() bool {
	return slices.Contains(c.Query["include"], responses.EncryptedReasoning) || slices.Contains(c.Query["include[]"], responses.EncryptedReasoning)
}

// appendItems appends items as elements, with sealed reasoning or without.
func appendItems(b []byte, items []store.Item, sealed bool) []byte {
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, shown(item.Body, sealed)...)
	}
	return b
}

// shown is an item as a client sees it.
func shown(item []byte, sealed bool) []byte {
	const member = "encrypted_content"
	if sealed || !bytes.Contains(item, []byte(member)) || responses.ItemType(item) != "reasoning" {
		return item
	}
	return cut(item, member)
}

// deleted says that something is no more.
func deleted(id, object string) []byte {
	b := wire.AppendQuoted([]byte(`{"id":`), id)
	return append(wire.AppendQuoted(append(b, `,"object":`...), object), `,"deleted":true}`...)
}
