package meter

import (
	"errors"
	"strings"
)

// Summary is what a module says of itself. It is read from bytes that nobody has checked: what
// is wrong with the rest of the module Rewrite and the compiler find later.
type Summary struct {
	Imports []Import
	Exports map[string]string // their types, as in Import
	Order   []string          // names of exports, as in the module
	Custom  []byte            // of the custom section that was asked for, nil if there is none
}

// Import is one import. Its type is "memory", say, or that of a function, "func(i32, i32) i64".
type Import struct{ Module, Name, Type string }

var (
	errNotWasm   = errors.New("it does not begin like a WebAssembly module")
	errTruncated = errors.New("it ends early or holds a number that is too large")
)

// Inspect reads a module's imports, exports and the custom section of that name. With an error
// the summary, if there is one, has what was read up to there. Of a module whose lists are too long to
// be read it is an *Error that is Heavy.
func Inspect(wasm []byte, custom string) (*Summary, error) {
	if len(wasm) < 8 || string(wasm[:4]) != "\x00asm" {
		return nil, errNotWasm
	}
	in := inspector{Summary: Summary{Exports: map[string]string{}}, section: custom, exFuncs: map[string]uint32{}}
	r := &reader{b: wasm, i: 8}
	for r.err == nil && r.left() > 0 {
		id := r.u8()
		if body := r.sub(r.u32()); r.err == nil {
			in.read(id, &body)
			r.err = body.err
		}
	}
	if r.err == nil {
		in.resolve(r)
	}
	switch {
	case r.err == nil:
		return &in.Summary, nil
	case r.err.Heavy:
		return &in.Summary, r.err
	case strings.HasPrefix(r.err.Msg, "truncated"), strings.HasPrefix(r.err.Msg, "number longer"):
		return &in.Summary, errTruncated
	}
	return &in.Summary, errors.New(r.err.Msg)
}

type inspector struct {
	Summary
	section string
	types   []string          // of functions
	funcs   []uint32          // the type of each function
	exFuncs map[string]uint32 // the function of each export that is one
	seen    [numSections]bool
}

func (in *inspector) read(id byte, r *reader) {
	if id != secCustom && id < numSections {
		if in.seen[id] {
			r.fail(r.base, "second %s section", sectionNames[id])
		}
		in.seen[id] = true
	}
	switch id {
	case secCustom:
		in.custom(r)
	case secType:
		r.atMost(maxListed, "types")
		r.each(func(int) { in.types = append(in.types, r.signature()) })
	case secImport:
		r.atMost(maxListed, "imports")
		r.each(func(int) { in.imported(r) })
	case secFunction:
		r.atMost(maxListed, "functions")
		r.each(func(int) { in.funcs = append(in.funcs, r.u32()) })
	case secExport:
		r.atMost(maxListed, "exports")
		r.each(func(int) { in.exported(r) })
	}
}

func (in *inspector) custom(r *reader) {
	if r.name() != in.section || r.err != nil {
		return
	}
	if in.Custom != nil {
		r.fail(r.at(), "it has two sections %s", in.section)
	}
	in.Custom = append([]byte{}, r.b[r.i:]...)
}

func (in *inspector) imported(r *reader) {
	start := r.at()
	e := Import{Module: r.name(), Name: r.name()}
	kind := r.u8()
	e.Type = kindName(kind)
	switch kind {
	case kindFunc:
		t := r.u32()
		in.funcs = append(in.funcs, t)
		e.Type = in.signature(t)
	case kindTable:
		r.u8()
		r.limits()
	case kindMemory:
		r.limits()
	case kindGlobal:
		r.bytes(2)
	default:
		r.fail(start, "import %.200q.%.200q is of an unknown kind", e.Module, e.Name)
	}
	in.Imports = append(in.Imports, e)
}

func (in *inspector) exported(r *reader) {
	name, kind := r.name(), r.u8()
	if i := r.u32(); kind == kindFunc {
		in.exFuncs[name] = i
	}
	in.Exports[name] = kindName(kind)
	in.Order = append(in.Order, name)
}

// resolve gives exported functions their signatures.
func (in *inspector) resolve(r *reader) {
	for name, i := range in.exFuncs {
		if int64(i) >= int64(len(in.funcs)) {
			r.fail(-1, "export %.200q is a function that does not exist", name)
			return
		}
		in.Exports[name] = in.signature(in.funcs[i])
	}
}

func (in *inspector) signature(t uint32) string {
	if int64(t) >= int64(len(in.types)) {
		return "func(?)"
	}
	return in.types[t]
}

func kindName(kind byte) string {
	names := [...]string{kindFunc: "func", kindTable: "table", kindMemory: "memory", kindGlobal: "global", kindTag: "tag"}
	if int(kind) < len(names) {
		return names[kind]
	}
	return "something unknown"
}

func (r *reader) limits() {
	flags := r.u8()
	r.u32()
	if flags&1 != 0 {
		r.u32()
	}
}

// maxShown is how many types of parameters, and of results, a signature has. No function that a
// guest needs has as many, and a type may have millions, to which all exports may refer.
const maxShown = 16

// signature reads a function type. Forms other than plain functions are left for
// the rewriter to refuse.
func (r *reader) signature() string {
	start := r.at()
	if form := r.u8(); form != funcType && r.err == nil {
		r.fail(start, "type of form 0x%02x is not supported", form)
	}
	params, results := r.valueTypes(), r.valueTypes()
	s := "func(" + strings.Join(params, ", ") + ")"
	if len(results) > 0 {
		s += " " + strings.Join(results, ", ")
	}
	return s
}

func (r *reader) valueTypes() []string {
	var types []string
	r.each(func(i int) {
		if t := r.valueType(); i < maxShown {
			types = append(types, typeNames[t])
		} else if i == maxShown {
			types = append(types, "…")
		}
	})
	return types
}
