package rows

import (
	"context"
	"errors"

	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/store"
)

// Keys is what keeps keys in the store's tables. It ends with the store.
func (s *Store) Keys() keys.Keeper { return keyRows{s} }

type keyRows struct{ s *Store }

// LoadKeys implements keys.Keeper.
func (k keyRows) LoadKeys(ctx context.Context, since int64) (all []keys.Record, revision int64, err error) {
	err = k.s.look(ctx, func(tx *tx) error {
		all = nil
		if err := tx.one([]any{&revision}, "SELECT revision FROM callgate_keys_revision"); err != nil || revision == since {
			return err
		}
		var r keys.Record
		var kind string
		var body []byte
		return tx.all([]any{&kind, &r.Name, &r.Version, &body}, func() {
			all = append(all, keys.Record{Kind: keys.Kind(kind), Name: r.Name, Version: r.Version, Body: append([]byte{}, body...)})
		}, "SELECT kind, name, version, body FROM callgate_keys ORDER BY kind, name")
	})
	return all, revision, err
}

// PutKey implements keys.Keeper.
func (k keyRows) PutKey(ctx context.Context, r keys.Record, was int64) error {
	return k.s.change(ctx, func(tx *tx) error {
		revision, err := tx.nextKeys()
		if err != nil {
			return err
		}
		if was == 0 {
			n, err := tx.exec("INSERT INTO callgate_keys (kind, name, version, body) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", string(r.Kind), r.Name, revision, r.Body)
			return changed(n, err)
		}
		n, err := tx.exec("UPDATE callgate_keys SET version = $1, body = $2 WHERE kind = $3 AND name = $4 AND version = $5", revision, r.Body, string(r.Kind), r.Name, was)
		return changed(n, err)
	})
}

// DeleteKey implements keys.Keeper.
func (k keyRows) DeleteKey(ctx context.Context, kind keys.Kind, name string, was int64) error {
	return k.s.change(ctx, func(tx *tx) error {
		if _, err := tx.nextKeys(); err != nil {
			return err
		}
		n, err := tx.exec("DELETE FROM callgate_keys WHERE kind = $1 AND name = $2 AND version = $3", string(kind), name, was)
		return changed(n, err)
	})
}

// nextKeys counts a change. Whoever changes keys too waits for the end of this transaction.
func (t *tx) nextKeys() (revision int64, err error) {
	if _, err := t.exec("UPDATE callgate_keys_revision SET revision = revision + 1"); err != nil {
		return 0, err
	}
	return revision, t.one([]any{&revision}, "SELECT revision FROM callgate_keys_revision")
}

// changed wants a row to have been there.
func changed(rows int64, err error) error {
	if errors.Is(err, store.ErrNotFound) || err == nil && rows == 0 {
		return keys.ErrConflict
	}
	return err
}
