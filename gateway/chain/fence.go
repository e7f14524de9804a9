package chain

import (
	"strings"

	"github.com/callgate/callgate/sdk/chars"
)

// fence knows whether text stands in a block of code of Markdown. A block ends with
// a line of the character that began it, at least as many, and nothing behind them:
// whatever else looks like a fence in it is its text.
type fence struct {
	char   byte // the open block's, 0 outside
	length int
	state  fenceState
	run    byte // the character of the line that is read
	count  int
	info   []byte // what stands behind the opening fence
	body   bool   // the block holds text
}

type fenceState uint8

const (
	elsewhere fenceState = iota
	inRun                // the characters of a fence
	inInfo               // behind those of backticks that began a block: another one makes them code in a line
	inTail               // behind those that may end the block
)

// begin notes that literal, which may be the beginning of a fence, has been read.
func (f *fence) begin(literal string) {
	f.state, f.run, f.count = inRun, literal[0], len(literal)
}

// around reports whether what comes next stands in a block.
func (f *fence) around() bool {
	return (f.char != 0 || f.state == inRun) && !f.closing()
}

// closing reports whether the block ends here, if no word follows on the line.
func (f *fence) closing() bool {
	return f.state == inTail || f.state == inRun && f.char == f.run && f.count >= f.length
}

// read reads what comes behind the literal, up to where all is said.
func (f *fence) read(text []byte) {
	i := 0
	for ; i < len(text) && f.state != elsewhere; i++ {
		f.next(text[i])
	}
	f.body = f.body || f.char != 0 && !chars.Blank(text[i:])
}

// holdsOnly reports whether the open block has held nothing yet, and may be one that
// a model puts a call into.
func (f *fence) holdsOnly() bool {
	switch strings.ToLower(strings.TrimSpace(string(f.info))) {
	case "", "json", "xml", "tool_call", "tool_calls", "tool_code":
		return !f.body
	}
	return false
}

func (f *fence) next(c byte) {
	if f.state == inRun {
		if c == f.run {
			f.count++
			return
		}
		f.runEnds()
	}
	switch f.state {
	case inInfo:
		inLine := c == '`' && f.char == '`'
		switch {
		case inLine:
			f.char, f.state = 0, elsewhere
		case c == '\n':
			f.state = elsewhere
		case len(f.info) < 16:
			f.info = append(f.info, c)
		}
	case inTail:
		if c == ' ' || c == '\t' || c == '\r' {
			return
		}
		f.state = elsewhere
		if !isWord(c) {
			f.char = 0
		}
	case elsewhere, inRun:
	}
}

// runEnds says what a run of characters was.
func (f *fence) runEnds() {
	switch {
	case f.closing():
		f.state = inTail
	case f.char != 0:
		f.state = elsewhere
	default:
		f.char, f.length, f.state = f.run, f.count, inInfo
		f.info, f.body = f.info[:0], false
	}
}

// isWord tells what begins the name of a language behind a fence.
func isWord(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '{' || c == '.'
}
