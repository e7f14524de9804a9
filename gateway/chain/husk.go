package chain

import (
	"bytes"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// husk is the block of code around a call. What begins it waits until it is known whether a call
// is all that it holds: an empty block is nothing that a reader should see.
type husk struct {
	state huskState
	open  []byte // its first line, and white space behind that
	after []byte // what came behind the calls in it
}

type huskState uint8

const (
	noHusk     huskState = iota
	huskOpens            // its first line is read, or nothing but white space came behind that
	huskCalled           // there were calls in it, and nothing else
)

// begin notes that the next text is a fence that begins a block.
func (h *husk) begin() {
	if h.state == noHusk {
		*h = husk{state: huskOpens, open: h.open[:0], after: h.after[:0]}
	}
}

// call notes that a call comes.
func (h *husk) call() {
	if h.state == huskOpens && bytes.IndexByte(h.open, '\n') >= 0 {
		h.state = huskCalled
	}
}

// maxHusk is how many bytes of a block wait.
const maxHusk = 128

// hulled takes text that may belong to a husk. It reports false where the text is to be written.
func (w *writer) hulled(kind abi.Kind, text []byte) bool {
	h := &w.husk
	if kind != abi.Content {
		w.unhusk(false)
		return false
	}
	if h.state == huskOpens {
		h.open = append(h.open, text...)
		line, rest, _ := bytes.Cut(h.open, []byte{'\n'})
		if !chars.Blank(rest) || !isFence(line) || len(h.open) > maxHusk {
			w.unhusk(false)
		}
		return true
	}
	h.after = append(h.after, text...)
	body := chars.SkipSpace(h.after)
	line, rest, ended := bytes.Cut(body, []byte{'\n'})
	switch fence := h.open[:1]; {
	case len(body) == 0 && len(h.after) <= maxHusk:
	case len(body) == 0 || line[0] != fence[0] || len(chars.TrimEnd(bytes.TrimLeft(line, string(fence)))) > 0 || len(h.after) > maxHusk && !ended:
		w.unhusk(false)
	case ended:
		h.state = noHusk
		w.hull()
		w.out.write(abi.Content, rest)
	}
	return true
}

// isFence reports whether a line, or its beginning, may begin a block that holds a call.
func isFence(line []byte) bool {
	info := chars.TrimSpace(bytes.TrimLeft(line, "`~"))
	return len(info) <= 16 && bytes.IndexByte(info, '`') < 0
}

// unhusk gives out what waits, but for a husk that the output has ended in or with.
func (w *writer) unhusk(final bool) {
	h := &w.husk
	state := h.state
	h.state = noHusk
	switch body := chars.TrimSpace(h.after); {
	case state == noHusk:
	case final && state == huskCalled && (len(body) == 0 || len(body) >= 3 && len(bytes.Trim(body, string(h.open[:1]))) == 0):
		w.hull()
	default:
		w.out.write(abi.Content, h.open)
		w.out.write(abi.Content, h.after)
	}
}

// hull notes that a husk was left out.
func (w *writer) hull() {
	w.report.warn(strayMarkup)
	w.out.edge(abi.Content)
}
