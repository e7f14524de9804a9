package meter

import (
	"fmt"
	"slices"
)

// codeSection instruments all functions.
func (rw *rewriter) codeSection(r *reader) {
	start := r.at()
	defined := rw.funcs[rw.importedFuncs:]
	o := make([]byte, 0, len(r.b)+len(r.b)/4)
	var scratch []byte
	n := r.each(func(i int) {
		size := r.u32()
		f := r.sub(size)
		if i >= len(defined) || r.err != nil {
			return // reported below or already
		}
		if size > maxBody {
			r.tooMuch(f.base, "function %d has %d bytes of code, the limit is %d", int(rw.importedFuncs)+i, size, maxBody)
			return
		}
		body := rw.function(&f, int(rw.importedFuncs)+i, rw.types[defined[i]], scratch[:0])
		if f.err != nil {
			r.err = f.err
			return
		}
		o = append(appendU32(o, uint32(len(body.locals)+len(body.code))), body.locals...)
		o = append(o, body.code...)
		if len(o) > maxCode {
			r.tooMuch(f.base, "up to function %d the code has more than %d bytes with its counters, the limit", int(rw.importedFuncs)+i, maxCode)
		}
		scratch = body.code
	})
	if r.err == nil && n != len(defined) {
		r.fail(start, "%d functions declared, but %d have code", len(defined), n)
	}
	if n > 0 {
		rw.out[secCode] = append(appendU32(nil, uint32(n)), o...)
	}
	rw.mod.Funcs = n
}

// functionBody is a rewritten function, without its size.
type functionBody struct{ locals, code []byte }

// function instruments one function. The code is appended to scratch.
func (rw *rewriter) function(f *reader, number int, sig signature, scratch []byte) functionBody {
	groups, total, body := rw.locals(f)
	w := walker{reader: *f, rw: rw, out: scratch, locals: sig.params + total, labels: rw.labels[:0]}
	w.walk()
	*f, rw.labels = w.reader, w.labels
	rw.weigh(f, number, w.blocks, uint64(w.locals))
	if w.bulk { // a local for the lengths of bulk instructions
		groups++
		body = append(slices.Clip(body), 1, typeI32)
	}
	return functionBody{append(appendU32(nil, groups), body...), w.out}
}

// locals reads the declarations of locals: how many there are, how many locals
// that makes, and their bytes.
func (rw *rewriter) locals(f *reader) (groups, total uint32, body []byte) {
	start := f.at()
	ahead := *f
	ahead.u32()
	from := ahead.i
	var sum uint64
	groups = uint32(f.each(func(int) {
		sum += uint64(f.u32())
		f.valueType()
		if sum > maxLocals {
			f.fail(start, "function with more than %d locals", maxLocals)
		}
	}))
	if f.err != nil {
		return 0, 0, nil
	}
	rw.allLocals += sum
	if rw.allLocals > maxAllLocals {
		f.fail(start, "functions with more than %d locals in all", maxAllLocals)
		return 0, 0, nil
	}
	return groups, uint32(sum), f.b[from:f.i]
}

// region is code that one charge pays for: a function, or a loop in it without
// the loops inside of that.
type region struct {
	depth  int // of blocks, where it begins
	charge int // where in walker.out its constant is
	start  int // where in the source its code begins
	inner  int // bytes of the loops inside
}

// walker copies the instructions of a function and puts charges in.
type walker struct {
	reader
	rw      *rewriter
	out     []byte
	copied  int // what is before this in the source is in out
	op      int // where the current instruction begins
	regions []region
	labels  []label // that are open
	serial  int     // of the last label
	before  [2]int  // where the two instructions before the current one begin
	locals  uint32  // including parameters
	bulk    bool    // the extra local is used
	blocks  uint64  // see rewriter.weigh
}

func (w *walker) walk() {
	w.copied, w.op = w.i, w.i
	w.open()
	for w.err == nil && len(w.regions) > 0 {
		w.before[0], w.before[1], w.op = w.before[1], w.op, w.i
		op := w.u8()
		if handle := instructions[op]; handle != nil {
			handle(w)
		} else {
			w.refuse(refused[op], op)
		}
	}
	w.copyTo(w.i)
	w.finish("a function")
}

// refuse fails with the reason or, if there is none, by the instruction's code.
func (w *walker) refuse(reason string, code ...byte) {
	if reason == "" {
		reason = fmt.Sprintf("instruction % x is not supported", code)
	}
	w.fail(w.base+w.op, "%s", reason)
}

// copyTo copies the source up to i.
func (w *walker) copyTo(i int) {
	w.out = append(w.out, w.b[w.copied:i]...)
	w.copied = i
}

// open begins a region with a charge that close sets.
func (w *walker) open() {
	w.copyTo(w.i)
	w.regions = append(w.regions, region{
		depth:  len(w.labels),
		charge: len(w.out) + w.rw.code.patch,
		start:  w.i,
	})
	w.out = append(w.out, w.rw.code.charge...)
}

// close ends the innermost region and sets its charge.
func (w *walker) close() {
	last := len(w.regions) - 1
	r := w.regions[last]
	w.regions = w.regions[:last]
	size := w.i - r.start
	putPadded(w.out[r.charge:], 1+(size-r.inner)/codePerCount)
	if last > 0 {
		w.regions[last-1].inner += size
	}
}

