package pluginstest

import (
	"encoding/binary"
	"slices"
)

// Module is a WebAssembly module to be assembled. All of it is optional.
type Module struct {
	Imports []Import // get the first function indexes
	Funcs   []Func   // get the next
	Memory  *Memory
	Globals []int32 // initial values of mutable i32 globals
	Data    []Data
	Customs [][2]string // custom sections: name and bytes
	Start   *int        // the index of a function in Funcs

	DataCount bool // a section that code needs which names data segments
}

// Import is an imported function. Params and Results have a letter for each value:
// i for i32, I for i64.
type Import struct{ Module, Name, Params, Results string }

// Func is a function, exported if it has a name. Body is its code without the
// last end.
type Func struct {
	Name, Params, Results string
	Locals                int // of type i32
	Body                  []byte
}

// Memory is the linear memory, in pages of 64 KiB. Max 0 is no maximum.
type Memory struct {
	Name     string // "" is not exported
	Min, Max uint32
}

// Data is an active data segment.
type Data struct {
	Offset int32
	Bytes  string
}

// Wasm assembles the module.
func (m Module) Wasm() []byte {
	b := []byte("\x00asm\x01\x00\x00\x00")
	b = section(b, 1, len(m.Imports)+len(m.Funcs), m.types())
	b = section(b, 2, len(m.Imports), m.imports())
	var funcs []byte
	for i := range m.Funcs {
		funcs = uleb(funcs, len(m.Imports)+i)
	}
	b = section(b, 3, len(m.Funcs), funcs)
	if m.Memory != nil {
		limits := uleb([]byte{0}, int(m.Memory.Min))
		if m.Memory.Max > 0 {
			limits = uleb(uleb([]byte{1}, int(m.Memory.Min)), int(m.Memory.Max))
		}
		b = section(b, 5, 1, limits)
	}
	var globals []byte
	for _, v := range m.Globals {
		globals = append(globals, 0x7f, 1)
		globals = append(append(globals, Const(v)...), End)
	}
	b = section(b, 6, len(m.Globals), globals)
	count, exports := m.exports()
	b = section(b, 7, count, exports)
	if m.Start != nil {
		b = append(b, 8, 1, byte(len(m.Imports)+*m.Start))
	}
	if m.DataCount {
		b = append(b, 12, 1, byte(len(m.Data)))
	}
	b = section(b, 10, len(m.Funcs), m.code())
	b = section(b, 11, len(m.Data), m.data())
	for _, c := range m.Customs {
		body := append(str(nil, c[0]), c[1]...)
		b = append(uleb(append(b, 0), len(body)), body...)
	}
	return b
}

func (m Module) types() (b []byte) {
	add := func(params, results string) {
		b = append(b, 0x60)
		for _, list := range []string{params, results} {
			b = uleb(b, len(list))
			for _, t := range list {
				b = append(b, map[rune]byte{'i': 0x7f, 'I': 0x7e}[t])
			}
		}
	}
	for _, imp := range m.Imports {
		add(imp.Params, imp.Results)
	}
	for _, f := range m.Funcs {
		add(f.Params, f.Results)
	}
	return b
}

func (m Module) imports() (b []byte) {
	for i, imp := range m.Imports {
		b = str(str(b, imp.Module), imp.Name)
		b = uleb(append(b, 0), i)
	}
	return b
}

func (m Module) exports() (count int, b []byte) {
	if m.Memory != nil && m.Memory.Name != "" {
		count++
		b = append(str(b, m.Memory.Name), 2, 0)
	}
	for i, f := range m.Funcs {
		if f.Name != "" {
			count++
			b = uleb(append(str(b, f.Name), 0), len(m.Imports)+i)
		}
	}
	return count, b
}

func (m Module) code() (b []byte) {
	for _, f := range m.Funcs {
		body := []byte{0}
		if f.Locals > 0 {
			body = append(uleb([]byte{1}, f.Locals), 0x7f)
		}
		body = append(append(body, f.Body...), End)
		b = append(uleb(b, len(body)), body...)
	}
	return b
}

func (m Module) data() (b []byte) {
	for _, d := range m.Data {
		b = append(append(append(b, 0), Const(d.Offset)...), End)
		b = str(b, d.Bytes)
	}
	return b
}

// Instructions without operands, and the first bytes of some with.
const (
	Unreachable = 0x00
	Block       = 0x02
	Loop        = 0x03
	If          = 0x04
	End         = 0x0b
	Br          = 0x0c
	BrIf        = 0x0d
	Return      = 0x0f
	Call        = 0x10
	Drop        = 0x1a
	LocalGet    = 0x20
	LocalSet    = 0x21
	GlobalGet   = 0x23
	GlobalSet   = 0x24
	Load8       = 0x2d // with alignment and offset
	Load        = 0x28 // with alignment and offset
	Store       = 0x36 // with alignment and offset
	MemoryGrow  = 0x40 // with 0
	Eqz         = 0x45
	Eq          = 0x46
	Add         = 0x6a
	Extend      = 0xad // i64.extend_i32_u
	Void        = 0x40 // the type of a block without result
)

// Const is i32.const.
func Const(v int32) []byte { return sleb([]byte{0x41}, int64(v)) }

// Const64 is i64.const.
func Const64(v uint64) []byte { return sleb([]byte{0x42}, int64(v)) }

// Code joins instructions: bytes, ints as single bytes, and slices.
func Code(parts ...any) (b []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case []byte:
			b = append(b, p...)
		}
	}
	return b
}

func section(b []byte, id byte, count int, entries []byte) []byte {
	if count == 0 {
		return b
	}
	body := append(uleb(nil, count), entries...)
	return append(uleb(append(b, id), len(body)), body...)
}

func str(b []byte, s string) []byte { return append(uleb(b, len(s)), s...) }

func uleb(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

func sleb(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// replace returns funcs with those that are named in with in place of theirs; new
// ones are added.
func replace(funcs, with []Func) []Func {
	funcs = slices.Clone(funcs)
	for _, f := range with {
		i := slices.IndexFunc(funcs, func(o Func) bool { return o.Name == f.Name })
		if i < 0 {
			funcs = append(funcs, f)
		} else {
			funcs[i] = f
		}
	}
	return funcs
}
