package framing

import "github.com/callgate/callgate/sdk"

// writer writes texts of messages, two of one kind in lines of their own.
type writer struct {
	out  *sdk.Out
	kind kind
	last kind // of the last text
	any  bool // there was some
	gap  bool // the next text begins a message
}

func (w *writer) begin(k kind) { w.kind, w.gap = k, true }

// call notes that a call stands between texts.
func (w *writer) call() { w.any = false }

func (w *writer) write(b []byte) {
	if len(b) == 0 {
		return
	}
	write := w.out.Content
	if w.kind == isReasoning {
		write = w.out.Reasoning
	}
	if w.gap && w.any && w.last == w.kind {
		write([]byte{'\n'})
	}
	w.gap, w.any, w.last = false, true, w.kind
	write(b)
}
