package messages

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/callgate/callgate/gateway"
)

// blocks writes the content of a message, as the events of a stream or as the elements of an
// array. One block is open at most. What belongs to another one waits until the open one has
// ended, so that blocks neither overlap nor leave a number out.
type blocks struct {
	dst   []byte
	whole bool
	shown thinking
	id    string // of the message
	own   []byte // the content as the upstream of the Messages API gave it; nil: there is none

	index int // of the block that is open, or of the next
	open  kind
	call  *call // that is open
	calls []*call
	wait  []item
	held  int    // bytes that wait
	space []byte // white space, which begins no block

	signature []byte
	from      int    // where the block began, in a whole message
	spoke     bool   // there is a block that says something
	hid       bool   // there were thoughts that the client does not want
	said      int    // bytes of text
	cut       bool   // the answer ends where there was no more room
	args      []byte // of a call in a whole message
	citations []byte
}

type kind uint8

const (
	noBlock kind = iota
	textBlock
	thinkingBlock
	callBlock
	opaqueBlock // written at once
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
		b.start(textBlock, `{"type":"text","text":"`, `"}`)
		if len(b.space) > 0 {
			b.delta(`text_delta","text":"`, b.space)
			b.space = b.space[:0]
		}
	}
	b.delta(`text_delta","text":"`, in)
	return nil
}

func (b *blocks) writeThought(it item) error {
	if b.open != thinkingBlock {
		if err := b.close(); err != nil {
			return err
		}
		b.start(thinkingBlock, `{"type":"thinking","thinking":"`, `","signature":""}`)
	}
	if b.shown != sealed && len(it.text) > 0 {
		b.delta(`thinking_delta","thinking":"`, it.text)
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
	if b.whole {
		b.comma()
		b.dst = appendLine(b.dst, v)
		b.index++
		return nil
	}
	b.event("content_block_start")
	b.dst = append(appendLine(append(b.dst, `,"content_block":`...), v), "}\n\n"...)
	b.stop()
	return nil
}

// cite adds a citation to the text that is open.
func (b *blocks) cite(v value) {
	if b.open != textBlock {
		return
	}
	if b.whole {
		if len(b.citations) > 0 {
			b.citations = append(b.citations, ',')
		}
		b.citations = append(b.citations, v...)
		return
	}
	b.event("content_block_delta")
	b.dst = append(appendLine(append(b.dst, `,"delta":{"type":"citations_delta","citation":`...), v), "}}\n\n"...)
}

// start opens a block. begin is its JSON up to the text, and rest what follows.
func (b *blocks) start(k kind, begin, rest string) {
	b.open = k
	b.spoke = b.spoke || k != thinkingBlock
	if b.whole {
		b.from = len(b.dst)
		b.comma()
		b.dst = append(b.dst, begin...)
		return
	}
	b.event("content_block_start")
	b.dst = append(append(append(append(b.dst, `,"content_block":`...), begin...), rest...), "}\n\n"...)
}

// delta writes a piece of the open block's text. kind is the delta's JSON from the name of its
// type on, up to the text.
func (b *blocks) delta(kind string, in []byte) {
	b.said += len(in)
	if b.whole {
		b.dst = appendLine(b.dst, in)
		return
	}
	b.event("content_block_delta")
	b.dst = append(append(b.dst, `,"delta":{"type":"`...), kind...)
	b.dst = append(appendLine(b.dst, in), "\"}}\n\n"...)
}

// event begins an event of the block at hand.
func (b *blocks) event(name string) {
	b.dst = append(append(b.dst, "event: "...), name...)
	b.dst = append(append(b.dst, "\ndata: {\"type\":\""...), name...)
	b.dst = strconv.AppendInt(append(b.dst, `","index":`...), int64(b.index), 10)
}

func (b *blocks) stop() {
	b.event("content_block_stop")
	b.dst = append(b.dst, "}\n\n"...)
	b.index++
}

func (b *blocks) comma() {
	if b.index > 0 {
		b.dst = append(b.dst, ',')
	}
}

// close ends the open block, if there is one.
func (b *blocks) close() error {
	k := b.open
	b.open = noBlock
	switch k {
	case noBlock:
		return nil
	case callBlock:
		return b.closeCall()
	case thinkingBlock:
		if len(b.signature) == 0 {
			b.signature = append(b.signature, b.seal()...)
		}
		if b.whole {
			b.dst = append(append(append(b.dst, `","signature":"`...), b.signature...), `"}`...)
		} else {
			b.delta(`signature_delta","signature":"`, b.signature)
		}
		b.signature = b.signature[:0]
	default:
		if b.whole {
			b.dst = append(b.dst, '"')
			if len(b.citations) > 0 {
				b.dst = append(append(append(b.dst, `,"citations":[`...), b.citations...), ']')
				b.citations = b.citations[:0]
			}
			b.dst = append(b.dst, '}')
		}
	}
	if b.whole {
		b.index++
	} else {
		b.stop()
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
	if !b.spoke && len(b.space) > 0 && b.index == 0 { // an answer of white space is one too
		b.start(textBlock, `{"type":"text","text":"`, `"}`)
		b.delta(`text_delta","text":"`, b.space)
		return b.close()
	}
	return nil
}

// takeOwn writes the content as it came. calls are those of the completion.
func (b *blocks) takeOwn(calls value) {
	b.dst = append(b.dst, b.own...)
	_ = elements(calls, func(int, value) error {
		b.calls = append(b.calls, &call{ended: true, progress: progress{done: true}})
		return nil
	})
}

// seal is a signature for thoughts of which the upstream gave none: clients drop what has none,
// and send it back with what they got. It never goes to Anthropic, which would refuse the
// request.
func (b *blocks) seal() []byte { return []byte(gateway.Seal(b.id + ":" + strconv.Itoa(b.index))) }

// appendLine appends JSON in one line: an event has no other.
func appendLine(dst, json []byte) []byte {
	if bytes.IndexByte(json, '\n') < 0 && bytes.IndexByte(json, '\r') < 0 {
		return append(dst, json...)
	}
	for _, c := range json {
		if c == '\n' || c == '\r' {
			c = ' '
		}
		dst = append(dst, c)
	}
	return dst
}
