// Package plugins runs parser plugins: WebAssembly modules that turn a model's
// text into events (package sdk/abi is the contract).
//
// A Host loads modules and keeps them apart. A Session is one response's use of
// them: it takes an instance of a module when it first needs it and gives it back
// at its end, reset to the state it had before. A Run is one region of the text in
// the hands of one parser.
//
// A plugin is not trusted. Its time, memory and output are bounded, what comes out
// of it is checked, and an instance that did anything wrong is thrown away. A
// parser that fails in several responses in a row is quarantined. Nothing that a
// plugin does affects another one, or closes a runtime.
package plugins

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Host holds the loaded plugins. Its methods may be called from several
// goroutines at once.
type Host struct {
	cfg    Config
	cache  *codeCache
	table  atomic.Pointer[table]
	mu     sync.Mutex // of changes to the table
	closed bool
	busy   sync.WaitGroup // loads, and modules that are still in use after the table
}

// table is what is loaded. It is replaced as a whole.
type table struct {
	modules []*module
	byName  map[string]*parser
}

// New makes a host without plugins.
func New(_ context.Context, cfg Config) (*Host, error) {
	cfg = cfg.withDefaults()
	if cfg.Isolation != IsolationReset && cfg.Isolation != IsolationPooled {
		return nil, fmt.Errorf("isolation is %q, want %q or %q", cfg.Isolation, IsolationReset, IsolationPooled)
	}
	cache, err := openCache(cfg.CacheDir, cfg.Log)
	if err != nil {
		return nil, err
	}
	h := &Host{cfg: cfg, cache: cache}
	h.table.Store(&table{})
	return h, nil
}

// Load checks a module and makes its parsers available. A loaded module with the
// same Source.Name is replaced by it: responses that have begun keep the old one.
// Compiling may take seconds, during which other plugins work. A module that is
// not fit is refused with a *LoadError.
func (h *Host) Load(ctx context.Context, src Source) error {
	if !h.beginLoad() {
		return &LoadError{Plugin: src.Name, Reason: "the host is closed"}
	}
	defer h.busy.Done()
	m, err := loadModule(ctx, src, h.cfg, h.cache)
	if err != nil {
		return err
	}
	old, err := h.add(m)
	if err != nil {
		m.close(ctx)
		return err
	}
	if old != nil {
		h.closeUnused(old)
	}
	h.cfg.Log.Info("plugin loaded", "plugin", m.name, "version", m.manifest.Version,
		"parsers", len(m.parsers), "took", m.loadTime, "replaced", old != nil)
	return nil
}

// beginLoad makes Close wait for the load, which needs the cache.
func (h *Host) beginLoad() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.busy.Add(1)
	}
	return !h.closed
}

// add puts a module into the table and returns the one that it replaces.
func (h *Host) add(m *module) (old *module, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, &LoadError{Plugin: m.name, Reason: "the host is closed"}
	}
	next := &table{modules: slices.Clone(h.table.Load().modules)}
	if i := slices.IndexFunc(next.modules, func(o *module) bool { return o.name == m.name }); i >= 0 {
		old, next.modules[i] = next.modules[i], m
	} else {
		next.modules = append(next.modules, m)
	}
	next.byName = map[string]*parser{}
	for _, mod := range next.modules {
		for name, p := range mod.byName {
			if other := next.byName[name]; other != nil {
				taken := other
				if other.mod == m {
					taken = p
				}
				return nil, &LoadError{
					Plugin: m.name,
					Reason: fmt.Sprintf("parser name %q is taken by plugin %s", name, taken.mod.name),
				}
			}
			next.byName[name] = p
		}
	}
	h.table.Store(next)
	return old, nil
}

// closeUnused closes a module when the last response that uses it has ended.
func (h *Host) closeUnused(m *module) {
	unused := m.retire()
	h.busy.Go(func() {
		<-unused
		m.close(context.Background())
	})
}

// Parsers returns all loaded parsers, those with the highest priority first.
func (h *Host) Parsers() []Info {
	var infos []Info
	for _, m := range h.table.Load().modules {
		for _, p := range m.parsers {
			infos = append(infos, p.info())
		}
	}
	slices.SortFunc(infos, func(a, b Info) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.Name, b.Name))
	})
	return infos
}

// Modules returns all loaded modules in the order they were first loaded.
func (h *Host) Modules() []ModuleInfo {
	var infos []ModuleInfo
	for _, m := range h.table.Load().modules {
		infos = append(infos, m.info())
	}
	return infos
}

// Session begins a response. It costs nothing until a parser is used.
func (h *Host) Session() *Session {
	s := &Session{host: h}
	s.leases = s.first[:0]
	return s
}

// Close takes all plugins out and waits until the sessions that use them have
// ended, or until ctx has.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	modules := h.table.Swap(&table{}).modules
	h.closed = true
	h.mu.Unlock()
	for _, m := range modules {
		h.closeUnused(m)
	}
	done := make(chan error, 1)
	go func() {
		h.busy.Wait()
		done <- h.cache.code.Close(context.WithoutCancel(ctx))
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("plugins are still in use: %w", ctx.Err())
	}
}
