package meter

// handler reads the immediates of an instruction and rewrites it if need be.
type handler = func(*walker)

// opcodes are the instructions from first to last, which are read alike.
type opcodes struct {
	first, last byte
	handle      handler
}

func table(ranges []opcodes) (t [256]handler) {
	for _, r := range ranges {
		for op := int(r.first); op <= int(r.last); op++ {
			t[op] = r.handle
		}
	}
	return t
}

// instructions are those of one byte, and the prefixes.
var instructions = table([]opcodes{
	{0x00, 0x01, noImmediate}, // unreachable, nop
	{0x02, 0x02, block},
	{0x03, 0x03, loop},
	{0x04, 0x04, condition},   // if
	{0x05, 0x05, noImmediate}, // else
	{0x0b, 0x0b, end},
	{0x0c, 0x0c, branch},
	{0x0d, 0x0d, branchIf}, // br_if
	{0x0e, 0x0e, branchTable},
	{0x0f, 0x0f, noImmediate},   // return
	{0x10, 0x10, functionIndex}, // call
	{0x11, 0x11, indirect},      // call_indirect
	{0x12, 0x12, functionIndex}, // return_call
	{0x13, 0x13, indirect},      // return_call_indirect
	{0x1a, 0x1b, noImmediate},   // drop, select
	{0x1c, 0x1c, typedSelect},
	{0x20, 0x22, localIndex},
	{0x23, 0x24, globalIndex},
	{0x25, 0x25, anyIndex},    // table.get
	{0x28, 0x3e, memoryArg},   // loads and stores
	{0x3f, 0x3f, memoryIndex}, // memory.size
	{0x40, 0x40, memoryGrow},
	{0x41, 0x41, i32Const},
	{0x42, 0x42, i64Const},
	{0x43, 0x43, fourBytes},   // f32.const
	{0x44, 0x44, eightBytes},  // f64.const
	{0x45, 0xc4, noImmediate}, // numeric, sign extension
	{0xd0, 0xd0, refNull},
	{0xd1, 0xd1, noImmediate},   // ref.is_null
	{0xd2, 0xd2, functionIndex}, // ref.func
	{0xfc, 0xfc, misc},
	{0xfd, 0xfd, vector},
})

// miscInstructions are those with prefix 0xfc.
var miscInstructions = table([]opcodes{
	{0, 7, noImmediate}, // saturating truncation
	{8, 8, memoryInit},
	{10, 10, memoryCopy},
	{11, 11, memoryFill},
	{13, 13, anyIndex}, // elem.drop, which nothing can see without table.init
	{16, 16, anyIndex}, // table.size
})

// vectorInstructions are those with prefix 0xfd.
var vectorInstructions = table([]opcodes{
	{0, 11, memoryArg},
	{12, 13, sixteenBytes}, // v128.const, i8x16.shuffle
	{14, 20, noImmediate},
	{21, 34, lane},
	{35, 83, noImmediate},
	{84, 91, memoryLane},
	{92, 93, memoryArg},
	{94, 255, noImmediate},
	// Numbers that are not in use.
	{0x9a, 0x9a, nil}, {0xa2, 0xa2, nil}, {0xa5, 0xa6, nil}, {0xaf, 0xb0, nil},
	{0xb2, 0xb4, nil}, {0xbb, 0xbb, nil}, {0xc2, 0xc2, nil}, {0xc5, 0xc6, nil},
	{0xcf, 0xd0, nil}, {0xd2, 0xd4, nil}, {0xe2, 0xe2, nil}, {0xee, 0xee, nil},
})

// Reasons to refuse an instruction.
const (
	exceptions   = "exception handling is not supported"
	functionRefs = "typed function references are not supported"
	tableChange  = " changes a table, and tables are not restored between responses"
)

// refused and refusedMisc are instructions that exist, with the reason why they
// are refused. Those with prefix 0xfc are in refusedMisc.
var (
	refused = map[byte]string{
		0x06: exceptions, 0x07: exceptions, 0x08: exceptions, 0x09: exceptions,
		0x0a: exceptions, 0x18: exceptions, 0x19: exceptions, 0x1f: exceptions,
		0x14: functionRefs, 0x15: functionRefs,
		0xd3: functionRefs, 0xd4: functionRefs, 0xd5: functionRefs, 0xd6: functionRefs,
		0x26: "table.set" + tableChange,
		0xfb: "GC is not supported",
		0xfe: "threads (atomic instructions) are not supported",
	}
	refusedMisc = map[byte]string{
		9:  "data.drop changes a data segment, and data segments are not restored between responses",
		12: "table.init" + tableChange,
		14: "table.copy" + tableChange,
		15: "table.grow" + tableChange,
		17: "table.fill" + tableChange,
	}
)
