package messages

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/callgate/callgate/gateway"
)

// blocks brings the content of a message into the order of its blocks. One block is open at most. What belongs to another one waits until the open one has
// ended, so that blocks neither overlap nor leave a number out.
type blocks struct {
	print printer
	shown thinking
	id    string // of the message
	own   []byte // the content as the upstream of the Messages API gave it; nil: there is none

	open  kind
	call  *call // that is open
	calls []*call
	wait  []item
	held  int    // bytes that wait
	space []byte // white space, which begins no block

	signature []byte
	spoke     bool   // there is a block that says something
	hid       bool   // there were thoughts that the client does not want
	cut       bool   // the answer ends where there was no more room
	args      []byte // of a call in a whole message
	citations []byte
	runs      []string // ids of calls that the gateway has made
}

type kind uint8

const (
	noBlock kind = iota
	textBlock
	thinkingBlock
	callBlock
	opaqueBlock // written at once
	ranBlock    // a call that the gateway has made
)

// item is what waits behind an open call.
type item struct {
	kind kind
	text []byte // inner text, or a whole block
	sign []byte
	call *call
}

// maxHeld is how many bytes may wait.
const maxHeld = 16 << 20

var errHeld = &gateway.Error{Kind: gateway.Unavailable, Message: "The upstream's tool calls overlap, and are too long to be put in order."}

// put writes an item, or has it wait behind an open call.
func (b *blocks) put(it item) error {
	if b.open == callBlock || len(b.wait) > 0 {
		if b.held += len(it.text) + len(it.sign); b.held > maxHeld {
			return errHeld
		}
		it.text, it.sign = bytes.Clone(it.text), bytes.Clone(it.sign)
		if n := len(b.wait); n > 0 && it.kind == textBlock && b.wait[n-1].kind == textBlock {
			b.wait[n-1].text = append(b.wait[n-1].text, it.text...)
		} else {
			b.wait = append(b.wait, it)
		}
		return b.drain(false)
	}
	return b.write(it)
}

// drain writes what waits, as far as that can be. At the end it can.
func (b *blocks) drain(end bool) error {
	for len(b.wait) > 0 {
		it := b.wait[0]
		space := it.kind == textBlock && blank(it.text) // which ends no call
		if b.open == callBlock && !space {
			if !end && !b.call.progress.complete() {
				return nil
			}
			if err := b.close(); err != nil {
				return err
			}
		}
		if it.kind == callBlock && !it.call.ready(end) {
			if !end {
				return nil
			}
			b.calls = slices.DeleteFunc(b.calls, func(c *call) bool { return c == it.call }) // it has no name
			it.kind = noBlock
		}
		b.wait = b.wait[1:]
		b.held -= len(it.text) + len(it.sign)
		if err := b.write(it); err != nil {
			return err
		}
	}
	return nil
}

// write writes an item. No call is open.
func (b *blocks) write(it item) error {
	switch it.kind {
	case textBlock:
		return b.writeText(it.text)
	case thinkingBlock:
		return b.writeThought(it)
	case callBlock:
		return b.openCall(it.call)
	case opaqueBlock:
		return b.writeOpaque(it.text)
	case ranBlock:
		return b.writeRan(it.text, it.sign)
	}
	return nil
}

// text takes a piece of the answer, a string.
func (b *blocks) text(s value) error {
	if in := inner(s); len(in) > 0 {
		return b.put(item{kind: textBlock, text: in})
	}
	return nil
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
	if b.open != thinkingBlock || len(b.wait) > 0 {
		it.text = inner(thought)
	}
	if len(it.sign) == 0 {
		it.sign = b.seal()
	}
	return b.put(it)
}

// opaque takes a block that is passed on as it is.
func (b *blocks) opaque(v value) error { return b.put(item{kind: opaqueBlock, text: v}) }

func (b *blocks) writeText(in []byte) error {
	if b.open != textBlock {
		if blank(in) {
			b.space = append(b.space, in...)
			return nil
		}
		if err := b.close(); err != nil {
			return err
		}
		b.begin(textBlock, `{"type":"text","text":"`, `"}`)
		if len(b.space) > 0 {
			b.print.delta(`text_delta","text":"`, b.space)
			b.space = b.space[:0]
		}
	}
	b.print.delta(`text_delta","text":"`, in)
	return nil
}

func (b *blocks) writeThought(it item) error {
	if b.open != thinkingBlock {
		if err := b.close(); err != nil {
			return err
		}
		b.begin(thinkingBlock, `{"type":"thinking","thinking":"`, `","signature":""}`)
	}
	if b.shown != sealed && len(it.text) > 0 {
		b.print.delta(`thinking_delta","thinking":"`, it.text)
	}
	if it.sign == nil {
		return nil
	}
	b.signature = append(b.signature[:0], it.sign...)
	return b.close()
}

func (b *blocks) writeOpaque(v value) error {
	if err := b.close(); err != nil {
		return err
	}
	b.spoke = true
	b.print.object(v)
	return nil
}

// cite adds a citation to the text that is open.
func (b *blocks) cite(v value) {
	switch {
	case b.open != textBlock:
	case !b.print.whole:
		b.print.citation(v)
	default:
		if len(b.citations) > 0 {
			b.citations = append(b.citations, ',')
		}
		b.citations = append(b.citations, v...)
	}
}

// begin opens a block.
func (b *blocks) begin(k kind, begin, rest string) {
	b.open = k
	b.spoke = b.spoke || k != thinkingBlock
	b.print.start([]byte(begin), rest)
}

// close ends the open block, if there is one.
func (b *blocks) close() error {
	k := b.open
	b.open = noBlock
	switch k {
	case callBlock:
		return b.closeCall()
	case thinkingBlock:
		if len(b.signature) == 0 {
			b.signature = append(b.signature, b.seal()...)
		}
		if b.print.whole {
			b.print.dst = append(append(b.print.dst, `","signature":"`...), b.signature...)
		} else {
			b.print.delta(`signature_delta","signature":"`, b.signature)
		}
		b.signature = b.signature[:0]
		b.print.stop(`"}`)
	case textBlock:
		if len(b.citations) > 0 {
			b.print.dst = append(append(b.print.dst, `","citations":[`...), b.citations...)
			b.citations = b.citations[:0]
			b.print.stop("]}")
		} else {
			b.print.stop(`"}`)
		}
	}
	return nil
}

// finish ends the last block, and writes what has waited.
func (b *blocks) finish() error {
	if b.own != nil {
		return nil
	}
	if err := b.drain(true); err != nil {
		return err
	}
	if err := b.close(); err != nil {
		return err
	}
	if !b.spoke && len(b.space) > 0 && b.print.index == 0 { // an answer of white space is one too
		b.begin(textBlock, `{"type":"text","text":"`, `"}`)
		b.print.delta(`text_delta","text":"`, b.space)
		return b.close()
	}
	return nil
}

// takeOwn writes the content as it came. calls are those of the completion.
func (b *blocks) takeOwn(calls value) {
	b.print.dst = append(b.print.dst, b.own...)
	_ = elements(calls, func(int, value) error {
		b.calls = append(b.calls, &call{ended: true, progress: progress{done: true}})
		return nil
	})
}

// seal is a signature for thoughts of which the upstream gave none: clients drop what has none,
// and send it back with what they got. It never goes to Anthropic, which would refuse the
// request.
func (b *blocks) seal() []byte { return []byte(gateway.Seal(b.id + ":" + strconv.Itoa(b.print.index))) }