func (w *walker) blockType() {
	start := w.at()
	first := w.i
	t := w.signed(33)
	switch {
	case w.err != nil:
	case t >= 0:
		if t >= int64(len(w.rw.types)) {
			w.fail(start, "type %d does not exist", t)
		}
	case w.i-first != 1 || !isValue(byte(t)&0x7f) && byte(t)&0x7f != blockEmpty:
		w.fail(start, "block type is not supported")
	}
}

// The handlers of instructions, each called after the opcode was read.

func noImmediate(*walker) {}

func block(w *walker) {
	w.blockType()
	w.openLabel()
	w.blocks++
}

// condition is an if, which has two sides.
func condition(w *walker) {
	block(w)
	w.blocks++
}

func loop(w *walker) {
	block(w)
	if w.err == nil {
		w.open()
		w.rw.mod.Loops++
	}
}

func end(w *walker) {
	if w.regions[len(w.regions)-1].depth == len(w.labels) {
		w.close()
	}
	w.labels = w.labels[:max(len(w.labels)-1, 0)] // none is the function's own end
}

func anyIndex(w *walker) { w.u32() }

func branch(w *walker) {
	if depth, ok := w.thread(w.u32()); ok {
		w.copyTo(w.op + 1)
		w.out = appendU32(w.out, depth)
		w.copied = w.i
	}
}

// branchIf is br_if.
func branchIf(w *walker) {
	w.u32()
	w.blocks++
}

func branchTable(w *walker) {
	targets := make([]uint32, 0, 8)
	w.each(func(int) { targets = append(targets, w.u32()) })
	w.blocks += uint64(len(targets))
	if targets = append(targets, w.u32()); w.err == nil {
		w.noteTable(targets)
	}
}

// functionIndex is shifted.
func functionIndex(w *walker) {
	w.copyTo(w.i)
	w.out = appendU32(w.out, w.rw.funcIndex(&w.reader))
	w.copied = w.i
}

func indirect(w *walker) {
	w.rw.typeIndex(&w.reader)
	w.u32()
}

func typedSelect(w *walker) {
	if n := w.u8(); n != 1 {
		w.fail(w.base+w.op, "select with %d types is not supported", n)
	}
	w.valueType()
}

// localIndex must not be the one that the rewriter adds.
func localIndex(w *walker) {
	start := w.at()
	if l := w.u32(); w.err == nil && l >= w.locals {
		w.fail(start, "local %d does not exist", l)
	}
}

func globalIndex(w *walker) { w.rw.globalIndex(&w.reader) }

func memoryArg(w *walker) {
	if align := w.u32(); align >= 32 {
		w.fail(w.base+w.op, "alignment %d (a second memory?) is not supported", align)
	}
	w.u32()
}

// memoryIndex is that of the only memory.
func memoryIndex(w *walker) {
	if m := w.u8(); m != 0 {
		w.fail(w.base+w.op, "memory %d does not exist", m)
	}
}

func memoryGrow(w *walker) {
	memoryIndex(w)
	w.copyTo(w.op)
	w.out = w.rw.code.appendCharge(w.out, growCost)
}

// chargeBulk charges for the current instruction by the length on the stack.
func chargeBulk(w *walker) {
	w.bulk = true
	w.copyTo(w.op)
	w.out = w.rw.code.appendBulk(w.out, w.locals)
}

func memoryFill(w *walker) {
	memoryIndex(w)
	chargeBulk(w)
}

func memoryCopy(w *walker) {
	memoryIndex(w)
	memoryIndex(w)
	chargeBulk(w)
}

func memoryInit(w *walker) {
	w.u32()
	w.rw.usesData = true
	memoryIndex(w)
	chargeBulk(w)
}

func i32Const(w *walker) { w.signed(32) }

func i64Const(w *walker) { w.signed(64) }

func fourBytes(w *walker) { w.bytes(4) }

func eightBytes(w *walker) { w.bytes(8) }

func sixteenBytes(w *walker) { w.bytes(16) }

func refNull(w *walker) { w.refType() }

func lane(w *walker) { w.u8() }

func memoryLane(w *walker) {
	memoryArg(w)
	w.u8()
}

// misc is an instruction with prefix 0xfc.
func misc(w *walker) {
	sub := w.u8()
	if w.err != nil {
		return
	}
	if miscInstructions[sub] == nil {
		w.refuse(refusedMisc[sub], 0xfc, sub)
		return
	}
	miscInstructions[sub](w)
}

// vector is an instruction with prefix 0xfd. wazero reads only one byte of its
// number, and the second one that numbers from 0x80 have as an instruction, a
// nop. Any other second byte would be code that is not seen here.
func vector(w *walker) {
	sub := w.u8()
	if sub >= 0x80 {
		if second := w.u8(); w.err == nil && second != 1 {
			w.refuse("", 0xfd, sub, second)
		}
	}
	if w.err != nil {
		return
	}
	if vectorInstructions[sub] == nil {
		w.refuse("", 0xfd, sub)
		return
	}
	vectorInstructions[sub](w)
}
