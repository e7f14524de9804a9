package meter_test

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/plugins/meter"
	"github.com/callgate/callgate/plugins/pluginstest"
)

// TestCompileBombIsWeighed has modules that a compiler takes seconds to hours for: each is
// refused by its figures, with the figure and the limit in one line.
func TestCompileBombIsWeighed(t *testing.T) {
	t.Parallel()
	for _, tt := range pluginstest.CompileBombs() {
		t.Run(tt.Name, func(t *testing.T) {
			t.Parallel()
			_, err := meter.Rewrite(tt.Wasm, 1000)
			e, ok := errors.AsType[*meter.Error](err)
			if !ok || !e.Heavy || !strings.Contains(e.Msg, tt.Want) || strings.Contains(e.Msg, "\n") {
				t.Errorf("got %v, want %q", err, tt.Want)
			}
		})
	}
}

// TestLongLists has modules of 4 MB that are hundreds of megabytes in the memory of who reads them, entry by
// entry. Other tests are not at work meanwhile: it counts bytes.
func TestLongLists(t *testing.T) { //nolint:paralleltest // as it says
	const million = 1_000_000
	names := make([]byte, 0, 6*million)
	for i := range million {
		names = append(names, 3, byte(i>>16), byte(i>>8), byte(i), 0, 0)
	}
	list := func(id byte, n int, entries []byte) []byte { return sec(id, cat(uleb(uint32(n)), entries)) }
	repeated := func(id byte, n int, entry ...byte) []byte { return list(id, n, bytes.Repeat(entry, n)) }
	wide := types(sig(strings.Repeat("\x6f", 32), strings.Repeat("\x6f", 32)))
	tests := []struct {
		name string
		wasm []byte
		want string
	}{
		{"exports", module(wide, funcs(0), memory(), list(7, million, names)), "1000000 exports, the limit is "},
		{"imports", module(wide, repeated(2, million, 0, 0, 0, 0)), "1000000 imports, the limit is "},
		{"types", module(repeated(1, million, 0x60, 0, 0)), "1000000 types, the limit is "},
		{"functions", module(types(sig("", "")), repeated(3, 4*million, 0)), "4000000 functions, the limit is "},
		{"data", module(memory(), repeated(11, million, 0, 0x41, 0, 0x0b, 0)), "1000000 data segments, the limit is "},
		{"elements", module(memory(), repeated(9, million, 5, 0x70, 0)), "1000000 element segments, the limit is "},
		{"custom sections", module(memory(), bytes.Repeat(sec(0, bs(0)), million)), "more than 1000 custom sections"},
		{"types in many sections", module(bytes.Repeat(repeated(1, 100_000, 0x60, 0, 0), 10)), "second type section"},
	}
	for _, tt := range tests { //nolint:paralleltest // as it says
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, inspected := meter.Inspect(tt.wasm, "manifest")
			_, rewritten := meter.Rewrite(tt.wasm, 1000)
			runtime.ReadMemStats(&after)
			if allocated, most := after.TotalAlloc-before.TotalAlloc, uint64(5*len(tt.wasm)); allocated > most {
				t.Errorf("%d bytes are allocated for a module of %d, want at most %d", allocated, len(tt.wasm), most)
			}
			if rewritten == nil || !strings.Contains(rewritten.Error(), tt.want) {
				t.Errorf("got %v, want %q", rewritten, tt.want)
			}
			if e, ok := errors.AsType[*meter.Error](inspected); inspected != nil && !strings.Contains(inspected.Error(), "second") && (!ok || !e.Heavy) {
				t.Errorf("Inspect: got %v, want that it is too much", inspected)
			}
		})
	}
}

// TestCodeThatGrows has code that is ten times as long with its counters.
func TestCodeThatGrows(t *testing.T) {
	t.Parallel()
	const n = 16
	body := sized(cat(bs(0), bytes.Repeat(bs(0x40, 0), 500_000), bs(0x0b)))
	_, err := meter.Rewrite(module(types(sig("", "")), funcs(make([]byte, n)...), memory(), code(slices.Repeat([][]byte{body}, n)...)), 1000)
	if e, ok := errors.AsType[*meter.Error](err); !ok || !e.Heavy || !strings.Contains(e.Msg, "more than 67108864 bytes with its counters") {
		t.Errorf("got %v, want that it is too much", err)
	}
}
