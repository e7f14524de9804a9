package rows

import (
	"context"
	"errors"

	"github.com/callgate/callgate/gateway/store"
)

// usage is what counts against bounds.
type usage struct{ bytes, entries int64 }

// count notes that a tenant has more or less, and returns what it has now. From then to the
// transaction's end no other one can change what the tenant has.
func (t *tx) count(tenant string, bytes, entries int) (u usage, err error) {
	err = t.one([]any{&u.bytes, &u.entries}, `INSERT INTO callgate_tenants (tenant, bytes, entries) VALUES ($1, $2, $3)
		ON CONFLICT (tenant) DO UPDATE SET bytes = callgate_tenants.bytes + excluded.bytes, entries = callgate_tenants.entries + excluded.entries
		RETURNING bytes, entries`, tenant, bytes, entries)
	return u, err
}

// room takes out responses of a tenant that has come to u until it is within its bound. keep
// is one that stays.
func (s *Store) room(tx *tx, tenant, keep string, u usage) error {
	l := s.o.Limits
	for u.bytes > l.TenantBytes || u.entries > l.TenantEntries {
		n, err := s.evict(tx, tenant, keep, u.bytes-l.TenantBytes)
		if err != nil {
			return err
		}
		if n == 0 {
			return store.ErrFull
		}
		if u, err = tx.count(tenant, 0, 0); err != nil {
			return err
		}
	}
	return nil
}

// evictOnce is how many responses make room in one step.
const evictOnce = 100

// evict takes out the tenant's responses that were not used for the longest time, until
// there are so many bytes less, or one if it is none.
func (s *Store) evict(tx *tx, tenant, keep string, bytes int64) (n int, err error) {
	var ids []string
	var id string
	var size int64
	err = tx.all([]any{&id, &size}, func() {
		if n == 0 || bytes > 0 {
			ids, bytes, n = append(ids, id), bytes-size, n+1
		}
	}, "SELECT id, size FROM callgate_responses WHERE tenant = $1 AND id <> $2 ORDER BY expires, id LIMIT $3", tenant, keep, evictOnce)
	if err != nil {
		return 0, err
	}
	now, evicted := s.o.Clock(), uint64(0)
	for _, id := range ids {
		expired, err := tx.remove(tenant, id, now)
		if err != nil {
			return 0, err
		}
		if !expired {
			evicted++
		}
	}
	tx.then = append(tx.then, func() { s.evicted.Add(evicted) })
	return n, nil
}

// remove deletes a response, and reports whether it had expired.
func (t *tx) remove(tenant, id string, now int64) (expired bool, err error) {
	var size, expires int64
	if err := t.one([]any{&size, &expires}, "DELETE FROM callgate_responses WHERE tenant = $1 AND id = $2 RETURNING size, expires", tenant, id); err != nil {
		return false, err
	}
	if _, err := t.exec("DELETE FROM callgate_items WHERE tenant = $1 AND owner = $2", tenant, id); err != nil {
		return false, err
	}
	_, err = t.count(tenant, -int(size), -1)
	return expires <= now, err
}

// slack is the share of the bound of all, 1 in so many, that a gateway writes before it looks
// whether the store is within it. One that cannot look does so with the next put.
const slack = 64

// grown notes what a put has brought, and now and then looks after the bound of all. What was put is there however that
// ends: an error would have it put again.
func (s *Store) grown(ctx context.Context, bytes, entries int) {
	b, e := s.newBytes.Add(int64(bytes)), s.newEntries.Add(int64(entries))
	if b < s.o.Limits.Bytes/slack && e < s.o.Limits.Entries/slack {
		return
	}
	s.newBytes.Store(0)
	s.newEntries.Store(0)
	if _, err := s.shrink(ctx); err != nil {
		s.newBytes.Add(b)
		s.newEntries.Add(e)
		if ctx.Err() == nil {
			s.o.Log.Warn("store: no room can be made for what is beyond its bound; it is tried again", "error", err)
		}
	}
}

// shrink takes out responses of the tenants with the most bytes until all are within the
// bound of all. Each step locks one tenant.
func (s *Store) shrink(ctx context.Context) (n int, err error) {
	l := s.o.Limits
	for {
		var all usage
		var largest string
		err := s.look(ctx, func(tx *tx) error {
			if err := tx.one([]any{&all.bytes, &all.entries}, "SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT), CAST(coalesce(sum(entries), 0) AS BIGINT) FROM callgate_tenants"); err != nil {
				return err
			}
			if all.bytes <= l.Bytes && all.entries <= l.Entries {
				return nil
			}
			return tx.one([]any{&largest}, `SELECT tenant FROM callgate_tenants WHERE EXISTS (SELECT 1 FROM callgate_responses r WHERE r.tenant = callgate_tenants.tenant)
				ORDER BY bytes DESC, tenant LIMIT 1`)
		})
		switch {
		case errors.Is(err, store.ErrNotFound):
			return n, nil // all is conversations'
		case err != nil:
			return n, err
		case all.bytes <= l.Bytes && all.entries <= l.Entries:
			return n, nil
		}
		var gone int
		err = s.change(ctx, func(tx *tx) (err error) {
			if _, err := tx.count(largest, 0, 0); err != nil {
				return err
			}
			gone, err = s.evict(tx, largest, "", all.bytes-l.Bytes)
			return err
		})
		if err != nil || gone == 0 {
			return n, err
		}
		n += gone
	}
}

// sweepOnce is how many responses one transaction deletes at most: others wait for it.
const sweepOnce = 200

// Sweep implements store.Keeper.
func (s *Store) Sweep(ctx context.Context) (n int, err error) {
	now := s.o.Clock()
	for {
		var tenant string
		err := s.look(ctx, func(tx *tx) error {
			return tx.one([]any{&tenant}, "SELECT tenant FROM callgate_tenants t WHERE EXISTS (SELECT 1 FROM callgate_responses r WHERE r.tenant = t.tenant AND r.expires <= $1) LIMIT 1", now)
		})
		if errors.Is(err, store.ErrNotFound) {
			break
		}
		if err != nil {
			return n, err
		}
		err = s.change(ctx, func(tx *tx) error {
			if _, err := tx.count(tenant, 0, 0); err != nil {
				return err
			}
			var ids []string
			var id string
			err := tx.all([]any{&id}, func() { ids = append(ids, id) },
				"SELECT id FROM callgate_responses WHERE tenant = $1 AND expires <= $2 ORDER BY expires LIMIT $3", tenant, now, sweepOnce)
			if err != nil {
				return err
			}
			for _, id := range ids {
				if _, err := tx.remove(tenant, id, now); err != nil {
					return err
				}
			}
			n += len(ids)
			return nil
		})
		if err != nil {
			return n, err
		}
	}
	err = s.change(ctx, func(tx *tx) error {
		if _, err := tx.exec("DELETE FROM callgate_locks WHERE until < " + s.d.Now); err != nil {
			return err
		}
		_, err := tx.exec("DELETE FROM callgate_tenants WHERE entries = 0 AND bytes = 0")
		return err
	})
	if err != nil {
		return n, err
	}
	more, err := s.shrink(ctx)
	return n + more, err
}

// Stats implements store.Keeper.
func (s *Store) Stats(ctx context.Context) (out store.Stats, err error) {
	err = s.look(ctx, func(tx *tx) error {
		return tx.one([]any{&out.Bytes, &out.Entries}, "SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT), CAST(coalesce(sum(entries), 0) AS BIGINT) FROM callgate_tenants")
	})
	out.Evicted = s.evicted.Load()
	return out, err
}
