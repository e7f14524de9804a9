package meter_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/callgate/callgate/plugins/meter"
)

const (
	i32  = 0x7f
	i64  = 0x7e
	void = 0x40
)

func uleb(v uint32) []byte {
	var o []byte
	for v >= 0x80 {
		o = append(o, byte(v)|0x80)
		v >>= 7
	}
	return append(o, byte(v))
}

func cat(parts ...[]byte) []byte { return slices.Concat(parts...) }

func bs(b ...byte) []byte { return b }

func sized(b []byte) []byte { return append(uleb(uint32(len(b))), b...) }

func vec(entries ...[]byte) []byte {
	return append(uleb(uint32(len(entries))), cat(entries...)...)
}

func sec(id byte, body []byte) []byte { return append([]byte{id}, sized(body)...) }

func custom(name string, body ...byte) []byte {
	return sec(0, append(sized([]byte(name)), body...))
}

func module(sections ...[]byte) []byte {
	return append([]byte("\x00asm\x01\x00\x00\x00"), cat(sections...)...)
}

func sig(params, results string) []byte {
	return cat(bs(0x60), sized([]byte(params)), sized([]byte(results)))
}

func types(sigs ...[]byte) []byte   { return sec(1, vec(sigs...)) }
func imports(imps ...[]byte) []byte { return sec(2, vec(imps...)) }
func funcs(types ...byte) []byte    { return sec(3, sized(types)) }
func globals(gs ...[]byte) []byte   { return sec(6, vec(gs...)) }
func exports(exps ...[]byte) []byte { return sec(7, vec(exps...)) }
func code(bodies ...[]byte) []byte  { return sec(10, vec(bodies...)) }
func data(segs ...[]byte) []byte    { return sec(11, vec(segs...)) }

// memory of one page, at most four.
func memory() []byte { return sec(5, vec(bs(1, 1, 4))) }

func imp(module, name string, desc ...byte) []byte {
	return cat(sized([]byte(module)), sized([]byte(name)), desc)
}

func exp(name string, desc ...byte) []byte { return cat(sized([]byte(name)), desc) }

// fn is a function without locals; end is appended.
func fn(instrs ...byte) []byte { return sized(cat(bs(0), instrs, bs(0x0b))) }

// fnLocals has locals of one type.
func fnLocals(n, t byte, instrs ...byte) []byte {
	return sized(cat(bs(1, n, t), instrs, bs(0x0b)))
}

// one is a module with memory and a single exported function "f".
func one(params, results string, body []byte) []byte {
	return module(types(sig(params, results)), funcs(0), memory(),
		exports(exp("f", 0, 0), exp("memory", 2, 0)), code(body))
}

// Types in signatures.
const (
	tI = "\x7f"
	tL = "\x7e"
	tF = "\x7d"
	tD = "\x7c"
)

const features = api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall | experimental.CoreFeaturesExtendedConst

func newRuntime(tb testing.TB) wazero.Runtime {
	tb.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().
		WithCoreFeatures(features).WithMemoryLimitPages(1024))
	tb.Cleanup(func() { _ = r.Close(ctx) })
	return r
}

var errTimeUp = errors.New("time is up")

// guest is a rewritten module that runs. Its yields are counted, and after limit
// of them time is up.
type guest struct {
	api.Module
	meta   *meter.Module
	refuel int32
	limit  int
	yields int
}

// run rewrites and instantiates a module and applies what was taken out of it.
// The original may import env.add, which is func(i32, i32) i32.
func run(t *testing.T, wasm []byte, fuel int32) *guest {
	t.Helper()
	m := rewrite(t, wasm, fuel)
	ctx := context.Background()
	r := newRuntime(t)
	g := &guest{meta: m, refuel: fuel, limit: 1 << 30}
	host := r.NewHostModuleBuilder(meter.HostModule)
	host.NewFunctionBuilder().WithFunc(func() int32 {
		if g.yields++; g.yields > g.limit {
			panic(errTimeUp)
		}
		return g.refuel
	}).Export(meter.HostYield)
	if _, err := host.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	env := r.NewHostModuleBuilder("env")
	env.NewFunctionBuilder().WithFunc(func(a, b int32) int32 { return a + b }).Export("add")
	if _, err := env.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	mod, err := r.InstantiateWithConfig(ctx, m.Wasm, wazero.NewModuleConfig().WithStartFunctions())
	if err != nil {
		t.Fatalf("instantiate: %v\n% x", err, m.Wasm)
	}
	g.Module = mod
	for _, s := range m.Segments {
		if !mod.Memory().Write(s.Offset, s.Data) {
			t.Fatalf("segment at %d cannot be written", s.Offset)
		}
	}
	return g
}

func rewrite(t *testing.T, wasm []byte, fuel int32) *meter.Module {
	t.Helper()
	m, err := meter.Rewrite(wasm, fuel)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (g *guest) call(t *testing.T, name string, args ...uint64) []uint64 {
	t.Helper()
	res, err := g.ExportedFunction(name).Call(context.Background(), args...)
	if err != nil {
		t.Fatalf("%s%v: %v", name, args, err)
	}
	return res
}

func (g *guest) fuel() int32 {
	return int32(g.ExportedGlobal(meter.FuelGlobal).Get())
}

// spent is what one call costs. Yield must not be reached.
func (g *guest) spent(t *testing.T, name string, args ...uint64) int32 {
	t.Helper()
	before, yields := g.fuel(), g.yields
	g.call(t, name, args...)
	if g.yields != yields {
		t.Fatalf("%s%v used up the fuel", name, args)
	}
	return before - g.fuel()
}
