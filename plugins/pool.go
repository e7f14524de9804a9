package plugins

import (
	"context"
	"errors"
	"sync"
)

// pool holds the instances of a module. It also knows when the last one is gone
// of a module that was replaced.
type pool struct {
	mu      sync.Mutex
	idle    []*instance
	leased  int
	retired bool
	emptied chan struct{} // closed when the module is retired and unused
}

// errRetired means that the module was replaced while it was looked up.
var errRetired = errors.New("the plugin was unloaded")

// acquire takes an instance, an idle one or a new one.
func (m *module) acquire(ctx context.Context) (*instance, error) {
	p := &m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	switch last := len(p.idle) - 1; {
	case p.retired:
		return nil, errRetired
	case last >= 0:
		in := p.idle[last]
		p.idle[last] = nil
		p.idle = p.idle[:last]
		p.leased++
		in.mem.begin()
		return in, nil
	case p.leased >= m.maxInstances:
		return nil, fail(KindBusy, "all %d instances are in use", m.maxInstances)
	}
	p.leased++
	p.mu.Unlock()
	in, err := m.newInstance(ctx)
	p.mu.Lock()
	if err != nil {
		m.returned()
	}
	return in, err
}

// release gives an instance back. It is kept if it can start another response.
func (m *module) release(ctx context.Context, in *instance) {
	keep := in.dead == nil && m.refresh(in)
	p := &m.pool
	p.mu.Lock()
	if keep = keep && !p.retired && len(p.idle) < m.maxIdle; keep {
		p.idle = append(p.idle, in)
	}
	p.mu.Unlock()
	if !keep {
		in.close(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	m.returned()
}

// returned counts an instance as returned. The pool is locked.
func (m *module) returned() {
	p := &m.pool
	p.leased--
	if p.retired && p.leased == 0 {
		close(p.emptied)
	}
}

// refresh prepares an instance for the next response and reports whether it is
// fit for one.
func (m *module) refresh(in *instance) bool {
	in.printed.reset()
	in.watch.total = nil // belongs to the session
	if m.isolation == IsolationPooled {
		// Memory never shrinks, so that an instance that one long response has
		// used would keep what it took.
		return len(in.mem.buf) <= m.snap.memory.size+int(in.mem.limit)/4
	}
	return in.reset(m.snap) == nil
}

// retire ends the use of the module. It is closed when the last response that
// uses it has ended; the channel tells when.
func (m *module) retire() <-chan struct{} {
	p := &m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.retired {
		p.retired = true
		if p.leased == 0 {
			close(p.emptied)
		}
	}
	return p.emptied
}

// instances counts the module's instances.
func (m *module) instances() (leased, idle int) {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	return m.pool.leased, len(m.pool.idle)
}

// close closes the instances that wait. None may be in use.
func (p *pool) close(ctx context.Context) {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, in := range idle {
		in.close(ctx)
	}
}
