package meter

import "bytes"

// constExpr copies a constant expression, the extended kind included, to o.
func (rw *rewriter) constExpr(r *reader, o []byte) []byte {
	for r.err == nil {
		start, from := r.at(), r.i
		op := r.u8()
		switch op {
		case 0x41: // i32.const
			r.signed(32)
		case 0x42: // i64.const
			r.signed(64)
		case 0x43: // f32.const
			r.bytes(4)
		case 0x44: // f64.const
			r.bytes(8)
		case 0x23: // global.get
			rw.globalIndex(r)
		case 0xd0: // ref.null
			r.refType()
		case 0xd2: // ref.func
			o = appendU32(append(o, op), rw.funcIndex(r))
			continue
		case 0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e: // i32 and i64: add, sub, mul
		case 0xfd:
			if sub := r.u8(); sub != 0x0c { // v128.const
				r.fail(start, "instruction 0xfd 0x%02x is not supported in a constant expression", sub)
			}
			r.bytes(16)
		case opEnd:
			return append(o, op)
		default:
			r.fail(start, "instruction 0x%02x is not supported in a constant expression", op)
		}
		o = append(o, r.b[from:r.i]...)
	}
	return o
}

// Bits of the kind of an element segment.
const (
	elemNotActive = 1 << iota // passive or, with elemExplicit, declarative
	elemExplicit              // of an active segment: the table is given
	elemExprs                 // entries are expressions, not function indexes
)

// elementSection shifts the function indexes of all eight kinds of segments.
func (rw *rewriter) elementSection(r *reader) {
	r.atMost(maxSegments, "element segments")
	var o []byte
	n := r.each(func(int) { o = rw.element(r, o) })
	if n > 0 {
		rw.out[secElement] = append(appendU32(nil, uint32(n)), o...)
	}
}

func (rw *rewriter) element(r *reader, o []byte) []byte {
	start := r.at()
	kind := r.u32()
	if kind > 7 {
		r.fail(start, "element segment of unknown kind %d", kind)
	}
	o = appendU32(o, kind)
	if kind&(elemNotActive|elemExplicit) == elemExplicit {
		o = appendU32(o, r.u32())
	}
	if kind&elemNotActive == 0 {
		o = rw.constExpr(r, o)
	}
	if kind&(elemNotActive|elemExplicit) != 0 {
		o = append(o, rw.elementType(r, kind&elemExprs != 0))
	}
	var entries []byte
	n := r.each(func(int) {
		if kind&elemExprs != 0 {
			entries = rw.constExpr(r, entries)
		} else {
			entries = appendU32(entries, rw.funcIndex(r))
		}
	})
	return append(appendU32(o, uint32(n)), entries...)
}

// elementType reads a reference type or, if the entries are function indexes, the
// kind of element, of which there is only one.
func (rw *rewriter) elementType(r *reader, exprs bool) byte {
	if exprs {
		return r.refType()
	}
	start := r.at()
	t := r.u8()
	if t != 0 {
		r.fail(start, "element kind 0x%02x is not supported", t)
	}
	return t
}

// dataSection takes the segments out, or leaves all of them in if one is not an
// active one with a constant offset or code refers to segments.
func (rw *rewriter) dataSection(r *reader) {
	r.atMost(maxSegments, "data segments")
	r.b = bytes.Clone(r.b) // the segments outlive the input
	start := r.at()
	strip := !rw.usesData
	var segments []Segment
	n := r.each(func(int) {
		seg, fixed := rw.segment(r)
		strip = strip && fixed
		segments = append(segments, seg)
	})
	if c, ok := rw.dataCount(); ok && r.err == nil && c != uint32(n) {
		r.fail(start, "%d data segments, but the data count section says %d", n, c)
	}
	if strip {
		rw.mod.Segments, rw.mod.Stripped = segments, true
		return
	}
	rw.keep(secData)
	rw.keep(secDataCount)
}

// segment reads a data segment. fixed says that it is an active one whose offset
// is an i32.const.
func (rw *rewriter) segment(r *reader) (seg Segment, fixed bool) {
	start := r.at()
	kind := r.u32()
	switch kind {
	case 0, 1:
	case 2:
		if m := r.u32(); m != 0 {
			r.fail(start, "data segment of memory %d, which does not exist", m)
		}
	default:
		r.fail(start, "data segment of unknown kind %d", kind)
	}
	if kind != 1 {
		seg.Offset, fixed = rw.segmentOffset(r)
	}
	seg.Data = r.bytes(r.u32())
	if end := uint64(seg.Offset) + uint64(len(seg.Data)); fixed && end > uint64(rw.mod.MinPages)*pageSize {
		r.fail(start, "data segment ends at 0x%x, beyond the memory of %d pages", end, rw.mod.MinPages)
	}
	return seg, fixed
}

// segmentOffset reads the offset of an active segment, which is known if it is
// nothing but an i32.const.
func (rw *rewriter) segmentOffset(r *reader) (offset uint32, fixed bool) {
	try := *r
	if try.u8() == opI32Const {
		offset = uint32(try.signed(32))
		if try.u8() == opEnd && try.err == nil {
			*r = try
			return offset, true
		}
	}
	rw.constExpr(r, nil)
	return 0, false
}

// dataCount is the number in the data count section, if there is one.
func (rw *rewriter) dataCount() (n uint32, ok bool) {
	s := &rw.in[secDataCount]
	if !s.present {
		return 0, false
	}
	r := s.reader()
	return r.u32(), true
}

// dataCountSection only looks at the section: dataSection decides on it.
func (rw *rewriter) dataCountSection(r *reader) { r.u32() }
