package chain

import (
	"bytes"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// codeBlock is the block of code around a call. What begins it waits until it is known whether a call
// is all that it holds: an empty block is nothing that a reader should see.
type codeBlock struct {
	state blockState
	open  []byte // its first line, and white space behind that
	after []byte // what came behind the calls in it
}

type blockState uint8

const (
	noBlock     blockState = iota
	blockOpens             // its first line is read, or nothing but white space came behind that
	blockCalled            // there were calls in it, and nothing else
)

// begin notes that the next text is a fence that begins a block.
func (h *codeBlock) begin() {
	if h.state == noBlock {
		*h = codeBlock{state: blockOpens, open: h.open[:0], after: h.after[:0]}
	}
}

// call notes that a call comes.
func (h *codeBlock) call() {
	if h.state == blockOpens && bytes.IndexByte(h.open, '\n') >= 0 {
		h.state = blockCalled
	}
}

// maxBlock is how many bytes of a block wait.
const maxBlock = 128

// inBlock takes text that may belong to a block around calls. It reports false where the text is to be written.
func (w *writer) inBlock(kind abi.Kind, text []byte) bool {
	h := &w.block
	if kind != abi.Content {
		w.endBlock(false)
		return false
	}
	if h.state == blockOpens {
		h.open = append(h.open, text...)
		line, rest, _ := bytes.Cut(h.open, []byte{'\n'})
		if !chars.Blank(rest) || !isFence(line) || len(h.open) > maxBlock {
			w.endBlock(false)
		}
		return true
	}
	h.after = append(h.after, text...)
	body := chars.SkipSpace(h.after)
	line, rest, ended := bytes.Cut(body, []byte{'\n'})
	switch fence := h.open[:1]; {
	case len(body) == 0 && len(h.after) <= maxBlock:
	case len(body) == 0 || line[0] != fence[0] || len(chars.TrimEnd(bytes.TrimLeft(line, string(fence)))) > 0 || len(h.after) > maxBlock && !ended:
		w.endBlock(false)
	case ended:
		h.state = noBlock
		w.dropBlock()
		w.say(abi.Content, rest)
	}
	return true
}

// isFence reports whether a line, or its beginning, may begin a block that holds a call.
func isFence(line []byte) bool {
	info := chars.TrimSpace(bytes.TrimLeft(line, "`~"))
	return len(info) <= 16 && bytes.IndexByte(info, '`') < 0
}

// endBlock gives out what waits, but for a block that the output has ended in or with.
func (w *writer) endBlock(final bool) {
	h := &w.block
	state := h.state
	h.state = noBlock
	switch body := chars.TrimSpace(h.after); {
	case state == noBlock:
	case final && state == blockCalled && (len(body) == 0 || len(body) >= 3 && len(bytes.Trim(body, string(h.open[:1]))) == 0):
		w.dropBlock()
	default:
		w.say(abi.Content, h.open)
		w.say(abi.Content, h.after)
	}
}

// dropBlock notes that a block was left out.
func (w *writer) dropBlock() {
	w.report.warn(strayMarkup)
	w.out.edge(abi.Content)
}
