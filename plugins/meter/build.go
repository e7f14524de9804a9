package meter

// Instructions that the rewriter writes.
const (
	opBlock     = 0x02
	opLoop      = 0x03
	opIf        = 0x04
	opEnd       = 0x0b
	opCall      = 0x10
	opLocalGet  = 0x20
	opLocalSet  = 0x21
	opLocalTee  = 0x22
	opGlobalGet = 0x23
	opGlobalSet = 0x24
	opI32Const  = 0x41
	opI32LtS    = 0x48
	opI32Sub    = 0x6b
	opI32ShrU   = 0x76

	blockEmpty = 0x40
	funcType   = 0x60
)

// What instructions cost, beside one count per loop head and function entry.
const (
	codePerCount = 1024      // bytes of code that one count leads to
	bulkShift    = 6         // a bulk instruction costs a count per 1<<6 bytes
	growCost     = 1000      // memory.grow may move the whole memory
	maxCharge    = 1<<20 - 1 // the most that a padded constant holds
)

func appendU32(o []byte, v uint32) []byte {
	for v >= 0x80 {
		o = append(o, byte(v)|0x80)
		v >>= 7
	}
	return append(o, byte(v))
}

func appendS32(o []byte, v int32) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(o, c)
		}
		o = append(o, c|0x80)
	}
}

func appendName(o []byte, s string) []byte {
	return append(appendU32(o, uint32(len(s))), s...)
}

func appendSection(o []byte, id byte, body []byte) []byte {
	return append(appendU32(append(o, id), uint32(len(body))), body...)
}

// putPadded writes v as a constant that always has three bytes, so that it
// can be set after the code that follows it has been written.
func putPadded(o []byte, v int) {
	v = min(v, maxCharge)
	o[0], o[1], o[2] = byte(v)|0x80, byte(v>>7)|0x80, byte(v>>14)&0x7f
}

// snippets are the instructions that the rewriter puts in. All leave the operand
// stack as they find it.
type snippets struct {
	get    []byte // push the fuel
	settle []byte // pop it; call yield if it is below 0
	charge []byte // subtract a padded constant and settle
	patch  int    // where in charge the constant is
}

func newSnippets(fuel, yield uint32) snippets {
	var s snippets
	s.get = appendU32([]byte{opGlobalGet}, fuel)
	set := appendU32([]byte{opGlobalSet}, fuel)

	s.settle = append(s.settle, set...)
	s.settle = append(s.settle, s.get...)
	s.settle = append(s.settle, opI32Const, 0, opI32LtS, opIf, blockEmpty, opCall)
	s.settle = appendU32(s.settle, yield)
	s.settle = append(s.settle, set...)
	s.settle = append(s.settle, opEnd)

	s.charge = append(s.charge, s.get...)
	s.patch = len(s.charge) + 1
	s.charge = append(s.charge, opI32Const, 0, 0, 0, opI32Sub)
	s.charge = append(s.charge, s.settle...)
	return s
}

// appendCharge appends a charge of n counts.
func (s *snippets) appendCharge(o []byte, n int) []byte {
	at := len(o) + s.patch
	o = append(o, s.charge...)
	putPadded(o[at:], n)
	return o
}

// appendBulk appends a charge by the i32 on top of the stack, a length in bytes,
// which it leaves there. local is an i32 local for it to use.
func (s *snippets) appendBulk(o []byte, local uint32) []byte {
	o = appendU32(append(o, opLocalTee), local)
	o = append(o, s.get...)
	o = appendU32(append(o, opLocalGet), local)
	o = append(o, opI32Const, bulkShift, opI32ShrU, opI32Sub)
	return append(o, s.settle...)
}
