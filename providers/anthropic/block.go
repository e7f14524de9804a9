package anthropic

import (
	"maps"
	"slices"
)

const (
	maxOpen = 1024     // blocks of a stream that are open at once; Anthropic has one
	maxKept = 16 << 20 // bytes of thinking and of other blocks kept until they end
)

// block is a content block of a stream that has begun and not ended.
type block struct {
	kind  string
	start value // as it began, for a kind that is kept; of a call its input
	call  int   // a call's index in OpenAI's counting

	fed                        bool    // a call's arguments have begun to come
	thinking, signature, input []byte  // what came in pieces, as it stood between the quotes
	given                      []field // what came whole for a member
	with                       object  // for a client of the Messages API, what goes out beside it
	passed                     bool    // a client of the Messages API gets it as it comes
	over                       bool    // and another one has begun behind it
	size                       int     // bytes kept
	lost                       bool    // it was too much to keep
	waits                      bool    // its events are not over: what it holds is known at its end
}

// openBlocks are the blocks of a stream that are open, and what their calls are still owed.
type openBlocks struct {
	out      *chunks
	warnings *warnings

	blocks map[int]*block // by Anthropic's index
	kept   int            // bytes that they hold
	calls  int            // so far; the next call's index
	owed   []int          // calls that ended without arguments
	waits  int            // how many of the open blocks wait
	// unclear says that the event at hand has something in it that is left out of the chunks.
	unclear bool
}

// add adds a block.
func (o *openBlocks) add(index int, b *block) error {
	o.stop(index, nil) // if that was forgotten
	o.pay()
	if len(o.blocks) == maxOpen {
		return errTooMany
	}
	if o.blocks == nil {
		o.blocks = map[int]*block{}
	}
	for _, other := range o.blocks {
		other.over = true
	}
	o.blocks[index] = b
	o.out.content = true
	return nil
}

// start begins a block. What it holds already counts as its first delta, except
// for a call's input: that is given when no other comes. rest is what its event says besides.
func (o *openBlocks) start(index int, v value, rest object) error {
	b := &block{kind: text(get(v, "type"))}
	if err := o.add(index, b); err != nil {
		return err
	}
	o.out.beside("event", rest)
	switch b.kind {
	case "text":
		cited := get(v, "citations")
		rest := besides(v, "type", "text", "citations")
		if cited != nil && hollow(cited) { // there may come some
			rest.set("citations", cited)
		}
		o.begin(b, rest)
		o.out.text(get(v, "text"))
		o.out.cite(cited)
	case "tool_use":
		b.start, b.call = clone(get(v, "input")), o.calls
		o.calls++
		if !hollow(b.start) {
			o.wait(b)
		}
		entry := calledBy(call(digits(b.call), get(v, "id"), get(v, "name"), value(`""`)), get(v, "caller"), o.out.native)
		if rest := besides(v, "type", "id", "name", "input", "caller"); o.out.native && len(rest) > 0 {
			entry = merge(entry, []field{{"beside", rest.close()}})
		}
		o.out.emit("tool_calls", arrayOf(entry))
	case "thinking":
		o.keepStart(b, v)
		o.begin(b, besides(v, "type", "thinking", "signature"))
		o.think(b, get(v, "thinking"))
		o.sign(b, get(v, "signature"))
	case "redacted_thinking":
		o.wait(b)
		o.keepStart(b, v)
		b.with = o.out.take()
	default:
		if b.passed = o.out.native; b.passed {
			o.out.own("opens", arrayOf(compact(v)))
			break
		}
		o.keepStart(b, v)
	}
	return nil
}

// wait has the events of a block wait for its end.
func (o *openBlocks) wait(b *block) {
	b.waits = true
	o.waits++
}

// begin says to a client of the Messages API where a text or a thought begins, since citations are of one text and a
// signature is of one thought, and what else its block holds. For others texts are one.
func (o *openBlocks) begin(b *block, rest object) {
	if o.out.native {
		rest.setString("type", b.kind)
		o.out.note("begins", rest)
	}
}

