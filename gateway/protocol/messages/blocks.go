package messages

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/gateway"
)

// blocks brings the content of a message into the order of its blocks. What belongs to another block than the open one waits until that has
// ended, so that blocks neither overlap nor leave a number out.
type blocks struct {
	content content
	shown   thinking
	own     []byte // the content as the upstream of the Messages API gave it; nil: there is none
	calls   []*call
	wait    []item
	held    int      // bytes that wait
	hid     bool     // there were thoughts that the client does not want
	unnamed bool     // there was a call without a name, which nobody can run
	runs    []string // ids of calls that the gateway has made
	extra   extra    // of the frame at hand
}

type kind uint8

const (
	noBlock kind = iota
	textBlock
	thinkingBlock
	callBlock
	opaqueBlock // written at once, or as it comes
	ranBlock    // a call that the gateway has made
	breakBlock  // what follows is another block, were it of the same kind
	endBlock    // the block ends, were it empty
	rawBegin    // of an opaque block, written as it is
	rawDelta    // of the block, written as it is
	citation    // of the text that is open or begins
)

// item is what waits behind an open call.
type item struct {
	kind  kind
	of    kind   // what a breakBlock begins
	text  []byte // inner text, or a whole block
	sign  []byte
	call  *call
	extra extra
}

// itemSize is about what an item takes besides its bytes.
const itemSize = 128

// size is what an item takes while it waits, without the arguments of a call.
func (it *item) size() int {
	if it.call != nil {
		return 0 // there are few
	}
	return itemSize + len(it.text) + len(it.sign) + it.extra.size()
}

// maxHeld is how many bytes may wait.
const maxHeld = 16 << 20

var errHeld = &gateway.Error{Kind: gateway.Unavailable, Message: "The upstream's tool calls overlap, and are too long to be put in order."}

// put writes an item, or has it wait behind an open call.
func (b *blocks) put(it item) error {
	it.extra = b.extra
	if b.content.open == callBlock || len(b.wait) > 0 {
		if b.held += it.size(); b.held > maxHeld {
			return errHeld
		}
		it.text, it.sign, it.extra = bytes.Clone(it.text), bytes.Clone(it.sign), it.extra.clone()
		if n := len(b.wait); n > 0 && it.kind == textBlock && b.wait[n-1].kind == textBlock && it.extra.size() == 0 {
			b.wait[n-1].text = append(b.wait[n-1].text, it.text...)
			b.held -= itemSize // it is none of its own
		} else {
			b.wait = append(b.wait, it)
		}
		return b.drain(false)
	}
	return b.content.write(it)
}

// drain writes what waits, as far as that can be. At the end it can.
func (b *blocks) drain(end bool) error {
	for len(b.wait) > 0 {
		it := b.wait[0]
		space := it.kind == textBlock && blank(it.text) // which ends no call
		if b.content.open == callBlock && !space {
			if !end && !b.content.call.progress.complete() {
				return nil
			}
			if err := b.content.close(); err != nil {
				return err
			}
		}
		if it.kind == callBlock && !it.call.ready(end) {
			if !end {
				return nil
			}
			b.calls = slices.DeleteFunc(b.calls, func(c *call) bool { return c == it.call }) // it has no name
			it.kind, b.unnamed = noBlock, true
		}
		b.wait = b.wait[1:]
		b.held -= it.size()
		if it.call != nil {
			b.held -= len(it.call.args)
		}
		if err := b.content.write(it); err != nil {
			return err
		}
	}
	return nil
}

// text takes a piece of the answer, a string.
func (b *blocks) text(s value) error {
	in := inner(s)
	switch {
	case len(in) == 0:
		return nil
	case b.content.open == textBlock && len(b.wait) == 0: // as nearly always
		return b.content.writeText(in, &b.extra)
	}
	return b.put(item{kind: textBlock, text: in})
}

// thought takes a piece of the reasoning, a string.
func (b *blocks) thought(s value) error {
	in := inner(s)
	if len(in) == 0 {
		return nil
	}
	if b.shown == hidden {
		b.hid = true
		return nil
	}
	return b.put(item{kind: thinkingBlock, text: in})
}

// signed takes the signature of the thoughts before it. thought is their whole text, for which
// a block is made if none is open.
func (b *blocks) signed(thought value, signature []byte) error {
	it := item{kind: thinkingBlock, sign: signature}
	if !b.thinks() {
		it.text = inner(thought)
	}
	if len(it.sign) == 0 {
		it.sign = b.content.seal()
	}
	return b.put(it)
}

// thinks reports whether thoughts are what has come last.
func (b *blocks) thinks() bool {
	for _, it := range slices.Backward(b.wait) {
		if it.kind != rawDelta {
			return it.kind == thinkingBlock && it.sign == nil
		}
	}
	return b.content.open == thinkingBlock
}

// opaque takes a block that is passed on as it is.
func (b *blocks) opaque(v value) error { return b.put(item{kind: opaqueBlock, text: v}) }

// within writes what an upstream of the Messages API has said of the block at hand: deltas as they are, and its end.
func (b *blocks) within(deltas value, ends []byte) error {
	put := func(it item) error {
		if b.content.open == callBlock && len(b.wait) == 0 {
			it.extra = b.extra
			return b.content.write(it)
		}
		return b.put(it)
	}
	err := elements(deltas, func(_ int, v value) error { return put(item{kind: rawDelta, text: v}) })
	if err != nil || ends == nil {
		return err
	}
	return put(item{kind: endBlock, text: ends})
}

// finish ends the last block, and writes what has waited.
func (b *blocks) finish() error {
	if b.own != nil {
		return nil
	}
	if err := b.drain(true); err != nil {
		return err
	}
	return b.content.end()
}

// takeOwn writes the content as it came. calls are those of the completion.
func (b *blocks) takeOwn(calls value) {
	b.content.print.dst = append(b.content.print.dst, b.own...)
	_ = elements(calls, func(int, value) error {
		b.calls = append(b.calls, &call{ended: true, progress: progress{done: true}})
		return nil
	})
}
