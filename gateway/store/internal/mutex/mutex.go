// Package mutex has locks by name, within one process.
package mutex

import (
	"context"
	"sync"
)

// Set is a set of locks, each of a tenant and a name. The zero Set is ready for use.
type Set struct {
	guard sync.Mutex
	held  map[[2]string]*lock
}

// lock is one that somebody has or waits for.
type lock struct {
	free  chan struct{} // holds one value while nobody has it
	users int           // who have it or wait for it
}

// Lock waits until nobody has the lock, or until ctx ends. The caller calls release once.
func (l *Set) Lock(ctx context.Context, tenant, name string) (release func(), err error) {
	key := [2]string{tenant, name}
	l.guard.Lock()
	k := l.held[key]
	if l.held == nil {
		l.held = map[[2]string]*lock{}
	}
	if k == nil {
		k = &lock{free: make(chan struct{}, 1)}
		k.free <- struct{}{}
		l.held[key] = k
	}
	k.users++
	l.guard.Unlock()
	leave := func() {
		l.guard.Lock()
		defer l.guard.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, key)
		}
	}
	select {
	case <-k.free:
		return func() {
			k.free <- struct{}{}
			leave()
		}, nil
	case <-ctx.Done():
		leave()
		return nil, ctx.Err()
	}
}

// Locked reports whether somebody has the lock.
func (l *Set) Locked(_ context.Context, tenant, name string) (bool, error) {
	l.guard.Lock()
	defer l.guard.Unlock()
	k := l.held[[2]string{tenant, name}]
	return k != nil && len(k.free) == 0, nil
}
