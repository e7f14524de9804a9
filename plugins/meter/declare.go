package meter

// Limits. A module a few bytes long may ask for any of these, and wazero
// allocates what is asked for.
const (
	maxLocals      = 50_000  // locals of a function
	maxAllLocals   = 4 << 20 // locals of all functions together
	maxTableElems  = 1 << 20 // initial elements of all tables together
	maxMemoryPages = 1 << 16
	pageSize       = 1 << 16
)

// The kinds of imports and exports.
const (
	kindFunc = iota
	kindTable
	kindMemory
	kindGlobal
	kindTag
)

// typeSection appends the type of yield.
func (rw *rewriter) typeSection(r *reader) {
	r.atMost(maxTypes, "types")
	n := r.each(func(int) {
		start := r.at()
		if form := r.u8(); r.err == nil && form != funcType {
			r.fail(start, "type form 0x%02x (GC proposal) is not supported", form)
		}
		params := r.each(func(int) { r.valueType() })
		results := r.each(func(int) { r.valueType() })
		if n := params + results; n > maxValues {
			r.tooMuch(start, "type %d has %d parameters and results, the limit is %d", len(rw.types), n, maxValues)
		}
		rw.types = append(rw.types, signature{uint32(params), params+results == 0})
	})
	o := appendU32(nil, uint32(n)+1)
	o = append(o, entries(r)...)
	rw.out[secType] = append(o, funcType, 0, 1, typeI32)
}

// entries are the bytes of a vector, which r has read, after its length.
func entries(r *reader) []byte {
	v := reader{b: r.b}
	v.u32()
	return r.b[v.i:r.i]
}

// importSection appends yield, so that it is the last function imported.
func (rw *rewriter) importSection(r *reader) {
	r.atMost(maxImports, "imports")
	n := r.each(func(int) { rw.readImport(r) })
	o := appendU32(nil, uint32(n)+1)
	o = append(o, entries(r)...)
	o = appendName(appendName(o, HostModule), HostYield)
	rw.out[secImport] = appendU32(append(o, kindFunc), uint32(len(rw.types)))
}

func (rw *rewriter) readImport(r *reader) {
	start := r.at()
	module, name := r.name(), r.name()
	kind := r.u8()
	if r.err != nil {
		return
	}
	if module == HostModule && name == HostYield {
		r.fail(start, "imports %s.%s, which is the host's", module, name)
	}
	switch kind {
	case kindFunc:
		rw.funcs = append(rw.funcs, rw.typeIndex(r))
		rw.importedFuncs++
	case kindTable:
		r.fail(start, "imports the table %q.%q", module, name)
	case kindMemory:
		r.fail(start, "imports the memory %q.%q", module, name)
	case kindGlobal:
		r.valueType()
		if r.flag("mutability") {
			r.fail(start, "imports the mutable global %q.%q", module, name)
		}
		rw.importedGlobals++
	case kindTag:
		r.fail(start, "exception handling (imported tag) is not supported")
	default:
		r.fail(start, "import of unknown kind %d", kind)
	}
}

// typeIndex reads the index of a type, which cannot be that of yield.
func (rw *rewriter) typeIndex(r *reader) uint32 {
	start := r.at()
	t := r.u32()
	if r.err == nil && uint64(t) >= uint64(len(rw.types)) {
		r.fail(start, "type %d does not exist", t)
	}
	return t
}

// funcIndex reads the index of a function and gives what it is in the result,
// where yield has come between the imported functions and the others.
func (rw *rewriter) funcIndex(r *reader) uint32 {
	start := r.at()
	f := r.u32()
	if r.err == nil && uint64(f) >= uint64(len(rw.funcs)) {
		r.fail(start, "function %d does not exist", f)
	}
	if f >= rw.importedFuncs {
		f++
	}
	return f
}

// globalIndex reads the index of a global, which cannot be that of the fuel.
func (rw *rewriter) globalIndex(r *reader) uint32 {
	start := r.at()
	g := r.u32()
	if r.err == nil && g >= rw.globals {
		r.fail(start, "global %d does not exist", g)
	}
	return g
}

func (rw *rewriter) functionSection(r *reader) {
	r.atMost(maxFuncs, "functions")
	r.each(func(int) { rw.funcs = append(rw.funcs, rw.typeIndex(r)) })
	rw.keep(secFunction)
}

func (rw *rewriter) tableSection(r *reader) {
	var elems uint64
	r.each(func(int) {
		start := r.at()
		r.refType()
		hasMax := r.flag("kind of table limits")
		elems += uint64(r.u32())
		if hasMax {
			r.u32()
		}
		if elems > maxTableElems {
			r.fail(start, "tables of more than %d elements", maxTableElems)
		}
	})
	rw.keep(secTable)
}

func (rw *rewriter) memorySection(r *reader) {
	start := r.at()
	n := r.each(func(int) { rw.readMemory(r) })
	switch {
	case r.err != nil:
	case n == 0:
		r.fail(-1, "has no memory")
	case n > 1:
		r.fail(start, "has %d memories, only one is supported", n)
	}
	rw.keep(secMemory)
}

func (rw *rewriter) readMemory(r *reader) {
	start := r.at()
	flags := r.u8()
	switch {
	case flags&^7 != 0:
		r.fail(start, "kind of memory limits 0x%02x is not supported", flags)
	case flags&4 != 0:
		r.fail(start, "memory64 is not supported")
	case flags&2 != 0:
		r.fail(start, "shared memory is not supported")
	}
	low, high := r.u32(), uint32(0)
	limit := uint32(maxMemoryPages)
	if flags&1 != 0 {
		high = r.u32()
		limit = min(limit, high)
	}
	if r.err == nil && (low > limit || high > maxMemoryPages) {
		r.fail(start, "memory limits of %d and %d pages are not valid", low, high)
	}
	rw.mod.MinPages, rw.mod.MaxPages = low, high
}
