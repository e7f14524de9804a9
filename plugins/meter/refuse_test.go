package meter_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/plugins/meter"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	f := func(instrs ...byte) []byte { return one("", "", fn(instrs...)) }
	head := types(sig("", ""))
	tests := []struct {
		name   string
		wasm   []byte
		offset int // not checked if -2
		want   string
	}{
		{"empty", nil, 0, "not a wasm module"},
		{"text", []byte("(module (memory 1))"), 0, "not a wasm module"},
		{"component", bs(0, 'a', 's', 'm', 0x0d, 0, 1, 0), 4, "component"},
		{"version 2", bs(0, 'a', 's', 'm', 2, 0, 0, 0), 4, "version 02 00 00 00"},
		{"no memory", module(), -1, "no memory"},
		{"section cut off", module(memory())[:12], 12, "truncated"},
		{"huge section", module(bs(1, 0xff, 0xff, 0xff, 0xff, 0x0f)), 14, "truncated"},
		{"long number", module(bs(1, 0x80, 0x80, 0x80, 0x80, 0x80, 0)), 9, "number longer than 32 bits"},
		{"huge vector", module(sec(1, bs(0xff, 0xff, 0xff, 0xff, 0x0f))), 10, "truncated: 4294967295 entries"},
		{"rest of section", module(sec(1, bs(0, 7))), 11, "1 bytes too many at the end of the type section"},
		{"custom section", module(sec(0, bs(9, 'x'))), -2, "custom section: truncated"},
		{"order", module(memory(), head), 14, "type section is out of order"},
		{"data count order", module(code(), sec(12, bs(0))), 11, "data count section is out of order"},
		{"repeated", module(head, head), -2, "second type section"},
		{"tag section", module(head, sec(13, vec(bs(0, 0)))), -2, "tag section"},
		{"unknown section", module(sec(14, bs(0))), 8, "unknown section 14"},
		{"GC type", module(types(bs(0x5f, 0))), 11, "0x5f (GC proposal)"},
		{"value type", module(types(sig("\x64", ""))), 13, "value type 0x64"},
		{"imported memory", module(imports(imp("env", "m", 2, 0, 1))), 11, `imports the memory "env"."m"`},
		{"imported table", module(imports(imp("env", "t", 1, 0x70, 0, 1))), 11, `imports the table "env"."t"`},
		{"imported mutable global", module(imports(imp("env", "g", 3, i32, 1))), 11, `imports the mutable global "env"."g"`},
		{"imported tag", module(head, imports(imp("env", "e", 4, 0, 0))), -2, "imported tag"},
		{"unknown import", module(imports(imp("env", "e", 5, 0, 0))), -2, "import of unknown kind 5"},
		{"imported yield", module(head, imports(imp(meter.HostModule, meter.HostYield, 0, 0))), -2, "imports callgate_host.yield"},
		{"import type", module(head, imports(imp("env", "f", 0, 1))), -2, "type 1 does not exist"},
		{"function type", module(head, funcs(1)), -2, "type 1 does not exist"},
		{"two memories", module(sec(5, vec(bs(0, 1), bs(0, 1)))), 10, "has 2 memories"},
		{"memory64", module(sec(5, vec(bs(4, 1)))), 11, "memory64"},
		{"shared memory", module(sec(5, vec(bs(3, 1, 1)))), 11, "shared memory"},
		{"memory limits", module(sec(5, vec(bs(1, 2, 1)))), 11, "limits of 2 and 1 pages"},
		{"memory too big", module(sec(5, vec(bs(0, 0x81, 0x80, 4)))), 11, "limits of 65537"},
		{"huge table", module(sec(4, vec(bs(0x70, 0, 0x81, 0x80, 0x40)))), 11, "more than 1048576 elements"},
		{"table with value", module(sec(4, vec(bs(0x40, 0, 0x70, 0, 1)))), 11, "reference type 0x40"},
		{"mutable v128", module(memory(), globals(cat(bs(0x7b, 1, 0xfd, 12), make([]byte, 16), bs(0x0b)))), -2, "type v128, which cannot be restored"},
		{"mutable funcref", module(memory(), globals(bs(0x70, 1, 0xd0, 0x70, 0x0b))), -2, "type funcref"},
		{"mutability", module(memory(), globals(bs(i32, 2, 0x41, 0, 0x0b))), -2, "mutability 0x02"},
		{"fuel in a global", module(memory(), globals(bs(i32, 0, 0x23, 1, 0x0b))), -2, "global 1 does not exist"},
		{"code in a global", module(memory(), globals(bs(i32, 0, 0x03, 0x40, 0x0b, 0x0b))), -2, "0x03 is not supported in a constant"},
		{"exported fuel", module(memory(), exports(exp(meter.FuelGlobal, 2, 0))), -2, `exports "callgate_fuel"`},
		{"exported start", module(memory(), exports(exp(meter.StartFunc, 2, 0))), -2, `exports "callgate_start"`},
		{"exported global", module(memory(), exports(exp("callgate_global_7", 2, 0))), -2, `exports "callgate_global_7"`},
		{"export of the fuel", module(memory(), exports(exp("x", 3, 0))), -2, "global 0 does not exist"},
		{"export of no function", module(memory(), exports(exp("x", 0, 0))), -2, "function 0 does not exist"},
		{"many exports", module(memory(), exports(slices.Repeat([][]byte{exp("x", 2, 0)}, 10_001)...)), -2, "10001 exports, the limit is 10000"},
		{"exported tag", module(memory(), exports(exp("x", 4, 0))), -2, "exported tag"},
		{"start", module(types(sig(tI, "")), funcs(0), memory(), sec(8, bs(0)), code(fn())), -2, "start function has parameters"},
		{"element kind", module(memory(), sec(9, vec(bs(8)))), -2, "element segment of unknown kind 8"},
		{"element type", module(memory(), sec(9, vec(bs(1, 1, 0)))), -2, "element kind 0x01"},
		{"element function", module(memory(), sec(9, vec(cat(bs(1, 0), vec(bs(0)))))), -2, "function 0 does not exist"},
		{"data kind", module(memory(), data(bs(3))), -2, "data segment of unknown kind 3"},
		{"data memory", module(memory(), data(bs(2, 1, 0x41, 0, 0x0b, 0))), -2, "memory 1, which does not exist"},
		{"data count", module(memory(), sec(12, bs(1))), -2, "0 data segments, but the data count section says 1"},
		{"data beyond memory", module(memory(), data(cat(bs(0, 0x41, 0xff, 0xff, 3, 0x0b), sized(bs(1, 2))))), -2,
			"data segment ends at 0x10001, beyond the memory of 1 pages"},
		{"no code", module(head, funcs(0), memory()), -1, "1 functions declared, but 0 have code"},
		{"too much code", module(head, funcs(0), memory(), code(fn(), fn())), -2, "1 functions declared, but 2 have code"},
		{"locals", one("", "", sized(bs(1, 0xd1, 0x86, 3, i32, 0x0b))), -2, "more than 50000 locals"},
		{"local type", one("", "", fnLocals(1, 0x40)), -2, "value type 0x40"},
		{"code after end", f(0x0b, 0x01), -2, "2 bytes too many at the end of a function"},
		{"no end", one("", "", sized(bs(0, 0x01))), -2, "truncated"},
		{"unknown opcode", f(0x27), -2, "instruction 27 is not supported"},
		{"exceptions", f(0x06, 0x40), -2, "exception handling"},
		{"call_ref", f(0x14, 0), -2, "typed function references"},
		{"GC", f(0xfb, 0), -2, "GC"},
		{"atomics", f(0xfe, 3, 0), -2, "threads"},
		{"relaxed vectors", f(0xfd, 0x80, 2), -2, "instruction fd 80 02"},
		{"unused vector number", f(0xfd, 0x9a, 1), -2, "instruction fd 9a"},
		// v128.const in three bytes, which wazero reads as something else.
		{"long vector number", f(0xfd, 0x8c, 0x80, 0), -2, "instruction fd 8c 80"},
		{"unknown misc", f(0xfc, 18), -2, "instruction fc 12"},
		{"long misc number", f(0xfc, 0x8b, 0, 0), -2, "instruction fc 8b"},
		{"table.set", f(0x41, 0, 0xd0, 0x70, 0x26, 0), -2, "table.set changes a table"},
		{"table.init", f(0xfc, 12, 0, 0), -2, "table.init changes a table"},
		{"table.copy", f(0xfc, 14, 0, 0), -2, "table.copy changes a table"},
		{"table.grow", f(0xfc, 15, 0), -2, "table.grow changes a table"},
		{"data.drop", f(0xfc, 9, 0), -2, "data.drop changes a data segment"},
		{"table.fill", f(0xfc, 17, 0), -2, "table.fill changes a table"},
		{"fuel set", f(0x41, 0, 0x24, 0), -2, "global 0 does not exist"},
		{"call of yield", f(0x10, 1, 0x1a), -2, "function 1 does not exist"},
		{"type of yield", f(0x41, 0, 0x11, 1, 0), -2, "type 1 does not exist"},
		{"block of yield's type", f(0x02, 1, 0x41, 0, 0x0b, 0x1a), -2, "type 1 does not exist"},
		{"bulk local", f(0x20, 0, 0x20, 0, 0x20, 0, 0xfc, 11, 0), -2, "local 0 does not exist"},
		{"block type", f(0x02, 0x60, 0x0b), -2, "block type"},
		{"long block type", f(0x02, 0xc0, 0x7f, 0x0b), -2, "block type"},
		{"second memory", f(0x41, 0, 0x28, 0x42, 1, 0), -2, "alignment 66"},
		{"memory.size of another", f(0x3f, 1), -2, "memory 1 does not exist"},
		{"select of two", f(0x1c, 2, i32, i32), -2, "select with 2 types"},
		{"heap type", f(0xd0, 0x6e), -2, "reference type 0x6e"},
		{"long i32", f(0x41, 0x80, 0x80, 0x80, 0x80, 0x20), -2, "longer than 32 bits"},
		{"long i64", f(cat(bs(0x42), bytes.Repeat(bs(0x80), 10), bs(0))...), -2, "longer than 64 bits"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m, err := meter.Rewrite(tt.wasm, 100)
			var refused *meter.Error
			if m != nil || !errors.As(err, &refused) {
				t.Fatalf("got %v, %v, want a *meter.Error", m, err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got error %q, want %q in it", err, tt.want)
			}
			if tt.offset != -2 && refused.Offset != tt.offset {
				t.Errorf("got offset %d in %q, want %d", refused.Offset, err, tt.offset)
			}
		})
	}
}

