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

// extra is what an upstream of the Messages API has said of a block besides what is read: members of an event, of the
// delta in it, and of the event that ends the block, each with a comma in front.
type extra struct{ event, delta, ends []byte }

var nothing = &extra{}

func (x *extra) size() int { return len(x.event) + len(x.delta) + len(x.ends) }

// clone is a copy that may be kept.
func (x *extra) clone() extra {
	return extra{bytes.Clone(x.event), bytes.Clone(x.delta), bytes.Clone(x.ends)}
}

// start opens a block. begin is its JSON up to the text, rest what follows, and event are further members of the event.
func (p *printer) start(begin []byte, rest string, event []byte) {
	if p.whole {
		p.from = len(p.dst)
		p.comma()
		p.dst = append(p.dst, begin...)
		return
	}
	p.event("content_block_start", event)
	p.dst = append(append(append(append(p.dst, `,"content_block":`...), begin...), rest...), "}\n\n"...)
}

// delta writes a piece of the open block's text. kind is the delta's JSON from the name of its
// type on, up to the text.
func (p *printer) delta(kind string, in []byte, x *extra) {
	p.said += len(in)
	if p.whole {
		p.dst = appendLine(p.dst, in)
		return
	}
	p.event("content_block_delta", x.event)
	p.dst = append(append(p.dst, `,"delta":{"type":"`...), kind...)
	p.dst = append(append(appendLine(p.dst, in), '"'), x.delta...)
	p.dst = append(p.dst, "}}\n\n"...)
}

// raw writes a delta as it is.
func (p *printer) raw(delta value, event []byte) {
	p.event("content_block_delta", event)
	p.dst = append(appendLine(append(p.dst, `,"delta":`...), delta), "}\n\n"...)
}

// event begins an event of the block at hand.
func (p *printer) event(name string, more []byte) {
	p.dst = append(append(p.dst, "event: "...), name...)
	p.dst = append(append(p.dst, "\ndata: {\"type\":\""...), name...)
	p.dst = strconv.AppendInt(append(p.dst, `","index":`...), int64(p.index), 10)
	p.dst = append(p.dst, more...)
}

// stop ends a block, of a whole message with what its JSON lacks. event are further members of the event.
func (p *printer) stop(rest string, event []byte) {
	if p.whole {
		p.dst = append(p.dst, rest...)
	} else {
		p.event("content_block_stop", event)
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
func (p *printer) object(v value, x *extra) {
	if p.whole {
		p.comma()
		p.dst = appendLine(p.dst, v)
		p.index++
		return
	}
	p.event("content_block_start", x.event)
	p.dst = append(appendLine(append(p.dst, `,"content_block":`...), v), "}\n\n"...)
	p.stop("", x.ends)
}

// citation writes a citation of the text that is open.
func (p *printer) citation(v value, x *extra) {
	p.event("content_block_delta", x.event)
	p.dst = append(appendLine(append(p.dst, `,"delta":{"type":"citations_delta","citation":`...), v), x.delta...)
	p.dst = append(p.dst, "}}\n\n"...)
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
