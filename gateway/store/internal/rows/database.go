package rows

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/store"
)

// database is what a [Store] and a [Ledger] have in common: two handles to one database, which may be the
// same, and transactions on them.
type database struct {
	d           Dialect
	read, write *sql.DB
}

// Close closes the handles.
func (s *database) Close() error {
	err := s.write.Close()
	if s.read != s.write {
		err = errors.Join(s.read.Close(), err)
	}
	return s.d.Clean(err)
}

// attempts is how often a transaction is tried that others keep from its end.
const attempts = 10

// change runs a transaction that writes.
func (s *database) change(ctx context.Context, do func(tx *tx) error) error {
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
func (s *database) look(ctx context.Context, do func(tx *tx) error) error {
	return s.clean(s.transact(ctx, s.read, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead}, do))
}

func (s *database) transact(ctx context.Context, db *sql.DB, o *sql.TxOptions, do func(tx *tx) error) error {
	if o.ReadOnly && db != s.write {
		o = nil // SQLite: a transaction reads one state anyway
	}
	t, err := db.BeginTx(ctx, o)
	if err != nil {
		return err
	}
	own := &tx{tx: t, ctx: ctx}
	if err := do(own); err != nil {
		return errors.Join(err, t.Rollback())
	}
	if err := t.Commit(); err != nil {
		return err
	}
	for _, then := range own.then {
		then()
	}
	return nil
}

// clean leaves the store's own errors and contexts' ends as they are.
func (s *database) clean(err error) error {
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
	// then is done once it is committed: one that is rolled back, or tried again, has changed nothing.
	then []func()
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

// migrate brings the tables up to date; how many steps were done is in a table. Several gateways may do so at once.
func (s *database) migrate(ctx context.Context, table string, steps []string) error {
	return s.change(ctx, func(tx *tx) error {
		if s.d.Exclusive != "" {
			if _, err := tx.exec(s.d.Exclusive); err != nil {
				return err
			}
		}
		if _, err := tx.exec("CREATE TABLE IF NOT EXISTS " + table + " (done INTEGER NOT NULL)"); err != nil {
			return err
		}
		var done int
		if err := tx.one([]any{&done}, "SELECT count(*) FROM "+table); err != nil {
			return err
		}
		if done > len(steps) {
			return fmt.Errorf("its tables are of a newer version: %d steps, and this program knows %d; use the newer program", done, len(steps))
		}
		for i, step := range steps[done:] {
			if _, err := tx.exec(step); err != nil {
				return fmt.Errorf("migration %d: %w", done+i+1, err)
			}
			if _, err := tx.exec("INSERT INTO "+table+" VALUES ($1)", done+i+1); err != nil {
				return err
			}
		}
		return nil
	})
}