func TestOffsetOfInstruction(t *testing.T) {
	t.Parallel()
	wasm := one("", "", fn(0x01, 0x01, 0x27))
	_, err := meter.Rewrite(wasm, 100)
	var refused *meter.Error
	if !errors.As(err, &refused) {
		t.Fatalf("got %v, want a *meter.Error", err)
	}
	if want := bytes.IndexByte(wasm, 0x27); refused.Offset != want {
		t.Errorf("got offset %d, want %d", refused.Offset, want)
	}
}

func TestFuelMustBePositive(t *testing.T) {
	t.Parallel()
	for _, fuel := range []int32{0, -1} {
		if _, err := meter.Rewrite(module(memory()), fuel); err == nil || !strings.Contains(err.Error(), "fuel") {
			t.Errorf("fuel %d: got error %v", fuel, err)
		}
	}
}

func TestRewrittenModuleIsRefused(t *testing.T) {
	t.Parallel()
	m := rewrite(t, one("", "", fn()), 100)
	if _, err := meter.Rewrite(m.Wasm, 100); err == nil {
		t.Error("a module was rewritten twice")
	}
}

// Every prefix of a module is refused, or is a shorter module.
func TestTruncated(t *testing.T) {
	t.Parallel()
	wasm := startWasm(sec(12, bs(1)), data(dataSegment(8, "Abc")))
	for n := range wasm {
		m, err := meter.Rewrite(wasm[:n], 100)
		if err == nil && len(m.Wasm) == 0 {
			t.Errorf("%d bytes: neither a module nor an error", n)
		}
	}
}

// All locals of a module together are bounded, because they take few bytes.
func TestManyLocals(t *testing.T) {
	t.Parallel()
	const n = 100
	bodies := make([][]byte, n)
	for i := range bodies {
		bodies[i] = sized(bs(1, 0xd0, 0x86, 3, i32, 0x0b)) // 50000 locals
	}
	_, err := meter.Rewrite(module(types(sig("", "")), funcs(make([]byte, n)...), memory(), code(bodies...)), 100)
	if err == nil || !strings.Contains(err.Error(), "locals in all") {
		t.Errorf("got error %v", err)
	}
}
