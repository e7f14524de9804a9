package messages

import (
	"bytes"
	"strconv"
)

// printer writes blocks: as the events of a stream, or as the elements of an array.
type printer struct {
	dst   []byte
	whole bool
	index int // of the block that is open, or of the next
	from  int // where the block began, in a whole message
	said  int // bytes of text
}

// start opens a block. begin is its JSON up to the text, and rest what follows.
func (p *printer) start(begin []byte, rest string) {
	if p.whole {
		p.from = len(p.dst)
		p.comma()
		p.dst = append(p.dst, begin...)
		return
	}
	p.event("content_block_start")
	p.dst = append(append(append(append(p.dst, `,"content_block":`...), begin...), rest...), "}\n\n"...)
}

// delta writes a piece of the open block's text. kind is the delta's JSON from the name of its
// type on, up to the text.
func (p *printer) delta(kind string, in []byte) {
	p.said += len(in)
	if p.whole {
		p.dst = appendLine(p.dst, in)
		return
	}
	p.event("content_block_delta")
	p.dst = append(append(p.dst, `,"delta":{"type":"`...), kind...)
	p.dst = append(appendLine(p.dst, in), "\"}}\n\n"...)
}

// event begins an event of the block at hand.
func (p *printer) event(name string) {
	p.dst = append(append(p.dst, "event: "...), name...)
	p.dst = append(append(p.dst, "\ndata: {\"type\":\""...), name...)
	p.dst = strconv.AppendInt(append(p.dst, `","index":`...), int64(p.index), 10)
}

// stop ends a block, of a whole message with what its JSON lacks.
func (p *printer) stop(rest string) {
	if p.whole {
		p.dst = append(p.dst, rest...)
	} else {
		p.event("content_block_stop")
		p.dst = append(p.dst, "}\n\n"...)
	}
	p.index++
}

func (p *printer) comma() {
	if p.index > 0 {
		p.dst = append(p.dst, ',')
	}
}

// object writes a block that is complete.
func (p *printer) object(v value) {
	if p.whole {
		p.comma()
		p.dst = appendLine(p.dst, v)
		p.index++
		return
	}
	p.event("content_block_start")
	p.dst = append(appendLine(append(p.dst, `,"content_block":`...), v), "}\n\n"...)
	p.stop("")
}

// citation writes a citation of the text that is open.
func (p *printer) citation(v value) {
	p.event("content_block_delta")
	p.dst = append(appendLine(append(p.dst, `,"delta":{"type":"citations_delta","citation":`...), v), "}}\n\n"...)
}

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
