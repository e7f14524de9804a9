package plugins

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/callgate/callgate/plugins/meter"
	"github.com/callgate/callgate/sdk/abi"
)

// What a guest has for its start, which is more than for a response: it happens
// once, and a runtime with a garbage collector does a lot of work in it.
const (
	bootCall  = 2 * time.Second
	bootTotal = 5 * time.Second
)

func checkMemory(m *meter.Module, l Limits) string {
	if need := int64(m.MinPages) << 16; need > int64(l.Memory) {
		return fmt.Sprintf("it needs %d bytes of memory, the limit is %d", need, l.Memory)
	}
	return ""
}

func checkSize(wasm []byte) string {
	if len(wasm) > MaxModule {
		return fmt.Sprintf("it has %d bytes, the limit is %d", len(wasm), MaxModule)
	}
	return ""
}

// whyNotRead is whyNotMetered for an error of meter.Inspect.
func whyNotRead(err error) string {
	if e, ok := errors.AsType[*meter.Error](err); ok && e.Heavy {
		return "it is too much to compile"
	}
	return "it is not a valid WebAssembly module"
}

// whyNotMetered is the reason of a *LoadError of which err is the rest.
func whyNotMetered(err error) string {
	if e, ok := errors.AsType[*meter.Error](err); ok && e.Heavy {
		return "it is too much to compile"
	}
	return "fuel cannot be counted in its code"
}

// makeTemplate runs the start of the module in a first instance and takes the
// snapshot that all others begin with.
func (m *module) makeTemplate(ctx context.Context) error {
	in, err := m.boot(ctx)
	if err != nil {
		return err
	}
	in.setTime(limitedTime{m.limits.Time, bootTotal, new(time.Duration)})
	m.warmUp(ctx, in)
	if in.dead != nil {
		// The sample broke it. Without the warm-up the parser may still be of use.
		m.log.Warn("plugin failed on the sample that warms it up",
			"plugin", m.name, "error", in.dead, "output", in.printed.String())
		in.close(ctx)
		if in, err = m.boot(ctx); err != nil {
			return err
		}
	}
	if m.snap, err = in.take(); err != nil {
		in.close(ctx)
		return err
	}
	in.restoreRest(m.snap)
	in.printed.reset()
	m.pool.idle = append(m.pool.idle, in)
	return nil
}

// newInstance makes an instance from the snapshot.
func (m *module) newInstance(ctx context.Context) (*instance, error) {
	in, err := newInstance(ctx, m, bootTime())
	if err != nil {
		return nil, err
	}
	if err := in.adopt(m.snap); err != nil {
		in.close(ctx)
		return nil, err
	}
	return in, nil
}

func bootTime() limitedTime { return limitedTime{bootCall, bootTotal, new(time.Duration)} }

// boot makes an instance by the module's own start.
func (m *module) boot(ctx context.Context) (*instance, error) {
	in, err := newInstance(ctx, m, bootTime())
	if err != nil {
		return nil, err
	}
	if err := m.start(ctx, in); err != nil {
		in.close(ctx)
		return nil, &startError{err, in.printed.String()}
	}
	return in, nil
}

// startError is why a module did not start, in one line, with the first that it printed:
// what a panic says, for one.
type startError struct {
	err     error
	printed string
}

// Error implements error.
func (e *startError) Error() string {
	what, _, _ := strings.Cut(e.err.Error(), "\n") // wazero's errors go on with a stack trace
	if said, _, _ := strings.Cut(e.printed, "\n"); said != "" {
		what += "; it printed: " + shown(said)
	}
	return what
}

// Unwrap returns the cause.
func (e *startError) Unwrap() error { return e.err }

func (m *module) start(ctx context.Context, in *instance) error {
	for _, seg := range m.rewritten.Segments {
		if !in.linear.Write(seg.Offset, seg.Data) {
			return errors.New("a data segment lies outside of the memory")
		}
	}
	for _, name := range []string{m.rewritten.Start, abi.ExportInitialize} {
		if fn := in.wasm.ExportedFunction(name); name != "" && fn != nil {
			if _, err := in.call(ctx, fn); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	if m.manifest.ABI == 0 { // it was not read by an earlier start
		b, err := m.manifestBytes(ctx, in)
		if err == nil {
			m.manifest, err = parseManifest(b)
		}
		if err != nil {
			m.manifest = abi.Manifest{}
			return fmt.Errorf("manifest: %w", err)
		}
	}
	return in.allocate(ctx, abi.MaxFeed)
}

// manifestBytes returns the manifest, valid until the next call.
func (m *module) manifestBytes(ctx context.Context, in *instance) ([]byte, error) {
	if m.summary.Custom != nil {
		return m.summary.Custom, nil
	}
	v, err := in.call(ctx, in.wasm.ExportedFunction(abi.ExportManifest))
	if err != nil {
		return nil, err
	}
	return in.result(v)
}
