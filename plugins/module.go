package plugins

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/callgate/callgate/plugins/meter"
	"github.com/callgate/callgate/sdk/abi"
)

// module is a loaded plugin. Its program, with the runtime in it, is its own, so that closing
// one plugin closes nothing of another; but hosts share that of a trusted module.
type module struct {
	*program

	name         string // Source.Name
	from         string // CodeKept and the like
	limits       Limits
	isolation    string
	maxIdle      int
	maxInstances int
	log          *slog.Logger
	parsers      []*parser
	byName       map[string]*parser

	grant    atomic.Int32 // fuel that instances begin with if its counts take long, else 0
	pool     pool
	tables   int // that hold it; under the host's lock
	loadTime time.Duration
}

// ModuleInfo describes a loaded module.
type ModuleInfo struct {
	Plugin      string        `json:"plugin"` // Source.Name
	Manifest    abi.Manifest  `json:"manifest"`
	SHA256      string        `json:"sha256"`
	Size        int           `json:"size"`
	Exports     []string      `json:"exports"`
	Imports     []string      `json:"imports"`
	MinPages    int           `json:"min_pages"` // of memory, as declared
	MaxPages    int           `json:"max_pages"` // 0 if none was declared
	Pages       int           `json:"pages"`     // that an instance begins with
	Loops       int           `json:"metered_loops"`
	Funcs       int           `json:"metered_functions"`
	Load        time.Duration `json:"load_ns"`
	Compile     time.Duration `json:"compile_ns"`     // of Load
	Code        string        `json:"code"`           // where it was compiled: CodeKept and the like
	InUse       int           `json:"instances"`      // that responses have
	Idle        int           `json:"instances_idle"` // that wait
	CopyOnWrite bool          `json:"copy_on_write"`  // instances share the memory that they begin with
}

// loadModule does all the work of Host.Load that does not need other modules.
func loadModule(ctx context.Context, src Source, cfg Config, store *codeStore) (*module, error) {
	start := time.Now()
	if reason := checkSize(src.Wasm); reason != "" {
		return nil, &LoadError{Plugin: src.Name, Reason: reason}
	}
	m := &module{
		name: src.Name, limits: cfg.Limits, isolation: cfg.Isolation, maxIdle: cfg.Idle, maxInstances: cfg.MaxInstances,
		log: cfg.Log, pool: pool{emptied: make(chan struct{})},
	}
	if err := m.obtain(ctx, src, store); err != nil {
		return nil, err
	}
	m.byName = map[string]*parser{}
	for i := range m.manifest.Parsers {
		p := newParser(m, i, cfg)
		m.parsers = append(m.parsers, p)
		m.byName[p.Name] = p
	}
	m.loadTime = time.Since(start)
	return m, nil
}

// obtain gives the module its program: a new one, or that of a trusted module which another
// host has loaded from the same directory with the same limits.
func (m *module) obtain(ctx context.Context, src Source, store *codeStore) (err error) {
	key := programKey{sha256.Sum256(src.Wasm), store.dir, m.limits}
	if !src.Trusted {
		m.program = newProgram(key)
		return m.make(ctx, src, store)
	}
	p, mine, err := shared.enter(ctx, key)
	if err != nil {
		return &LoadError{Plugin: src.Name, Reason: "it was given up", Err: err}
	}
	if m.program = p; !mine {
		m.from = CodeShared
		return nil
	}
	good := false
	defer func() { shared.finish(p, good) }()
	err = m.make(ctx, src, store)
	good = err == nil
	return err
}

// make makes the module's program. If it fails, the module is closed.
func (m *module) make(ctx context.Context, src Source, store *codeStore) error {
	refuse := func(reason string, err error) error {
		m.close(ctx)
		return &LoadError{Plugin: src.Name, Reason: reason, Err: err}
	}
	var err error
	if m.summary, err = meter.Inspect(src.Wasm, abi.ManifestSection); err != nil {
		return refuse(whyNotRead(err), err)
	}
	if reason := checkModule(m.summary); reason != "" {
		return refuse(reason, nil)
	}
	if m.rewritten, err = meter.Rewrite(src.Wasm, fuel); err != nil {
		return refuse(whyNotMetered(err), err)
	}
	if reason := checkMemory(m.rewritten, m.limits); reason != "" {
		return refuse(reason, nil)
	}
	m.size = len(src.Wasm)
	if err := m.build(ctx, store, src.Trusted); err != nil {
		if _, ok := errors.AsType[*compileError](err); ok {
			return refuse("it cannot be compiled", err)
		}
		return refuse("it cannot be started", err)
	}
	return nil
}

// build compiles the module and makes its template.
func (m *module) build(ctx context.Context, store *codeStore, trusted bool) (err error) {
	start := time.Now()
	if m.code, err = store.open(ctx, m.rewritten.Wasm, trusted); err != nil {
		return err
	}
	// The memory is bounded by its allocator, which knows when it refused some.
	m.runtime = wazero.NewRuntimeWithConfig(ctx, runtimeConfig(m.code.cache))
	if m.compiled, err = m.code.compile(ctx, m.runtime, m.rewritten.Wasm); err != nil {
		return err
	}
	m.compileTime, m.from = time.Since(start), m.code.from
	if err := instantiateWASI(ctx, m.runtime); err != nil {
		return err
	}
	_, err = m.runtime.NewHostModuleBuilder(meter.HostModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(yield), nil, []api.ValueType{api.ValueTypeI32}).
		Export(meter.HostYield).Instantiate(ctx)
	if err != nil {
		return err
	}
	m.rewritten.Wasm = nil
	if err := m.makeTemplate(ctx); err != nil {
		return err
	}
	m.rewritten.Segments = nil
	return nil
}

// close ends everything of the module. Nothing of it may be in use.
func (m *module) close(ctx context.Context) {
	m.pool.close(ctx)
	shared.leave(ctx, m.program)
}

func (m *module) info() ModuleInfo {
	i := ModuleInfo{
		Plugin: m.name, Manifest: m.manifest, SHA256: m.sha256, Size: m.size,
		Exports: m.summary.Order, MinPages: int(m.rewritten.MinPages), MaxPages: int(m.rewritten.MaxPages),
		Pages: m.snap.memory.size >> 16, Loops: m.rewritten.Loops, Funcs: m.rewritten.Funcs,
		Load: m.loadTime, CopyOnWrite: m.snap.memory.pages != nil, Code: m.from,
	}
	if m.from != CodeShared {
		i.Compile = m.compileTime
	}
	for _, imp := range m.summary.Imports {
		i.Imports = append(i.Imports, imp.Module+"."+imp.Name)
	}
	i.InUse, i.Idle = m.instances()
	return i
}
