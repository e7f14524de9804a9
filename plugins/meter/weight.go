package meter

// What a module may make the compiler do. wazero's time and memory grow with a function's
// blocks times its locals, and with the square of its blocks: 15 KB of code can take half a
// minute and gigabytes. What toolchains make is far below: of a Go program with
// encoding/json, text/template and math/big a function has at most 2000 blocks and 17,000
// blocks × locals, all of them 1.4 million and squares of 33 million; of an unoptimised
// program of Zig a function has 107,000 blocks × locals.
const (
	maxTypes        = 1000
	maxImports      = 1000
	maxValues       = 1000 // parameters and results of a function, as browsers have it
	maxFuncs        = 50_000
	maxGlobals      = 10_000 // each takes some hundred bytes of every instance, beyond its memory
	maxExports      = 10_000
	maxSegments     = 100_000     // of data, and of elements
	maxCustom       = 1000        // sections that are kept
	maxCode         = 64 << 20    // bytes of all functions with their counters
	maxBody         = 1 << 20     // bytes of a function
	maxBlocks       = 10_000      // of a function
	maxFuncWeight   = 500_000     // blocks × locals of a function
	maxModuleWeight = 10_000_000  // blocks × locals of all functions
	maxSquares      = 200_000_000 // squares of the blocks of all functions
)

// weight is what compiling the functions costs that were read up to now.
type weight struct {
	product, squares uint64
	own              bool // the sums have no bound
}

// tooMuch fails because of a figure that is over its limit.
func (r *reader) tooMuch(offset int, format string, args ...any) {
	if r.err == nil {
		r.fail(offset, format, args...)
		r.err.Heavy = true
	}
}

// maxListed is how many types, imports, functions and exports of a module are listed at most. It is more
// than a module may have that is to be compiled, so that of a larger program that is no plugin this is said.
const maxListed = 200_000

// atMost fails if the vector that comes next has too many entries, before any of them is read.
func (r *reader) atMost(limit int, what string) {
	ahead := *r
	if n := ahead.count(); n > limit {
		r.tooMuch(r.at(), "%d %s, the limit is %d", n, what, limit)
	}
}

// weigh adds a function that was read up to its end. Blocks, loops, the two sides of an if,
// conditional jumps and entries of a jump table count as blocks, because each makes one for
// the compiler.
func (rw *rewriter) weigh(f *reader, number int, blocks, locals uint64) {
	if f.err != nil {
		return
	}
	rw.weight.product += blocks * locals
	rw.weight.squares += blocks * blocks
	switch {
	case blocks > maxBlocks:
		f.tooMuch(f.base, "function %d has %d blocks, the limit is %d", number, blocks, maxBlocks)
	case blocks*locals > maxFuncWeight:
		f.tooMuch(f.base, "function %d has %d blocks × %d locals = %d, the limit is %d", number, blocks, locals, blocks*locals, maxFuncWeight)
	case rw.weight.product > maxModuleWeight && !rw.weight.own:
		f.tooMuch(f.base, "up to function %d the blocks × locals of all functions are %d, the limit is %d", number, rw.weight.product, maxModuleWeight)
	case rw.weight.squares > maxSquares && !rw.weight.own:
		f.tooMuch(f.base, "up to function %d the squares of all functions' blocks are %d, the limit is %d", number, rw.weight.squares, maxSquares)
	}
}
