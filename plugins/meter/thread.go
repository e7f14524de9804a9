package meter

// Jump threading. Go's compiler has no structured control flow: it puts a function's basic
// blocks one behind the other into a loop that begins with a table of jumps, and a jump sets
// a local to the number of a block and goes to the head of that loop,
//
//	loop
//	  block … block
//	    local.get $pc  br_table 0 1 2 …
//	  end  …block 0…
//	end  …block 1…
//	     i32.const 3  local.set $pc  br (the loop)
//
// so that every jump costs a charge and a jump through the table. Where the block lies
// ahead, the br can go there at once, which is a third of the time of such a guest. The
// local is set all the same: nobody needs to know who else reads it.
//
// Nothing of the metering rests on this being right: a br forwards ends a block and runs no
// code twice, and the loop heads are charged whoever comes to them.

// label is where a br may go: a block, a loop or an if that is open.
type label struct {
	serial int // tells it from others that were as deep
	op     byte
	empty  bool // it has neither parameters nor results
	from   int  // its place in the source
	body   int  // the place behind its type
	jumps  *jumpTable
}

// jumpTable is the br_table that a loop begins with.
type jumpTable struct {
	local   uint32 // holds the number of the entry
	targets []jumpTarget
}

// jumpTarget is a label, by its place among those that are open.
type jumpTarget struct{ index, serial int }

// openLabel notes the block, loop or if that was just read.
func (w *walker) openLabel() {
	w.serial++
	w.labels = append(w.labels, label{
		serial: w.serial, op: w.b[w.op], empty: w.b[w.i-1] == blockEmpty, from: w.op, body: w.i,
	})
}

// noteTable finds out whether the br_table at hand, with these targets, is what a loop
// begins with: nothing stands between the two but empty blocks and the local.
func (w *walker) noteTable(targets []uint32) {
	get := reader{b: w.b, i: w.before[1]}
	if get.u8() != opLocalGet {
		return
	}
	local := get.u32()
	at, last := w.before[1], len(w.labels)-1
	for last >= 0 && w.labels[last].op == opBlock && w.labels[last].empty && w.labels[last].body == at {
		at = w.labels[last].from
		last--
	}
	if get.i != w.op || last < 0 || w.labels[last].op != opLoop || !w.labels[last].empty || w.labels[last].body != at {
		return
	}
	t := &jumpTable{local: local}
	for _, depth := range targets {
		index := len(w.labels) - 1 - int(depth)
		if index < last {
			return // leaves the loop, and perhaps with a value
		}
		t.targets = append(t.targets, jumpTarget{index, w.labels[index].serial})
	}
	w.labels[last].jumps = t
}

// thread gives a shorter way for a br to the label at depth, if there is one: the depth
// of the label that the loop's table goes on to.
func (w *walker) thread(depth uint32) (direct uint32, ok bool) {
	if uint64(depth) >= uint64(len(w.labels)) {
		return 0, false
	}
	jumps := w.labels[len(w.labels)-1-int(depth)].jumps
	if jumps == nil {
		return 0, false
	}
	set := reader{b: w.b, i: w.before[0]}
	if set.u8() != opI32Const {
		return 0, false
	}
	n := uint32(set.signed(32))
	if set.i != w.before[1] || set.u8() != opLocalSet || set.u32() != jumps.local || set.i != w.op {
		return 0, false
	}
	last := uint32(len(jumps.targets) - 1)
	t := jumps.targets[min(n, last)]
	if t.index >= len(w.labels) || w.labels[t.index].serial != t.serial {
		return 0, false // it lies behind
	}
	return uint32(len(w.labels) - 1 - t.index), true
}
