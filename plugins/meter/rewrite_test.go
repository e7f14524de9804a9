package meter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/callgate/callgate/plugins/meter"
)

// sumLoop is func(n i32) i32: n + n-1 + ... + 1, for n > 0.
var sumLoop = fnLocals(1, i32,
	0x03, void, // loop
	0x20, 1, 0x20, 0, 0x6a, 0x21, 1, // sum += n
	0x20, 0, 0x41, 1, 0x6b, 0x22, 0, // n--
	0x0d, 0, // br_if 0
	0x0b,
	0x20, 1)

// recursion is func(n i32) i32 with index self: the same, calling itself.
func recursion(self byte) []byte {
	return fn(0x20, 0, 0x45, 0x04, i32, 0x41, 0, 0x05, // if n == 0: 0, else
		0x20, 0, 0x20, 0, 0x41, 1, 0x6b, 0x10, self, 0x6a, // n + f(n-1)
		0x0b)
}

func TestEndlessLoopsAreStopped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		wasm []byte
	}{
		{"loop", one("", "", fn(0x03, void, 0x0c, 0, 0x0b))},
		{"nested loop", one("", "", fn(0x03, void, 0x03, void, 0x0c, 1, 0x0b, 0x0b))},
		{"loop through br_table", one("", "", fn(0x03, void, 0x41, 0, 0x0e, 1, 0, 0, 0x0b))},
		{"tail call", one("", "", fn(0x12, 0))},
		{"indirect tail call", module(types(sig("", "")), funcs(0), sec(4, vec(bs(0x70, 0, 1))), memory(),
			exports(exp("f", 0, 0)), sec(9, vec(cat(bs(0, 0x41, 0, 0x0b), vec(bs(0))))),
			code(fn(0x41, 0, 0x13, 0, 0)))},
		{"calls", module(types(sig("", "")), funcs(0, 0), memory(), exports(exp("f", 0, 0)),
			code(fn(0x03, void, 0x10, 1, 0x0c, 0, 0x0b), fn()))},
		{"fill", one("", "", fn(0x03, void, 0x41, 0, 0x41, 0, 0x41, 0x80, 0x80, 4, 0xfc, 11, 0, 0x0c, 0, 0x0b))},
		{"grow", one("", "", fn(0x03, void, 0x41, 0, 0x40, 0, 0x1a, 0x0c, 0, 0x0b))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := run(t, tt.wasm, 1000)
			g.limit = 50
			_, err := g.ExportedFunction("f").Call(context.Background())
			if !errors.Is(err, errTimeUp) {
				t.Fatalf("got error %v, want %v", err, errTimeUp)
			}
			if g.yields != 51 {
				t.Errorf("got %d yields, want 51", g.yields)
			}
		})
	}
}

