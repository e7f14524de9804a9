package rows

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/callgate/callgate/gateway/store"
)

// How often a lock is asked for that another process has, and how often one's own is kept
// fresh.
const (
	firstWait = 10 * time.Millisecond
	longWait  = 250 * time.Millisecond
	freshen   = store.LockTime / 3
)

// Lock implements store.Keeper. A lock is a row that its holder keeps fresh. In one process
// those who want the same lock wait in memory, and one of them asks the database.
func (s *Store) Lock(ctx context.Context, tenant, name string) (release func(), err error) {
	unlock, err := s.local.Lock(ctx, tenant, name)
	if err != nil {
		return nil, err
	}
	holder := rand.Text()
	for wait := firstWait; ; wait = min(2*wait, longWait) {
		got, err := s.take(ctx, tenant, name, holder)
		if err != nil {
			unlock()
			return nil, err
		}
		if got {
			break
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			unlock()
			return nil, ctx.Err()
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.hold(ctx, tenant, name, holder)
	}()
	return func() {
		cancel()
		<-done
		unlock()
	}, nil
}

// take writes the row, unless somebody's is there that is fresh.
func (s *Store) take(ctx context.Context, tenant, name, holder string) (got bool, err error) {
	err = s.change(ctx, func(tx *tx) error {
		n, err := tx.exec(`INSERT INTO callgate_locks (tenant, name, holder, until) VALUES ($1, $2, $3, `+s.d.Now+` + $4)
			ON CONFLICT (tenant, name) DO UPDATE SET holder = excluded.holder, until = excluded.until
			WHERE callgate_locks.until < `+s.d.Now+` OR callgate_locks.holder = excluded.holder`, tenant, name, holder, store.LockTime.Milliseconds())
		got = n > 0
		return err
	})
	return got, err
}

// hold keeps the row fresh until ctx ends, then deletes it. What fails is tried again, and the log hears of it: a
// row that stays although nobody holds it any more is overwritten after LockTime, and so is one that could not be
// kept fresh for so long.
func (s *Store) hold(ctx context.Context, tenant, name, holder string) {
	tick := time.NewTicker(freshen)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			got, err := s.take(ctx, tenant, name, holder)
			switch {
			case ctx.Err() != nil:
			case err != nil:
				s.stale(err)
			case !got:
				s.o.Log.Warn("store: a lock is lost, since it could not be kept fresh: another request has it", "key", tenant, "of", name)
				s.fresh()
			default:
				s.fresh()
			}
		case <-ctx.Done():
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), freshen)
			defer cancel()
			if err := s.change(ctx, func(tx *tx) error {
				_, err := tx.exec("DELETE FROM callgate_locks WHERE tenant = $1 AND name = $2 AND holder = $3", tenant, name, holder)
				return err
			}); err != nil {
				s.o.Log.Warn("store: a lock stays until its time is up, since it could not be deleted", "key", tenant, "of", name, "for", store.LockTime.String(), "error", err)
			}
			return
		}
	}
}

// stale notes that locks cannot be kept fresh. The log hears of the first: there may be thousands, every few seconds.
func (s *Store) stale(err error) {
	if s.isStale.CompareAndSwap(false, true) {
		s.o.Log.Warn("store: locks cannot be kept fresh; others may take them", "after", store.LockTime.String(), "error", err)
	}
}

// fresh notes that they can be.
func (s *Store) fresh() {
	if s.isStale.Load() && s.isStale.CompareAndSwap(true, false) {
		s.o.Log.Info("store: locks are kept fresh again")
	}
}

// Locked implements store.Keeper.
func (s *Store) Locked(ctx context.Context, tenant, name string) (held bool, err error) {
	err = s.look(ctx, func(tx *tx) error {
		n := 0
		err := tx.one([]any{&n}, "SELECT count(*) FROM callgate_locks WHERE tenant = $1 AND name = $2 AND until >= "+s.d.Now, tenant, name)
		held = n > 0
		return err
	})
	return held, err
}
