package plugins

import (
	"errors"
	"fmt"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
)

// summary is what the host needs to know of a module before it works on it. It
// is read from bytes that nobody has checked: what is wrong with the rest of the
// module the rewriter and the compiler find later.
type summary struct {
	imports  []external
	exports  map[string]external
	order    []string // names of exports, as in the module
	manifest []byte   // of the custom section, nil if there is none
}

// external is one import or export.
type external struct {
	module, name string // module is of imports only
	kind         byte
	sig          string // of a function, such as "(i32, i32) i64"
}

// String describes e for messages.
func (e external) String() string {
	names := [...]string{"func", "table", "memory", "global", "tag"}
	if int(e.kind) < len(names) {
		return names[e.kind] + e.sig
	}
	return "something unknown"
}

// shown is a name or a word of a module as it may be printed: in one line, and not without
// end.
func shown(s string) string {
	quoted := fmt.Sprintf("%.200q", s)
	if quoted == `"`+s+`"` {
		return s
	}
	return quoted
}

const (
	kindFunc   = 0
	kindTable  = 1
	kindMemory = 2
	kindGlobal = 3
)

var errNotWasm = errors.New("it does not begin like a WebAssembly module")

// inspect reads a module's imports, exports and manifest.
func inspect(wasm []byte) (*summary, error) {
	if len(wasm) < 8 || string(wasm[:4]) != "\x00asm" {
		return nil, errNotWasm
	}
	in := inspector{summary: summary{exports: map[string]external{}}}
	r := &wasmReader{b: wasm[8:]}
	for len(r.b) > 0 && r.err == nil {
		id := r.byte()
		body := &wasmReader{b: r.bytes(r.u32())}
		if r.err == nil {
			in.read(id, body)
			r.err = body.err
		}
	}
	if r.err == nil {
		r.err = in.resolve()
	}
	return &in.summary, r.err
}

type inspector struct {
	summary
	types   []string
	funcs   []uint32          // the type of each function
	exFuncs map[string]uint32 // the function of each export that is one
}

func (in *inspector) read(id byte, r *wasmReader) {
	switch id {
	case 0:
		in.custom(r)
	case 1:
		r.each(func() { in.types = append(in.types, r.signature()) })
	case 2:
		r.each(func() { in.imported(r) })
	case 3:
		r.each(func() { in.funcs = append(in.funcs, r.u32()) })
	case 7:
		r.each(func() { in.exported(r) })
	}
}

func (in *inspector) custom(r *wasmReader) {
	if r.name() != abi.ManifestSection || r.err != nil {
		return
	}
	if in.manifest != nil {
		r.err = fmt.Errorf("it has two sections %s", abi.ManifestSection)
	}
	in.manifest = append([]byte{}, r.b...)
}

func (in *inspector) imported(r *wasmReader) {
	e := external{module: r.name(), name: r.name(), kind: r.byte()}
	switch e.kind {
	case kindFunc:
		t := r.u32()
		in.funcs = append(in.funcs, t)
		e.sig = in.signature(t)
	case kindTable:
		r.byte()
		r.limits()
	case kindMemory:
		r.limits()
	case kindGlobal:
		r.bytes(2)
	default:
		r.err = fmt.Errorf("import %s.%s is of an unknown kind", shown(e.module), shown(e.name))
	}
	in.imports = append(in.imports, e)
}

func (in *inspector) exported(r *wasmReader) {
	e := external{name: r.name(), kind: r.byte()}
	if i := r.u32(); e.kind == kindFunc {
		if in.exFuncs == nil {
			in.exFuncs = map[string]uint32{}
		}
		in.exFuncs[e.name] = i
	}
	in.exports[e.name] = e
	in.order = append(in.order, e.name)
}

// resolve gives exported functions their signatures.
func (in *inspector) resolve() error {
	for name, i := range in.exFuncs {
		if int64(i) >= int64(len(in.funcs)) {
			return fmt.Errorf("export %s is a function that does not exist", shown(name))
		}
		e := in.exports[name]
		e.sig = in.signature(in.funcs[i])
		in.exports[name] = e
	}
	return nil
}

func (in *inspector) signature(t uint32) string {
	if int64(t) >= int64(len(in.types)) {
		return "(?)"
	}
	return in.types[t]
}

var errTruncated = errors.New("it ends early or holds a number that is too large")

// wasmReader reads fields off the front of b and remembers the first error.
type wasmReader struct {
	b   []byte
	err error
}

func (r *wasmReader) bytes(n uint32) []byte {
	if r.err != nil || uint64(n) > uint64(len(r.b)) {
		if r.err == nil {
			r.err = errTruncated
		}
		r.b = nil
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *wasmReader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *wasmReader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			break
		}
	}
	if v > 1<<32-1 {
		r.b, r.err = nil, errTruncated
		return 0
	}
	return uint32(v)
}

func (r *wasmReader) name() string { return string(r.bytes(r.u32())) }

// each calls f for each entry of a list. A count that lies ends with the bytes.
func (r *wasmReader) each(f func()) {
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		f()
	}
}

func (r *wasmReader) limits() {
	flags := r.byte()
	r.u32()
	if flags&1 != 0 {
		r.u32()
	}
}

// signature reads a function type. Forms other than plain functions are left for
// the rewriter to refuse.
func (r *wasmReader) signature() string {
	if form := r.byte(); form != 0x60 && r.err == nil {
		r.err = fmt.Errorf("type of form 0x%02x is not supported", form)
	}
	params, results := r.valueTypes(), r.valueTypes()
	s := "(" + strings.Join(params, ", ") + ")"
	if len(results) > 0 {
		s += " " + strings.Join(results, ", ")
	}
	return s
}

func (r *wasmReader) valueTypes() []string {
	names := map[byte]string{0x7f: "i32", 0x7e: "i64", 0x7d: "f32", 0x7c: "f64", 0x7b: "v128", 0x70: "funcref", 0x6f: "externref"}
	var types []string
	r.each(func() {
		t := r.byte()
		name, ok := names[t]
		if !ok && r.err == nil {
			r.err = fmt.Errorf("value type 0x%02x is not supported", t)
		}
		types = append(types, name)
	})
	return types
}
