package plugins

import "bytes"

// maxPrinted is how much of what a guest prints in a response is kept.
const maxPrinted = 4 << 10

// printed is what a guest wrote to its standard output and error.
type printed struct {
	text []byte
	more int // bytes beyond maxPrinted
}

func (p *printed) write(b []byte) {
	n := min(len(b), maxPrinted-len(p.text))
	p.text = append(p.text, b[:n]...)
	p.more += len(b) - n
}

// String returns the text in valid UTF-8.
func (p *printed) String() string {
	return string(bytes.ToValidUTF8(bytes.TrimSpace(p.text), []byte("\uFFFD")))
}

func (p *printed) reset() {
	p.text, p.more = p.text[:0], 0
}
