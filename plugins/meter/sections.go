package meter

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Sections by id.
const (
	secCustom = iota
	secType
	secImport
	secFunction
	secTable
	secMemory
	secGlobal
	secExport
	secStart
	secElement
	secCode
	secData
	secDataCount
	numSections
)

// sectionOrder is the order that sections have in a module. Custom sections may
// be anywhere; the rewriter puts them at the beginning, because wazero fails on
// an empty one at the very end.
var sectionOrder = []byte{
	secType, secImport, secFunction, secTable, secMemory, secGlobal,
	secExport, secStart, secElement, secDataCount, secCode, secData,
}

var sectionNames = [numSections]string{
	"custom", "type", "import", "function", "table", "memory", "global",
	"export", "start", "element", "code", "data", "data count",
}

type section struct {
	body    []byte
	offset  int
	present bool
}

// reader reads the section. One that is not there is the same as one without
// entries.
func (s *section) reader() *reader {
	if !s.present {
		return &reader{b: []byte{0}, base: -1}
	}
	return &reader{b: s.body, base: s.offset}
}

type signature struct {
	params uint32
	empty  bool // neither parameters nor results
}

// rewriter holds what is known of the module and what the sections become.
type rewriter struct {
	fuel   int32
	in     [numSections]section
	out    [numSections][]byte // nil: the section is left out
	custom []section           // those that are kept
	mod    Module

	types           []signature
	funcs           []uint32 // types of all functions, the imported ones first
	importedFuncs   uint32
	importedGlobals uint32
	globals         uint32 // imported and defined
	mutable         []uint32
	exports         int // entries of the export section, without their number
	exportBody      []byte
	code            snippets
	labels          []label // memory of walkers
	usesData        bool    // there is a memory.init
	allLocals       uint64
	weight          weight
}

// split finds the sections of the module.
func (rw *rewriter) split(wasm []byte) error {
	if len(wasm) < 8 || string(wasm[:4]) != "\x00asm" {
		return &Error{Offset: 0, Msg: "not a wasm module"}
	}
	if v := wasm[4:8]; !bytes.Equal(v, []byte{1, 0, 0, 0}) {
		what := fmt.Sprintf("binary version % x is not supported", v)
		if v[2] == 1 && v[3] == 0 {
			what += ": this is a component, not a core module"
		}
		return &Error{Offset: 4, Msg: what}
	}
	r := &reader{b: wasm, i: 8}
	last := -1
	for r.err == nil && r.left() > 0 {
		start := r.at()
		id := r.u8()
		body := r.sub(r.u32())
		if r.err != nil {
			break
		}
		s := section{body.b, body.base, true}
		if id == secCustom {
			rw.addCustom(r, s)
			continue
		}
		place := slices.Index(sectionOrder, id)
		switch {
		case id == 13:
			r.fail(start, "exception handling (tag section) is not supported")
		case place < 0:
			r.fail(start, "unknown section %d", id)
		case rw.in[id].present:
			r.fail(start, "second %s section", sectionNames[id])
		case place < last:
			r.fail(start, "%s section is out of order", sectionNames[id])
		default:
			last = place
			rw.in[id] = s
		}
	}
	return r.error()
}

// addCustom keeps a custom section, but for those that describe the code by
// function indexes or offsets, which are no longer true afterwards.
func (rw *rewriter) addCustom(r *reader, s section) {
	c := s.reader()
	name := c.name()
	if c.err != nil {
		r.fail(c.err.Offset, "custom section: %s", c.err.Msg)
		return
	}
	if len(rw.custom) == maxCustom {
		r.tooMuch(s.offset, "more than %d custom sections", maxCustom)
	}
	if name == "name" || strings.HasPrefix(name, ".debug_") {
		return
	}
	rw.custom = append(rw.custom, s)
}

// rewrite reads all sections, in an order in which each knows what it refers to.
func (rw *rewriter) rewrite() error {
	for _, step := range []struct {
		id  int
		run func(*reader)
	}{
		{secType, rw.typeSection},
		{secImport, rw.importSection},
		{secFunction, rw.functionSection},
		{secTable, rw.tableSection},
		{secMemory, rw.memorySection},
		{secGlobal, rw.globalSection},
		{secExport, rw.exportSection},
		{secElement, rw.elementSection},
		{secCode, rw.codeSection},
		{secData, rw.dataSection},
		{secDataCount, rw.dataCountSection},
		{secStart, rw.startSection},
	} {
		r := rw.in[step.id].reader()
		step.run(r)
		r.finish("the " + sectionNames[step.id] + " section")
		if r.err != nil {
			return r.err
		}
	}
	rw.finishExports()
	return nil
}

// assemble writes the module. size is that of the original.
func (rw *rewriter) assemble(size int) []byte {
	o := make([]byte, 0, size+size/2)
	o = append(o, "\x00asm\x01\x00\x00\x00"...)
	for _, s := range rw.custom {
		o = appendSection(o, secCustom, s.body)
	}
	for _, id := range sectionOrder {
		if rw.out[id] != nil {
			o = appendSection(o, id, rw.out[id])
		}
	}
	return o
}

// keep leaves a section as it is.
func (rw *rewriter) keep(id int) {
	if rw.in[id].present {
		rw.out[id] = rw.in[id].body
	}
}