// besides are the members of an object but for those of some names.
func besides(o value, names ...string) (rest object) {
	_ = members(o, func(name string, v value) error {
		if !slices.Contains(names, name) {
			rest.set(name, compact(v))
		}
		return nil
	})
	return rest
}

// picked is an object of the members that have some names.
func picked(o value, names ...string) value {
	var out object
	_ = members(o, func(name string, v value) error {
		if slices.Contains(names, name) {
			out.set(name, v)
		}
		return nil
	})
	return out.close()
}

func (o *openBlocks) keepStart(b *block, v value) {
	if o.keep(b, len(v)) {
		b.start = compact(v)
	}
}

// textMembers are the members of deltas that are read.
var textMembers = map[string]string{
	"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature", "input_json_delta": "partial_json", "citations_delta": "citation",
}

// delta takes a piece of a block. One whose beginning was not seen is what its delta
// says, except for a call, which would have no name. rest is what its event says besides.
func (o *openBlocks) delta(index int, v value, rest object) error {
	kind := text(get(v, "type"))
	b := o.blocks[index]
	if b == nil {
		b = &block{kind: map[string]string{"text_delta": "text", "thinking_delta": "thinking"}[kind]}
		if b.kind == "" {
			o.warnings.add("delta", kind)
			return nil
		}
		if err := o.add(index, b); err != nil {
			return err
		}
		o.begin(b, nil)
	}
	o.out.beside("event", rest)
	if b.passed {
		o.pass(b, v)
		return nil
	}
	member := textMembers[kind]
	if member != "" && o.out.native {
		o.out.beside("delta", besides(v, "type", member))
	}
	o.take(b, kind, v)
	if len(o.out.with) > 0 { // it went out with nothing
		o.out.with = nil
		o.other(b, kind, merge(v, []field{{member, value(`""`)}}))
	}
	return nil
}

// pass gives a delta to a client of the Messages API as it is. One that comes behind the beginning of another block has no
// place any more.
func (o *openBlocks) pass(b *block, v value) {
	if b.over {
		o.out.with, o.unclear = nil, true
		o.warnings.drop("blocks")
		return
	}
	o.out.own("deltas", arrayOf(compact(v)))
}

// take takes the piece that a delta of a kind has of a block.
func (o *openBlocks) take(b *block, kind string, v value) {
	switch {
	case kind == "text_delta" && b.kind == "text":
		o.out.text(get(v, "text"))
	case kind == "thinking_delta" && b.kind == "thinking":
		o.think(b, get(v, "thinking"))
	case kind == "signature_delta" && b.kind == "thinking":
		o.sign(b, get(v, "signature"))
	case kind == "input_json_delta" && (b.kind == "tool_use" || b.isKept()):
		o.arguments(b, get(v, "partial_json"))
	case kind == "citations_delta":
		o.out.cite(arrayOf(get(v, "citation")))
	case kind == "compaction_delta" && b.kind == "compaction":
		o.condense(b, v)
	default:
		o.other(b, kind, v)
	}
}

// other takes a delta of which nothing is read. A client of the Messages API gets it as it is, in its block; others are
// told.
func (o *openBlocks) other(b *block, kind string, v value) {
	if !o.out.native {
		o.warnings.add("delta", kind)
	}
	o.pass(b, v)
}

// isKept reports whether a block goes out when it ends.
func (b *block) isKept() bool {
	return b.kind != "text" && b.kind != "thinking" && b.kind != "tool_use"
}

