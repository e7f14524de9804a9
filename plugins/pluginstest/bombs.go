package pluginstest

import (
	"bytes"
	"fmt"
	"strings"
)

// CompileBombs are plugins that do no harm when they run, and are small, but keep a
// compiler busy for seconds to hours. Want is in the reason for which they are refused.
func CompileBombs() []Refused {
	ifs := func(n int) []byte { return bytes.Repeat(Code(LocalGet, 0, If, Void, End), n) }
	bomb := func(n, locals int, body []byte) []byte {
		var funcs []Func
		for i := range n {
			funcs = append(funcs, Func{Name: fmt.Sprint("bomb", i), Params: "i", Locals: locals, Body: body})
		}
		return Guest{Funcs: funcs}.Wasm()
	}
	return []Refused{
		{"3000 ifs and 1000 locals", bomb(1, 1000, setting(1000, 3000)), "function 7 has 6000 blocks × 1001 locals = 6006000, the limit is 500000"},
		{"30000 ifs", bomb(1, 0, ifs(30_000)), "function 7 has 60000 blocks, the limit is 10000"},
		{"a table of 20000 jumps", bomb(1, 1, Code(Block, Void, LocalGet, 0, 0x0e, uleb(nil, 20_000), make([]byte, 20_001), End)),
			"function 7 has 20001 blocks, the limit is 10000"},
		{"a megabyte in one function", bomb(1, 0, bytes.Repeat(Code(LocalGet, 0, Drop), 400_000)), "function 7 has 1200002 bytes of code, the limit is 1048576"},
		{"100 functions with 600 blocks and 200 locals", bomb(100, 200, setting(200, 300)), "the blocks × locals of all functions are 10009800, the limit is 10000000"},
		{"3 functions with 9000 blocks", bomb(3, 0, ifs(4500)), "the squares of all functions' blocks are 243000000, the limit is 200000000"},
		{"a function of 2000 parameters", Guest{Funcs: []Func{{Name: "bomb", Params: strings.Repeat("i", 2000)}}}.Wasm(), "type 7 has 2000 parameters and results, the limit is 1000"},
		{"20000 globals", Guest{Globals: make([]int32, 20_000)}.Wasm(), "20000 globals, the limit is 10000"},
		{"2000 types", bomb(2000, 0, nil), "2007 types, the limit is 1000"},
	}
}

// SlowToCompile is a plugin that a gateway does not refuse for its size, and that takes long
// to compile: a second or so for each.
func SlowToCompile(seconds int) []byte {
	var funcs []Func
	for i := range 2 * seconds {
		funcs = append(funcs, Func{Name: fmt.Sprint("slow", i), Params: "i", Locals: 500, Body: setting(500, 450)})
	}
	return Guest{Manifest: Manifest("slow"), Funcs: funcs}.Wasm()
}

// setting sets local after local, each in an if of its own, and reads all of them at the
// end: every block has to know where every local is.
func setting(locals, ifs int) (b []byte) {
	for i := range ifs {
		b = append(b, Code(LocalGet, 0, If, Void, LocalGet, 0, LocalSet, uleb(nil, 1+i%locals), End)...)
	}
	for i := range locals {
		b = append(b, Code(LocalGet, uleb(nil, 1+i), Drop)...)
	}
	return b
}
