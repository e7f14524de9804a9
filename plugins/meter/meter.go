// Package meter rewrites a WebAssembly module, once when it is loaded, so that
// the gateway can bound and repeat what the module does.
//
// wazero can stop a guest by itself (WithCloseOnContextDone), but then it leaves
// native code at every loop head, which makes a parser 4 to 10 times slower.
// Without that a guest that loops cannot be stopped at all, and worse: Go's
// stop-the-world waits for it, so that one plugin halts the whole process. The
// rewritten module instead counts a global down at every loop head and function
// entry, which costs 20 to 30 %, and calls an imported function when it is used
// up. That function is ordinary Go: it looks at the deadline, and the runtime can
// stop the goroutine in it.
//
// The counts follow the work. A loop head or a function entry is one count, and
// one more for each 1024 bytes of code that it leads to, so that code without
// loops is not free. memory.fill, memory.copy and memory.init cost a count per 64
// bytes and memory.grow 1000, on top. Jumps that Go's compiler leads over a loop head
// although they go forwards are made direct, see thread.go.
//
// A plugin answers many requests and must not remember them. So the rewriter also
// exports every mutable global, takes the active data segments and the start
// function out (the host applies them once and takes a snapshot), and refuses
// what could not be restored: tables that change, and globals that hold
// references or vectors.
//
// The input is not trusted. All of it but the types of operands is checked here,
// and more strictly than wazero does, because an instruction that the two read
// differently would be one that is not counted, and an index that is out of
// range in the original could mean the fuel in the result. Sizes that a decoder
// would allocate by (locals, tables, names) are bounded.
package meter

import "fmt"

// Names that a rewritten module uses. A module that brings one of them itself is
// refused.
const (
	// HostModule is the module name of the imported function.
	HostModule = "callgate_host"
	// HostYield is the imported function, func() i32, that is called when the fuel
	// is used up. It gives fresh fuel, 0 or more, or never returns (it panics)
	// when time is up.
	HostYield = "yield"
	// FuelGlobal is the exported name of the fuel, a mutable i32.
	FuelGlobal = "callgate_fuel"
	// StartFunc is the exported name of a start function that was taken out.
	StartFunc = "callgate_start"

	globalPrefix = "callgate_global_"
)

// Module is a rewritten module and what the host needs to run and to restore it.
type Module struct {
	// Wasm is the rewritten module.
	Wasm []byte
	// Globals are the exported names of all mutable globals that the module
	// defines, in index order. The fuel is not among them.
	Globals []string
	// Segments are the active data segments, in order. They were taken out of the
	// module and the host applies them once. Nil if they were left in.
	Segments []Segment
	// Stripped says that data segments and start function were taken out. It is
	// false if a segment is passive, has an offset that is not a constant, or is
	// used by memory.init; then instantiation applies the segments and
	// runs the start function as usual.
	Stripped bool
	// Start is the exported name of the start function that was taken out, "" if
	// there was none or it was left in.
	Start string
	// Loops and Funcs count the loop heads and functions that were instrumented.
	Loops, Funcs int
	// Before and After are the bytes of code without and with the counters.
	Before, After int
	// MinPages and MaxPages are the declared limits of the memory; MaxPages is 0 if
	// none was declared.
	MinPages, MaxPages uint32
}

// Segment is one active data segment: bytes to be written at an offset of the
// memory. It lies within MinPages.
type Segment struct {
	Offset uint32
	Data   []byte
}

// Error says why a module was refused.
type Error struct {
	// Offset is where in the module the reason is, -1 if it is at no one place.
	Offset int
	// Msg is the reason.
	Msg string
	// Heavy says that the module may be a good one, but is too much to compile. Msg has the
	// figure and the limit.
	Heavy bool
}

// Error implements error.
func (e *Error) Error() string {
	if e.Offset < 0 {
		return "wasm module refused: " + e.Msg
	}
	return fmt.Sprintf("wasm module refused: %s (offset 0x%x)", e.Msg, e.Offset)
}

// Rewrite instruments a module. The guest may use fuel counts before it calls
// yield for the first time. The result shares no memory with wasm. A returned
// error is an *Error.
func Rewrite(wasm []byte, fuel int32) (*Module, error) { return rewrite(&rewriter{fuel: fuel}, wasm) }

// RewriteOwn is [Rewrite] for a module of our own making, such as a test: what compiling all its
// functions costs together has no bound.
func RewriteOwn(wasm []byte, fuel int32) (*Module, error) {
	return rewrite(&rewriter{fuel: fuel, weight: weight{own: true}}, wasm)
}

func rewrite(rw *rewriter, wasm []byte) (*Module, error) {
	fuel := rw.fuel
	if fuel <= 0 {
		return nil, &Error{Offset: -1, Msg: fmt.Sprintf("fuel is %d and must be more than 0", fuel)}
	}
	if err := rw.split(wasm); err != nil {
		return nil, err
	}
	if err := rw.rewrite(); err != nil {
		return nil, err
	}
	mod := rw.mod // alone: the rest of the rewriter holds the module twice
	mod.Wasm = rw.assemble(len(wasm))
	mod.Before, mod.After = len(rw.in[secCode].body), len(rw.out[secCode])
	return &mod, nil
}
