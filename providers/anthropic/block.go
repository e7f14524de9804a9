package anthropic

import (
	"maps"
	"slices"
)

// block is a content block of a stream that has begun and not ended.
type block struct {
	kind  string
	start value // as it began, for a kind that is kept; of a call its input
	call  int   // a call's index in OpenAI's counting

	fed                        bool   // a call's arguments have begun to come
	thinking, signature, input []byte // what came in pieces, as it stood between the quotes
	size                       int    // bytes kept
	lost                       bool   // it was too much to keep
}

// open adds a block.
func (d *decoder) open(index int, b *block) error {
	d.stopBlock(index) // if that was forgotten
	d.pay()
	if len(d.blocks) == maxOpen {
		return errTooMany
	}
	if d.blocks == nil {
		d.blocks = map[int]*block{}
	}
	d.blocks[index] = b
	d.content = true
	return nil
}

// startBlock begins a block. What it holds already counts as its first delta, except
// for a call's input: that is given when no other comes.
func (d *decoder) startBlock(index int, v value) error {
	b := &block{kind: text(get(v, "type"))}
	if err := d.open(index, b); err != nil {
		return err
	}
	switch b.kind {
	case "text":
		d.text(get(v, "text"))
		d.cite(get(v, "citations"))
	case "tool_use":
		b.start, b.call = clone(get(v, "input")), d.calls
		d.calls++
		d.emit("tool_calls", arrayOf(call(digits(b.call), get(v, "id"), get(v, "name"), value(`""`))))
	case "thinking":
		d.keepStart(b, v)
		d.think(b, get(v, "thinking"))
		d.sign(b, get(v, "signature"))
	default:
		d.keepStart(b, v)
	}
	return nil
}

func (d *decoder) keepStart(b *block, v value) {
	if d.keep(b, len(v)) {
		b.start = compact(v)
	}
}

// delta takes a piece of a block. One whose beginning was not seen is what its delta
// says, except for a call, which would have no name.
func (d *decoder) delta(index int, v value) error {
	kind := text(get(v, "type"))
	b := d.blocks[index]
	if b == nil {
		b = &block{kind: map[string]string{"text_delta": "text", "thinking_delta": "thinking"}[kind]}
		if b.kind == "" {
			d.warnings.add("delta", kind)
			return nil
		}
		if err := d.open(index, b); err != nil {
			return err
		}
	}
	switch {
	case kind == "text_delta" && b.kind == "text":
		d.text(get(v, "text"))
	case kind == "thinking_delta" && b.kind == "thinking":
		d.think(b, get(v, "thinking"))
	case kind == "signature_delta" && b.kind == "thinking":
		d.sign(b, get(v, "signature"))
	case kind == "input_json_delta" && b.kind == "tool_use":
		d.arguments(b, get(v, "partial_json"))
	case kind == "input_json_delta":
		d.append(b, &b.input, get(v, "partial_json"))
	case kind == "citations_delta":
		d.cite(arrayOf(get(v, "citation")))
	default:
		d.warnings.add("delta", kind)
		d.own("deltas", arrayOf(compact(v)))
	}
	return nil
}

// stopBlock ends a block, if it is open, and writes what could not be written before.
func (d *decoder) stopBlock(index int) {
	b := d.blocks[index]
	if b == nil {
		return
	}
	delete(d.blocks, index)
	d.kept -= b.size
	switch b.kind {
	case "text":
	case "tool_use":
		switch {
		case b.fed:
		case hollow(b.start):
			d.owed = append(d.owed, b.call)
		default:
			d.emit("tool_calls", arrayOf(call(digits(b.call), nil, nil, quote(b.start))))
		}
	case "thinking", "redacted_thinking":
		if b.lost {
			d.warnings.drop("thinking_blocks")
			break
		}
		d.emitThought(index, b.joined())
	default:
		d.warnings.add("block", b.kind)
		if b.lost {
			d.warnings.drop("blocks")
			break
		}
		d.own("blocks", arrayOf(b.joined()))
	}
}

// pay writes the arguments of calls that ended without any. It waits until the answer
// goes on or has ended well: one that was cut may have been cut in front of them, and
// {} would make of that a call that the model never finished.
func (d *decoder) pay() {
	for _, index := range d.owed {
		d.emit("tool_calls", arrayOf(call(digits(index), nil, nil, value(`"{}"`))))
	}
	d.owed = d.owed[:0]
}

// stopAll ends the blocks that are still open at the answer's end, in their order.
func (d *decoder) stopAll() {
	for _, index := range slices.Sorted(maps.Keys(d.blocks)) {
		d.stopBlock(index)
	}
}

// keep says whether n more bytes may be kept for a block.
func (d *decoder) keep(b *block, n int) bool {
	if b.lost || d.kept+n > maxKept {
		d.kept -= b.size
		*b = block{kind: b.kind, lost: true}
		return false
	}
	b.size += n
	d.kept += n
	return true
}

// append adds what stands between the quotes of v to one of b's texts.
func (d *decoder) append(b *block, to *[]byte, v value) {
	if piece := inner(v); d.keep(b, len(piece)) {
		*to = append(*to, piece...)
	}
}

// text writes text as it came.
func (d *decoder) text(v value) {
	if len(inner(v)) > 0 {
		d.emit("content", v)
	}
}

// think writes reasoning, and keeps it for the block that has its signature.
func (d *decoder) think(b *block, v value) {
	if len(inner(v)) > 0 {
		d.emit("reasoning_content", v)
		d.append(b, &b.thinking, v)
	}
}

func (d *decoder) sign(b *block, v value) { d.append(b, &b.signature, v) }

// arguments writes a fragment of a call's arguments as it came.
func (d *decoder) arguments(b *block, v value) {
	if len(inner(v)) > 0 {
		b.fed = true
		d.emit("tool_calls", arrayOf(call(digits(b.call), nil, nil, v)))
	}
}

// joined is a kept block as a whole answer would hold it, with what came in pieces.
func (b *block) joined() value {
	var pieces []field
	if b.kind == "thinking" {
		pieces = append(pieces, field{"type", quote(b.kind)}, field{"thinking", outer(b.thinking)})
	}
	if len(b.signature) > 0 {
		pieces = append(pieces, field{"signature", outer(b.signature)})
	}
	if input := value(text(outer(b.input))); len(input) > 0 {
		if isAnswer(input) {
			pieces = append(pieces, field{"input", compact(input)})
		} else { // not what it should be, and yet nothing of it shall be lost
			pieces = append(pieces, field{"input", quote(input)})
		}
	}
	return merge(b.start, pieces)
}

// merge is an object with some fields set, those that it has in their place.
func merge(o value, set []field) value {
	var out object
	_ = members(o, func(name string, v value) error {
		for i, f := range set {
			if f.name == name {
				v = f.v
				set = append(set[:i:i], set[i+1:]...)
				break
			}
		}
		out.set(name, v)
		return nil
	})
	for _, f := range set {
		out.set(f.name, f.v)
	}
	return out.close()
}

// cite writes citations.
func (d *decoder) cite(citations value) {
	if !hollow(citations) {
		d.own("citations", compact(citations))
	}
}

// own writes what OpenAI's form has no place for.
func (d *decoder) own(name string, v value) {
	var o object
	o.set(name, v)
	d.emit("provider_specific_fields", o.close())
}

func arrayOf(v value) value { return slices.Concat(value("["), v, value("]")) }

// compact is valid JSON in one line, as a frame of a stream has to be.
func compact(v value) value {
	v = clone(v)
	_ = v.Compact() // it was found valid
	return v
}
