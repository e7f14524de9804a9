package meter

import "fmt"

// reader reads a part of a module. The first error stays: it moves the reader to
// its end, and from then on everything reads as 0, so that callers need look at
// err only where they are done.
type reader struct {
	b    []byte
	i    int
	base int // offset of b in the module
	err  *Error
}

// at is the offset in the module of the next byte.
func (r *reader) at() int { return r.base + r.i }

func (r *reader) left() int { return len(r.b) - r.i }

func (r *reader) fail(offset int, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{Offset: offset, Msg: fmt.Sprintf(format, args...)}
	}
	r.i = len(r.b)
}

func (r *reader) truncated() { r.fail(r.base+len(r.b), "truncated") }

func (r *reader) u8() byte {
	if r.i >= len(r.b) {
		r.truncated()
		return 0
	}
	c := r.b[r.i]
	r.i++
	return c
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (r *reader) u32() uint32 {
	start := r.at()
	var v uint32
	for shift := uint(0); shift < 35; shift += 7 {
		c := r.u8()
		if shift == 28 && c > 0x0f {
			break
		}
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return v
		}
	}
	r.fail(start, "number longer than 32 bits")
	return 0
}

// signed reads a signed LEB128 number of at most the given bits (32, 33 or 64).
func (r *reader) signed(bits uint) int64 {
	start := r.at()
	var v int64
	for shift := uint(0); shift < bits; {
		c := r.u8()
		v |= int64(c&0x7f) << shift
		shift += 7
		if c >= 0x80 {
			continue
		}
		if shift < 64 && c&0x40 != 0 {
			v |= -1 << shift
		}
		if bits < 64 && v>>(bits-1) != 0 && v>>(bits-1) != -1 {
			break
		}
		return v
	}
	r.fail(start, "number longer than %d bits", bits)
	return 0
}

// bytes gives the next n bytes, not copied.
func (r *reader) bytes(n uint32) []byte {
	if uint64(n) > uint64(r.left()) {
		r.truncated()
		return nil
	}
	b := r.b[r.i : r.i+int(n)]
	r.i += int(n)
	return b
}

func (r *reader) name() string { return string(r.bytes(r.u32())) }

// count reads the length of a vector. Every entry is at least one byte long, so
// that what follows bounds it.
func (r *reader) count() int {
	start := r.at()
	n := r.u32()
	if uint64(n) > uint64(r.left()) {
		r.fail(start, "truncated: %d entries in %d bytes", n, r.left())
		return 0
	}
	return int(n)
}

// each calls f for every entry of a vector until one fails.
func (r *reader) each(f func(i int)) int {
	n := r.count()
	for i := 0; i < n && r.err == nil; i++ {
		f(i)
	}
	return n
}

// sub is a reader of the next n bytes, which r leaves out.
func (r *reader) sub(n uint32) reader {
	base := r.at()
	return reader{b: r.bytes(n), base: base, err: r.err}
}

// finish fails if there are bytes left over.
func (r *reader) finish(what string) {
	if r.err == nil && r.left() > 0 {
		r.fail(r.at(), "%d bytes too many at the end of %s", r.left(), what)
	}
}

// error is err as an interface, nil if there is none.
func (r *reader) error() error {
	if r.err == nil {
		return nil
	}
	return r.err
}

// flag reads a byte that is 0 or 1.
func (r *reader) flag(what string) bool {
	start := r.at()
	b := r.u8()
	if b > 1 {
		r.fail(start, "%s 0x%02x is not supported", what, b)
	}
	return b == 1
}

// Types of values.
const (
	typeI32    = 0x7f
	typeI64    = 0x7e
	typeF32    = 0x7d
	typeF64    = 0x7c
	typeV128   = 0x7b
	typeFunc   = 0x70 // funcref
	typeExtern = 0x6f // externref
)

var typeNames = map[byte]string{
	typeI32: "i32", typeI64: "i64", typeF32: "f32", typeF64: "f64", typeV128: "v128", typeFunc: "funcref", typeExtern: "externref",
}

func isRef(t byte) bool { return t == typeFunc || t == typeExtern }

func isValue(t byte) bool { return t <= typeI32 && t >= typeV128 || isRef(t) }

func (r *reader) valueType() byte { return r.typeOf("value", isValue) }

func (r *reader) refType() byte { return r.typeOf("reference", isRef) }

func (r *reader) typeOf(what string, ok func(byte) bool) byte {
	start := r.at()
	t := r.u8()
	if r.err == nil && !ok(t) {
		r.fail(start, "%s type 0x%02x is not supported", what, t)
	}
	return t
}