func TestCountsAndResults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		wasm   []byte
		arg    uint64
		want   uint64
		counts int32
	}{
		{"empty", one("", "", fn()), 0, 0, 1},
		{"loop", one(tI, tI, sumLoop), 100, 5050, 101},
		{"recursion", one(tI, tI, recursion(0)), 100, 5050, 101},
		{"loop with parameters", module(types(sig(tI, tI), sig(tI+tI, tI)), funcs(0), memory(), exports(exp("f", 0, 0)),
			// (0, n) loop (param i32 i32) (result i32): local0 = n; sum += n; n--.
			code(fn(0x41, 0, 0x20, 0, 0x03, 1,
				0x22, 0, 0x6a, 0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x20, 0, 0x0d, 0, 0x1a, 0x0b))), 100, 5050, 101},
		{"sign extension", one(tI, tI, fn(0x20, 0, 0xc0)), 0xff, 0xffffffff, 1},
		{"saturating truncation", one(tI, tI, fn(0x43, 0, 0, 0xc0, 0x7f, 0xfc, 0)), 7, 0, 1}, // NaN
		{"vector", one(tI, tI, fn(0x20, 0, 0xfd, 0x11, 0xfd, 12, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0,
			0xfd, 0xae, 0x01, 0xfd, 27, 3)), 5, 9, 1}, // splat + (1, 2, 3, 4), lane 3
		{"vector memory", one(tI, tI, fn(0x41, 0, 0x20, 0, 0xfd, 0x11, 0xfd, 11, 0, 0, 0x41, 4, 0xfd, 0, 0, 0,
			0xfd, 27, 0)), 5, 5, 1},
		{"typed select", one(tI, tI, fn(0x41, 7, 0x41, 9, 0x20, 0, 0x1c, 1, i32)), 0, 9, 1},
		{"memory.size", one("", tI, fn(0x3f, 0)), 0, 1, 1},
		{"memory.grow", one(tI, tI, fn(0x20, 0, 0x40, 0)), 2, 1, 1001},
		{"memory.fill", one(tI, tI, fn(0x41, 0, 0x41, 5, 0x20, 0, 0xfc, 11, 0, 0x41, 4, 0x2d, 0, 0)), 6400, 5, 101},
		{"memory.copy", one(tI, tI, fn(0x41, 0, 0x41, 8, 0x20, 0, 0xfc, 10, 0, 0, 0x41, 7)), 640, 7, 11},
		{"bulk beside locals", one(tI, tI, fnLocals(2, i64,
			0x42, 9, 0x21, 2, 0x41, 0, 0x41, 5, 0x20, 0, 0xfc, 11, 0, 0x20, 2, 0xa7)), 64, 9, 2},
		{"bulk in dead code", one(tI, tI, fn(0x41, 3, 0x0f, 0xfc, 11, 0, 0x00)), 64, 3, 1},
		{"long code", one(tI, tI, fn(cat(bytes.Repeat(bs(0x01), 10*1024), bs(0x20, 0))...)), 3, 3, 11},
		{"long loop", one(tI, tI, fn(cat(bs(0x03, i32), bytes.Repeat(bs(0x01), 3*1024), bs(0x20, 0, 0x0b))...)), 3, 3, 5},
		{"long loop in a loop", one(tI, tI, fn(cat(bs(0x03, i32, 0x03, i32), bytes.Repeat(bs(0x01), 3*1024),
			bs(0x20, 0, 0x0b, 0x0b))...)), 3, 3, 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := run(t, tt.wasm, 1<<20)
			var args []uint64
			if len(g.ExportedFunction("f").Definition().ParamTypes()) > 0 {
				args = append(args, tt.arg)
			}
			if got := g.spent(t, "f", args...); got != tt.counts {
				t.Errorf("spent %d counts, want %d", got, tt.counts)
			}
			g = run(t, tt.wasm, 3) // the result is the same when it yields often
			var got uint64
			if res := g.call(t, "f", args...); len(res) > 0 {
				got = res[0]
			}
			if got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
			if want := int(tt.counts / 4); tt.counts < 1000 && g.yields < min(want, 1) {
				t.Errorf("got %d yields of %d counts", g.yields, tt.counts)
			}
		})
	}
}

func TestYieldEveryFuelCounts(t *testing.T) {
	t.Parallel()
	g := run(t, one(tI, tI, sumLoop), 99)
	g.call(t, "f", 999) // 1000 counts, and a yield at every 100th
	if g.yields != 10 {
		t.Errorf("got %d yields, want 10", g.yields)
	}
}

func TestCounters(t *testing.T) {
	t.Parallel()
	m := rewrite(t, module(types(sig(tI, tI)), funcs(0, 0), memory(), code(sumLoop, recursion(1))), 10)
	if m.Loops != 1 || m.Funcs != 2 {
		t.Errorf("got %d loops and %d functions, want 1 and 2", m.Loops, m.Funcs)
	}
	if m.MinPages != 1 || m.MaxPages != 4 {
		t.Errorf("got %d to %d pages, want 1 to 4", m.MinPages, m.MaxPages)
	}
}

func TestGlobalsCanBeRestored(t *testing.T) {
	t.Parallel()
	// f adds 1 to globals 1 (i32) and 3 (i64), which are mutable.
	wasm := module(types(sig("", "")), funcs(0), memory(),
		globals(bs(i32, 0, 0x41, 1, 0x0b), bs(i32, 1, 0x41, 10, 0x0b),
			bs(0x70, 0, 0xd2, 0, 0x0b), bs(i64, 1, 0x42, 0x7f, 0x0b)),
		exports(exp("f", 0, 0), exp("mine", 3, 1)),
		code(fn(0x23, 1, 0x41, 1, 0x6a, 0x24, 1, 0x23, 3, 0x42, 1, 0x7c, 0x24, 3)))
	g := run(t, wasm, 100)
	if want := []string{"callgate_global_1", "callgate_global_3"}; !slices.Equal(g.meta.Globals, want) {
		t.Fatalf("got globals %q, want %q", g.meta.Globals, want)
	}
	for range 2 {
		g.call(t, "f")
		var saved []uint64
		for i, want := range []uint64{11, 0} {
			got := g.ExportedGlobal(g.meta.Globals[i]).Get()
			if got != want {
				t.Errorf("%s: got %d, want %d", g.meta.Globals[i], got, want)
			}
			saved = append(saved, got-1)
		}
		for i, name := range g.meta.Globals {
			g.ExportedGlobal(name).(api.MutableGlobal).Set(saved[i])
		}
	}
	if got := g.ExportedGlobal("mine").Get(); got != 10 {
		t.Errorf("the guest's own export of a global is %d, want 10", got)
	}
}