// stop ends a block, if it is open, and writes what could not be written before. rest is what its end says besides,
// which a client of the Messages API gets.
func (o *openBlocks) stop(index int, rest object) {
	b := o.blocks[index]
	if b == nil {
		return
	}
	delete(o.blocks, index)
	o.kept -= b.size
	if b.waits {
		o.waits--
	}
	switch b.kind {
	case "text":
		if o.out.native { // of which it is a block, were it empty
			o.out.note("ends", rest)
		}
		return
	case "tool_use":
		switch {
		case b.fed:
		case hollow(b.start):
			o.owed = append(o.owed, b.call)
		default:
			o.out.emit("tool_calls", arrayOf(call(digits(b.call), nil, nil, quote(b.start))))
		}
	case "thinking", "redacted_thinking":
		if b.lost {
			o.warnings.drop("thinking_blocks")
			o.unclear = true
			break
		}
		o.out.with = b.with
		o.out.beside("ends", rest)
		o.out.thought(index, b.joined())
		return
	default:
		if b.passed {
			if !b.over {
				o.out.note("ends", rest)
			}
			return
		}
		o.warnings.add("block", b.kind)
		if b.lost {
			o.warnings.drop("blocks")
			break
		}
		o.out.own("blocks", arrayOf(b.joined()))
		return
	}
	if len(rest) > 0 {
		o.out.note("ends", rest)
	}
}

// pay writes the arguments of calls that ended without any. It waits until the answer
// goes on or has ended well: one that was cut may have been cut in front of them, and
// {} would make of that a call that the model never finished.
func (o *openBlocks) pay() {
	for _, index := range o.owed {
		o.out.emit("tool_calls", arrayOf(call(digits(index), nil, nil, value(`"{}"`))))
	}
	o.owed = o.owed[:0]
}

// end ends the blocks that are still open at the answer's end, in their order. What is owed is not
// paid if the answer was cut.
func (o *openBlocks) end(cut bool) {
	for _, index := range slices.Sorted(maps.Keys(o.blocks)) {
		o.stop(index, nil)
	}
	if cut && len(o.owed) > 0 {
		o.warnings.add("cut", "tool_calls")
		o.owed = o.owed[:0]
		return
	}
	o.pay()
}

// keep says whether n more bytes may be kept for a block.
func (o *openBlocks) keep(b *block, n int) bool {
	if b.lost || o.kept+n > maxKept {
		o.kept -= b.size
		*b = block{kind: b.kind, lost: true, waits: b.waits}
		return false
	}
	b.size += n
	o.kept += n
	return true
}

// append adds what stands between the quotes of v to one of b's texts.
func (o *openBlocks) append(b *block, to *[]byte, v value) {
	if piece := inner(v); o.keep(b, len(piece)) {
		*to = append(*to, piece...)
	}
}

// think writes reasoning, and keeps it for the block that has its signature.
func (o *openBlocks) think(b *block, v value) {
	if len(inner(v)) > 0 {
		o.out.emit("reasoning_content", v)
		o.append(b, &b.thinking, v)
	}
}

// condense takes what the delta of a compaction gives, which comes whole.
func (o *openBlocks) condense(b *block, delta value) {
	_ = members(delta, func(name string, v value) error {
		if name != "type" && o.keep(b, len(v)) {
			b.given = append(b.given, field{name, compact(v)})
		}
		return nil
	})
}

func (o *openBlocks) sign(b *block, v value) {
	o.append(b, &b.signature, v)
	if with := o.out.take(); len(with) > 0 { // it goes out at the block's end
		b.with = with
	}
}

// arguments writes a fragment of a call's arguments as it came, and keeps those of other blocks.
func (o *openBlocks) arguments(b *block, v value) {
	if b.kind != "tool_use" {
		o.append(b, &b.input, v)
		return
	}
	if len(inner(v)) > 0 {
		if b.fed = true; b.waits { // what the block began with does not count
			b.waits, o.unclear = false, true
			o.waits--
		}
		o.out.emit("tool_calls", arrayOf(call(digits(b.call), nil, nil, v)))
	}
}

// joined is a kept block as a whole answer would hold it, with what came in pieces.
func (b *block) joined() value {
	pieces := b.given
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

func arrayOf(v value) value { return slices.Concat(value("["), v, value("]")) }

// compact is valid JSON in one line, as a frame of a stream has to be.
func compact(v value) value {
	v = clone(v)
	_ = v.Compact() // it was found valid
	return v
}
