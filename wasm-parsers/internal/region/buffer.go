package region

// Buffer is what a parser was fed of a region and has not dropped. Parsers that decide
// about text once they have seen what follows embed it: they take what is clear with
// Advance and leave the rest for later. Places are bytes of the region, counted from
// its start.
type Buffer struct {
	Keep int // how many of the bytes that were read last Drop leaves for Return and Last

	text []byte // mine, or what was fed, until Drop
	mine []byte
	used int // bytes at the front of text that were read
	pos  int // place of the first byte of text
}

// Append adds text that was fed. It is not copied if nothing waits, so that Drop must be
// called as long as it is valid.
func (b *Buffer) Append(text []byte) {
	switch {
	case len(b.text) == 0:
		b.text = text
	case len(text) > 0:
		b.mine = append(append(b.mine[:0], b.text...), text...)
		b.text = b.mine
	}
}

// Rest is the text that was not read yet. It is valid until Append or Drop.
func (b *Buffer) Rest() []byte { return b.text[b.used:] }

// At is the place of the next byte to read.
func (b *Buffer) At() int { return b.pos + b.used }

// Fed is the place behind everything that was fed.
func (b *Buffer) Fed() int { return b.pos + len(b.text) }

// Advance reads the next n bytes.
func (b *Buffer) Advance(n int) { b.used += n }

// AdvanceTo reads all but rest, which is what is left of Rest.
func (b *Buffer) AdvanceTo(rest []byte) { b.used = len(b.text) - len(rest) }

// Return makes the byte at a place the next one again, or the first one that was not
// dropped.
func (b *Buffer) Return(at int) { b.used = max(at-b.pos, 0) }

// Last is the last n bytes that were read, or those of them that were not dropped. It is valid until
// Append or Drop.
func (b *Buffer) Last(n int) []byte { return b.text[max(b.used-n, 0):b.used] }

// Drop forgets what was read but for the bytes to keep, and keeps the rest. A parser calls it when it is done with
// what it was fed, so that the text is moved once for a piece and not for everything in it.
func (b *Buffer) Drop() {
	kept := min(b.Keep, b.used)
	gone := b.used - kept
	b.pos += gone
	b.mine = append(b.mine[:0], b.text[gone:]...)
	b.text, b.used = b.mine, kept
}
