package anthropic

import "github.com/callgate/callgate/gateway/wire"

// rope is text in pieces. What is long is not copied into it, and stays a part of the client's
// body until it is sent: a body of many megabytes is there once, in the client's form.
type rope struct {
	pieces wire.Pieces
	tail   []byte // behind the pieces; it is the rope's own
}

const (
	longPiece = 256     // what is shorter is copied
	fullTail  = 8 << 10 // then it becomes a piece, before it would have to be copied to grow
)

// add appends a text, which is not changed any more.
func (r *rope) add(text []byte) {
	if len(text) < longPiece {
		if r.tail = append(r.tail, text...); len(r.tail) >= fullTail {
			r.end()
		}
		return
	}
	r.end()
	r.pieces = append(r.pieces, text)
}

// say appends a few words of JSON.
func (r *rope) say(text string) { r.tail = append(r.tail, text...) }

// end makes a piece of the tail.
func (r *rope) end() {
	if len(r.tail) > 0 {
		r.pieces, r.tail = append(r.pieces, r.tail), nil
	}
}

// join appends another rope, which is not used any more.
func (r *rope) join(other *rope) {
	for _, piece := range other.pieces {
		r.add(piece)
	}
	r.add(other.tail)
}

// drop takes n bytes off the end, all of which are of what was added last.
func (r *rope) drop(n int) {
	if len(r.tail) > 0 {
		r.tail = r.tail[:len(r.tail)-n]
		return
	}
	last := &r.pieces[len(r.pieces)-1]
	*last = (*last)[: len(*last)-n : len(*last)-n]
}

// open begins an object of a type, which is a plain word.
func (r *rope) open(kind string) {
	r.tail = append(append(append(r.tail, `{"type":"`...), kind...), '"')
}

// set adds a member to the object that is open, unless there is no value.
func (r *rope) set(name string, v value) {
	if v != nil {
		r.key(name)
		r.add(v)
	}
}

// key adds the name of a member, whose value is added next.
func (r *rope) key(name string) {
	r.tail = append(wire.AppendQuoted(append(r.tail, ','), name), ':')
}

// setBlocks adds a member that is an array of blocks, unless there are none.
func (r *rope) setBlocks(name string, b *blocks) {
	if b.count > 0 {
		r.key(name)
		r.say("[")
		r.join(&b.rope)
		r.say("]")
	}
}

// close ends the object that is open.
func (r *rope) close() { r.say("}") }

// blocks are blocks of a content, with commas between them.
type blocks struct {
	rope
	count int
	// firstThinks and lastThinks say that the first and the last one are thinking, and marked
	// that the last one has a cache_control.
	firstThinks, lastThinks, marked bool
}

// begin is called before a block is written.
func (b *blocks) begin(thinks, marked bool) {
	if b.count++; b.count == 1 {
		b.firstThinks = thinks
	} else {
		b.say(",")
	}
	b.lastThinks, b.marked = thinks, marked
}

// give adds a block as the client wrote it.
func (b *blocks) give(v value) {
	b.begin(isThinking(v), get(v, "cache_control") != nil)
	b.add(v)
}

// text adds a block of text from a string.
func (b *blocks) text(s, cache value) {
	b.begin(false, cache != nil)
	b.open("text")
	b.set("text", s)
	b.set("cache_control", cache)
	b.close()
}

// media adds an image or a document, whose source has been opened and is closed here.
func (b *blocks) media(kind string, source *rope, title, cache value) {
	b.begin(false, cache != nil)
	b.open(kind)
	b.key("source")
	source.close()
	b.rope.join(source)
	b.set("title", title)
	b.set("cache_control", cache)
	b.close()
}

// join adds all blocks of others, which are not used any more.
func (b *blocks) join(others *blocks) {
	if others.count == 0 {
		return
	}
	if b.count == 0 {
		*b = *others
		return
	}
	b.say(",")
	b.rope.join(&others.rope)
	b.count += others.count
	b.lastThinks, b.marked = others.lastThinks, others.marked
}

// mark gives the last block a cache_control, and says whether it takes one: thinking has none, and
// one that a block has already stays.
func (b *blocks) mark(cache value) bool {
	if b.count == 0 || b.lastThinks || b.marked {
		return false
	}
	b.drop(1) // its brace
	b.set("cache_control", cache)
	b.close()
	b.marked = true
	return true
}