// dataSegment is an active segment.
func dataSegment(offset byte, text string) []byte {
	return cat(bs(0, 0x41, offset, 0x0b), sized([]byte(text)))
}

// startWasm has a start function that doubles byte 8, which is 'A' from a data
// segment; f reads it.
func startWasm(sections ...[]byte) []byte {
	return module(types(sig("", ""), sig("", tI)), funcs(0, 1), memory(),
		exports(exp("f", 0, 1), exp("memory", 2, 0)), sec(8, bs(0)),
		cat(sections[:len(sections)-1]...),
		code(fn(0x41, 8, 0x41, 8, 0x2d, 0, 0, 0x41, 1, 0x74, 0x3a, 0, 0), fn(0x41, 8, 0x2d, 0, 0)),
		sections[len(sections)-1])
}

func TestSegmentsAndStartAreTakenOut(t *testing.T) {
	t.Parallel()
	wasm := startWasm(sec(12, bs(3)), data(dataSegment(8, "Abc"), dataSegment(1, ""),
		cat(bs(2, 0), bs(0x41, 0x80, 0x80, 2, 0x0b), sized([]byte("far")))))
	g := run(t, wasm, 100)
	if !g.meta.Stripped || g.meta.Start != meter.StartFunc {
		t.Fatalf("got stripped %v, start %q", g.meta.Stripped, g.meta.Start)
	}
	want := []meter.Segment{{8, []byte("Abc")}, {1, []byte{}}, {0x8000, []byte("far")}}
	if fmt.Sprint(g.meta.Segments) != fmt.Sprint(want) {
		t.Errorf("got segments %v, want %v", g.meta.Segments, want)
	}
	if got := g.call(t, "f")[0]; got != 'A' {
		t.Errorf("before start: got %d, want %d", got, 'A')
	}
	g.call(t, g.meta.Start)
	if got := g.call(t, "f")[0]; got != 2*'A' {
		t.Errorf("after start: got %d, want %d", got, 2*'A')
	}
	clear(wasm)
	if !bytes.Equal(g.meta.Segments[0].Data, []byte("Abc")) {
		t.Error("segments share memory with the input")
	}
}

func TestSegmentsAndStartAreLeftIn(t *testing.T) {
	t.Parallel()
	passive := cat(bs(1), sized([]byte("xy")))
	tests := []struct {
		name     string
		sections [][]byte
	}{
		{"passive segment", [][]byte{data(dataSegment(8, "Abc"), passive)}},
		{"extended offset", [][]byte{data(cat(bs(0, 0x41, 4, 0x41, 4, 0x6a, 0x0b), sized([]byte("A"))))}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := run(t, startWasm(tt.sections...), 100)
			if g.meta.Stripped || g.meta.Start != "" || g.meta.Segments != nil {
				t.Fatalf("got stripped %v, start %q, segments %v", g.meta.Stripped, g.meta.Start, g.meta.Segments)
			}
			if got := g.call(t, "f")[0]; got != 2*'A' {
				t.Errorf("got %d, want %d", got, 2*'A')
			}
		})
	}
}

func TestOffsetInGlobal(t *testing.T) {
	t.Parallel()
	m := rewrite(t, module(types(sig("", "")), imports(imp("env", "base", 3, i32, 0)), memory(),
		data(cat(bs(0, 0x23, 0, 0x0b), sized([]byte("xy"))))), 100)
	if m.Stripped || m.Segments != nil || !bytes.Contains(m.Wasm, []byte("xy")) {
		t.Errorf("a segment with an offset that is not known was taken out")
	}
}

