package rows

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/store"
)

// The parts of what an owner has: a response has input and output, a conversation one list.
const (
	input  = 0
	output = 1
)

// never is when a conversation's items expire.
const never = 1 << 62

// addOnce is how many items one statement inserts at most; each has three parameters of its own.
const addOnce = 100

// add inserts items at the end of an owner's part.
func (t *tx) add(tenant, owner string, part int, expires int64, items []store.Item) error {
	for some := range slices.Chunk(items, addOnce) {
		var query strings.Builder
		query.WriteString("INSERT INTO callgate_items (tenant, owner, part, expires, id, size, body) VALUES ")
		args := []any{tenant, owner, part, expires}
		for n, i := range some {
			if n > 0 {
				query.WriteString(", ")
			}
			fmt.Fprintf(&query, "($1, $2, $3, $4, $%d, $%d, $%d)", len(args)+1, len(args)+2, len(args)+3)
			args = append(args, i.ID, i.Size(), nonNil(i.Body))
		}
		if _, err := t.exec(query.String(), args...); err != nil {
			return err
		}
	}
	return nil
}

// nonNil is for columns that take no NULL.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// PutResponse implements store.Responses.
func (s *Store) PutResponse(ctx context.Context, tenant string, r *store.Response, done bool) error {
	size := r.Size()
	if err := s.o.Limits.Check(size); err != nil {
		return err
	}
	created, expires := s.o.Stamp(r)
	appended := 0
	if done && r.Conversation != "" {
		appended = store.ItemsSize(r.Input) + store.ItemsSize(r.Output)
	}
	err := s.change(ctx, func(tx *tx) error {
		u, err := tx.count(tenant, size+appended, 1)
		if err != nil {
			return err
		}
		if _, err := tx.remove(tenant, r.ID, 0); err == nil {
			u, err = tx.count(tenant, 0, 0)
			if err != nil {
				return err
			}
		} else if !isMissing(err) {
			return err
		}
		_, err = tx.exec("INSERT INTO callgate_responses (tenant, id, previous, conversation, created, expires, size, body) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
			tenant, r.ID, r.Previous, r.Conversation, created, expires, size, nonNil(r.Body))
		if err != nil {
			return err
		}
		if err := tx.add(tenant, r.ID, input, expires, r.Input); err != nil {
			return err
		}
		if err := tx.add(tenant, r.ID, output, expires, r.Output); err != nil {
			return err
		}
		if done && r.Conversation != "" {
			if err := tx.extend(tenant, r.Conversation, appended, r.Input, r.Output); err != nil {
				return err
			}
		}
		return s.room(tx, tenant, r.ID, u)
	})
	if err != nil {
		return err
	}
	s.grown(ctx, size+appended, 1)
	return nil
}

// GetResponse implements store.Responses.
func (s *Store) GetResponse(ctx context.Context, tenant, id string) (r *store.Response, err error) {
	err = s.look(ctx, func(tx *tx) error {
		r = &store.Response{ID: id}
		var created, expires int64
		err := tx.one([]any{&r.Previous, &r.Conversation, &created, &expires, &r.Body},
			"SELECT previous, conversation, created, expires, body FROM callgate_responses WHERE tenant = $1 AND id = $2 AND expires > $3", tenant, id, s.o.Clock())
		if err != nil {
			return err
		}
		r.Created, r.Expires = time.UnixMilli(created), time.UnixMilli(expires)
		if r.Input, err = tx.items(ofPart, tenant, id, input); err != nil {
			return err
		}
		r.Output, err = tx.items(ofPart, tenant, id, output)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

const ofPart = "SELECT id, body FROM callgate_items WHERE tenant = $1 AND owner = $2 AND part = $3 ORDER BY place"

// DeleteResponse implements store.Responses.
func (s *Store) DeleteResponse(ctx context.Context, tenant, id string) error {
	return s.change(ctx, func(tx *tx) error {
		if _, err := tx.count(tenant, 0, 0); err != nil {
			return err
		}
		expired, err := tx.remove(tenant, id, s.o.Clock())
		if err == nil && expired {
			return store.ErrNotFound
		}
		return err
	})
}

// chain is a common table expression of a response ($2) of a tenant ($1) that has not
// expired at $3, and at most $4 before it.
func (d Dialect) chain() string {
	return `WITH RECURSIVE chain (id, previous, conversation, size, expires, n) AS (
	SELECT id, previous, conversation, size, expires, 1 FROM callgate_responses WHERE tenant = $1 AND id = $2 AND expires > $3
	UNION ALL
	SELECT r.id, r.previous, r.conversation, r.size, r.expires, chain.n + 1 FROM chain ` +
		d.lookUp("callgate_responses", "r.tenant = $1 AND r.id = chain.previous AND r.expires > $3") + " AND chain.n <= $4) "
}

// lookUp joins what is to the left with the rows r of a table, so that each is looked up by
// its key whatever the database takes the sizes of the tables for.
func (d Dialect) lookUp(table, where string) string {
	if d.Lateral {
		return "CROSS JOIN LATERAL (SELECT * FROM " + table + " r WHERE " + where + " OFFSET 0) r WHERE true"
	}
	return "CROSS JOIN " + table + " r WHERE " + where
}

// Chain implements store.Responses.
func (s *Store) Chain(ctx context.Context, tenant, id string, b store.Bounds) (items []store.Item, err error) {
	var prolong []string
	expires, ifBefore := s.o.Prolonged()
	err = s.look(ctx, func(tx *tx) error {
		prolong = nil
		var link struct {
			id, previous, conversation string
			size                       int
			expires                    int64
		}
		n, bytes, now := 0, 0, s.o.Clock()
		var wrong error
		err := tx.all([]any{&link.id, &link.previous, &link.conversation, &link.size, &link.expires}, func() {
			n, bytes = n+1, bytes+link.size
			switch {
			case wrong != nil:
			case n > b.Responses || bytes > b.Bytes:
				wrong = store.ErrTooLong
			case link.conversation != "":
				wrong = store.ErrInConversation
			case link.expires < ifBefore:
				prolong = append(prolong, link.id)
			}
		}, s.d.chain()+"SELECT id, previous, conversation, size, expires FROM chain ORDER BY n", tenant, id, now, b.Responses)
		switch {
		case err != nil:
			return err
		case wrong != nil:
			return wrong
		case n == 0 || link.previous != "":
			return store.ErrNotFound
		}
		items, err = tx.items(s.d.chain()+"SELECT r.id, r.body FROM chain "+s.d.lookUp("callgate_items", "r.tenant = $1 AND r.owner = chain.id")+
			" ORDER BY chain.n DESC, r.part, r.place", tenant, id, now, b.Responses)
		return err
	})
	if err != nil || len(prolong) == 0 {
		return items, err
	}
	return items, s.prolong(ctx, tenant, prolong, expires)
}

// prolong lets responses live longer.
func (s *Store) prolong(ctx context.Context, tenant string, ids []string, expires int64) error {
	return s.change(ctx, func(tx *tx) error {
		if _, err := tx.count(tenant, 0, 0); err != nil {
			return err
		}
		for _, id := range ids {
			if _, err := tx.exec("UPDATE callgate_responses SET expires = $3 WHERE tenant = $1 AND id = $2", tenant, id, expires); err != nil {
				return err
			}
			if _, err := tx.exec("UPDATE callgate_items SET expires = $3 WHERE tenant = $1 AND owner = $2", tenant, id, expires); err != nil {
				return err
			}
		}
		return nil
	})
}
