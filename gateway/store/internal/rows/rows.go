package rows

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/internal/mutex"
)

// Dialect is what one database says otherwise than the other. Parameters are $1, $2 in both.
type Dialect struct {
	// Bytes and Serial are types of columns.
	Bytes, Serial string
	// Now is an expression for the database's clock in milliseconds, the same for all its
	// clients.
	Now string
	// Exclusive is run at the beginning of a migration, and keeps others out to its end.
	Exclusive string
	// Lateral is set where there is CROSS JOIN LATERAL. Elsewhere CROSS JOIN must go from
	// left to right, as SQLite's does.
	Lateral bool
	// Again reports whether a transaction failed only because of another one.
	Again func(error) bool
	// Clean takes secrets out of an error's text.
	Clean func(error) error
}

// Store is a store in tables. Methods are those of [store.Store].
type Store struct {
	o           store.Options
	d           Dialect
	read, write *sql.DB
	local       mutex.Set // in front of the locks of the database
	evicted     atomic.Uint64

	newBytes, newEntries atomic.Int64 // since the bound of all was looked after
}

// New makes a store of two handles to one database, which may be the same, and brings its
// tables up to date. Close closes them.
func New(ctx context.Context, read, write *sql.DB, d Dialect, o store.Options) (*Store, error) {
	o, err := o.Complete()
	if err != nil {
		return nil, err
	}
	s := &Store{o: o, d: d, read: read, write: write}
	if err := s.migrate(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// Close implements store.Keeper.
func (s *Store) Close() error {
	err := s.write.Close()
	if s.read != s.write {
		err = errors.Join(s.read.Close(), err)
	}
	return s.d.Clean(err)
}

// attempts is how often a transaction is tried that others keep from its end.
const attempts = 10

// change runs a transaction that writes.
func (s *Store) change(ctx context.Context, do func(tx *tx) error) error {
	for n := 1; ; n++ {
		err := s.transact(ctx, s.write, &sql.TxOptions{}, do)
		if err == nil || n == attempts || !s.d.Again(err) {
			return s.clean(err)
		}
		select {
		case <-time.After(time.Duration(n) * 5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// look runs a transaction that reads, of one state of the database.
func (s *Store) look(ctx context.Context, do func(tx *tx) error) error {
	return s.clean(s.transact(ctx, s.read, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}, do))
}

func (s *Store) transact(ctx context.Context, db *sql.DB, o *sql.TxOptions, do func(tx *tx) error) error {
	if o.ReadOnly && db != s.write {
		o = nil // SQLite: a transaction reads one state anyway
	}
	t, err := db.BeginTx(ctx, o)
	if err != nil {
		return err
	}
	if err := do(&tx{t, ctx}); err != nil {
		return errors.Join(err, t.Rollback())
	}
	return t.Commit()
}

// clean leaves the store's own errors and contexts' ends as they are.
func (s *Store) clean(err error) error {
	for _, own := range []error{store.ErrNotFound, store.ErrTooLarge, store.ErrTooLong, store.ErrInConversation, store.ErrFull, keys.ErrConflict, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, own) {
			return err
		}
	}
	if err == nil {
		return nil
	}
	return s.d.Clean(err)
}

// tx is a transaction with its context.
type tx struct {
	tx  *sql.Tx
	ctx context.Context //nolint:containedctx // it is the transaction's
}

// check refuses texts that a database cannot have. They are ids that somebody asks for, and
// nothing has such an id.
func check(args []any) error {
	for _, a := range args {
		if text, ok := a.(string); ok && (!utf8.ValidString(text) || strings.Contains(text, "\x00")) {
			return fmt.Errorf("%w: an id is not text", store.ErrNotFound)
		}
	}
	return nil
}

// exec runs a statement and returns how many rows it has changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	if err := check(args); err != nil {
		return 0, err
	}
	result, err := t.tx.ExecContext(t.ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// one reads one row, or returns ErrNotFound.
func (t *tx) one(into []any, query string, args ...any) error {
	if err := check(args); err != nil {
		return err
	}
	err := t.tx.QueryRowContext(t.ctx, query, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNotFound
	}
	return err
}

// all reads rows, one after the other into the same places, and calls each for every one.
func (t *tx) all(into []any, each func(), query string, args ...any) error {
	if err := check(args); err != nil {
		return err
	}
	rows, err := t.tx.QueryContext(t.ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		each()
	}
	return rows.Err()
}

// items reads rows of an id and a body.
func (t *tx) items(query string, args ...any) (out []store.Item, err error) {
	var id string
	var body []byte
	err = t.all([]any{&id, &body}, func() { out = append(out, store.Item{ID: id, Body: append([]byte{}, body...)}) }, query, args...)
	return out, err
}

// migrations make the tables, one step after the other; the number of those that were done
// is in the database. A step that was published does not change.
func (d Dialect) migrations() []string {
	return []string{fmt.Sprintf(`
CREATE TABLE callgate_tenants (tenant TEXT PRIMARY KEY, bytes BIGINT NOT NULL, entries BIGINT NOT NULL);
CREATE TABLE callgate_responses (tenant TEXT NOT NULL, id TEXT NOT NULL, previous TEXT NOT NULL, conversation TEXT NOT NULL,
  created BIGINT NOT NULL, expires BIGINT NOT NULL, size BIGINT NOT NULL, body %[1]s NOT NULL, PRIMARY KEY (tenant, id));
CREATE INDEX callgate_responses_expires ON callgate_responses (tenant, expires);
CREATE TABLE callgate_conversations (tenant TEXT NOT NULL, id TEXT NOT NULL, created BIGINT NOT NULL, size BIGINT NOT NULL,
  metadata %[1]s NOT NULL, PRIMARY KEY (tenant, id));
CREATE TABLE callgate_items (place %[2]s, tenant TEXT NOT NULL, owner TEXT NOT NULL, part INTEGER NOT NULL, id TEXT NOT NULL,
  expires BIGINT NOT NULL, size BIGINT NOT NULL, body %[1]s NOT NULL);
CREATE INDEX callgate_items_owner ON callgate_items (tenant, owner, part, place);
CREATE INDEX callgate_items_id ON callgate_items (tenant, id, place);
CREATE TABLE callgate_locks (tenant TEXT NOT NULL, name TEXT NOT NULL, holder TEXT NOT NULL, until BIGINT NOT NULL, PRIMARY KEY (tenant, name));
`, d.Bytes, d.Serial),
		fmt.Sprintf(`
CREATE TABLE callgate_keys (kind TEXT NOT NULL, name TEXT NOT NULL, version BIGINT NOT NULL, body %s NOT NULL, PRIMARY KEY (kind, name));
CREATE TABLE callgate_keys_revision (revision BIGINT NOT NULL);
INSERT INTO callgate_keys_revision VALUES (1);
`, d.Bytes)}
}

// migrate brings the tables up to date. Several gateways may do so at once.
func (s *Store) migrate(ctx context.Context) error {
	return s.change(ctx, func(tx *tx) error {
		if s.d.Exclusive != "" {
			if _, err := tx.exec(s.d.Exclusive); err != nil {
				return err
			}
		}
		if _, err := tx.exec("CREATE TABLE IF NOT EXISTS callgate_migrations (done INTEGER NOT NULL)"); err != nil {
			return err
		}
		var done int
		if err := tx.one([]any{&done}, "SELECT count(*) FROM callgate_migrations"); err != nil {
			return err
		}
		steps := s.d.migrations()
		if done > len(steps) {
			return fmt.Errorf("its tables are of a newer version: %d steps, and this program knows %d; use the newer program", done, len(steps))
		}
		for i, step := range steps[done:] {
			if _, err := tx.exec(step); err != nil {
				return fmt.Errorf("migration %d: %w", done+i+1, err)
			}
			if _, err := tx.exec("INSERT INTO callgate_migrations VALUES ($1)", done+i+1); err != nil {
				return err
			}
		}
		return nil
	})
}
