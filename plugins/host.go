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
	code   *codeStore
	table  atomic.Pointer[table]
	mu     sync.Mutex // of changes to the table
	closed bool
	busy   sync.WaitGroup // loads, and tables that are still in use
}

// New makes a host without plugins.
func New(_ context.Context, cfg Config) (*Host, error) {
	cfg = cfg.withDefaults()
	if cfg.Isolation != IsolationReset && cfg.Isolation != IsolationPooled {
		return nil, fmt.Errorf("isolation is %q, want %q or %q", cfg.Isolation, IsolationReset, IsolationPooled)
	}
	code, err := openStore(&cfg)
	if err != nil {
		return nil, err
	}
	h := &Host{cfg: cfg, code: code}
	h.busy.Add(1)
	h.table.Store(newTable(0, nil))
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
	m, err := loadModule(ctx, src, h.cfg, h.code)
	if err != nil {
		return err
	}
	if src.Await != nil {
		src.Await(ctx)
	}
	if err := ctx.Err(); err != nil { // nobody wants it any more
		m.close(context.WithoutCancel(ctx))
		return &LoadError{Plugin: m.name, Reason: "it was given up", Err: err}
	}
	replaced, err := h.add(m, src.Accept)
	if err != nil {
		m.close(ctx)
		return err
	}
	h.cfg.Log.Info("plugin loaded", "plugin", m.name, "version", m.manifest.Version,
		"parsers", len(m.parsers), "took", m.loadTime, "replaced", replaced)
	return nil
}

// Unload takes the module of that Source.Name out, unless accept is against it: it is told
// the parsers that are left, and may be nil. Responses that have begun keep the module.
// Whether there was one is the first result.
func (h *Host) Unload(name string, accept func(left []Info) error) (bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	modules := h.table.Load().modules
	i := slices.IndexFunc(modules, func(m *module) bool { return m.name == name })
	if h.closed || i < 0 {
		return false, nil
	}
	next := newTable(h.table.Load().version+1, slices.Delete(slices.Clone(modules), i, i+1))
	if accept != nil {
		if err := accept(next.parsers()); err != nil {
			return true, err
		}
	}
	h.use(next)
	h.cfg.Log.Info("plugin unloaded", "plugin", name)
	return true, nil
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

// add puts a module into the table and says whether it replaces another one.
func (h *Host) add(m *module, accept func([]Info) error) (replaced bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false, &LoadError{Plugin: m.name, Reason: "the host is closed"}
	}
	modules := slices.Clone(h.table.Load().modules)
	if i := slices.IndexFunc(modules, func(o *module) bool { return o.name == m.name }); i >= 0 {
		modules[i], replaced = m, true
	} else {
		modules = append(modules, m)
	}
	next := newTable(h.table.Load().version+1, modules)
	if name, with, taken := next.collision(m); taken {
		return false, &LoadError{Plugin: m.name, Reason: fmt.Sprintf("parser name %q is taken by plugin %s", name, with), Others: true}
	}
	if accept != nil {
		if err := accept(next.parsers()); err != nil {
			return false, &LoadError{Plugin: m.name, Reason: "it cannot take over", Err: err, Others: true}
		}
	}
	h.use(next)
	return replaced, nil
}

// use makes a table the one for new sessions. The host is locked.
func (h *Host) use(next *table) {
	h.busy.Add(1)
	for _, m := range next.modules {
		m.tables++
	}
	h.release(h.table.Swap(next))
}

// release gives up one use of a table. With the last one it closes the modules that are in
// no other table. The host may be locked or not.
func (h *Host) release(t *table) {
	if t.users.Add(-1) > 0 { // it was not the last
		return
	}
	go func() { // owned by busy
		defer h.busy.Done()
		h.mu.Lock()
		var gone []*module
		for _, m := range t.modules {
			if m.tables--; m.tables == 0 {
				gone = append(gone, m)
			}
		}
		h.mu.Unlock()
		for _, m := range gone {
			<-m.retire()
			m.close(context.Background())
		}
	}()
}

// Parsers returns all loaded parsers, those with the highest priority first.
func (h *Host) Parsers() []Info {
	return h.table.Load().parsers()
}

// Reset ends the quarantine of the parser of a name, and says whether there is one.
func (h *Host) Reset(parser string) bool {
	p := h.table.Load().byName[parser]
	if p != nil {
		p.breaker.Reset("reset by the operator")
	}
	return p != nil
}

// Modules returns all loaded modules in the order they were first loaded.
func (h *Host) Modules() []ModuleInfo {
	var infos []ModuleInfo
	for _, m := range h.table.Load().modules {
		infos = append(infos, m.info())
	}
	return infos
}

// Fingerprint stands for the code of all modules that are loaded now, see
// [Session.Fingerprint].
func (h *Host) Fingerprint() string { return h.table.Load().fingerprint }

// Session begins a response, which keeps to the plugins that are loaded now. It costs
// little until a parser is used.
func (h *Host) Session() *Session {
	t := h.table.Load()
	for !t.enter() { // it was just replaced
		t = h.table.Load()
	}
	s := &Session{host: h, table: t}
	s.leases = s.first[:0]
	return s
}

// Close takes all plugins out and waits until the sessions that use them have
// ended, or until ctx has.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		h.release(h.table.Swap(newTable(h.table.Load().version+1, nil)))
	}
	h.mu.Unlock()
	done := make(chan struct{})
	go func() {
		h.busy.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("plugins are still in use: %w", ctx.Err())
	}
}
