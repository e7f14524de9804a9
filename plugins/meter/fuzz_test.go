package meter_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/callgate/callgate/plugins/meter"
)

// FuzzRewrite checks that nothing makes Rewrite panic, and that what it accepts is
// valid exactly if the original was: a rewriter must not break a module, and must
// not make one valid either, because what was out of range in it would then
// refer to what the rewriter added.
func FuzzRewrite(f *testing.F) {
	for _, seed := range fuzzSeeds() {
		f.Add(seed)
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().
		WithCoreFeatures(features).WithMemoryLimitPages(1024))
	f.Cleanup(func() { _ = r.Close(ctx) })
	compiles := func(wasm []byte) error {
		c, err := r.CompileModule(ctx, wasm)
		if err == nil {
			_ = c.Close(ctx)
		}
		return err
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		if len(wasm) > 4<<10 {
			t.Skip()
		}
		m, err := meter.Rewrite(wasm, 1000)
		if err != nil {
			return
		}
		// wazero reads sections that Rewrite drops, and allocates by what they say.
		if bytes.Contains(wasm, []byte("\x04name")) || bytes.Contains(wasm, []byte(".debug_")) {
			return
		}
		// It also fails on an empty custom section at the very end.
		before, after := compiles(cat(wasm, custom("end", 0))), compiles(m.Wasm)
		if before == nil && after != nil {
			t.Errorf("a valid module is not valid any more: %v", after)
		}
		if m.Start != "" && before != nil && strings.Contains(before.Error(), "undeclared function index") {
			return // the export of the start function declares it
		}
		if before != nil && after == nil {
			t.Errorf("a module that is not valid became so: %v", before)
		}
	})
}

func fuzzSeeds() [][]byte {
	return [][]byte{
		module(memory()),
		module(custom("empty"), memory()),
		one(tI, tI, sumLoop),
		one(tI, tI, recursion(0)),
		one(tI, tI, jumps{odd: []byte{1, 0, 2}, even: []byte{2, 2, 0}}.body()),
		one("", "", fn(0x12, 0)),
		one(tI, tI, fn(0x41, 0, 0x41, 5, 0x20, 0, 0xfc, 11, 0, 0x41, 4, 0x2d, 0, 0)),
		one(tI, tI, fn(0x20, 0, 0xfd, 0x11, 0xfd, 12, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0,
			0xfd, 0xae, 0x01, 0xfd, 27, 3)),
		one(tI, tI, fn(0x20, 0, 0x40, 0, 0x0e, 1, 0, 0)),
		one(tL+tF+tD, tI, fn(0x20, 0, 0xa7, 0x20, 1, 0xfc, 0, 0x6a, 0x20, 2, 0xfc, 2, 0x6a)),
		startWasm(sec(12, bs(1)), data(dataSegment(8, "Abc"))),
		startWasm(data(dataSegment(8, "Abc"), cat(bs(1), sized([]byte("xy"))))),
		indirectWasm,
		module(types(sig("", "")), imports(imp("env", "base", 3, i32, 0)), memory(),
			globals(bs(i32, 1, 0x23, 0, 0x41, 1, 0x6a, 0x0b)),
			data(cat(bs(0, 0x23, 0, 0x0b), sized([]byte("xy"))))),
	}
}
