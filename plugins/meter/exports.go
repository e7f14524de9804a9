package meter

import (
	"fmt"
	"strings"
)

// globalSection appends the fuel and notes the mutable globals. With it all
// indexes are known, so that the snippets can be made.
func (rw *rewriter) globalSection(r *reader) {
	ahead := *r
	if rw.globals = rw.importedGlobals + uint32(ahead.count()); rw.globals > maxGlobals {
		r.tooMuch(r.base, "%d globals, the limit is %d", rw.globals, maxGlobals)
		return
	}
	var o []byte
	n := r.each(func(i int) {
		start, from := r.at(), r.i
		t := r.valueType()
		if r.flag("mutability") {
			g := rw.importedGlobals + uint32(i)
			if t == typeV128 || isRef(t) {
				r.fail(start, "mutable global %d has type %s, which cannot be restored", g, typeNames[t])
			}
			rw.mutable = append(rw.mutable, g)
		}
		o = append(o, r.b[from:r.i]...)
		o = rw.constExpr(r, o)
	})
	o = append(o, typeI32, 1, opI32Const)
	o = append(appendS32(o, rw.fuel), opEnd)
	rw.out[secGlobal] = append(appendU32(nil, uint32(n)+1), o...)
	rw.code = newSnippets(rw.globals, rw.importedFuncs)
}

func (rw *rewriter) exportSection(r *reader) {
	r.atMost(maxExports, "exports")
	r.each(func(int) {
		start := r.at()
		name := r.name()
		kind := r.u8()
		if name == FuelGlobal || name == StartFunc || strings.HasPrefix(name, globalPrefix) {
			r.fail(start, "exports %q, which is a name of the host's", name)
		}
		var index uint32
		switch kind {
		case kindFunc:
			index = rw.funcIndex(r)
		case kindTable, kindMemory:
			index = r.u32()
		case kindGlobal:
			index = rw.globalIndex(r)
		case kindTag:
			r.fail(start, "exception handling (exported tag) is not supported")
		default:
			r.fail(start, "export of unknown kind %d", kind)
		}
		rw.export(name, kind, index)
	})
}

func (rw *rewriter) export(name string, kind byte, index uint32) {
	rw.exportBody = appendU32(append(appendName(rw.exportBody, name), kind), index)
	rw.exports++
}

// finishExports appends the host's exports. startSection has put its own in.
func (rw *rewriter) finishExports() {
	for _, g := range rw.mutable {
		name := fmt.Sprintf("%s%d", globalPrefix, g)
		rw.mod.Globals = append(rw.mod.Globals, name)
		rw.export(name, kindGlobal, g)
	}
	rw.export(FuelGlobal, kindGlobal, rw.globals)
	rw.out[secExport] = append(appendU32(nil, uint32(rw.exports)), rw.exportBody...)
}

// startSection exports the start function instead, or shifts its index.
func (rw *rewriter) startSection(r *reader) {
	if !rw.in[secStart].present {
		r.u8()
		return
	}
	start, old := r.at(), *r
	f := rw.funcIndex(r)
	if r.err != nil {
		return
	}
	if !rw.types[rw.funcs[old.u32()]].empty {
		r.fail(start, "the start function has parameters or results")
		return
	}
	if rw.mod.Stripped {
		rw.mod.Start = StartFunc
		rw.export(StartFunc, kindFunc, f)
		return
	}
	rw.out[secStart] = appendU32(nil, f)
}
