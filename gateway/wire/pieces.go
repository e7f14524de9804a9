package wire

import "io"

// Pieces are a text in pieces, one behind the other. They are parts of other texts, none of which is
// changed as long as somebody reads them: a request of many megabytes with a few edits goes to an
// upstream without a copy.
type Pieces [][]byte

// Lay is [Splice] without a copy.
func Lay(text []byte, edits []Edit) Pieces {
	sortEdits(edits)
	out := make(Pieces, 0, 2*len(edits)+1)
	add := func(piece []byte) {
		if len(piece) > 0 {
			out = append(out, piece)
		}
	}
	from := 0
	for _, e := range edits {
		add(text[from:e.At.Start])
		add(e.With)
		from = e.At.End
	}
	add(text[from:])
	return out
}

// Size is how many bytes there are.
func (p Pieces) Size() (n int) {
	for _, piece := range p {
		n += len(piece)
	}
	return n
}

// Join is the text in one: the piece itself if there is one, else a copy.
func (p Pieces) Join() []byte {
	if len(p) == 1 {
		return p[0]
	}
	out := make([]byte, 0, p.Size())
	for _, piece := range p {
		out = append(out, piece...)
	}
	return out
}

// Reader reads the text. Each has a place of its own.
func (p Pieces) Reader() io.Reader { return &piecesReader{left: p} }

type piecesReader struct {
	left Pieces
	at   int // of the first of them
}

// Read implements io.Reader. It fills b, of as many pieces as that takes.
func (r *piecesReader) Read(b []byte) (n int, err error) {
	for len(r.left) > 0 && n < len(b) {
		copied := copy(b[n:], r.left[0][r.at:])
		n, r.at = n+copied, r.at+copied
		if r.at == len(r.left[0]) {
			r.left, r.at = r.left[1:], 0
		}
	}
	if n == 0 && len(b) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Elements counts the elements of a member of an object that the text is, an array; 0 if there is
// none. A name that is written with escapes is not found.
func (p Pieces) Elements(member string) int {
	c := counter{member: member}
	for _, piece := range p {
		for _, b := range piece {
			if c.read(b); c.done {
				return c.count
			}
		}
	}
	return 0
}

// counter reads an object byte by byte, and counts the elements of a member.
type counter struct {
	member string
	depth  int
	name   []byte // of the member that is read
	// inside and escaped say that a string goes on, and that an escape does; behind, that a member's
	// name is over; and found, that what is read is the one that is looked for.
	inside, escaped, behind, found, done bool
	count                                int
}

func (c *counter) read(b byte) {
	switch {
	case c.inside:
		c.readString(b)
	case b == ' ', b == '\n', b == '\t', b == '\r':
	case b == ']', b == '}':
		c.depth--
		c.done = c.depth <= 1 && c.found || c.depth <= 0
	case b == ',':
		c.comma()
	case b == ':':
		if c.depth == 1 {
			c.behind, c.found = true, string(c.name) == c.member
		}
	default:
		c.begin(b)
	}
}

// comma ends a member, or an element.
func (c *counter) comma() {
	switch c.depth {
	case 1:
		c.name, c.behind, c.done = c.name[:0], false, c.found // it was no array
	case 2:
		if c.found {
			c.count++
		}
	}
}

// begin reads the first byte of a value or of a name, and each of a number or a word.
func (c *counter) begin(b byte) {
	if c.depth == 1 && c.found && b != '[' {
		c.done = true
		return
	}
	if c.depth == 2 && c.found && c.count == 0 {
		c.count = 1 // the first one begins
	}
	switch b {
	case '"':
		c.inside = true
	case '[', '{':
		c.depth++
	}
}

// readString reads a byte of a string. Of a name no more is kept than tells it from the one that is
// looked for.
func (c *counter) readString(b byte) {
	if c.depth == 1 && !c.behind && (b != '"' || c.escaped) && len(c.name) <= len(c.member) {
		c.name = append(c.name, b)
	}
	switch {
	case c.escaped:
		c.escaped = false
	case b == '\\':
		c.escaped = true
	case b == '"':
		c.inside = false
	}
}