func TestMemoryInit(t *testing.T) {
	t.Parallel()
	// f(n) copies n bytes of segment 0 to 8 and returns byte 8. An
	// active segment is empty once the module is instantiated.
	text := sized(bytes.Repeat([]byte("q"), 128))
	tests := []struct {
		name    string
		segment []byte
		n, want uint64
		counts  int32
	}{
		{"active", cat(bs(0, 0x41, 0, 0x0b), text), 0, 'q', 1},
		{"passive", cat(bs(1), text), 128, 'q', 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := run(t, module(types(sig(tI, tI)), funcs(0), memory(),
				exports(exp("f", 0, 0)), sec(12, bs(1)),
				code(fn(0x41, 8, 0x41, 0, 0x20, 0, 0xfc, 8, 0, 0, 0x41, 8, 0x2d, 0, 0)),
				data(tt.segment)), 100)
			if g.meta.Stripped || g.meta.Segments != nil {
				t.Error("segments were taken out")
			}
			if got := g.spent(t, "f", tt.n); got != tt.counts {
				t.Errorf("spent %d, want %d", got, tt.counts)
			}
			if got := g.call(t, "f", tt.n)[0]; got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// indirectWasm has all kinds of references to functions. Function 0 is imported; 1 and 2 give 1 and 2; 3 is f(i) = table 0 [i](),
// 4 is g(i) = table 1 [i](); 5 calls 0 with results of 1 and 2.
var indirectWasm = func() []byte {
	expr := func(f byte) []byte { return bs(0xd2, f, 0x0b) }
	at := func(i byte) []byte { return bs(0x41, i, 0x0b) }
	return module(
		types(sig("", tI), sig(tI, tI), sig(tI+tI, tI)),
		imports(imp("env", "add", 0, 2)),
		funcs(0, 0, 1, 1, 0),
		sec(4, vec(bs(0x70, 0, 4), bs(0x70, 1, 4, 8))),
		memory(),
		globals(cat(bs(0x70, 0), expr(2))),
		exports(exp("f", 0, 3), exp("g", 0, 4), exp("h", 0, 5), exp("table", 1, 1), exp("memory", 2, 0), exp("global", 3, 0)),
		sec(9, vec(
			cat(bs(0), at(0), vec(bs(2), bs(1))),
			cat(bs(1, 0), vec(bs(1))),
			cat(bs(2, 1), at(0), bs(0), vec(bs(1), bs(2))),
			cat(bs(3, 0), vec(bs(1), bs(2))),
			cat(bs(4), at(2), vec(expr(1), expr(2))),
			cat(bs(5, 0x70), vec(expr(1), bs(0xd0, 0x70, 0x0b))),
			cat(bs(6, 1), at(2), bs(0x70), vec(expr(2), expr(1))),
			cat(bs(7, 0x70), vec(expr(1))),
		)),
		code(fn(0x41, 1), fn(0x41, 2),
			fn(0x20, 0, 0x11, 0, 0), fn(0x20, 0, 0x11, 0, 1),
			fn(0xd2, 1, 0xd1, 0x1a, 0x41, 0, 0x25, 0, 0xd1, 0x1a, 0xfc, 16, 1, 0x1a, 0xfc, 13, 1,
				0x10, 1, 0x10, 2, 0x10, 0)),
		custom("name", 1, 2, 3), custom(".debug_info"), custom("callgate.manifest", '{', '}'))
}()

func TestFunctionIndexesAreShifted(t *testing.T) {
	t.Parallel()
	g := run(t, indirectWasm, 100)
	for name, want := range map[string][]uint64{"f": {2, 1, 1, 2}, "g": {1, 2, 2, 1}} {
		for i, w := range want {
			if got := g.call(t, name, uint64(i))[0]; got != w {
				t.Errorf("%s(%d): got %d, want %d", name, i, got, w)
			}
		}
	}
	if got := g.call(t, "h")[0]; got != 3 {
		t.Errorf("h: got %d, want 3", got)
	}
	if bytes.Contains(g.meta.Wasm, []byte("\x04name")) || bytes.Contains(g.meta.Wasm, []byte(".debug_")) {
		t.Error("sections that describe the code were kept")
	}
	if !bytes.Contains(g.meta.Wasm, custom("callgate.manifest", '{', '}')) {
		t.Error("the custom section was not kept")
	}
}
